/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reader passes the events of a source to one consumer. A live source is read by a thread, into a
 * ring, so that the pool manager never waits for vampire: when the ring is full, events are dropped
 * and counted, and a control event with the exact number goes into the ring, in order, as soon as
 * possible. A source that may block is read by the consumer itself: its events need no ring and
 * stay in the cache of one processor, which takes 0.8 of the processor time.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "vampire/core/clock.h"
#include "vampire/core/err.h"
#include "vampire/core/event/ring.h"
#include "vampire/source/source.h"

/* Most events that vamp_reader_take returns at a time. */
#define VAMP_READER_TAKE_MAX 16

struct vamp_reader {
    /* Set by the caller before start, unchanged afterwards. */
    const struct vamp_source_ops *ops;
    void *source; /* open at the start; the caller closes it after join */
    const struct vamp_clock *clock;
    const atomic_int *stop;

    /* For other threads while the reader runs: grows as long as the source makes progress. */
    atomic_uint beats;
    /* Monotonic: the source has delivered all events from before this time. 0: not known yet. */
    _Atomic int64_t quiet_until_ns;

    /* For the caller after vamp_reader_join. */
    enum vamp_source_status end; /* END (also when stopped), GONE or ERROR */
    uint64_t lost_samples;       /* dropped because the ring was full */
    struct vamp_err err;

    /* Private. For a source that may block: */
    struct vamp_event batch[VAMP_READER_TAKE_MAX]; /* the latest events */
    bool ended;
    /* For a live source: */
    struct vamp_ring *ring;
    pthread_t thread;
    struct vamp_losses losses; /* not yet reported to the consumer */
    int64_t empty_since_ns;    /* monotonic; 0: the last read found events */
};

/* Before the start, with `ops` set: allocates memory for events, `ring_bytes` for a live source. 0
 * or -errno. */
VAMP_MUST_CHECK int vamp_reader_prepare(struct vamp_reader *reader, size_t ring_bytes,
                                        struct vamp_err *err);
/* Frees that memory; does nothing for a reader that was not prepared. */
void vamp_reader_done(struct vamp_reader *reader);
/* 0 or -errno. */
VAMP_MUST_CHECK int vamp_reader_start(struct vamp_reader *reader, struct vamp_err *err);
/* Waits for the thread, if there is one; call it when the reader is finished. */
void vamp_reader_join(struct vamp_reader *reader);

/* For the consumer, on one thread: */

/* Returns the number of the next events, at most `max`; 0: the source has none at the moment. They
 * are valid until the next call, which returns their memory to the thread. */
unsigned vamp_reader_take(struct vamp_reader *reader, const struct vamp_event *events[],
                          unsigned max);
/* Waits until there may be events, at most `timeout_ns`. */
void vamp_reader_wait(struct vamp_reader *reader, int64_t timeout_ns);
/* Whether the source has ended and all events were consumed. */
bool vamp_reader_finished(const struct vamp_reader *reader);
/* Bytes of events that wait or were taken last, out of `*ret_bound`; 0 of 0 for a source that may
 * block. */
size_t vamp_reader_waiting_bytes(const struct vamp_reader *reader, size_t *ret_bound);
