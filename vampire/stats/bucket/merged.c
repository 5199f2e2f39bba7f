/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/bucket/merged.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/hash.h"

static enum vamp_metric_kind kind_of(const struct vamp_merged *merged, unsigned metric)
{
    return vamp_metrics[merged->metrics[metric].id].kind;
}

static uint32_t series_count(const struct vamp_merged *merged, unsigned metric)
{
    return merged->sets[merged->metrics[metric].label_set].count;
}

/* ---- creation */

void vamp_merged_begin(struct vamp_merged *merged, const struct vamp_schema *like)
{
    merged->schema = *like;
    merged->schema.label_sets = merged->label_sets;
    merged->schema.label_set_count = 0;
    merged->schema.metrics = merged->metrics;
    merged->schema.metric_count = 0;
}

static unsigned add_set(struct vamp_merged *merged, uint32_t labels)
{
    vamp_label_set_describe(&merged->label_sets[merged->schema.label_set_count], labels);
    return merged->schema.label_set_count++;
}

static unsigned find_set(struct vamp_merged *merged, uint32_t labels)
{
    for (unsigned i = 0; i < merged->schema.label_set_count; i++) {
        if (vamp_label_set_bits(&merged->label_sets[i]) == labels) {
            return i;
        }
    }
    return add_set(merged, labels);
}

static unsigned add_metric(struct vamp_merged *merged, enum vamp_metric_id id, unsigned set)
{
    const unsigned place = merged->schema.metric_count++;
    assert(place < VAMP_METRICS_MAX);
    merged->metrics[place] = (struct vamp_schema_metric){.id = id, .label_set = set};
    return place;
}

unsigned vamp_merged_metric(struct vamp_merged *merged, enum vamp_metric_id id, uint32_t labels)
{
    return add_metric(merged, id, find_set(merged, labels));
}

unsigned vamp_merged_lone_metric(struct vamp_merged *merged, enum vamp_metric_id id,
                                 uint32_t labels)
{
    return add_metric(merged, id, add_set(merged, labels));
}

void vamp_merged_begin_same(struct vamp_merged *merged, const struct vamp_schema *like)
{
    vamp_merged_begin(merged, like);
    merged->schema.label_set_count = like->label_set_count;
    merged->schema.metric_count = like->metric_count;
    memcpy(merged->label_sets, like->label_sets, like->label_set_count * sizeof *like->label_sets);
    memcpy(merged->metrics, like->metrics, like->metric_count * sizeof *like->metrics);
}

void vamp_merged_number_as(struct vamp_merged *merged, const struct vamp_bucket *bucket)
{
    for (unsigned i = 0; i < merged->schema.label_set_count; i++) {
        merged->sets[i].count = bucket->series_count[i];
    }
}

static bool make_set(struct vamp_merged_series *set, unsigned most)
{
    size_t size = 16;
    while (size < (size_t)2 * most) {
        size *= 2;
    }
    set->series = calloc(most, sizeof *set->series);
    set->places = calloc(most, sizeof(const struct vamp_series *));
    set->index = calloc(size, sizeof *set->index);
    set->mask = (uint32_t)(size - 1);
    return set->series != NULL && set->places != NULL && set->index != NULL;
}

static bool make_values(struct vamp_merged_values *values, enum vamp_metric_kind kind,
                        unsigned most)
{
    switch (kind) {
    case VAMP_COUNTER:
        values->counters = calloc(most, sizeof *values->counters);
        return values->counters != NULL;
    case VAMP_GAUGE:
        values->gauges = calloc(most, sizeof *values->gauges);
        values->shown_gauges = calloc(most, sizeof *values->shown_gauges);
        values->in_bucket = calloc(most, sizeof *values->in_bucket);
        values->in_run = calloc(most, sizeof *values->in_run);
        return values->gauges != NULL && values->shown_gauges != NULL &&
               values->in_bucket != NULL && values->in_run != NULL;
    case VAMP_HISTOGRAM:
        values->histograms = calloc(most, sizeof *values->histograms);
        values->shown_histograms = calloc(most, sizeof *values->shown_histograms);
        return values->histograms != NULL && values->shown_histograms != NULL;
    }
    return false;
}

int vamp_merged_create(struct vamp_merged *merged)
{
    bool good = true;
    for (unsigned i = 0; good && i < merged->schema.label_set_count; i++) {
        good = make_set(&merged->sets[i], merged->label_sets[i].max_series);
        merged->series[i] = merged->sets[i].places;
    }
    for (unsigned i = 0; good && i < merged->schema.metric_count; i++) {
        good = make_values(&merged->values[i], kind_of(merged, i),
                           merged->label_sets[merged->metrics[i].label_set].max_series);
    }
    return good ? 0 : -ENOMEM;
}

void vamp_merged_done(struct vamp_merged *merged)
{
    for (unsigned i = 0; i < merged->schema.metric_count; i++) {
        struct vamp_merged_values *values = &merged->values[i];
        for (uint32_t s = 0; values->histograms != NULL && s < series_count(merged, i); s++) {
            free(values->histograms[s].values);
        }
        free(values->counters);
        free(values->gauges);
        free(values->shown_gauges);
        free(values->in_bucket);
        free(values->in_run);
        free(values->histograms);
        free(values->shown_histograms);
    }
    for (unsigned i = 0; i < merged->schema.label_set_count; i++) {
        free(merged->sets[i].series);
        free(merged->sets[i].places);
        free(merged->sets[i].index);
    }
    merged->schema.metric_count = merged->schema.label_set_count = 0;
}

/* ---- series */

static bool same_labels(const struct vamp_series *left, const struct vamp_series *right,
                        unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(left->labels[i], right->labels[i]) != 0) {
            return false;
        }
    }
    return true;
}

/* Returns the slot of the index at which the search for these labels starts. */
static uint32_t place_of(const struct vamp_merged_series *set, const struct vamp_label_set *labels,
                         const struct vamp_series *series)
{
    uint64_t hash = 0;
    for (unsigned i = 0; i < labels->label_count; i++) {
        hash = vamp_hash_bytes(hash, series->labels[i], strlen(series->labels[i]) + 1);
    }
    return (uint32_t)hash & set->mask;
}

void vamp_merged_unplace(struct vamp_merged *merged, unsigned number, uint32_t count)
{
    struct vamp_merged_series *set = &merged->sets[number];
    for (; set->count > count;
         set->count--) { /* the newest is removed first, so that no probe chain is interrupted */
        uint32_t at = place_of(set, &merged->label_sets[number], &set->series[set->count - 1]);
        while (set->index[at] != set->count) {
            at = (at + 1) & set->mask;
        }
        set->index[at] = 0;
    }
}

uint32_t vamp_merged_place(struct vamp_merged *merged, unsigned number,
                           const struct vamp_series *wanted)
{
    struct vamp_merged_series *set = &merged->sets[number];
    const struct vamp_label_set *labels = &merged->label_sets[number];
    uint32_t at = place_of(set, labels, wanted);
    for (; set->index[at] != 0; at = (at + 1) & set->mask) {
        if (same_labels(&set->series[set->index[at] - 1], wanted, labels->label_count)) {
            return set->index[at] - 1;
        }
    }
    if (set->count == labels->max_series) {
        return 0;
    }
    struct vamp_series *series = &set->series[set->count];
    *series = *wanted;
    set->places[set->count] = series;
    set->index[at] = ++set->count;
    return set->count - 1;
}

/* ---- counters */

void vamp_merged_counter(struct vamp_merged *merged, unsigned metric, uint32_t series,
                         const struct vamp_counter_value *value)
{
    struct vamp_counter_value *counter = &merged->values[metric].counters[series];
    counter->value += value->value;
    counter->delta += value->delta;
}

/* ---- gauges */

/* Ignores VAMP_GAUGE_NONE, which is the smallest value, so that VAMP_MAX needs no such function. */
static int64_t smaller(int64_t left, int64_t right)
{
    if (left == VAMP_GAUGE_NONE || right == VAMP_GAUGE_NONE) {
        return VAMP_MAX(left, right);
    }
    return VAMP_MIN(left, right);
}

/* Returns the sum modulo 2^64, as the gauges of the statistics; VAMP_GAUGE_NONE is ignored. */
static int64_t sum(int64_t left, int64_t right)
{
    if (left == VAMP_GAUGE_NONE || right == VAMP_GAUGE_NONE) {
        return VAMP_MAX(left, right);
    }
    return (int64_t)((uint64_t)left + (uint64_t)right);
}

/* Merges a value at the same time: of another series with the same labels, or another run. */
static void join_series(struct vamp_gauge_value *into, const struct vamp_gauge_value *from,
                        enum vamp_merge rule)
{
    switch (rule) {
    case VAMP_MERGE_SUM:
        into->value = sum(into->value, from->value);
        into->min = sum(into->min, from->min);
        into->max = sum(into->max, from->max);
        return;
    case VAMP_MERGE_LARGEST:
    case VAMP_MERGE_MEAN: /* Metrics with this rule have no labels, so only values of different runs
                             are merged here, by maximum. */
        into->value = VAMP_MAX(into->value, from->value);
        into->min = smaller(into->min, from->min);
        into->max = VAMP_MAX(into->max, from->max);
        return;
    }
}

/* Merges `from`, a later value of the same series. */
static void join_time(struct vamp_gauge_value *into, const struct vamp_gauge_value *from)
{
    into->value = from->value;
    into->min = smaller(into->min, from->min);
    into->max = VAMP_MAX(into->max, from->max);
}

void vamp_merged_gauge(struct vamp_merged *merged, unsigned metric, uint32_t series,
                       const struct vamp_gauge_value *value)
{
    struct vamp_merged_values *values = &merged->values[metric];
    struct vamp_merged_gauge *gauge = &values->gauges[series];
    if (gauge->in_bucket) {
        join_series(&gauge->bucket, value, vamp_metrics[merged->metrics[metric].id].merge);
        return;
    }
    gauge->bucket = *value;
    gauge->in_bucket = true;
    values->in_bucket[values->in_bucket_count++] = series;
}

/* An age that has no value in the newest bucket of the run has no value at the end of the run. */
static void end_ages(const struct vamp_merged_values *values)
{
    for (uint32_t i = 0; i < values->in_run_count; i++) {
        struct vamp_merged_gauge *gauge = &values->gauges[values->in_run[i]];
        if (!gauge->in_bucket) {
            gauge->run.value = VAMP_GAUGE_NONE;
        }
    }
}

void vamp_merged_end_bucket(struct vamp_merged *merged)
{
    for (unsigned m = 0; m < merged->schema.metric_count; m++) {
        struct vamp_merged_values *values = &merged->values[m];
        if (vamp_metric_may_be_none(&vamp_metrics[merged->metrics[m].id])) {
            end_ages(values);
        }
        for (uint32_t i = 0; i < values->in_bucket_count; i++) {
            struct vamp_merged_gauge *gauge = &values->gauges[values->in_bucket[i]];
            if (gauge->in_run) {
                join_time(&gauge->run, &gauge->bucket);
            } else {
                gauge->run = gauge->bucket;
                gauge->in_run = true;
                values->in_run[values->in_run_count++] = values->in_bucket[i];
            }
            gauge->in_bucket = false;
            gauge->buckets++;
        }
        values->in_bucket_count = 0;
    }
}

void vamp_merged_end_run(struct vamp_merged *merged)
{
    for (unsigned m = 0; m < merged->schema.metric_count; m++) {
        struct vamp_merged_values *values = &merged->values[m];
        for (uint32_t i = 0; i < values->in_run_count; i++) {
            struct vamp_merged_gauge *gauge = &values->gauges[values->in_run[i]];
            if (gauge->in_total) {
                join_series(&gauge->total, &gauge->run, vamp_metrics[merged->metrics[m].id].merge);
            } else {
                gauge->total = gauge->run;
                gauge->in_total = true;
            }
            gauge->in_run = false;
        }
        values->in_run_count = 0;
    }
}

int64_t vamp_merged_weight(uint64_t weighted, uint64_t sampled)
{
    assert(sampled > 0);
    return (int64_t)((double)weighted * 1e6 / (double)sampled + 0.5);
}

/* ---- histograms */

/* Allocates more bins than needed, so that a histogram rarely grows. */
static int grow(struct vamp_merged_histogram *kept, uint32_t room, uint32_t most)
{
    room = VAMP_MIN(room + room / 2 + 4, most);
    struct vamp_bucket_histogram *values = realloc(kept->values, vamp_bucket_histogram_bytes(room));
    if (values == NULL) {
        return -ENOMEM;
    }
    if (kept->values == NULL) {
        *values = (struct vamp_bucket_histogram){.min = UINT64_MAX};
    }
    kept->values = values;
    kept->room = room;
    return 0;
}

int vamp_merged_reserve(struct vamp_merged *merged, unsigned metric, uint32_t series, uint32_t bins)
{
    struct vamp_merged_histogram *kept = &merged->values[metric].histograms[series];
    const uint32_t most = merged->schema.bins.count;
    kept->reserved += bins;
    uint32_t room = kept->reserved;
    if (kept->values != NULL) {
        room += kept->values->bin_count;
    }
    room = VAMP_MIN(room, most);
    if (kept->values != NULL && room <= kept->room) {
        return 0;
    }
    return grow(kept, room, most);
}

/* Adds the bins of `from` to `into`. Most bins exist, since values are similar. */
static void merge_bins(struct vamp_bucket_histogram *into, const struct vamp_bucket_histogram *from)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < from->bin_count; i++) {
        const struct vamp_bin_count *added = &from->bins[i];
        while (at < into->bin_count && into->bins[at].bin < added->bin) {
            at++;
        }
        struct vamp_bin_count *bin = &into->bins[at];
        if (at < into->bin_count && bin->bin == added->bin) {
            bin->count += added->count;
        } else {
            memmove(bin + 1, bin, (into->bin_count - at) * sizeof *bin);
            *bin = *added;
            into->bin_count++;
        }
    }
}

void vamp_merged_histogram(struct vamp_merged *merged, unsigned metric, uint32_t series,
                           const struct vamp_bucket_histogram *from)
{
    struct vamp_merged_histogram *kept = &merged->values[metric].histograms[series];
    struct vamp_bucket_histogram *into = kept->values;
    kept->reserved = 0;
    merge_bins(into, from);
    assert(into->bin_count <= kept->room);
    into->count += from->count;
    into->sum += from->sum;
    into->min = VAMP_MIN(into->min, from->min);
    into->max = VAMP_MAX(into->max, from->max);
}

/* ---- results */

static struct vamp_metric_values show_gauges(struct vamp_merged_values *values, uint32_t count,
                                             const struct vamp_metric *metric)
{
    const int64_t none = vamp_metric_may_be_none(metric) ? VAMP_GAUGE_NONE : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct vamp_merged_gauge *gauge = &values->gauges[i];
        struct vamp_gauge_value *shown = &values->shown_gauges[i];
        *shown = (struct vamp_gauge_value){none, none, none};
        if (gauge->in_total) {
            *shown = gauge->total;
        } else if (gauge->in_run) {
            *shown = gauge->run;
        }
    }
    return (struct vamp_metric_values){.count = count, .gauges = values->shown_gauges};
}

static struct vamp_metric_values show_histograms(struct vamp_merged_values *values, uint32_t count)
{
    unsigned used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct vamp_bucket_histogram *histogram = values->histograms[i].values;
        if (histogram != NULL && histogram->count > 0) {
            values->shown_histograms[used++] =
                (struct vamp_histogram_value){.series = i, .histogram = histogram};
        }
    }
    return (struct vamp_metric_values){.count = used, .histograms = values->shown_histograms};
}

void vamp_merged_show(struct vamp_merged *merged, struct vamp_bucket *bucket)
{
    for (unsigned i = 0; i < merged->schema.label_set_count; i++) {
        merged->series_count[i] = merged->sets[i].count;
    }
    for (unsigned i = 0; i < merged->schema.metric_count; i++) {
        struct vamp_merged_values *values = &merged->values[i];
        const uint32_t count = series_count(merged, i);
        switch (kind_of(merged, i)) {
        case VAMP_COUNTER:
            merged->shown[i] =
                (struct vamp_metric_values){.count = count, .counters = values->counters};
            break;
        case VAMP_GAUGE:
            merged->shown[i] = show_gauges(values, count, &vamp_metrics[merged->metrics[i].id]);
            break;
        case VAMP_HISTOGRAM:
            merged->shown[i] = show_histograms(values, count);
            break;
        }
    }
    bucket->schema = &merged->schema;
    bucket->series_count = merged->series_count;
    bucket->series = merged->series;
    bucket->values = merged->shown;
}

void vamp_merged_clear(struct vamp_merged *merged, bool keep_counts)
{
    for (unsigned i = 0; i < merged->schema.metric_count; i++) {
        struct vamp_merged_values *values = &merged->values[i];
        const uint32_t count = series_count(merged, i);
        for (uint32_t s = 0; values->counters != NULL && !keep_counts && s < count; s++) {
            values->counters[s].delta = 0;
        }
        if (values->gauges != NULL && count > 0) {
            memset(values->gauges, 0, count * sizeof *values->gauges);
            values->in_bucket_count = values->in_run_count = 0;
        }
        for (uint32_t s = 0; values->histograms != NULL && s < count; s++) {
            if (values->histograms[s].values != NULL) {
                *values->histograms[s].values = (struct vamp_bucket_histogram){.min = UINT64_MAX};
            }
        }
    }
}

/* ---- a copy */

static void copy_histograms(struct vamp_bucket_block *block, struct vamp_metric_values *values)
{
    struct vamp_histogram_value *list =
        vamp_bucket_copy(block, values->histograms, values->count * sizeof *list);
    for (unsigned i = 0; i < values->count; i++) {
        const struct vamp_bucket_histogram *from = values->histograms[i].histogram;
        const void *to =
            vamp_bucket_copy(block, from, vamp_bucket_histogram_bytes(from->bin_count));
        if (list != NULL) {
            list[i].histogram = to;
        }
    }
    values->histograms = list;
}

static struct vamp_bucket *lay_out(struct vamp_bucket_block *block, const struct vamp_bucket *from)
{
    const struct vamp_schema *schema = from->schema;
    struct vamp_bucket *bucket = vamp_bucket_copy(block, from, sizeof *from);
    const unsigned *counts = vamp_bucket_copy(block, from->series_count,
                                              schema->label_set_count * sizeof *from->series_count);
    const struct vamp_gap *gaps =
        vamp_bucket_copy(block, from->gaps, from->gap_count * sizeof *from->gaps);
    struct vamp_metric_values *values =
        vamp_bucket_copy(block, from->values, schema->metric_count * sizeof *from->values);
    for (unsigned i = 0; i < schema->metric_count; i++) {
        struct vamp_metric_values of = from->values[i];
        switch (vamp_metrics[schema->metrics[i].id].kind) {
        case VAMP_COUNTER:
            of.counters = vamp_bucket_copy(block, of.counters, of.count * sizeof *of.counters);
            break;
        case VAMP_GAUGE:
            of.gauges = vamp_bucket_copy(block, of.gauges, of.count * sizeof *of.gauges);
            break;
        case VAMP_HISTOGRAM:
            copy_histograms(block, &of);
            break;
        }
        if (values != NULL) {
            values[i] = of;
        }
    }
    if (bucket != NULL) {
        bucket->series_count = counts;
        bucket->gaps = gaps;
        bucket->values = values;
        bucket->holders = 1;
    }
    return bucket;
}

const struct vamp_bucket *vamp_merged_copy(const struct vamp_bucket *bucket)
{
    assert(bucket->component_count + bucket->cdo_count + bucket->anomaly_count +
               bucket->demand_count + bucket->oldest_count + bucket->alarm_count ==
           0);
    struct vamp_bucket_block block = {NULL, 0};
    (void)lay_out(&block, bucket);
    if (!vamp_bucket_block_take(&block)) {
        return NULL;
    }
    return lay_out(&block, bucket);
}
