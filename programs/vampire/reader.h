/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reader gives the events of a source to one consumer. A live source is read by a thread, into a
 * ring, so that the pool manager never waits for vampire: when the ring is full, events are dropped
 * and counted, and a mark with the exact number goes into the ring, in order, as soon as there is
 * room. A source that may block is read by the consumer itself: its events need no ring and stay in
 * the cache of one processor, which takes 0.8 of the processor time.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "vampire/core/clock.h"
#include "vampire/core/err.h"
#include "vampire/core/event/ring.h"
#include "vampire/source/source.h"

/* Events that vamp_reader_take gives at a time. */
#define VAMP_READER_TAKE_MAX 16

struct vamp_reader {
    /* Set by the caller before start, unchanged afterwards. */
    const struct vamp_source_ops *ops;
    void *source; /* open at the start; the caller closes it after join */
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

    /* The reader's own. Of a source that may block: */
    struct vamp_event batch[VAMP_READER_TAKE_MAX]; /* the events taken last */
    bool ended;
    /* Of a live one: */
    struct vamp_ring *ring;
    pthread_t thread;
    struct vamp_losses losses; /* not yet reported to the consumer */
    int64_t empty_since_ns;    /* monotonic; 0: the last look found something */
};

/* Before the start, with `ops` set: makes the room for events, of a live source `ring_bytes`. 0 or
 * -errno. */
VAMP_MUST_CHECK int vamp_reader_prepare(struct vamp_reader *reader, size_t ring_bytes,
                                        struct vamp_err *err);
/* Frees that room; of a reader that was not prepared, nothing. */
void vamp_reader_done(struct vamp_reader *reader);
/* 0 or -errno. */
VAMP_MUST_CHECK int vamp_reader_start(struct vamp_reader *reader, struct vamp_err *err);
/* Waits for the thread, if there is one; call it when the reader is finished. */
void vamp_reader_join(struct vamp_reader *reader);

/* For the consumer, on one thread: */

/* The next events, at most `max`; returns how many, 0 when the source has none at the moment. They
 * are valid until the next call, which gives their room back to the thread. */
unsigned vamp_reader_take(struct vamp_reader *reader, const struct vamp_event *events[],
                          unsigned max);
/* Waits until there may be something to take, at most `timeout_ns`. */
void vamp_reader_wait(struct vamp_reader *reader, int64_t timeout_ns);
/* Whether the source has ended and everything was taken. */
bool vamp_reader_finished(const struct vamp_reader *reader);
/* What waits to be taken, or was taken last, of `*ret_bound`; a source that may block has 0 of 0.
 */
size_t vamp_reader_waiting_bytes(const struct vamp_reader *reader, size_t *ret_bound);
