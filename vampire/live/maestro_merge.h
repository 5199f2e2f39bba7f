/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merges several subscriptions of one component into one stream in the order of the pool manager's
 * serial numbers.
 *
 * All events have one total order, given by their serials. Each subscription delivers its events in
 * this order, but in batches of its own: after a batch of one subscription up to serial 63, a batch
 * of another with serial 2 may arrive. Therefore the event with the lowest serial of all heads is
 * delivered only when, for each other subscription, one of these holds: a later event is waiting
 * (so it cannot have an earlier one); the subscription has ended; or it was read and found empty at
 * least VAMP_MERGE_HOLD_NS after the event arrived.
 *
 * The pool manager sends to all subscriptions of a component together, lowest serial first, so
 * earlier events arrive within the hold time, and no event waits longer than that. The hold time is
 * far more than a millisecond, because processes that share a processor can be preempted for
 * several milliseconds (3 ms were not sufficient on a loaded machine with two processors), and far
 * less than a bucket. Events that arrive even later are delivered at once: no event is lost, only
 * the order is affected. Events without a serial (0) do not wait for other events.
 *
 * A pool manager that has just lost events is overloaded, and may have stopped sending to one
 * subscription because too much waits there already. For a few seconds after a loss the hold time
 * is therefore VAMP_MERGE_OVERLOAD_NS.
 *
 * Serials that are all 0, or that are counted separately for each subscription, do not define an
 * order. This is detected, and events are then ordered by their time or, without one, by the time
 * at which they were read.
 *
 * Lost events, and events that cannot be read, have no time and no serial. They are delivered with
 * the time of the event that follows them in their subscription and directly before it. If none
 * arrives within the hold time, their time is 0, to be replaced by that of the previous event.
 *
 * At most VAMP_MERGE_LISTS lists are stored for each subscription; while that many wait, no more
 * are read. Source thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <maestro.h>

#include "vampire/core/clock.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/event/event.h"

#define VAMP_MERGE_STREAMS 3
#define VAMP_MERGE_LISTS 1024U /* a power of two */
#define VAMP_MERGE_HOLD_NS (20 * 1000 * 1000)
#define VAMP_MERGE_OVERLOAD_NS (1000 * 1000 * 1000)

/* How serials are used. */
enum vamp_merge_serials {
    VAMP_SERIALS_USED,
    VAMP_SERIALS_ZERO,            /* an event had serial 0 */
    VAMP_SERIALS_BY_SUBSCRIPTION, /* two subscriptions had the same serial for different events */
};

/* When a list of events arrived. */
struct vamp_merge_arrival {
    int64_t utc_ns, ns; /* times at which the list was read */
    int64_t waited_ns;  /* upper limit for the time that the event waited before: since the stream
                         * was last found empty */
};

/* A list delivered by Maestro. */
struct vamp_merge_list {
    mstro_pool_event head; /* to be disposed of */
    mstro_pool_event at;   /* the next event to convert */
    struct vamp_merge_arrival arrival;
};

struct vamp_merge_stream {
    mstro_subscription subscription;
    enum vamp_event_phase phase;
    bool ended;            /* no events follow: the pool manager is gone, or all are delivered */
    uint64_t delivered;    /* number of events so far, including lost ones */
    uint64_t total;        /* after vamp_merge_finish: number of events in all */
    int64_t read_empty_ns; /* when the stream was last found empty, or was added */

    /* Consecutive serials of this stream up to the first gap; no other stream has any of them. */
    uint64_t run_first, run_last;
    bool run_over;
    bool is_ready; /* `next` is the next event of the first list, with this serial */
    uint64_t serial;
    struct vamp_event next;
    struct vamp_event_batch packed; /* the rest of a batch in the first list */
    unsigned first, count;          /* queue position in `lists` */
    struct vamp_merge_list lists[VAMP_MERGE_LISTS];
};

struct vamp_merge {
    const struct vamp_clock *clock;
    unsigned stream_count;
    mstro_pool_event retired; /* completely delivered list, disposed of at the next call */
    mstro_status failure;     /* status of the read that ended a stream, else MSTRO_OK */
    bool finished;            /* vamp_merge_finish succeeded */
    bool sorts;               /* set by the caller: lists are sorted by serial numbers */
    /* Lost events that the pool manager did not report; set by the caller. */
    uint64_t unreported_losses;
    int64_t overloaded_ns; /* monotonic time until which events are held longer */
    enum vamp_merge_serials serials;
    /* The stream whose batch is being delivered; NULL: none. Its events below this serial are
     * delivered without comparing the other streams, whose heads do not change until the next read.
     */
    struct vamp_merge_stream *run;
    uint64_t run_below;
    struct vamp_merge_stream streams[VAMP_MERGE_STREAMS];
};

/* Takes ownership of a subscription; vamp_merge_wait waits on the one added last. */
void vamp_merge_add(struct vamp_merge *merge, mstro_subscription subscription,
                    enum vamp_event_phase phase);
/* Disposes of a subscription and its waiting events. */
void vamp_merge_drop(struct vamp_merge *merge, enum vamp_event_phase phase);
/* Disposes of all lists and subscriptions. A zero-initialised merge is fine. */
void vamp_merge_done(struct vamp_merge *merge);

/* Stores the next event in `*ret_event`; its text and the returned arrival are valid until the next
 * call. Returns NULL if no event can be delivered now. */
const struct vamp_merge_arrival *vamp_merge_next(struct vamp_merge *merge,
                                                 struct vamp_event *ret_event);
/* Reads every subscription once, without waiting. Returns whether events arrived. */
bool vamp_merge_read(struct vamp_merge *merge);
/* Waits on the last subscription for at most `timeout_ns`, and reads what arrives. */
void vamp_merge_wait(struct vamp_merge *merge, int64_t timeout_ns);
/* Requests that no further events are added to the subscriptions, waiting at most `timeout_ms` for
 * each; each ends after its last event. Returns MSTRO_OK, MSTRO_TIMEOUT, or another status: this
 * Maestro or its pool manager cannot do that. */
mstro_status vamp_merge_finish(struct vamp_merge *merge, uint32_t timeout_ms);
/* Returns the number of events that are still to be delivered after vamp_merge_finish. */
uint64_t vamp_merge_rest(const struct vamp_merge *merge);
/* Returns whether events wait to be delivered. */
bool vamp_merge_holds(const struct vamp_merge *merge);
/* Returns whether every subscription has ended; events may still wait. */
bool vamp_merge_ended(const struct vamp_merge *merge);
