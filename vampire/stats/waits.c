/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups 7 to 10: how long components wait, and how long the pool manager takes. */
#include <stdlib.h>

#include "vampire/stats/statistic.h"

static const enum vamp_metric_id metrics[] = {
    VAMP_METRIC_DEMAND_WAIT_NS, VAMP_METRIC_WITHDRAW_WAIT_NS, VAMP_METRIC_LEAVE_WAIT_NS,
    VAMP_METRIC_HANDLING_NS, VAMP_METRIC_COUNT};

/* Demand waits of all series, for the totals. */
struct waits {
    unsigned sub_bits;
    struct vamp_histogram *demand;
};

static int create(struct vamp_cells *cells, void **ret_self, struct vamp_err *err)
{
    struct waits *waits = calloc(1, sizeof *waits);
    if (waits == NULL) {
        return vamp_err_set(err, -ENOMEM, "statistic waits: out of memory");
    }
    *ret_self = waits;
    waits->sub_bits = cells->schema.bins.sub_bits;
    waits->demand = vamp_cells_take_histogram(cells);
    return waits->demand == NULL ? vamp_err_set(err, -ENOMEM, "statistic waits: out of memory") : 0;
}

static void observe(void *self, struct vamp_cells *cells, const struct vamp_observation *seen)
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
    struct waits *waits = self;
    for (unsigned i = 0; i < sizeof waited / sizeof waited[0]; i++) {
        if (vamp_observed(seen, waited[i].interval)) {
            vamp_cells_record(cells, seen->slot, waited[i].metric, &seen->labels,
                              seen->interval_ns[waited[i].interval]);
        }
    }
    if (vamp_observed(seen, VAMP_INTERVAL_DEMAND_WAIT)) {
        vamp_histogram_record(waits->demand, waits->sub_bits,
                              seen->interval_ns[VAMP_INTERVAL_DEMAND_WAIT]);
    }
}

static void totals(const void *self, struct vamp_totals *into)
{
    const struct waits *waits = self;
    into->demand_wait_ns = waits->demand;
}

const struct vamp_statistic_ops vamp_statistic_waits = {
    .name = "waits",
    .metrics = metrics,
    .after = VAMP_KINDS_ALL,
    .create = create,
    .observe = observe,
    .totals = totals,
    .free = free,
};
