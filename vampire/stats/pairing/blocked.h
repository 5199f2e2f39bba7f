/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocked time: a component is blocked while it has pending demands. The blocked time of each
 * instant is divided equally among the demands that are pending at that instant. To compute this in
 * constant time, each component has a clock that advances by dt / n while n demands are pending:
 * the share of a demand is the difference between the values of the clock at its end and at its
 * start. A second clock does the same for pending WITHDRAWs and LEAVEs ("releases").
 *
 * The hooks below are called by the pairing. They advance clocks and store the results of the
 * current event in `due`; vampire/stats/metrics/blocked.c counts these results. Components without
 * a row have no clock. Private to the pairing and to that file; worker thread.
 */
#pragma once

#include "vampire/stats/pairing/records.h"

/* A time in ticks of 2^-16 ns. */
#define VAMP_TICK_BITS 16
typedef unsigned __int128 vamp_ticks;

struct vamp_blocked_clock {
    vamp_ticks now, at_bucket; /* current value, and value at the start of the newest bucket */
    int64_t at_ns;             /* event time up to which the clock was advanced */
    uint64_t elapsed_ns;       /* time with pending operations in the newest bucket */
    uint32_t pending;          /* number of pending operations */
    uint32_t rest;             /* remainder of the last division, in ticks */
    uint16_t fraction;         /* attributed ticks that are not counted yet: less than 1 ns */
};

/* Clocks of one component, indexed by row of the component table. */
struct vamp_blocked_row {
    struct vamp_blocked_clock demands, releases; /* `releases`: WITHDRAWs and LEAVEs */
    /* Cache: the cells of blocked_on_ns by part, for these names. 0: not looked up. */
    uint32_t component, producer, cells[VAMP_WAIT_PART_COUNT];
    bool leaving; /* a LEAVE is pending */
    /* The component that was the last to receive or release a CDO of this one since the LEAVE. */
    uint32_t leave_consumer;
};

/* One pending operation, indexed by the number of its struct vamp_pending. */
struct vamp_blocked_share {
    /* Low and high bits of the clock's value up to which time was attributed. For transports: the
     * value of the sink's clock of demands at the start of the transport. */
    uint64_t counted_low;
    uint16_t counted_high;
    bool offered; /* demands: the CDO has been in the pool since the demand began */
    bool own;     /* transports: the sink is the producer */
    /* WITHDRAWs: the component that was the last to receive or release the CDO since then. */
    uint32_t consumer;
    /* Neighbours in the list of the CDO's demands that are not `offered`; its head is
     * `first_unoffered` in the CDO's record. */
    uint32_t before, after;
};

/* Results of the current event that are not counted yet. Times are values of a clock. */
struct vamp_blocked_due {
    /* A CDO came into the pool: the first of its demands that waited for this (0: none), and the
     * row and the name of the component that offered it. */
    uint32_t first_offered, offerer_row, offerer;
    /* The demand that was removed last, by the row of its component. */
    uint32_t demand_row;
    vamp_ticks demand_from, demand_to;
    bool satisfied;    /* the following members are set */
    uint32_t producer; /* VAMP_NAME_UNKNOWN: not certain */
    bool parts_known;  /* `transport_started` is set */
    vamp_ticks transport_started;
    /* A WITHDRAW or LEAVE was handled that this consumer had delayed. */
    bool released;
    uint32_t released_row, consumer;
    vamp_ticks release_from, release_to;
};

struct vamp_blocked {
    int64_t bucket_ns;
    const int64_t *newest;     /* start of the newest bucket, divided by bucket_ns; not owned */
    uint32_t leaving;          /* number of components whose LEAVE is pending */
    struct vamp_labels labels; /* those of the value that is being counted */
    struct vamp_blocked_due due;
    struct vamp_blocked_row *rows;
    struct vamp_blocked_share *shares;
};

/* Returns 0 or -ENOMEM; vamp_blocked_free may be called in either case. Leaves `tracker->blocked`
 * NULL if no metric of blocked time is computed. */
VAMP_MUST_CHECK int vamp_blocked_create(struct vamp_tracker *tracker,
                                        const struct vamp_stats_options *options);
void vamp_blocked_free(struct vamp_tracker *tracker);

static inline struct vamp_blocked_share *vamp_blocked_share(const struct vamp_tracker *tracker,
                                                            const struct vamp_pending *pending)
{
    return &tracker->blocked->shares[vamp_slab_number(&tracker->pending, pending) - 1];
}
static inline vamp_ticks vamp_blocked_counted_to(const struct vamp_blocked_share *share)
{
    return (vamp_ticks)share->counted_high << 64 | share->counted_low;
}
/* Sets the value of the clock up to which time was attributed. */
static inline void vamp_blocked_set_counted_to(struct vamp_blocked_share *share, vamp_ticks from)
{
    share->counted_low = (uint64_t)from;
    share->counted_high = (uint16_t)(from >> 64);
}
/* Returns whether the time is outside the bucket. A time before it wraps around, being unsigned. */
static inline bool vamp_blocked_is_outside(int64_t time_ns, int64_t start_ns, int64_t bucket_ns)
{
    return (uint64_t)time_ns - (uint64_t)start_ns > (uint64_t)bucket_ns;
}
/* Advances the clock to this event time. Does nothing if the clock is at this time or later. Time
 * outside the newest bucket is not counted. */
static inline void vamp_blocked_advance(const struct vamp_blocked *blocked,
                                        struct vamp_blocked_clock *clock, int64_t time_ns)
{
    const int64_t start_ns = *blocked->newest * blocked->bucket_ns;
    /* This happens after a leap, after the clock of the events was set back, and if nothing was
     * pending since an earlier bucket. */
    if (vamp_blocked_is_outside(clock->at_ns, start_ns, blocked->bucket_ns)) {
        clock->at_ns = start_ns;
    }
    if (time_ns <= clock->at_ns) {
        return;
    }
    const uint64_t elapsed_ns = (uint64_t)time_ns - (uint64_t)clock->at_ns;
    clock->at_ns = time_ns;
    if (clock->pending == 0) {
        return;
    }
    clock->elapsed_ns += elapsed_ns;
    /* The shift does not overflow, since a bucket has at most 2^47 ns. */
    uint64_t ticks = (elapsed_ns << VAMP_TICK_BITS) + clock->rest;
    clock->rest = 0;
    if (clock->pending > 1) {
        clock->rest = (uint32_t)(ticks % clock->pending);
        ticks /= clock->pending;
    }
    clock->now += ticks;
}

/* Resets the clocks of a row that is reused for another component. */
static inline void vamp_blocked_begin_row(const struct vamp_tracker *tracker, uint32_t row)
{
    if (tracker->blocked != NULL) {
        tracker->blocked->rows[row] = (struct vamp_blocked_row){.leaving = false};
    }
}

/* ---- hooks of the pairing, which do nothing if blocked time is not measured */

void vamp_blocked_do_begin(struct vamp_track_context *at, struct vamp_cdo *cdo,
                           const struct vamp_pending *pending);
void vamp_blocked_do_end(struct vamp_track_context *at, struct vamp_cdo *cdo,
                         const struct vamp_pending *pending);

/* Returns whether a clock runs while the entry is pending. */
static inline bool vamp_blocked_measures(const struct vamp_track_context *at,
                                         const struct vamp_pending *pending)
{
    return (at->tracker->blocked_kinds >> pending->kind & 1) != 0 && pending->item.row != 0;
}
/* An entry of the CDO was added. */
static inline void vamp_blocked_begin(struct vamp_track_context *at, struct vamp_cdo *cdo,
                                      const struct vamp_pending *pending)
{
    if (vamp_blocked_measures(at, pending)) {
        vamp_blocked_do_begin(at, cdo, pending);
    }
}
/* An entry of the CDO is about to be removed. */
static inline void vamp_blocked_end(struct vamp_track_context *at, struct vamp_cdo *cdo,
                                    const struct vamp_pending *pending)
{
    if (vamp_blocked_measures(at, pending)) {
        vamp_blocked_do_end(at, cdo, pending);
    }
}
/* The component of the event offers the CDO of `at`, which comes into the pool by this. */
static inline void vamp_blocked_offer(struct vamp_track_context *at)
{
    if (at->tracker->blocked != NULL && at->cdo->first_unoffered != 0) {
        struct vamp_blocked_due *due = &at->tracker->blocked->due;
        at->tracker->blocked_due = true;
        due->first_offered = at->cdo->first_unoffered;
        due->offerer_row = at->row;
        due->offerer = at->seen->labels.value[VAMP_LABEL_COMPONENT];
    }
}
