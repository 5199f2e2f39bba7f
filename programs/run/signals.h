/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A dedicated thread receives all signals, so that no signal handlers run and every other thread
 * (including those of libraries) has the signals blocked. SIGINT and SIGTERM request an orderly
 * end. A second SIGINT, or a SIGTERM 2 s or more after the first signal, terminates the process at
 * once, as does the time limit for the end (with exit code 1), even if a disk or a library blocks.
 * SIGHUP requests a reload of the configuration, SIGUSR1 a print of the run's state, SIGUSR2 a
 * reload of the file of silenced alarms. SIGPIPE and SIGXFSZ are ignored, so that a closed reader
 * or a file size limit becomes a write error. Must be started first in main, before any other
 * thread exists.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/err.h"

struct vamp_signals {
    atomic_int stop;     /* the signal that requested the end; 0: none */
    atomic_uint reload;  /* number of SIGHUPs received */
    atomic_uint show;    /* number of SIGUSR1s received */
    atomic_uint silence; /* number of SIGUSR2s received */
    atomic_bool ending;
    _Atomic int64_t stop_ns;   /* time at which `stop` was set; monotonic */
    _Atomic int64_t finish_ns; /* "finish": time limit for the end */
    pthread_t thread;
};

/* Blocks SIGHUP, SIGUSR1 and SIGUSR2 until vamp_signals_start handles them (`held`), or unblocks
 * them. Without it, they would end the process during the start. Called first in main. */
void vamp_signals_hold(bool held);
/* Returns 0 or -errno. `finish_ns`: as in the struct. */
VAMP_MUST_CHECK int vamp_signals_start(struct vamp_signals *signals, int64_t finish_ns,
                                       struct vamp_err *err);
/* Returns the deadline (monotonic) for a run that ends now: `finish_ns` after the signal that
 * requested the end, or from now if there was none. */
int64_t vamp_signals_deadline(const struct vamp_signals *signals);
/* Returns whether the counter has increased since the last call with the same `seen`. */
bool vamp_signals_take(const atomic_uint *count, unsigned *seen);
/* Ends the thread. */
void vamp_signals_stop(struct vamp_signals *signals);
