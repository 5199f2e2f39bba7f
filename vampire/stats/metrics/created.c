/* SPDX-License-Identifier: BSD-3-Clause */
/* Group 2: CDOs created, by size. */
#include "vampire/stats/metrics/statistic.h"

static const enum vamp_metric_id metrics[] = {VAMP_METRIC_CDOS_CREATED,
                                              VAMP_METRIC_CDOS_CREATED_BYTES, VAMP_METRIC_COUNT};

static void count_created(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    struct vamp_labels labels = seen->labels;
    if (seen->created) {
        labels.value[VAMP_LABEL_COMPONENT] = seen->creator;
        vamp_cells_count(cells, seen->slot, VAMP_METRIC_CDOS_CREATED, &labels, 1);
        vamp_cells_count(cells, seen->slot, VAMP_METRIC_CDOS_CREATED_BYTES, &labels,
                         seen->size_bytes);
    }
    if (seen->forgotten > 0) {
        labels.value[VAMP_LABEL_COMPONENT] = seen->forgotten_of;
        labels.value[VAMP_LABEL_SIZE_CLASS] = VAMP_SIZE_CLASS_UNKNOWN;
        vamp_cells_count(cells, seen->slot, VAMP_METRIC_CDOS_CREATED, &labels, seen->forgotten);
    }
}

const struct vamp_statistic_ops vamp_statistic_created = {
    .name = "created",
    .metrics = metrics,
    .after = VAMP_KINDS_ALL,
    .found = VAMP_FOUND_SIZE,
    .on_event = count_created,
    .on_gone = count_created,
};
