/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups 4 and 6: what is in the pool, and who gives and takes how much. */
#include "vampire/stats/metrics/statistic.h"

static const enum vamp_metric_id metrics[] = {VAMP_METRIC_POOL_CDOS, VAMP_METRIC_POOL_BYTES,
                                              VAMP_METRIC_PRODUCED_BYTES,
                                              VAMP_METRIC_CONSUMED_BYTES, VAMP_METRIC_COUNT};

static void count_content(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    struct vamp_slot *slot = seen->slot;
    vamp_cells_change(cells, slot, VAMP_METRIC_POOL_CDOS, &seen->labels, seen->pool_cdos);
    vamp_cells_change(cells, slot, VAMP_METRIC_POOL_BYTES, &seen->labels, seen->pool_bytes);
    if (seen->offered && seen->size_known) {
        vamp_cells_count(cells, slot, VAMP_METRIC_PRODUCED_BYTES, &seen->labels, seen->size_bytes);
    }
    if (seen->transport_completed && seen->size_known) {
        vamp_cells_count(cells, slot, VAMP_METRIC_CONSUMED_BYTES, &seen->labels, seen->size_bytes);
    }
}

const struct vamp_statistic_ops vamp_statistic_pool = {
    .name = "pool",
    .metrics = metrics,
    .after = VAMP_KINDS_ALL,
    .found = VAMP_FOUND_CONTENT,
    .on_event = count_content,
    .on_gone = count_content,
};
