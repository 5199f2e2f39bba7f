/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The source thread only moves events from a source into the ring, so that the pool manager never
 * waits for vampire. When the ring is full a live source's events are
 * dropped and counted, and a mark with the exact number goes into the ring, in order, as soon
 * as there is room.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "vampire/core/clock.h"
#include "vampire/core/err.h"
#include "vampire/core/event/ring.h"
#include "vampire/source/source.h"

struct vamp_source_thread {
    /* Set by the caller before start, unchanged afterwards. */
    const struct vamp_source_ops *ops;
    void *source; /* open; the caller closes it after join */
    struct vamp_ring *ring;
    const struct vamp_clock *clock;
    const atomic_int *stop;

    /* For other threads while it runs: grows as long as the source makes progress. */
    atomic_uint beats;
    /* Monotonic: all events from before this time have come out of the source. 0: not known yet. */
    _Atomic int64_t quiet_until_ns;

    /* For the caller after vamp_source_thread_join. */
    enum vamp_source_status end; /* END (also when stopped), GONE or ERROR */
    uint64_t lost_samples;       /* that found no room in the ring */
    struct vamp_err err;

    /* The thread's own. */
    pthread_t thread;
    struct vamp_losses losses; /* not yet reported to the consumer */
    int64_t empty_since_ns;    /* monotonic; 0: the last look found something */
};

/* 0 or -errno. The ring is closed by the thread when it ends. */
VAMP_MUST_CHECK int vamp_source_thread_start(struct vamp_source_thread *thread,
                                             struct vamp_err *err);
/* Waits for the thread; call it when the ring is finished. */
void vamp_source_thread_join(struct vamp_source_thread *thread);
