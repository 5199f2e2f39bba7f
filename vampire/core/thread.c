/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/thread.h"

#include <signal.h>
#include <stdio.h>

int vamp_thread_start(pthread_t *ret_thread, const char *name, void *(*run)(void *), void *argument,
                      struct vamp_err *err)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(ret_thread, NULL, run, argument);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) {
        return vamp_err_set_errno(err, code, "start the thread %s", name);
    }
    char kept[16];
    (void)snprintf(kept, sizeof kept, "%.15s", name);
    (void)pthread_setname_np(*ret_thread, kept); /* only for display, so errors are ignored */
    return 0;
}
