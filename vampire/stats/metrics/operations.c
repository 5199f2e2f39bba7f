/* SPDX-License-Identifier: BSD-3-Clause */
/* Group 1: how many operations of which kind. */
#include "vampire/stats/metrics/statistic.h"

static const enum vamp_metric_id metrics[] = {VAMP_METRIC_POOL_OPERATIONS, VAMP_METRIC_COUNT};

static void count_operation(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    vamp_cells_count(cells, seen->slot, VAMP_METRIC_POOL_OPERATIONS, &seen->labels, 1);
}

const struct vamp_statistic_ops vamp_statistic_operations = {
    .name = "operations",
    .metrics = metrics,
    .after = VAMP_KINDS_ALL,
    .found = VAMP_FOUND_OPERATION,
    .on_event = count_operation,
};
