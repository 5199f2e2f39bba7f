/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The statistic table: one entry for each group of metrics. A statistic sees observations and
 * counts into cells; it keeps no state about events, which is the tracker's, and allocates
 * nothing while observing. All functions run on the worker thread.
 */
#ifndef VAMP_STATS_STATISTIC_H
#define VAMP_STATS_STATISTIC_H

#include "vampire/stats/observation.h"

/* Bits of event kinds, for `after` and `before`. */
#define VAMP_KIND_BIT(kind) (UINT32_C(1) << VAMP_EVENT_##kind)
#define VAMP_KINDS_ALL UINT32_MAX

struct vamp_statistic_ops {
    const char *name;
    const enum vamp_metric_id *metrics; /* those it fills; ended by VAMP_METRIC_COUNT */
    uint32_t after;                     /* kinds it wants to see when sent after handling */
    uint32_t before;                    /* and before */

    /* Makes what one instance needs. 0 with `*ret_self` set (NULL is fine), -ENOMEM. NULL: the
     * instance needs nothing and `self` is NULL. */
    int (*create)(struct vamp_cells *cells, void **ret_self, struct vamp_err *err);
    /* Counts one observation. Cannot fail, does not block, does not keep `seen`. */
    void (*observe)(void *self, struct vamp_cells *cells, const struct vamp_observation *seen);
    /* Adds its part of the totals, which is set to zero before. NULL: it has none. */
    void (*totals)(const void *self, struct vamp_totals *totals);
    /* NULL-safe. NULL when there is no create. */
    void (*free)(void *self);
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
