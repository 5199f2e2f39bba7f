/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics in base units, seconds instead of nanoseconds, with the names that Prometheus expects:
 * transport_ns is vampire_transport_seconds there. Values stay integers, with decimals.
 */
#ifndef VAMP_STATS_BUCKET_BASE_UNIT_H
#define VAMP_STATS_BUCKET_BASE_UNIT_H

#include "vampire/stats/bucket/metric.h"

#define VAMP_BASE_NAME_BYTES 96

struct vamp_base_metric {
    char name[VAMP_BASE_NAME_BYTES]; /* without the "_total" of a counter */
    const char *unit;                /* "seconds", "bytes": what the name ends with; else "" */
    unsigned decimals;               /* of the metric's integer values: 9 for nanoseconds */
};

/* Any thread. */
void vamp_base_metric(const struct vamp_metric *metric, struct vamp_base_metric *ret_base);

#endif
