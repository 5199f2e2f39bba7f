/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The statistic table: one entry for each group of metrics. A statistic sees observations and
 * counts into cells. It has no state: what earlier events said is the tracker's, and what was
 * counted is in the cells. All functions run on the worker thread, cannot fail, do not block,
 * allocate nothing and do not keep `seen`.
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
    enum vamp_metric_id metrics[8]; /* those it fills; ended by VAMP_METRIC_NONE */
    uint32_t after;                 /* kinds it sees when they are sent after handling */
    uint32_t before;                /* and before */
    unsigned found;                 /* enum vamp_found bits: and one of these is there */
    /* Counts one event of these kinds. */
    vamp_observe_fn *on_event;
    /* Counts what a component held when its stay in the pool ended without a LEAVE: the pool
     * manager is gone, or the component joined again. No operation took place. NULL: nothing of
     * that concerns these metrics. */
    vamp_observe_fn *on_gone;
};

/* All of them: the only list. */
#define VAMP_STATISTIC_COUNT 9
extern const struct vamp_statistic_ops vamp_statistics[VAMP_STATISTIC_COUNT];

/* Takes the gauges of set `in_flight` for the bucket of the slot, which begins at `start_ns`, from
 * the tracker as it is now. Ages are measured to `now_ns`: the end of the bucket, or less where the
 * stream ended before. */
void vamp_in_flight_take(struct vamp_cells *cells, struct vamp_slot *slot,
                         struct vamp_tracker *tracker, int64_t start_ns, int64_t now_ns);
