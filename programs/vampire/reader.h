/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reader passes the events of a source to one consumer. A dedicated thread reads a live source
 * into a ring, so that the pool manager never waits for vampire: when the ring is full, events are
 * dropped and counted, and a control event with the exact number is added to the ring, in order, as
 * soon as possible. A source that may block is read by the consumer itself, without a ring: the
 * events stay in the cache of one processor, which takes 0.8 times the processor time.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "vampire/core/clock.h"
#include "vampire/core/err.h"
#include "vampire/core/event/ring.h"
#include "vampire/source/source.h"

/* Maximum number of events returned by one call of vamp_reader_take. */
#define VAMP_READER_TAKE_MAX 16

struct vamp_reader {
    /* Set by the caller before the start, and not changed afterwards. */
    const struct vamp_source_ops *ops;
    void *source; /* open at the start; the caller closes it after vamp_reader_join */
    const struct vamp_clock *clock;
    const atomic_int *stop;
    /* "finish". Events from before `*stop` was set are read for at most half of this time. */
    const _Atomic int64_t *finish_ns;

    /* For other threads while the reader runs: increases as long as the source makes progress. */
    atomic_uint beats;
    /* Monotonic: the source has delivered all events from before this time. 0: not yet known. */
    _Atomic int64_t quiet_until_ns;

    /* For the caller after vamp_reader_join: */
    enum vamp_source_status end; /* END (also when stopped), GONE or ERROR */
    bool unanswered;       /* the pool manager does not answer, also not to closing the source */
    uint64_t lost_samples; /* number of samples dropped because the ring was full */
    struct vamp_err err;

    /* Private members for a source that may block: */
    struct vamp_event batch[VAMP_READER_TAKE_MAX]; /* events read last */
    bool ended;
    /* Private members for a live source: */
    struct vamp_ring *ring;
    pthread_t thread;
    struct vamp_losses losses; /* losses not yet reported to the consumer */
    int64_t drain_until_ns;    /* monotonic; 0: not yet stopped */
    int64_t empty_since_ns;    /* monotonic; 0: the last read found events */
};

/* Called before the start, with `ops` set: allocates memory for events, `ring_bytes` for a live
 * source. Returns 0 or -errno. */
VAMP_MUST_CHECK int vamp_reader_prepare(struct vamp_reader *reader, size_t ring_bytes,
                                        struct vamp_err *err);
/* Frees that memory; no effect on a reader that was not prepared. */
void vamp_reader_done(struct vamp_reader *reader);
/* Returns 0 or -errno. */
VAMP_MUST_CHECK int vamp_reader_start(struct vamp_reader *reader, struct vamp_err *err);
/* Waits for the thread, if there is one; to be called when the reader has finished. */
void vamp_reader_join(struct vamp_reader *reader);

/* The following functions are for the consumer, on one thread. */

/* Returns the number of available events, at most `max`; 0: none at the moment. The events are
 * valid until the next call, which returns their memory to the thread. */
unsigned vamp_reader_take(struct vamp_reader *reader, const struct vamp_event *events[],
                          unsigned max);
/* Waits at most `timeout_ns` for events; may return early. */
void vamp_reader_wait(struct vamp_reader *reader, int64_t timeout_ns);
/* Returns whether the source has ended and all events have been consumed. */
bool vamp_reader_finished(const struct vamp_reader *reader);
/* Returns the bytes of events that wait or were returned last; `*ret_bound` is the capacity. Both
 * are 0 for a source that may block. */
size_t vamp_reader_waiting_bytes(const struct vamp_reader *reader, size_t *ret_bound);
