/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups 11 and 12: the life of a CDO, under its producer's name. */
#include "vampire/stats/metrics/statistic.h"

static const enum vamp_metric_id metrics[] = {
    VAMP_METRIC_DECLARE_TO_OFFER_NS,  VAMP_METRIC_OFFER_TO_FIRST_DEMAND_NS,
    VAMP_METRIC_OFFER_TO_WITHDRAW_NS, VAMP_METRIC_CDO_LIFETIME_NS,
    VAMP_METRIC_DEMANDS_PER_CDO,      VAMP_METRIC_COUNT};

static void record_lifecycle(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    static const enum vamp_metric_id metric_of[VAMP_INTERVAL_COUNT] = {
        [VAMP_INTERVAL_DECLARE_TO_OFFER] = VAMP_METRIC_DECLARE_TO_OFFER_NS,
        [VAMP_INTERVAL_OFFER_TO_FIRST_DEMAND] = VAMP_METRIC_OFFER_TO_FIRST_DEMAND_NS,
        [VAMP_INTERVAL_OFFER_TO_WITHDRAW] = VAMP_METRIC_OFFER_TO_WITHDRAW_NS,
        [VAMP_INTERVAL_LIFETIME] = VAMP_METRIC_CDO_LIFETIME_NS,
    };
    struct vamp_labels labels = seen->labels;
    labels.value[VAMP_LABEL_COMPONENT] = seen->producer;
    for (uint32_t left = seen->intervals & VAMP_INTERVALS_OF_LIFE; left != 0; left &= left - 1) {
        const unsigned interval = (unsigned)__builtin_ctz(left);
        vamp_cells_record(cells, seen->slot, metric_of[interval], &labels,
                          seen->interval_ns[interval]);
    }
    if (seen->fan_out_known) {
        vamp_cells_record(cells, seen->slot, VAMP_METRIC_DEMANDS_PER_CDO, &labels, seen->fan_out);
    }
}

const struct vamp_statistic_ops vamp_statistic_lifecycle = {
    .name = "lifecycle",
    .metrics = metrics,
    .after = VAMP_KIND_BIT(OFFER) | VAMP_KIND_BIT(DEMAND) | VAMP_KIND_BIT(WITHDRAW) |
             VAMP_KIND_BIT(DISPOSE),
    .found = VAMP_FOUND_LIFE,
    .on_event = record_lifecycle,
};
