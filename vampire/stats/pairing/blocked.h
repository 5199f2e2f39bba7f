/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocked time: a component is blocked while it has pending demands. Each instant is divided
 * equally among the demands that are pending then. A clock of the component advances by dt / n
 * while n demands are pending, so that the part of the blocked time that a demand pays is the
 * difference of two values of the clock. A second clock does the same for WITHDRAWs and LEAVEs.
 *
 * An event changes a few clocks and leaves its results in `due`, which
 * vampire/stats/metrics/blocked.c counts. Components without a row have no clock. Private to the
 * pairing and to that file; worker thread.
 */
#pragma once

#include "vampire/stats/pairing/records.h"

/* A time in units of 2^-16 ns. */
#define VAMP_TICK_BITS 16
typedef unsigned __int128 vamp_ticks;

struct vamp_blocked_clock {
    vamp_ticks now, at_bucket; /* current value, and value at the start of the newest bucket */
    int64_t at_ns;             /* event time up to which the clock was advanced */
    uint64_t elapsed_ns;       /* time with pending operations in the newest bucket */
    uint32_t pending;          /* number of pending operations */
    uint32_t rest;             /* ticks that the last division could not distribute */
    uint16_t fraction; /* ticks that were attributed and did not fill a counted nanosecond */
};

/* Clocks of one component, indexed by row of the component table. */
struct vamp_blocked_row {
    struct vamp_blocked_clock demands, releases; /* `releases`: WITHDRAWs and LEAVEs */
    /* Cells of blocked_on_ns by part, for the names counted last. 0: not looked up. */
    uint32_t component, producer, cells[VAMP_WAIT_PART_COUNT];
    bool leaving;            /* a LEAVE is pending */
    uint32_t leave_consumer; /* component that finished last with one of its CDOs since then */
};

/* One pending operation, indexed by the number of its struct vamp_pending. */
struct vamp_blocked_share {
    uint64_t
        from_low; /* value of the clock from which time is not attributed yet; transports: at */
    uint16_t from_high; /* their start, of the sink's clock of demands */
    bool offered;       /* demands: the CDO was in the pool since the demand began */
    bool own;           /* transports: the sink is the producer */
    uint32_t consumer;  /* WITHDRAWs: component that finished last with the CDO since then */
    /* Demands that are not `offered` are in a list, whose head is in the CDO's record. */
    uint32_t before, after;
};

/* Results of the current event. */
struct vamp_blocked_due {
    /* First of the demands of a CDO that came into the pool (0: none), and the offering component:
     * its row and the number of its name. */
    uint32_t offered, offerer_row, offerer;
    /* Demand that was removed last; it was satisfied if `satisfied`. The producer is
     * VAMP_NAME_UNKNOWN if it is not certain. */
    uint32_t row, producer;
    vamp_ticks from, started, to;
    bool satisfied;
    bool parts_known; /* `started` is the start of the transport */
    bool released;    /* a WITHDRAW or LEAVE was handled */
    uint32_t released_row, consumer;
    vamp_ticks release_from, release_to;
};

struct vamp_blocked {
    int64_t bucket_ns;
    const int64_t *newest;     /* number of the newest bucket: its start divided by bucket_ns */
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
static inline vamp_ticks vamp_blocked_from(const struct vamp_blocked_share *share)
{
    return (vamp_ticks)share->from_high << 64 | share->from_low;
}
/* Sets the time up to which the share was attributed. */
static inline void vamp_blocked_set_from(struct vamp_blocked_share *share, vamp_ticks from)
{
    share->from_low = (uint64_t)from;
    share->from_high = (uint16_t)(from >> 64);
}
/* Advances the clock to this time; does nothing if the clock is already there. Time between buckets
 * (a leap) is not counted. */
static inline void vamp_blocked_advance(const struct vamp_blocked *blocked,
                                        struct vamp_blocked_clock *clock, int64_t time_ns)
{
    const int64_t start_ns = *blocked->newest * blocked->bucket_ns;
    /* The clock is outside the newest bucket after a leap, or if the clock of the events was set
     * back; a clock without pending operations may be older. */
    if ((uint64_t)clock->at_ns - (uint64_t)start_ns > (uint64_t)blocked->bucket_ns) {
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
    /* A bucket has at most 2^47 ns. */
    uint64_t ticks = (elapsed_ns << VAMP_TICK_BITS) + clock->rest;
    clock->rest = 0;
    if (clock->pending > 1) {
        clock->rest = (uint32_t)(ticks % clock->pending);
        ticks /= clock->pending;
    }
    clock->now += ticks;
}

/* The row belongs to another component from now on. */
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
/* The component of the event offers the CDO of `at`, which is not in the pool yet. */
static inline void vamp_blocked_offer(struct vamp_track_context *at)
{
    if (at->tracker->blocked != NULL && at->cdo->first_unoffered != 0) {
        struct vamp_blocked_due *due = &at->tracker->blocked->due;
        at->tracker->blocked_due = true;
        due->offered = at->cdo->first_unoffered;
        due->offerer_row = at->row;
        due->offerer = at->seen->labels.value[VAMP_LABEL_COMPONENT];
    }
}
