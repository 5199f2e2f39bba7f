/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups 7 to 10: how long components wait, and how long the pool manager takes. */
#include "vampire/stats/metrics/statistic.h"

static const enum vamp_metric_id metrics[] = {
    VAMP_METRIC_DEMAND_WAIT_NS, VAMP_METRIC_WITHDRAW_WAIT_NS, VAMP_METRIC_LEAVE_WAIT_NS,
    VAMP_METRIC_HANDLING_NS, VAMP_METRIC_COUNT};

static void record_waits(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    static const struct {
        enum vamp_interval interval;
        enum vamp_metric_id metric;
    } waited[] = {
        {VAMP_INTERVAL_DEMAND_WAIT, VAMP_METRIC_DEMAND_WAIT_NS},
        {VAMP_INTERVAL_WITHDRAW_WAIT, VAMP_METRIC_WITHDRAW_WAIT_NS},
        {VAMP_INTERVAL_LEAVE_WAIT, VAMP_METRIC_LEAVE_WAIT_NS},
        {VAMP_INTERVAL_HANDLING, VAMP_METRIC_HANDLING_NS},
    };
    if (seen->intervals == 0) {
        return;
    }
    for (unsigned i = 0; i < sizeof waited / sizeof waited[0]; i++) {
        if (vamp_observed(seen, waited[i].interval)) {
            vamp_cells_record(cells, seen->slot, waited[i].metric, &seen->labels,
                              seen->interval_ns[waited[i].interval]);
        }
    }
}

const struct vamp_statistic_ops vamp_statistic_waits = {
    .name = "waits",
    .metrics = metrics,
    .after = VAMP_KINDS_ALL,
    .on_event = record_waits,
};
