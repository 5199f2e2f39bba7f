/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals are received by a thread of their own, so that no handler runs anywhere and every other
 * thread (libraries' included) has them blocked. SIGINT and SIGTERM request an orderly end. A
 * second SIGINT, or a SIGTERM 2 s or more after the first signal, ends the process at once. When
 * the time for the end is over, the process ends with exit code 1 whatever a disk or a library
 * does. SIGHUP requests to read the configuration again, SIGUSR1 to print the state of the run,
 * SIGUSR2 to read the file of silenced alarms. SIGPIPE and SIGXFSZ are ignored: a closed reader or
 * a limit on file size is a write error. To be started first in main, before any other thread
 * exists.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/err.h"

struct vamp_signals {
    atomic_int stop;     /* the signal that requested the end, else 0 */
    atomic_uint reload;  /* number of SIGHUP */
    atomic_uint show;    /* of SIGUSR1 */
    atomic_uint silence; /* of SIGUSR2 */
    atomic_bool ending;
    _Atomic int64_t stop_ns;   /* when `stop` was set; monotonic */
    _Atomic int64_t finish_ns; /* "finish": how long an end may take */
    pthread_t thread;
};

/* 0 or -errno. `finish_ns`: as in the struct. */
VAMP_MUST_CHECK int vamp_signals_start(struct vamp_signals *signals, int64_t finish_ns,
                                       struct vamp_err *err);
/* The deadline (monotonic) of a run that ends now: `finish_ns` after the signal that ended it, if
 * any. */
int64_t vamp_signals_deadline(const struct vamp_signals *signals);
/* Whether one of these counts has grown since the last call with the same `seen`. */
bool vamp_signals_take(const atomic_uint *count, unsigned *seen);
/* Ends the thread. */
void vamp_signals_stop(struct vamp_signals *signals);
