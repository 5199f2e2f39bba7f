/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merges several subscriptions of one component into one stream in the order of the pool manager's
 * serial numbers.
 *
 * Why waiting is necessary: every event has a position in one order, its serial. Each subscription
 * delivers its events in that order, but in batches of its own: when a batch of one has been read
 * up to serial 63, the other's batch with serial 2 may follow immediately. So the event with the
 * least serial of all heads is delivered when each other subscription
 *   - has a later event waiting (then it has no earlier one), or
 *   - has ended, or
 *   - has been read, and was empty, VAMP_MERGE_HOLD_NS after the event arrived.
 * The pool manager sends all subscriptions of a component together, oldest serial first; so earlier
 * events arrive within the hold, and no event waits longer than that. The hold is far more than a
 * millisecond because processes that share a processor lose it for several at a time (3 ms were too
 * few on a loaded machine of two), and far less than a bucket. Events that come even later are
 * delivered at once: nothing is lost, only the order suffers. An event with serial 0 (none) waits
 * for no other event.
 *
 * Serials that are all 0, or separate for each subscription, do not define the order. They are
 * detected and not used: events are then ordered by their time, or without one by the time of
 * reading.
 *
 * Bounded: VAMP_MERGE_LISTS lists for each subscription; while that many wait, no more are read.
 * Source thread only.
 * thread only.
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

/* How serials are used. */
enum vamp_merge_serials {
    VAMP_SERIALS_USED,
    VAMP_SERIALS_ZERO,            /* an event had none */
    VAMP_SERIALS_BY_SUBSCRIPTION, /* two subscriptions had the same one for different events */
};

/* The arrival of a list of events. */
struct vamp_merge_arrival {
    int64_t utc_ns, ns; /* when their list was read */
    int64_t waited_ns;  /* upper limit of the wait before: since the stream was last found empty */
};

/* A list as delivered by Maestro. */
struct vamp_merge_list {
    mstro_pool_event head; /* to be disposed of */
    mstro_pool_event at;   /* the next event to convert */
    struct vamp_merge_arrival arrival;
};

struct vamp_merge_stream {
    mstro_subscription subscription;
    enum vamp_event_phase phase;
    bool ended;            /* the pool manager is gone: nothing follows */
    int64_t read_empty_ns; /* when it was last found empty, or added */
                           /* Its serials up to the first gap: no other stream has one of them. */
    uint64_t run_first, run_last;
    bool run_over;
    bool is_ready; /* its next event, of the first list, with this serial */
    uint64_t serial;
    struct vamp_event next;
    struct vamp_event_batch packed; /* the rest of a batch, in the first list */
    unsigned first, count;          /* of `lists`, a queue */
    struct vamp_merge_list lists[VAMP_MERGE_LISTS];
};

struct vamp_merge {
    const struct vamp_clock *clock;
    unsigned stream_count;
    mstro_pool_event retired; /* completely delivered; disposed of at the next call */
    mstro_status failure;     /* of the read that ended a stream, else MSTRO_OK */
    enum vamp_merge_serials serials;
    /* The stream whose batch is being read, NULL: none. Its events below this serial are delivered
     * without comparing the other streams, whose heads do not change until something is read. */
    struct vamp_merge_stream *run;
    uint64_t run_below;
    struct vamp_merge_stream streams[VAMP_MERGE_STREAMS];
};

/* Takes ownership of a subscription; the last one is the one to wait on. */
void vamp_merge_add(struct vamp_merge *merge, mstro_subscription subscription,
                    enum vamp_event_phase phase);
/* Drops a subscription with its waiting events. */
void vamp_merge_drop(struct vamp_merge *merge, enum vamp_event_phase phase);
/* Disposes of lists and subscriptions. Zero-initialised is fine. */
void vamp_merge_done(struct vamp_merge *merge);

/* Puts the next event into `*ret_event`; its text and the returned arrival are valid until the next
 * call. NULL: no event can be delivered now. */
const struct vamp_merge_arrival *vamp_merge_next(struct vamp_merge *merge,
                                                 struct vamp_event *ret_event);
/* Reads every subscription once, without waiting. True: events came. */
bool vamp_merge_read(struct vamp_merge *merge);
/* Waits on the last subscription at most `timeout_ns`, and reads what comes. */
void vamp_merge_wait(struct vamp_merge *merge, int64_t timeout_ns);
/* Whether events wait for their turn. */
bool vamp_merge_holds(const struct vamp_merge *merge);
/* Whether every subscription has ended; events may still wait. */
bool vamp_merge_ended(const struct vamp_merge *merge);
