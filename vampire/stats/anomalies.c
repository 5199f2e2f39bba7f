/* SPDX-License-Identifier: BSD-3-Clause */
/* Group 17: what should not happen. */
#include "vampire/stats/statistic.h"

static const enum vamp_metric_id metrics[] = {VAMP_METRIC_ANOMALIES, VAMP_METRIC_COUNT};

static void observe(void *self, struct vamp_cells *cells, const struct vamp_observation *seen)
{
    (void)self;
    if (!seen->any_anomaly) {
        return;
    }
    struct vamp_labels labels = seen->labels;
    for (uint32_t anomaly = 0; anomaly < VAMP_ANOMALY_COUNT; anomaly++) {
        if (seen->anomalies[anomaly] > 0) {
            labels.value[VAMP_LABEL_ANOMALY] = anomaly;
            vamp_cells_count(cells, seen->slot, VAMP_METRIC_ANOMALIES, &labels,
                             seen->anomalies[anomaly]);
        }
    }
}

const struct vamp_statistic_ops vamp_statistic_anomalies = {
    .name = "anomalies",
    .metrics = metrics,
    .after = VAMP_KINDS_ALL,
    .before = VAMP_KINDS_ALL,
    .observe = observe,
};
