/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/cells/self.h"

#include <stdio.h>
#include <string.h>

#include "vampire/stats/cells/weighted.h"

/* The cell of a metric with at most one label; false when the metric is not enabled. */
static bool cell_of(struct vamp_cells *cells, enum vamp_metric_id id, enum vamp_label label,
                    uint32_t value, uint32_t *ret_cell)
{
    if (!cells->range[id].enabled) {
        return false;
    }
    struct vamp_labels labels = {{0}};
    labels.value[label] = value;
    *ret_cell =
        cells->range[id].first + vamp_series_number(&cells->series, cells->range[id].set, &labels);
    return true;
}

static void report_counter(struct vamp_cells *cells, enum vamp_metric_id id, uint32_t output,
                           uint64_t value)
{
    uint32_t cell = 0;
    if (cell_of(cells, id, VAMP_LABEL_OUTPUT, output, &cell)) {
        cells->reported_counters[cell] = value;
    }
}

static void report_gauge(struct vamp_cells *cells, enum vamp_metric_id id, uint32_t output,
                         int64_t value)
{
    uint32_t cell = 0;
    if (!cell_of(cells, id, VAMP_LABEL_OUTPUT, output, &cell)) {
        return;
    }
    struct vamp_reported_gauge *gauge = &cells->reported_gauges[cell];
    gauge->min = !gauge->reported || value < gauge->min ? value : gauge->min;
    gauge->max = !gauge->reported || value > gauge->max ? value : gauge->max;
    gauge->value = value;
    gauge->reported = true;
}

void vamp_self_outputs(struct vamp_cells *cells, const struct vamp_output_account *outputs,
                       unsigned count)
{
    count = count < VAMP_OUTPUTS_MAX ? count : VAMP_OUTPUTS_MAX;
    cells->accounting.output_count = count;
    for (unsigned i = 0; i < count; i++) {
        const struct vamp_output_account *output = &outputs[i];
        cells->accounting.outputs[i] = *output;
        if (cells->series.outputs[i][0] == '\0') {
            (void)snprintf(cells->series.outputs[i], sizeof cells->series.outputs[i], "%s",
                           output->name);
        }
        report_counter(cells, VAMP_METRIC_VAMPIRE_WRITTEN, i, output->written);
        report_counter(cells, VAMP_METRIC_VAMPIRE_LOST_BUCKETS, i, output->lost);
        report_gauge(cells, VAMP_METRIC_VAMPIRE_QUEUE_HIGH_WATER, i, (int64_t)output->waiting);
    }
}

static void record_value(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                         enum vamp_label label, uint32_t number, int64_t value)
{
    struct vamp_labels labels = {{0}};
    labels.value[label] = number;
    if (value >= 0) {
        vamp_cells_record(cells, slot, id, &labels, (uint64_t)value);
    }
}

void vamp_self_report(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                      unsigned output, int64_t value)
{
    if (id == VAMP_METRIC_OWN_ROUNDTRIP_NS) {
        if (output < VAMP_EVENT_KIND_COUNT) {
            record_value(cells, slot, id, VAMP_LABEL_OPERATION, output, value);
        }
        return;
    }
    if (output >= VAMP_OUTPUTS_MAX) {
        return;
    }
    if (id == VAMP_METRIC_VAMPIRE_COMMIT_NS) {
        record_value(cells, slot, id, VAMP_LABEL_OUTPUT, output, value);
    } else if (id == VAMP_METRIC_VAMPIRE_CPU_NS || id == VAMP_METRIC_VAMPIRE_ALARMS_FIRED ||
               id == VAMP_METRIC_VAMPIRE_FILTER_CUT) {
        report_counter(cells, id, output, (uint64_t)value);
    } else if (id == VAMP_METRIC_VAMPIRE_QUEUE_HIGH_WATER || id == VAMP_METRIC_VAMPIRE_LAG_NS ||
               id == VAMP_METRIC_VAMPIRE_RING_BYTES || id == VAMP_METRIC_VAMPIRE_RSS_BYTES ||
               id == VAMP_METRIC_VAMPIRE_ALARMS_FIRING) {
        report_gauge(cells, id, output, value);
    }
}

void vamp_self_account(struct vamp_accounting *accounting, const struct vamp_slot_account *account)
{
    accounting->received += vamp_slot_received(account);
    accounting->decoded += vamp_slot_decoded(account);
    accounting->rejected += account->rejected;
    accounting->filtered += account->filtered;
    accounting->counted += account->counted;
    accounting->sampled_out += account->sampled_out;
    accounting->late += account->late;
    for (unsigned i = 0; i < VAMP_LOSS_COUNT; i++) {
        accounting->lost[i] += account->lost[i];
    }
}

static void fold_account(struct vamp_cells *cells, struct vamp_slot *slot)
{
    const struct vamp_slot_account *account = &slot->account;
    struct vamp_labels labels = {{0}};
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_RECEIVED, &labels,
                     vamp_slot_received(account));
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_DECODED, &labels, vamp_slot_decoded(account));
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_REJECTED, &labels, account->rejected);
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_FILTERED, &labels, account->filtered);
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_SAMPLED_OUT, &labels, account->sampled_out);
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_COUNTED, &labels, account->counted);
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_LATE, &labels, account->late);
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_EVICTED, &labels, account->evicted);
    for (uint32_t reason = 0; reason < VAMP_LOSS_COUNT; reason++) {
        labels.value[VAMP_LABEL_REASON] = reason;
        vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_LOST, &labels, account->lost[reason]);
    }
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_SERIES_OVERFLOW, &labels,
                     account->overflow + cells->series.overflow);
    cells->series.overflow = 0;
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_LABELS_GIVEN_UP, &labels,
                     account->labels_given_up + cells->series.labels_given_up);
    cells->series.labels_given_up = 0;
    vamp_self_account(&cells->accounting, account);
}

/* Events for which one that was sampled stands; nothing sampled in the bucket: nothing to put a
 * rate's part on. */
static double weight_of(const struct vamp_cells *cells, const struct vamp_slot_account *account)
{
    const uint64_t sampled_in = vamp_slot_sampled_in(account);
    return sampled_in == 0
               ? cells->weight
               : cells->weight * (double)(sampled_in + account->rated_out) / (double)sampled_in;
}

static void fold_weight(struct vamp_cells *cells, struct vamp_slot *slot)
{
    const struct vamp_slot_account *account = &slot->account;
    const struct vamp_labels labels = {{0}};
    const double weight = weight_of(cells, account);
    const uint64_t sampled_in = vamp_slot_sampled_in(account);
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_SAMPLED_IN, &labels, sampled_in);
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_WEIGHTED, &labels,
                     (uint64_t)(weight * (double)sampled_in + 0.5));
    const uint64_t millionths = (uint64_t)(weight * 1e6 + 0.5);
    report_gauge(cells, VAMP_METRIC_VAMPIRE_WEIGHT, 0, (int64_t)millionths);
    vamp_weighted_fold(cells, slot, millionths);
    uint32_t cell = 0;
    if (cell_of(cells, VAMP_METRIC_VAMPIRE_WEIGHT, VAMP_LABEL_OUTPUT, 0, &cell)) {
        struct vamp_reported_gauge *gauge = &cells->reported_gauges[cell];
        gauge->min = gauge->value;
        gauge->max = gauge->value;
    }
}

static void fold_reported_counters(const struct vamp_cells *cells, struct vamp_slot *slot,
                                   enum vamp_metric_id id)
{
    const struct vamp_cell_range *range = &cells->range[id];
    const uint32_t count = range->enabled ? range->set->count : 0;
    for (uint32_t i = range->first; i < range->first + count; i++) {
        /* A counter never falls, whatever value is reported. */
        if (cells->reported_counters[i] > cells->counter_totals[i]) {
            slot->counters[i] = cells->reported_counters[i] - cells->counter_totals[i];
        }
    }
}

static void fold_reported_gauges(struct vamp_cells *cells, struct vamp_slot *slot,
                                 enum vamp_metric_id id)
{
    const struct vamp_cell_range *range = &cells->range[id];
    const uint32_t count = range->enabled ? range->set->count : 0;
    for (uint32_t i = range->first; i < range->first + count; i++) {
        struct vamp_reported_gauge *gauge = &cells->reported_gauges[i];
        if (gauge->reported) {
            const int64_t begin = cells->gauge_values[i];
            slot->gauges[i].net = gauge->value - begin;
            slot->gauges[i].min = gauge->min - begin;
            slot->gauges[i].max = gauge->max - begin;
            gauge->min = gauge->value;
            gauge->max = gauge->value;
        }
    }
}

void vamp_self_fold(struct vamp_cells *cells, struct vamp_slot *slot)
{
    memset(cells->excluded, 0, sizeof cells->excluded); /* ours, not an event's */
    fold_account(cells, slot);
    fold_weight(cells, slot);
    fold_reported_counters(cells, slot, VAMP_METRIC_VAMPIRE_WRITTEN);
    fold_reported_counters(cells, slot, VAMP_METRIC_VAMPIRE_LOST_BUCKETS);
    fold_reported_counters(cells, slot, VAMP_METRIC_VAMPIRE_CPU_NS);
    fold_reported_counters(cells, slot, VAMP_METRIC_VAMPIRE_ALARMS_FIRED);
    fold_reported_counters(cells, slot, VAMP_METRIC_VAMPIRE_FILTER_CUT);
    fold_reported_gauges(cells, slot, VAMP_METRIC_VAMPIRE_QUEUE_HIGH_WATER);
    fold_reported_gauges(cells, slot, VAMP_METRIC_VAMPIRE_LAG_NS);
    fold_reported_gauges(cells, slot, VAMP_METRIC_VAMPIRE_RING_BYTES);
    fold_reported_gauges(cells, slot, VAMP_METRIC_VAMPIRE_RSS_BYTES);
    fold_reported_gauges(cells, slot, VAMP_METRIC_VAMPIRE_ALARMS_FIRING);
    fold_reported_gauges(cells, slot, VAMP_METRIC_VAMPIRE_WEIGHT);
}
