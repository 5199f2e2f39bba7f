/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups 11 and 12: the story of a CDO, told under its producer's name. */
#include "vampire/stats/statistic.h"

static const enum vamp_metric_id metrics[] = {
    VAMP_METRIC_DECLARE_TO_OFFER_NS,  VAMP_METRIC_OFFER_TO_FIRST_DEMAND_NS,
    VAMP_METRIC_OFFER_TO_WITHDRAW_NS, VAMP_METRIC_CDO_LIFETIME_NS,
    VAMP_METRIC_DEMANDS_PER_CDO,      VAMP_METRIC_COUNT};

static void observe(void *self, struct vamp_cells *cells, const struct vamp_observation *seen)
{
    static const struct {
        enum vamp_interval interval;
        enum vamp_metric_id metric;
    } stories[] = {
        {VAMP_INTERVAL_DECLARE_TO_OFFER, VAMP_METRIC_DECLARE_TO_OFFER_NS},
        {VAMP_INTERVAL_OFFER_TO_FIRST_DEMAND, VAMP_METRIC_OFFER_TO_FIRST_DEMAND_NS},
        {VAMP_INTERVAL_OFFER_TO_WITHDRAW, VAMP_METRIC_OFFER_TO_WITHDRAW_NS},
        {VAMP_INTERVAL_LIFETIME, VAMP_METRIC_CDO_LIFETIME_NS},
    };
    (void)self;
    if (seen->intervals == 0 && !seen->fan_out_known) {
        return;
    }
    struct vamp_labels labels = seen->labels;
    labels.value[VAMP_LABEL_COMPONENT] = seen->producer;
    for (unsigned i = 0; i < sizeof stories / sizeof stories[0]; i++) {
        if (vamp_observed(seen, stories[i].interval)) {
            vamp_cells_record(cells, seen->slot, stories[i].metric, &labels,
                              seen->interval_ns[stories[i].interval]);
        }
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
    .observe = observe,
};
