/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that do not handle the program's signals: each starts with all of them blocked, as it may
 * run inside another program's process. A write to a broken pipe is therefore EPIPE there.
 */
#pragma once

#include <pthread.h>

#include "vampire/core/err.h"

/*
 * Runs `run(argument)` in a new thread, which the caller joins; `name` (15 characters are kept) is
 * what ps and top call it. 0, or -errno of pthread_create (EAGAIN: too many threads) with the text
 * "start the thread NAME: ...". Any thread may call.
 */
VAMP_MUST_CHECK int vamp_thread_start(pthread_t *ret_thread, const char *name, void *(*run)(void *),
                                      void *argument, struct vamp_err *err);
