/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups 3 and 5: which components are there, and for how long. */
#include "vampire/stats/metrics/statistic.h"

static const enum vamp_metric_id metrics[] = {
    VAMP_METRIC_COMPONENTS_PRESENT, VAMP_METRIC_COMPONENT_ASSOCIATION_NS, VAMP_METRIC_COUNT};

static void count_presence(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    vamp_cells_change(cells, seen->slot, VAMP_METRIC_COMPONENTS_PRESENT, &seen->labels,
                      seen->present);
    if (vamp_observed(seen, VAMP_INTERVAL_ASSOCIATION)) {
        vamp_cells_record(cells, seen->slot, VAMP_METRIC_COMPONENT_ASSOCIATION_NS, &seen->labels,
                          seen->interval_ns[VAMP_INTERVAL_ASSOCIATION]);
    }
}

const struct vamp_statistic_ops vamp_statistic_presence = {
    .name = "presence",
    .metrics = metrics,
    .after = VAMP_KIND_BIT(JOIN) | VAMP_KIND_BIT(LEAVE),
    .found = VAMP_FOUND_OPERATION,
    .on_event = count_presence,
    .on_gone = count_presence,
};
