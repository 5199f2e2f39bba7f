/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/cells/self.h"

#include <stdio.h>
#include <string.h>

/* ---- measured gauges: until the bucket closes, the slot's "change" of such a gauge contains its
 * value; for ages it contains the age plus 1, so that 0 means no age */

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
    const int64_t shown = (int64_t)VAMP_MIN(age_ns, (uint64_t)INT64_MAX - 1) + 1;
    gauge->net = VAMP_MAX(gauge->net, shown);
}

/* Returns the change that leads from `begin` to this value. */
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

static void fold_taken(const struct vamp_cells *cells, struct vamp_slot *slot)
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

/* ---- weighted counters: estimates of all events when events are sampled */

#define MILLION 1000000

/* Operations without a CDO are not sampled and have weight 1. */
static bool is_never_sampled(const struct vamp_series_set *set, uint32_t series)
{
    const uint32_t operation = vamp_series_label(set, series, VAMP_LABEL_OPERATION);
    return operation == VAMP_EVENT_JOIN || operation == VAMP_EVENT_LEAVE ||
           operation == VAMP_EVENT_SUBSCRIBE || operation == VAMP_EVENT_UNSUBSCRIBE;
}

static void weight_series(struct vamp_cells *cells, struct vamp_slot *slot, uint32_t plain,
                          uint32_t weighted, uint64_t weight)
{
    int32_t *rest = &cells->weighted_rests[weighted];
    /* Half a unit is added for rounding, so the sum is never negative. */
    const unsigned __int128 millionths =
        (unsigned __int128)slot->counters[plain] * weight + (unsigned)(*rest + MILLION / 2);
    slot->counters[weighted] = (uint64_t)(millionths / MILLION);
    *rest = (int32_t)(millionths % MILLION) - MILLION / 2;
}

/* Sets each weighted counter to its plain counter times `weight` (millionths). The remainder of the
 * rounding is carried over to the next bucket, so that a total is the exact sum, rounded. */
static void fold_weighted(struct vamp_cells *cells, struct vamp_slot *slot, uint64_t weight)
{
    for (unsigned i = 0; i < VAMP_WEIGHTED_METRIC_COUNT; i++) {
        const struct vamp_cell_range *weighted = &cells->range[vamp_weighted_metrics[i].weighted];
        const struct vamp_cell_range *plain = &cells->range[vamp_weighted_metrics[i].plain];
        if (!weighted->enabled || !plain->enabled) {
            continue;
        }
        const struct vamp_series_set *set = plain->set;
        for (uint32_t series = 0; series < set->count; series++) {
            if (slot->counters[plain->first + series] > 0) {
                weight_series(cells, slot, plain->first + series, weighted->first + series,
                              is_never_sampled(set, series) ? MILLION : weight);
            }
        }
    }
}

/* ---- vampire's own metrics */

/* Returns the cell of a metric with at most one label; false if the metric is not enabled. */
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

/* Metrics reported by the program: counters with their absolute, gauges with their current values.
 */
static const enum vamp_metric_id reported[] = {
    VAMP_METRIC_VAMPIRE_WRITTEN,    VAMP_METRIC_VAMPIRE_LOST_BUCKETS,
    VAMP_METRIC_VAMPIRE_CPU_NS,     VAMP_METRIC_VAMPIRE_ALARMS_FIRED,
    VAMP_METRIC_VAMPIRE_FILTER_CUT, VAMP_METRIC_VAMPIRE_QUEUE_HIGH_WATER,
    VAMP_METRIC_VAMPIRE_LAG_NS,     VAMP_METRIC_VAMPIRE_RING_BYTES,
    VAMP_METRIC_VAMPIRE_RSS_BYTES,  VAMP_METRIC_VAMPIRE_ALARMS_FIRING,
    VAMP_METRIC_VAMPIRE_WEIGHT,     VAMP_METRIC_VAMPIRE_CLOCK_RESOLUTION_NS};
#define REPORTED_COUNT (sizeof reported / sizeof reported[0])

static void report(struct vamp_cells *cells, enum vamp_metric_id id, uint32_t output, int64_t value)
{
    uint32_t cell = 0;
    if (!cell_of(cells, id, VAMP_LABEL_OUTPUT, output, &cell)) {
        return;
    }
    if (vamp_metrics[id].kind == VAMP_COUNTER) {
        cells->reported_counters[cell] = (uint64_t)value;
        return;
    }
    struct vamp_reported_gauge *gauge = &cells->reported_gauges[cell];
    if (!gauge->reported) {
        *gauge = (struct vamp_reported_gauge){value, value, value, true};
        return;
    }
    gauge->min = VAMP_MIN(gauge->min, value);
    gauge->max = VAMP_MAX(gauge->max, value);
    gauge->value = value;
}

void vamp_self_outputs(struct vamp_cells *cells, const struct vamp_output_account *outputs,
                       unsigned count)
{
    count = VAMP_MIN(count, (unsigned)VAMP_OUTPUTS_MAX);
    cells->accounting.output_count = count;
    for (unsigned i = 0; i < count; i++) {
        const struct vamp_output_account *output = &outputs[i];
        cells->accounting.outputs[i] = *output;
        if (cells->series.outputs[i][0] == '\0') {
            (void)snprintf(cells->series.outputs[i], sizeof cells->series.outputs[i], "%s",
                           output->name);
        }
        report(cells, VAMP_METRIC_VAMPIRE_WRITTEN, i, (int64_t)output->written);
        report(cells, VAMP_METRIC_VAMPIRE_LOST_BUCKETS, i, (int64_t)output->lost);
        report(cells, VAMP_METRIC_VAMPIRE_QUEUE_HIGH_WATER, i, (int64_t)output->in_queue);
    }
}

void vamp_self_report(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                      unsigned output, int64_t value)
{
    const bool is_roundtrip = id == VAMP_METRIC_OWN_ROUNDTRIP_NS;
    const enum vamp_label label = is_roundtrip ? VAMP_LABEL_OPERATION : VAMP_LABEL_OUTPUT;
    if (output >= vamp_label_values[label].count) {
        return;
    }
    if (is_roundtrip || id == VAMP_METRIC_VAMPIRE_COMMIT_NS) {
        struct vamp_labels labels = {{0}};
        labels.value[label] = output;
        if (value >= 0) {
            vamp_cells_record(cells, slot, id, &labels, (uint64_t)value);
        }
        return;
    }
    for (unsigned i = 0; i < REPORTED_COUNT; i++) {
        if (reported[i] == id) {
            report(cells, id, output, value);
        }
    }
}

/* Adds the accounting of a slot. */
static void add_account(struct vamp_accounting *accounting, const struct vamp_slot_account *account)
{
    accounting->received += vamp_slot_received(account);
    accounting->decoded += vamp_slot_decoded(account);
    accounting->rejected += account->rejected;
    accounting->filtered += account->filtered;
    accounting->counted += account->counted;
    accounting->sampled_out += account->sampled_out;
    accounting->late += account->late;
    accounting->not_subscribed += account->not_subscribed;
    accounting->resolution_ns = VAMP_MAX(accounting->resolution_ns, account->resolution_ns);
    for (unsigned i = 0; i < VAMP_LOSS_COUNT; i++) {
        accounting->lost[i] += account->lost[i];
    }
}

static void fold_by_metric(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id,
                           const uint64_t *amounts)
{
    struct vamp_labels labels = {{0}};
    for (uint32_t of = 0; of < vamp_metric_count(); of++) {
        if (amounts[of] > 0) {
            labels.value[VAMP_LABEL_METRIC] = of;
            vamp_cells_count(cells, slot, id, &labels, amounts[of]);
        }
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
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_NOT_SUBSCRIBED, &labels,
                     account->not_subscribed);
    fold_by_metric(cells, slot, VAMP_METRIC_VAMPIRE_METRIC_FILTERED, slot->filtered);
    fold_by_metric(cells, slot, VAMP_METRIC_VAMPIRE_NO_ROOM, slot->no_room);
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_CDOS_UNCOUNTED, &labels,
                     account->cdos_uncounted);
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_UNIDENTIFIED, &labels, account->unidentified);
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
    add_account(&cells->accounting, account);
}

/* Sets a gauge for this bucket only. */
static void report_of_bucket(struct vamp_cells *cells, enum vamp_metric_id id, int64_t value)
{
    uint32_t cell = 0;
    if (cell_of(cells, id, VAMP_LABEL_OUTPUT, 0, &cell)) {
        cells->reported_gauges[cell] = (struct vamp_reported_gauge){value, value, value, true};
    }
}

static void fold_weight(struct vamp_cells *cells, struct vamp_slot *slot)
{
    const struct vamp_slot_account *account = &slot->account;
    const struct vamp_labels labels = {{0}};
    const double weight = cells->weight;
    const uint64_t sampled_in = vamp_slot_sampled_in(account);
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_SAMPLED_IN, &labels, sampled_in);
    vamp_cells_count(cells, slot, VAMP_METRIC_VAMPIRE_WEIGHTED, &labels,
                     (uint64_t)(weight * (double)sampled_in + 0.5));
    const uint64_t millionths = (uint64_t)(weight * 1e6 + 0.5);
    report_of_bucket(cells, VAMP_METRIC_VAMPIRE_WEIGHT, (int64_t)millionths);
    fold_weighted(cells, slot, millionths);
}

static void fold_reported(struct vamp_cells *cells, struct vamp_slot *slot, enum vamp_metric_id id)
{
    const struct vamp_cell_range *range = &cells->range[id];
    if (!range->enabled) {
        return;
    }
    const uint32_t end = range->first + range->set->count;
    const bool is_counter = vamp_metrics[id].kind == VAMP_COUNTER;
    for (uint32_t i = range->first; i < end; i++) {
        if (is_counter) {
            /* a counter never decreases, whatever value is reported */
            if (cells->reported_counters[i] > cells->counter_totals[i]) {
                slot->counters[i] = cells->reported_counters[i] - cells->counter_totals[i];
            }
        } else if (cells->reported_gauges[i].reported) {
            struct vamp_reported_gauge *gauge = &cells->reported_gauges[i];
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
    memset(cells->excluded, 0, sizeof cells->excluded); /* filters apply to events only */
    fold_taken(cells, slot);
    fold_account(cells, slot);
    fold_weight(cells, slot);
    if (slot->account.resolution_ns != 0) {
        report_of_bucket(cells, VAMP_METRIC_VAMPIRE_CLOCK_RESOLUTION_NS,
                         (int64_t)slot->account.resolution_ns);
    }
    for (unsigned i = 0; i < REPORTED_COUNT; i++) {
        fold_reported(cells, slot, reported[i]);
    }
}

/* ---- totals */

static uint32_t series_in_use(const struct vamp_cells *cells, enum vamp_metric_id id)
{
    const struct vamp_cell_range *range = &cells->range[id];
    return range->enabled ? range->set->count : 0;
}

/* Returns the value of one counter cell over closed and open buckets. */
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
    return (uint32_t)cells->range[id].enabled << metric;
}

static void sum_operations(const struct vamp_cells *cells, uint64_t *operations)
{
    const enum vamp_metric_id id = VAMP_METRIC_POOL_OPERATIONS;
    const struct vamp_cell_range *range = &cells->range[id];
    for (uint32_t i = 0; i < series_in_use(cells, id); i++) {
        uint32_t kind = vamp_series_label(range->set, i, VAMP_LABEL_OPERATION);
        if (kind >= VAMP_EVENT_KIND_COUNT) {
            kind = 0;
        }
        operations[kind] += counter_total(cells, range->first + i);
    }
}

/* Returns the current value of a gauge without labels. */
static uint64_t gauge_now(const struct vamp_cells *cells, enum vamp_metric_id id)
{
    if (!cells->range[id].enabled) {
        return 0;
    }
    uint64_t value = (uint64_t)cells->gauge_values[cells->range[id].first];
    for (unsigned i = 0; i < cells->slot_count; i++) {
        value += (uint64_t)cells->slots[i].gauges[cells->range[id].first].net;
    }
    return (uint64_t)VAMP_MAX((int64_t)value,
                              0); /* may be negative if a filter excluded increases */
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

/* Sums over closed buckets, indexed by the label `metric`. */
static void sum_by_metric(const struct vamp_cells *cells, enum vamp_metric_id id, uint64_t *sums)
{
    const struct vamp_cell_range *range = &cells->range[id];
    for (uint32_t i = 1; i < series_in_use(cells, id); i++) {
        sums[vamp_series_label(range->set, i, VAMP_LABEL_METRIC)] +=
            cells->counter_totals[range->first + i];
    }
}

static void sum_aside(const struct vamp_cells *cells, struct vamp_totals *totals)
{
    sum_by_metric(cells, VAMP_METRIC_VAMPIRE_METRIC_FILTERED, totals->filtered);
    sum_by_metric(cells, VAMP_METRIC_VAMPIRE_NO_ROOM, totals->no_room);
    for (unsigned i = 0; i < cells->slot_count; i++) {
        for (unsigned id = 0; id < vamp_metric_count(); id++) {
            totals->filtered[id] += cells->slots[i].filtered[id];
            totals->no_room[id] += cells->slots[i].no_room[id];
        }
    }
}

void vamp_cells_totals(struct vamp_cells *cells, struct vamp_totals *ret_totals)
{
    vamp_cells_settle(cells);
    sum_operations(cells, ret_totals->operations);
    sum_aside(cells, ret_totals);
    ret_totals->produced_bytes = sum_of_counter(cells, VAMP_METRIC_PRODUCED_BYTES);
    ret_totals->consumed_bytes = sum_of_counter(cells, VAMP_METRIC_CONSUMED_BYTES);
    ret_totals->transports = sum_of_counter(cells, VAMP_METRIC_TRANSPORTS);
    ret_totals->transport_bytes = sum_of_counter(cells, VAMP_METRIC_TRANSPORT_BYTES);
    ret_totals->counted = bit_of(cells, VAMP_METRIC_POOL_OPERATIONS, VAMP_TOTALS_OPERATIONS) |
                          bit_of(cells, VAMP_METRIC_PRODUCED_BYTES, VAMP_TOTALS_PRODUCED) |
                          bit_of(cells, VAMP_METRIC_TRANSPORTS, VAMP_TOTALS_TRANSPORTS) |
                          bit_of(cells, VAMP_METRIC_TRANSPORT_BYTES, VAMP_TOTALS_TRANSPORT_BYTES);
    ret_totals->pool_cdos = gauge_now(cells, VAMP_METRIC_POOL_CDOS);
    ret_totals->pool_bytes = gauge_now(cells, VAMP_METRIC_POOL_BYTES);
    ret_totals->transport_ns = sum_of_histogram(cells, VAMP_METRIC_TRANSPORT_NS);
    ret_totals->demand_wait_ns = sum_of_histogram(cells, VAMP_METRIC_DEMAND_WAIT_NS);
    ret_totals->evicted = sum_of_counter(cells, VAMP_METRIC_VAMPIRE_EVICTED);
    ret_totals->cdos_uncounted = sum_of_counter(cells, VAMP_METRIC_VAMPIRE_CDOS_UNCOUNTED);
    ret_totals->unidentified = sum_of_counter(cells, VAMP_METRIC_VAMPIRE_UNIDENTIFIED);
    ret_totals->series_overflow =
        sum_of_counter(cells, VAMP_METRIC_VAMPIRE_SERIES_OVERFLOW) + cells->series.overflow;
    ret_totals->labels_given_up =
        sum_of_counter(cells, VAMP_METRIC_VAMPIRE_LABELS_GIVEN_UP) + cells->series.labels_given_up;
    ret_totals->accounting = cells->accounting;
    for (unsigned i = 0; i < cells->slot_count; i++) {
        const struct vamp_slot_account *open = &cells->slots[i].account;
        ret_totals->evicted += open->evicted;
        ret_totals->cdos_uncounted += open->cdos_uncounted;
        ret_totals->unidentified += open->unidentified;
        ret_totals->series_overflow += open->overflow;
        ret_totals->labels_given_up += open->labels_given_up;
        add_account(&ret_totals->accounting, open);
    }
}
