/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The statistic table: one entry for each group of metrics. A statistic sees observations and
 * counts into cells. It has no state: what earlier events said is the tracker's, and what was
 * counted is in the cells. All functions run on the worker thread, cannot fail, do not block,
 * allocate nothing and do not keep `seen`.
 */
#ifndef VAMP_STATS_METRICS_STATISTIC_H
#define VAMP_STATS_METRICS_STATISTIC_H

#include "vampire/stats/pairing/observation.h"

/* Bits of event kinds, for `after` and `before`. */
#define VAMP_KIND_BIT(kind) (UINT32_C(1) << VAMP_EVENT_##kind)
#define VAMP_KINDS_ALL UINT32_MAX

typedef void vamp_observe_fn(struct vamp_cells *cells, const struct vamp_observation *seen);

struct vamp_statistic_ops {
    const char *name;
    const enum vamp_metric_id *metrics; /* those it fills; ended by VAMP_METRIC_COUNT */
    uint32_t after;                     /* kinds it sees when they are sent after handling */
    uint32_t before;                    /* and before */
    unsigned found;                     /* enum vamp_found bits: and one of these is there */
    /* Counts one event of these kinds. */
    vamp_observe_fn *on_event;
    /* Counts what a component held when its stay in the pool ended without a LEAVE: the pool
     * manager is gone, or the component joined again. No operation took place. NULL: nothing of
     * that concerns these metrics. */
    vamp_observe_fn *on_gone;
};

extern const struct vamp_statistic_ops vamp_statistic_operations;
extern const struct vamp_statistic_ops vamp_statistic_created;
extern const struct vamp_statistic_ops vamp_statistic_presence;
extern const struct vamp_statistic_ops vamp_statistic_pool;
extern const struct vamp_statistic_ops vamp_statistic_waits;
extern const struct vamp_statistic_ops vamp_statistic_lifecycle;
extern const struct vamp_statistic_ops vamp_statistic_transports;
extern const struct vamp_statistic_ops vamp_statistic_anomalies;

/* All of them, ended by NULL: the only list. */
extern const struct vamp_statistic_ops *const vamp_statistics[];
#define VAMP_STATISTIC_COUNT 8

#endif
