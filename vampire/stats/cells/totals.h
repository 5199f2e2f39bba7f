/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over cells, for a person. Worker thread. */
#ifndef VAMP_STATS_CELLS_TOTALS_H
#define VAMP_STATS_CELLS_TOTALS_H

#include "vampire/core/event/event.h"
#include "vampire/stats/bucket/bucket.h"

struct vamp_cells;

/* Totals since the start, for the status line and the summary: the sums of what the buckets hold,
 * those that are open included. What a metric's filter turned away is in neither. */
struct vamp_totals {
    /* By kind. [0]: in the series `(other)` of a full label set, which has no kind. */
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
};

/* Private to the statistics. Fills what cells know: metrics and accounts, of closed and of open
 * buckets. */
void vamp_cells_totals(struct vamp_cells *cells, struct vamp_totals *ret_totals);

#endif
