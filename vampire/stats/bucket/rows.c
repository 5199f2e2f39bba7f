/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/bucket/rows.h"

#include <assert.h>
#include <string.h>

struct vamp_rows vamp_rows_of(const struct vamp_bucket *bucket, unsigned metric, unsigned without)
{
    assert(metric < bucket->schema->metric_count);
    return (struct vamp_rows){
        .bucket = bucket, .without = without, .metric = metric, .end = metric + 1};
}

struct vamp_rows vamp_rows(const struct vamp_bucket *bucket, unsigned without)
{
    return (struct vamp_rows){
        .bucket = bucket, .without = without, .end = bucket->schema->metric_count};
}

/* Returns the index of the first value from `from` on that is not skipped, or the number of values
 * if there is none. Most counters of a bucket are idle, so this loop is the main cost of an
 * iteration. */
static unsigned find_value(const struct vamp_metric_values *values, enum vamp_metric_kind kind,
                           unsigned from, unsigned without)
{
    if (kind == VAMP_COUNTER && (without & VAMP_ROWS_IDLE_COUNTERS) != 0) {
        while (from < values->count && values->counters[from].delta == 0) {
            from++;
        }
    } else if (kind == VAMP_GAUGE && (without & VAMP_ROWS_ABSENT_GAUGES) != 0) {
        while (from < values->count && values->gauges[from].max == VAMP_GAUGE_NONE) {
            from++;
        }
    }
    return from;
}

static void begin_metric(struct vamp_rows *rows)
{
    const struct vamp_schema *schema = rows->bucket->schema;
    struct vamp_row *row = &rows->row;
    row->place = rows->metric;
    row->entry = &schema->metrics[rows->metric];
    row->metric = &vamp_metrics[row->entry->id];
    row->set = &schema->label_sets[row->entry->label_set];
    row->resolution_ns = vamp_bucket_resolution(rows->bucket, row->entry->id);
}

/* Sets the members of the row that differ between the values of a metric. Inlined for speed. */
static inline __attribute__((always_inline)) void set_value(const struct vamp_rows *rows,
                                                            unsigned at, struct vamp_row *row)
{
    const struct vamp_metric_values *values = &rows->bucket->values[rows->metric];
    row->number = at;
    switch (row->metric->kind) {
    case VAMP_COUNTER:
        row->counter = &values->counters[at];
        break;
    case VAMP_GAUGE:
        row->gauge = &values->gauges[at];
        break;
    case VAMP_HISTOGRAM:
        row->number = values->histograms[at].series;
        row->histogram = values->histograms[at].histogram;
        break;
    }
    row->series = rows->bucket->series[row->entry->label_set][row->number];
}

struct vamp_row vamp_row_at(const struct vamp_bucket *bucket, unsigned metric, unsigned at)
{
    assert(at < bucket->values[metric].count);
    struct vamp_rows rows = vamp_rows_of(bucket, metric, 0);
    begin_metric(&rows);
    set_value(&rows, at, &rows.row);
    return rows.row;
}

static inline bool next_value(struct vamp_rows *rows)
{
    struct vamp_row *row = &rows->row;
    for (; rows->metric < rows->end; rows->metric++, rows->next = 0) {
        if (rows->next == 0) {
            begin_metric(rows);
        }
        const struct vamp_metric_values *values = &rows->bucket->values[rows->metric];
        const unsigned at = find_value(values, row->metric->kind, rows->next, rows->without);
        if (at >= values->count) {
            continue;
        }
        set_value(rows, at, row);
        rows->next = at + 1;
        return true;
    }
    return false;
}

/* Losses that cannot be detected, and counters of samples before their first increase, have no
 * value instead of 0. */
static bool is_unseen(const struct vamp_rows *rows)
{
    const struct vamp_row *row = &rows->row;
    if (row->entry->id != VAMP_METRIC_VAMPIRE_LOST) {
        return (row->metric->sets & VAMP_SET_SAMPLED) != 0 && row->metric->kind == VAMP_COUNTER &&
               row->counter->value == 0;
    }
    return !vamp_coverage_sees_losses(rows->bucket->schema->coverage, VAMP_LOSS_POOL_MANAGER) &&
           row->set->label_count > 0 && row->counter->value == 0 &&
           strcmp(row->series->labels[0], vamp_loss_name(VAMP_LOSS_POOL_MANAGER)) == 0;
}

bool vamp_rows_next(struct vamp_rows *rows)
{
    while (next_value(rows)) {
        if (!is_unseen(rows)) {
            return true;
        }
    }
    return false;
}

const char *vamp_row_number(const struct vamp_row *row, const struct vamp_bins *bins,
                            unsigned number, struct vamp_range *ret_range)
{
    static const struct {
        const char *name;
        double quantile;
    } numbers[VAMP_ROW_NUMBERS] = {{"sum", 0},   {"min", 0},    {"max", 1},     {"p50", 0.5},
                                   {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}};
    const struct vamp_bucket_histogram *histogram = row->histogram;
    const uint64_t zeros = vamp_bucket_histogram_zeros(histogram);
    if (number >= VAMP_ROW_NUMBERS) {
        return NULL;
    }
    if (number == 0) {
        *ret_range = vamp_sum_range(histogram->sum, zeros, row->resolution_ns);
        return numbers[number].name;
    }
    uint64_t value = vamp_bucket_histogram_quantile(histogram, bins, numbers[number].quantile);
    if (number == 1) {
        value = histogram->min;
    } else if (number == 2) {
        value = histogram->max;
    }
    *ret_range = vamp_value_range(value, zeros, row->resolution_ns);
    return numbers[number].name;
}
