/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of statistics: one entry for each group of metrics. A statistic counts observations in
 * cells and has no state of its own: the state of earlier events is in the tracker, and the values
 * are in the cells. All functions run on the worker thread, cannot fail, do not block, do not
 * allocate memory and do not keep `seen`.
 */
#pragma once

#include "vampire/stats/pairing/observation.h"
#include "vampire/stats/pairing/track.h"

/* Bits of event kinds, for `after` and `before`. */
#define VAMP_KIND_BIT(kind) (UINT32_C(1) << VAMP_EVENT_##kind)
#define VAMP_KINDS_ALL UINT32_MAX

typedef void vamp_observe_fn(struct vamp_cells *cells, const struct vamp_observation *seen);

struct vamp_statistic_ops {
    const char *name;
    /* Metrics that the statistic counts; terminated by VAMP_METRIC_NONE. */
    const enum vamp_metric_id *metrics;
    /* Kinds of events, sent after and before handling, for which the statistic is called, provided
     * that one of the enum vamp_found bits is set. */
    uint32_t after, before;
    unsigned found;
    vamp_observe_fn *on_event;
    /* Counts the implied LEAVE of a component whose stay ended without a LEAVE: the pool manager is
     * gone, or the component joined again. NULL if these metrics do not depend on it. */
    vamp_observe_fn *on_gone;
};

enum vamp_statistic {
    VAMP_STATISTIC_OPERATIONS,
    VAMP_STATISTIC_CREATED,
    VAMP_STATISTIC_PRESENCE,
    VAMP_STATISTIC_POOL,
    VAMP_STATISTIC_WAITS,
    VAMP_STATISTIC_LIFECYCLE,
    VAMP_STATISTIC_TRANSPORTS,
    VAMP_STATISTIC_ANOMALIES,
    VAMP_STATISTIC_GROUPS,
    VAMP_STATISTIC_COUNT
};
extern const struct vamp_statistic_ops vamp_statistics[VAMP_STATISTIC_COUNT];

/* Counts the shares of blocked time whose producer or consumer became certain with the current
 * event. Must be called after vamp_track if `tracker->blocked_due`. */
void vamp_blocked_count(struct vamp_cells *cells, struct vamp_slot *slot,
                        struct vamp_tracker *tracker, int64_t time_ns);
/* Counts the blocked time of the newest bucket up to `now_ns`, at the end of the bucket. */
void vamp_blocked_end_bucket(struct vamp_cells *cells, struct vamp_slot *slot,
                             struct vamp_tracker *tracker, int64_t now_ns);

/* Measures the gauges of set `in_flight` for the bucket of the slot, which starts at `start_ns`.
 * Ages are measured at `now_ns`: the end of the bucket, or the end of the stream if it is in the
 * bucket. */
void vamp_in_flight_take(struct vamp_cells *cells, struct vamp_slot *slot,
                         struct vamp_tracker *tracker, int64_t start_ns, int64_t now_ns);
