/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/subset.h"

#include "writers/output/subset_series.h"

#include <fnmatch.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A smaller bucket with its arrays, of which the large ones are the source. */
struct part {
    struct vamp_bucket bucket;
    struct vamp_subset *subset;
    const struct vamp_bucket *whole;
    atomic_bool used;
    struct vamp_metric_values *values;
    unsigned *series_count;
    const struct vamp_series *const **series;
    unsigned char *copies; /* values of restricted sets */
    size_t copies_bytes;
};

struct vamp_subset {
    struct vamp_series_subset choice; /* by label set of the whole */
    struct vamp_schema schema;
    struct vamp_label_set *label_sets;
    struct vamp_schema_metric *metrics;
    unsigned *metric_from, *set_from; /* their places in the whole */
    struct part *parts;
    unsigned part_count, next;
};

bool vamp_subset_wants(const struct vamp_strings *patterns, const char *metric)
{
    for (size_t i = 0; i < patterns->count; i++) {
        if (fnmatch(patterns->items[i], metric, 0) == 0) {
            return true;
        }
    }
    return false;
}

/* The place of a label set of the whole among ours, which it joins when it is new. */
static unsigned take_set(struct vamp_subset *subset, const struct vamp_schema *whole, unsigned set)
{
    for (unsigned i = 0; i < subset->schema.label_set_count; i++) {
        if (subset->set_from[i] == set) {
            return i;
        }
    }
    const unsigned place = subset->schema.label_set_count++;
    subset->set_from[place] = set;
    subset->label_sets[place] = whole->label_sets[set];
    return place;
}

static void choose(struct vamp_subset *subset, const struct vamp_strings *names,
                   const struct vamp_schema *whole)
{
    subset->schema = *whole;
    subset->schema.label_sets = subset->label_sets;
    subset->schema.metrics = subset->metrics;
    subset->schema.label_set_count = 0;
    subset->schema.metric_count = 0;
    for (unsigned i = 0; i < whole->metric_count; i++) {
        const char *name = vamp_metrics[whole->metrics[i].id].name;
        if (names->count == 0 || vamp_subset_wants(names, name)) {
            const unsigned place = subset->schema.metric_count++;
            subset->metric_from[place] = i;
            subset->metrics[place] = (struct vamp_schema_metric){
                whole->metrics[i].id, take_set(subset, whole, whole->metrics[i].label_set)};
        }
    }
}

static bool make_part(struct vamp_subset *subset, struct part *part)
{
    part->subset = subset;
    part->values = calloc(subset->schema.metric_count + 1, sizeof *part->values);
    part->series_count = calloc(subset->schema.label_set_count + 1, sizeof *part->series_count);
    part->series = calloc(subset->schema.label_set_count + 1, sizeof(void *));
    atomic_init(&part->used, false);
    return part->values != NULL && part->series_count != NULL && part->series != NULL;
}

static bool make_all(struct vamp_subset *subset, const struct vamp_subset_choice *choice,
                     const struct vamp_schema *schema, unsigned buckets)
{
    subset->label_sets = calloc(schema->label_set_count + 1, sizeof *subset->label_sets);
    subset->set_from = calloc(schema->label_set_count + 1, sizeof *subset->set_from);
    subset->metrics = calloc(schema->metric_count + 1, sizeof *subset->metrics);
    subset->metric_from = calloc(schema->metric_count + 1, sizeof *subset->metric_from);
    subset->parts = calloc(buckets, sizeof *subset->parts);
    if (subset->label_sets == NULL || subset->set_from == NULL || subset->metrics == NULL ||
        subset->metric_from == NULL || subset->parts == NULL ||
        vamp_series_subset_init(&subset->choice, choice->series, schema) != 0) {
        return false;
    }
    choose(subset, choice->metrics, schema);
    bool good = true;
    for (; good && subset->part_count < buckets; subset->part_count++) {
        good = make_part(subset, &subset->parts[subset->part_count]);
    }
    return good;
}

int vamp_subset_create(const struct vamp_subset_choice *choice, const struct vamp_schema *schema,
                       unsigned buckets, struct vamp_subset **ret_subset, struct vamp_err *err)
{
    struct vamp_subset *subset = calloc(1, sizeof *subset);
    if (subset == NULL || !make_all(subset, choice, schema, buckets)) {
        vamp_subset_free(subset);
        return vamp_err_set_errno(err, ENOMEM, "choose an output's metrics");
    }
    *ret_subset = subset;
    return 0;
}

void vamp_subset_free(struct vamp_subset *subset)
{
    if (subset == NULL) {
        return;
    }
    for (unsigned i = 0; i < subset->part_count; i++) {
        free(subset->parts[i].values);
        free(subset->parts[i].series_count);
        free(subset->parts[i].series);
        free(subset->parts[i].copies);
    }
    free(subset->parts);
    vamp_series_subset_done(&subset->choice);
    free(subset->label_sets);
    free(subset->set_from);
    free(subset->metrics);
    free(subset->metric_from);
    free(subset);
}

const struct vamp_schema *vamp_subset_schema(const struct vamp_subset *subset)
{
    return &subset->schema;
}

static void give_back(const struct vamp_bucket *bucket)
{
    const ptrdiff_t at = offsetof(struct part, bucket);
    struct part *part = (struct part *)(uintptr_t)((const char *)bucket - at);
    vamp_bucket_release(part->whole);
    atomic_store_explicit(&part->used, false, memory_order_release);
}

/* Buckets are released in the order of their making, so the next one is nearly always free. */
static struct part *find_free(struct vamp_subset *subset)
{
    for (unsigned tried = 0; tried < subset->part_count; tried++) {
        struct part *part = &subset->parts[subset->next];
        subset->next = subset->next + 1 == subset->part_count ? 0 : subset->next + 1;
        if (!atomic_load_explicit(&part->used, memory_order_acquire)) {
            return part;
        }
    }
    return NULL;
}

/* ---- values without the series that are not wanted */

static const struct vamp_chosen_set *set_of(const struct vamp_subset *subset, unsigned metric)
{
    return &subset->choice.sets[subset->set_from[subset->metrics[metric].label_set]];
}

static size_t value_bytes(enum vamp_metric_kind kind)
{
    switch (kind) {
    case VAMP_COUNTER:
        return sizeof(struct vamp_counter_value);
    case VAMP_GAUGE:
        return sizeof(struct vamp_gauge_value);
    case VAMP_HISTOGRAM:
        break;
    }
    return sizeof(struct vamp_histogram_value);
}

static void copy_histograms(const struct vamp_chosen_set *set,
                            const struct vamp_metric_values *from, struct vamp_histogram_value *to,
                            unsigned *ret_count)
{
    for (unsigned i = 0; i < from->count; i++) {
        const uint32_t number = set->number[from->histograms[i].series];
        if (number != VAMP_SERIES_LEFT_OUT) {
            to[(*ret_count)++] = (struct vamp_histogram_value){
                .series = number, .histogram = from->histograms[i].histogram};
        }
    }
}

static void copy_values(const struct vamp_chosen_set *set, enum vamp_metric_kind kind,
                        const struct vamp_metric_values *from, void *at,
                        struct vamp_metric_values *ret)
{
    struct vamp_counter_value *counters = at;
    struct vamp_gauge_value *gauges = at;
    struct vamp_histogram_value *histograms = at;
    *ret = (struct vamp_metric_values){.count = 0};
    if (kind == VAMP_HISTOGRAM) {
        copy_histograms(set, from, histograms, &ret->count);
        ret->histograms = histograms;
        return;
    }
    for (unsigned i = 0; i < from->count; i++) {
        if (set->number[i] == VAMP_SERIES_LEFT_OUT) {
            continue;
        }
        if (kind == VAMP_COUNTER) {
            counters[ret->count++] = from->counters[i];
        } else {
            gauges[ret->count++] = from->gauges[i];
        }
    }
    if (kind == VAMP_COUNTER) {
        ret->counters = counters;
    } else {
        ret->gauges = gauges;
    }
}

static bool make_room(const struct vamp_subset *subset, struct part *part,
                      const struct vamp_bucket *bucket)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < subset->schema.metric_count; i++) {
        if (set_of(subset, i)->restricted) {
            bytes += bucket->values[subset->metric_from[i]].count *
                     value_bytes(vamp_metrics[subset->metrics[i].id].kind);
        }
    }
    if (bytes > part->copies_bytes) {
        free(part->copies);
        part->copies_bytes = bytes + bytes / 2;
        part->copies = malloc(part->copies_bytes);
        part->copies_bytes = part->copies != NULL ? part->copies_bytes : 0;
    }
    return bytes <= part->copies_bytes;
}

static void take_values(const struct vamp_subset *subset, struct part *part,
                        const struct vamp_bucket *bucket)
{
    unsigned char *at = part->copies;
    for (unsigned i = 0; i < subset->schema.metric_count; i++) {
        const struct vamp_metric_values *from = &bucket->values[subset->metric_from[i]];
        const enum vamp_metric_kind kind = vamp_metrics[subset->metrics[i].id].kind;
        if (set_of(subset, i)->restricted) {
            copy_values(set_of(subset, i), kind, from, at, &part->values[i]);
            at += from->count * value_bytes(kind);
        } else {
            part->values[i] = *from;
        }
    }
}

const struct vamp_bucket *vamp_subset_bucket(struct vamp_subset *subset,
                                             const struct vamp_bucket *bucket)
{
    struct part *part = find_free(subset);
    if (part == NULL || !make_room(subset, part, bucket)) {
        return NULL;
    }
    atomic_store_explicit(&part->used, true, memory_order_relaxed);
    vamp_series_subset_learn(&subset->choice, bucket);
    take_values(subset, part, bucket);
    for (unsigned i = 0; i < subset->schema.label_set_count; i++) {
        const struct vamp_chosen_set *set = &subset->choice.sets[subset->set_from[i]];
        part->series_count[i] =
            set->restricted ? set->count : bucket->series_count[subset->set_from[i]];
        part->series[i] = set->restricted ? set->series : bucket->series[subset->set_from[i]];
    }
    part->whole = vamp_bucket_hold(bucket);
    part->bucket = *bucket;
    part->bucket.schema = &subset->schema;
    part->bucket.series_count = part->series_count;
    part->bucket.series = part->series;
    part->bucket.values = part->values;
    part->bucket.holders = 1;
    part->bucket.destroy = give_back;
    return &part->bucket;
}
