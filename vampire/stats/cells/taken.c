/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Until the bucket closes, the slot's change of such a gauge is its value itself; of an age, the
 * age plus 1, so that 0 is none.
 */
#include "vampire/stats/cells/taken.h"

static const enum vamp_metric_id taken[] = {
    VAMP_METRIC_DEMANDS_PENDING,     VAMP_METRIC_WITHDRAWS_PENDING,
    VAMP_METRIC_TRANSPORTS_PENDING,  VAMP_METRIC_DEMAND_OLDEST_NS,
    VAMP_METRIC_WITHDRAW_OLDEST_NS,  VAMP_METRIC_TRANSPORT_OLDEST_NS,
    VAMP_METRIC_COMPONENT_SILENT_NS, VAMP_METRIC_IN_FLIGHT_UNCERTAIN};
#define TAKEN_COUNT (sizeof taken / sizeof taken[0])

bool vamp_taken_any(const struct vamp_cells *cells)
{
    for (unsigned i = 0; i < TAKEN_COUNT; i++) {
        if (cells->range[taken[i]].enabled) {
            return true;
        }
    }
    return false;
}

static struct vamp_gauge_change *gauge_of(struct vamp_cells *cells, struct vamp_slot *slot,
                                          enum vamp_metric_id id, const struct vamp_labels *labels)
{
    const struct vamp_cell_range *range = &cells->range[id];
    return &slot->gauges[range->first + vamp_series_number(&cells->series, range->set, labels)];
}

void vamp_taken_add(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                    const struct vamp_labels *labels, const struct vamp_gauge_change *amount)
{
    if (!cells->range[id].enabled || (amount->net | amount->min | amount->max) == 0) {
        return;
    }
    struct vamp_gauge_change *gauge = gauge_of(cells, slot, id, labels);
    gauge->net += amount->net;
    gauge->min += amount->min;
    gauge->max += amount->max;
}

void vamp_taken_age(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                    const struct vamp_labels *labels, uint64_t age_ns)
{
    if (!cells->range[id].enabled) {
        return;
    }
    struct vamp_gauge_change *gauge = gauge_of(cells, slot, id, labels);
    const int64_t shown = age_ns < INT64_MAX ? (int64_t)age_ns + 1 : INT64_MAX;
    gauge->net = shown > gauge->net ? shown : gauge->net;
}

/* The change that makes `begin` this value. */
static int64_t change_to(int64_t value, int64_t begin)
{
    return (int64_t)((uint64_t)value - (uint64_t)begin);
}

static void fold_gauge(struct vamp_gauge_change *gauge, int64_t begin, bool is_age)
{
    if (is_age) {
        gauge->net = gauge->net == 0 ? VAMP_GAUGE_NONE : gauge->net - 1;
        gauge->min = gauge->net;
        gauge->max = gauge->net;
    }
    gauge->net = change_to(gauge->net, begin);
    gauge->min = change_to(gauge->min, begin);
    gauge->max = change_to(gauge->max, begin);
}

void vamp_taken_fold(const struct vamp_cells *cells, struct vamp_slot *slot)
{
    for (unsigned i = 0; i < TAKEN_COUNT; i++) {
        const struct vamp_cell_range *range = &cells->range[taken[i]];
        const uint32_t count = range->enabled ? range->set->count : 0;
        const bool is_age = vamp_metric_may_be_none(&vamp_metrics[taken[i]]);
        for (uint32_t cell = range->first; cell < range->first + count; cell++) {
            fold_gauge(&slot->gauges[cell], cells->gauge_values[cell], is_age);
        }
    }
}
