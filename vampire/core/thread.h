/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that do not handle the program's signals. Each starts with all signals blocked, because
 * vampire's code may run inside another program's process. A write to a broken pipe therefore fails
 * with EPIPE.
 */
#pragma once

#include <pthread.h>

#include "vampire/core/err.h"

/*
 * Runs `run(argument)` in a new thread, which the caller joins. `name` (at most 15 characters) is
 * shown by ps and top. Returns 0, or -errno of pthread_create (EAGAIN: too many threads) with the
 * text "start the thread NAME: ...". Any thread may call it.
 */
VAMP_MUST_CHECK int vamp_thread_start(pthread_t *ret_thread, const char *name, void *(*run)(void *),
                                      void *argument, struct vamp_err *err);
