/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/cells/totals.h"

#include "vampire/stats/cells/cells.h"
#include "vampire/stats/cells/self.h"

static uint32_t series_in_use(const struct vamp_cells *cells, enum vamp_metric_id id)
{
    const struct vamp_cell_range *range = &cells->range[id];
    return range->enabled ? range->set->count : 0;
}

/* One counter cell: what closed buckets counted and what the open ones have so far. */
static uint64_t counter_total(const struct vamp_cells *cells, uint32_t cell)
{
    uint64_t total = cells->counter_totals[cell];
    for (unsigned i = 0; i < cells->slot_count; i++) {
        total += cells->slots[i].counters[cell];
    }
    return total;
}

static uint64_t sum_of_counter(const struct vamp_cells *cells, enum vamp_metric_id id)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < series_in_use(cells, id); i++) {
        sum += counter_total(cells, cells->range[id].first + i);
    }
    return sum;
}

static uint32_t bit_of(const struct vamp_cells *cells, enum vamp_metric_id id,
                       enum vamp_totals_metric metric)
{
    return cells->range[id].enabled ? VAMP_TOTALS_BIT(metric) : 0;
}

static void sum_operations(const struct vamp_cells *cells, uint64_t *operations)
{
    const enum vamp_metric_id id = VAMP_METRIC_POOL_OPERATIONS;
    const struct vamp_cell_range *range = &cells->range[id];
    for (uint32_t i = 0; i < series_in_use(cells, id); i++) {
        const uint32_t kind = vamp_series_label(range->set, i, VAMP_LABEL_OPERATION);
        operations[kind < VAMP_EVENT_KIND_COUNT ? kind : 0] +=
            counter_total(cells, range->first + i);
    }
}

/* Of a gauge without labels. */
static int64_t gauge_now(const struct vamp_cells *cells, enum vamp_metric_id id)
{
    if (!cells->range[id].enabled) {
        return 0;
    }
    uint64_t value = (uint64_t)cells->gauge_values[cells->range[id].first];
    for (unsigned i = 0; i < cells->slot_count; i++) {
        value += (uint64_t)cells->slots[i].gauges[cells->range[id].first].net;
    }
    return (int64_t)value;
}

static const struct vamp_histogram *sum_of_histogram(struct vamp_cells *cells,
                                                     enum vamp_metric_id id)
{
    const struct vamp_histogram_sum *closed = vamp_cells_histogram_sum(cells, id);
    if (closed == NULL) {
        return NULL;
    }
    vamp_histogram_clear(closed->scratch, cells->schema.bins.count);
    vamp_histogram_merge(closed->scratch, closed->closed, cells->schema.bins.count);
    for (unsigned i = 0; i < cells->slot_count; i++) {
        vamp_cells_merge_histograms(cells, &cells->slots[i], id, closed->scratch);
    }
    return closed->scratch;
}

static uint64_t at_least_zero(int64_t value)
{
    return value > 0 ? (uint64_t)value : 0;
}

void vamp_cells_totals(struct vamp_cells *cells, struct vamp_totals *ret_totals)
{
    sum_operations(cells, ret_totals->operations);
    ret_totals->produced_bytes = sum_of_counter(cells, VAMP_METRIC_PRODUCED_BYTES);
    ret_totals->consumed_bytes = sum_of_counter(cells, VAMP_METRIC_CONSUMED_BYTES);
    ret_totals->transports = sum_of_counter(cells, VAMP_METRIC_TRANSPORTS);
    ret_totals->transport_bytes = sum_of_counter(cells, VAMP_METRIC_TRANSPORT_BYTES);
    ret_totals->counted = bit_of(cells, VAMP_METRIC_POOL_OPERATIONS, VAMP_TOTALS_OPERATIONS) |
                          bit_of(cells, VAMP_METRIC_PRODUCED_BYTES, VAMP_TOTALS_PRODUCED) |
                          bit_of(cells, VAMP_METRIC_TRANSPORTS, VAMP_TOTALS_TRANSPORTS) |
                          bit_of(cells, VAMP_METRIC_TRANSPORT_BYTES, VAMP_TOTALS_TRANSPORT_BYTES);
    ret_totals->pool_cdos = at_least_zero(gauge_now(cells, VAMP_METRIC_POOL_CDOS));
    ret_totals->pool_bytes = at_least_zero(gauge_now(cells, VAMP_METRIC_POOL_BYTES));
    ret_totals->transport_ns = sum_of_histogram(cells, VAMP_METRIC_TRANSPORT_NS);
    ret_totals->demand_wait_ns = sum_of_histogram(cells, VAMP_METRIC_DEMAND_WAIT_NS);
    ret_totals->evicted = sum_of_counter(cells, VAMP_METRIC_VAMPIRE_EVICTED);
    ret_totals->series_overflow =
        sum_of_counter(cells, VAMP_METRIC_VAMPIRE_SERIES_OVERFLOW) + cells->series.overflow;
    ret_totals->labels_given_up =
        sum_of_counter(cells, VAMP_METRIC_VAMPIRE_LABELS_GIVEN_UP) + cells->series.labels_given_up;
    ret_totals->accounting = cells->accounting;
    for (unsigned i = 0; i < cells->slot_count; i++) {
        const struct vamp_slot_account *open = &cells->slots[i].account;
        ret_totals->evicted += open->evicted;
        ret_totals->series_overflow += open->overflow;
        ret_totals->labels_given_up += open->labels_given_up;
        vamp_self_account(&ret_totals->accounting, open);
    }
}
