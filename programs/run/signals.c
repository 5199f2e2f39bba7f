/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "vampire/core/thread.h"

/* Sent by vamp_signals_stop to end the thread; from others it asks for the silences. */
#define END_THREAD SIGUSR2

static void watched_signals(sigset_t *set)
{
    static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, END_THREAD};
    (void)sigemptyset(set);
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++) {
        (void)sigaddset(set, watched[i]);
    }
}

static void *wait_for_signals(void *argument)
{
    struct vamp_signals *signals = argument;
    sigset_t set;
    watched_signals(&set);
    for (int number = 0; !atomic_load(&signals->ending);) {
        if (sigwait(&set, &number) != 0 || atomic_load(&signals->ending)) {
            continue;
        }
        if (number == SIGHUP) {
            (void)atomic_fetch_add(&signals->reload, 1);
        } else if (number == SIGUSR1) {
            (void)atomic_fetch_add(&signals->show, 1);
        } else if (number == END_THREAD) {
            (void)atomic_fetch_add(&signals->silence, 1);
        } else if (atomic_exchange(&signals->stop, number) != 0) {
            _exit(128 + number); /* asked twice: the user does not want to wait */
        }
    }
    return NULL;
}

int vamp_signals_start(struct vamp_signals *signals, struct vamp_err *err)
{
    *signals = (struct vamp_signals){0};
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit on file size is a write error, too */
    sigset_t set;
    watched_signals(&set);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL); /* cannot fail with these arguments */
    return vamp_thread_start(&signals->thread, "signals", wait_for_signals, signals, err);
}

bool vamp_signals_asked(const atomic_uint *count, unsigned *seen)
{
    const unsigned before = *seen;
    *seen = atomic_load(count);
    return *seen != before;
}

void vamp_signals_stop(struct vamp_signals *signals)
{
    atomic_store(&signals->ending, true);
    (void)pthread_kill(signals->thread, END_THREAD);
    (void)pthread_join(signals->thread, NULL);
}
