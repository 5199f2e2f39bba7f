/* SPDX-License-Identifier: BSD-3-Clause */
/* Totals of a run, for a person. */
#ifndef VAMP_STATS_BUCKET_TOTALS_H
#define VAMP_STATS_BUCKET_TOTALS_H

#include "vampire/core/event/event.h"
#include "vampire/stats/bucket/bucket.h"

/* Totals since the start, for the status line and the summary: the sums of what the buckets hold,
 * those that are open included. What a metric's filter turned away is in neither. */
struct vamp_totals {
    /* By kind. [0]: without a kind, in the series `(other)` of a full label set. */
    uint64_t operations[VAMP_EVENT_KIND_COUNT];
    uint64_t produced_bytes, consumed_bytes;
    uint64_t transports, transport_bytes;
    uint64_t pool_cdos, pool_bytes;
    uint64_t buckets_without_memory;           /* could not be built: gaps in the data */
    unsigned unwatched;                        /* gaps while the pool manager was gone */
    uint64_t unwatched_ns;                     /* their sum */
    uint64_t evicted;                          /* records given up at max_cdos, max_pending */
    uint64_t series_overflow;                  /* values under (other) at max_series */
    uint64_t labels_given_up;                  /* by values that found a coarser series there */
    const struct vamp_histogram *transport_ns; /* all series merged; NULL when not enabled */
    const struct vamp_histogram *demand_wait_ns;
    struct vamp_accounting accounting;
    /* Bit per metric (VAMP_TOTALS_BIT) that is counted; what is 0 without one is not known. */
    uint32_t counted;
};

/* Metrics that can be left out of the totals. */
enum vamp_totals_metric {
    VAMP_TOTALS_OPERATIONS,
    VAMP_TOTALS_PRODUCED,
    VAMP_TOTALS_TRANSPORTS,
    VAMP_TOTALS_TRANSPORT_BYTES,
};
#define VAMP_TOTALS_BIT(metric) (UINT32_C(1) << (metric))

uint64_t vamp_totals_operations(const struct vamp_totals *totals);
/* Events known to be lost, whatever the reason. */
uint64_t vamp_totals_lost(const struct vamp_totals *totals);

#endif
