/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reader only moves events from a source into a ring. For a live source it is a thread, so that
 * the pool manager never waits for vampire: when the ring is full, events are dropped and counted,
 * and a mark with the exact number goes into the ring, in order, as soon as there is room. A source
 * that may block is read by the thread that takes its events from the ring, whenever the ring is
 * empty: events stay in the cache of one processor, which takes 0.8 of the processor time.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "vampire/core/clock.h"
#include "vampire/core/err.h"
#include "vampire/core/event/ring.h"
#include "vampire/source/source.h"

struct vamp_reader {
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

    /* For the caller after vamp_reader_join. */
    enum vamp_source_status end; /* END (also when stopped), GONE or ERROR */
    uint64_t lost_samples;       /* that found no room in the ring */
    struct vamp_err err;

    /* The reader's own. */
    pthread_t thread;          /* of a live source */
    struct vamp_losses losses; /* not yet reported to the consumer */
    int64_t empty_since_ns;    /* monotonic; 0: the last look found something */
};

/* The room that the ring needs: of a source that may block little is used at a time, and a small
 * ring stays in the processor's cache. */
size_t vamp_reader_ring_bytes(const struct vamp_source_ops *ops, size_t configured);
/* 0 or -errno. The reader closes the ring when the source has ended. */
VAMP_MUST_CHECK int vamp_reader_start(struct vamp_reader *reader, struct vamp_err *err);
/* For the consumer of the ring, when it is empty and released: reads a source that may block.
 * Whether there are events to take now; false: the source is read by a thread, has nothing at the
 * moment, or has ended. */
bool vamp_reader_read(struct vamp_reader *reader);
/* The same: waits until there may be something to take, at most `timeout_ns`. */
void vamp_reader_wait(struct vamp_reader *reader, int64_t timeout_ns);
/* Waits for the thread, if there is one; call it when the ring is finished. */
void vamp_reader_join(struct vamp_reader *reader);
