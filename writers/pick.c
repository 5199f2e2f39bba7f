/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/pick.h"

#include "writers/pick_series.h"

#include <fnmatch.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A smaller bucket with its arrays, of which the large ones are the source. */
struct picked {
    struct vamp_bucket bucket;
    struct vamp_pick *pick;
    const struct vamp_bucket *whole;
    atomic_bool used;
    struct vamp_metric_values *values;
    unsigned *series_count;
    const struct vamp_series *const **series;
    unsigned char *copies; /* values of restricted sets */
    size_t copies_bytes;
};

struct vamp_pick {
    struct vamp_series_choice choice; /* by label set of the whole */
    struct vamp_schema schema;
    struct vamp_label_set *label_sets;
    struct vamp_schema_metric *metrics;
    unsigned *metric_from, *set_from; /* their places in the whole */
    struct picked *picked;
    unsigned picked_count, next;
};

bool vamp_pick_wants(const struct vamp_strings *patterns, const char *metric)
{
    for (size_t i = 0; i < patterns->count; i++) {
        if (fnmatch(patterns->items[i], metric, 0) == 0) {
            return true;
        }
    }
    return false;
}

/* The place of a label set of the whole among ours, which it joins when it is new. */
static unsigned take_set(struct vamp_pick *pick, const struct vamp_schema *whole, unsigned set)
{
    for (unsigned i = 0; i < pick->schema.label_set_count; i++) {
        if (pick->set_from[i] == set) {
            return i;
        }
    }
    const unsigned place = pick->schema.label_set_count++;
    pick->set_from[place] = set;
    pick->label_sets[place] = whole->label_sets[set];
    return place;
}

static void choose(struct vamp_pick *pick, const struct vamp_strings *names,
                   const struct vamp_schema *whole)
{
    pick->schema = *whole;
    pick->schema.label_sets = pick->label_sets;
    pick->schema.metrics = pick->metrics;
    pick->schema.label_set_count = 0;
    pick->schema.metric_count = 0;
    for (unsigned i = 0; i < whole->metric_count; i++) {
        const char *name = vamp_metrics[whole->metrics[i].id].name;
        if (names->count == 0 || vamp_pick_wants(names, name)) {
            const unsigned place = pick->schema.metric_count++;
            pick->metric_from[place] = i;
            pick->metrics[place] = (struct vamp_schema_metric){
                whole->metrics[i].id, take_set(pick, whole, whole->metrics[i].label_set)};
        }
    }
}

static bool make_picked(struct vamp_pick *pick, struct picked *picked)
{
    picked->pick = pick;
    picked->values = calloc(pick->schema.metric_count + 1, sizeof *picked->values);
    picked->series_count = calloc(pick->schema.label_set_count + 1, sizeof *picked->series_count);
    picked->series = calloc(pick->schema.label_set_count + 1, sizeof(void *));
    atomic_init(&picked->used, false);
    return picked->values != NULL && picked->series_count != NULL && picked->series != NULL;
}

static bool make_all(struct vamp_pick *pick, const struct vamp_pick_choice *choice,
                     const struct vamp_schema *schema, unsigned buckets)
{
    pick->label_sets = calloc(schema->label_set_count + 1, sizeof *pick->label_sets);
    pick->set_from = calloc(schema->label_set_count + 1, sizeof *pick->set_from);
    pick->metrics = calloc(schema->metric_count + 1, sizeof *pick->metrics);
    pick->metric_from = calloc(schema->metric_count + 1, sizeof *pick->metric_from);
    pick->picked = calloc(buckets, sizeof *pick->picked);
    if (pick->label_sets == NULL || pick->set_from == NULL || pick->metrics == NULL ||
        pick->metric_from == NULL || pick->picked == NULL ||
        vamp_series_choice_init(&pick->choice, choice->series, schema) != 0) {
        return false;
    }
    choose(pick, choice->metrics, schema);
    bool good = true;
    for (; good && pick->picked_count < buckets; pick->picked_count++) {
        good = make_picked(pick, &pick->picked[pick->picked_count]);
    }
    return good;
}

int vamp_pick_create(const struct vamp_pick_choice *choice, const struct vamp_schema *schema,
                     unsigned buckets, struct vamp_pick **ret_pick, struct vamp_err *err)
{
    struct vamp_pick *pick = calloc(1, sizeof *pick);
    if (pick == NULL || !make_all(pick, choice, schema, buckets)) {
        vamp_pick_free(pick);
        return vamp_err_set_errno(err, ENOMEM, "choose an output's metrics");
    }
    *ret_pick = pick;
    return 0;
}

void vamp_pick_free(struct vamp_pick *pick)
{
    if (pick == NULL) {
        return;
    }
    for (unsigned i = 0; i < pick->picked_count; i++) {
        free(pick->picked[i].values);
        free(pick->picked[i].series_count);
        free(pick->picked[i].series);
        free(pick->picked[i].copies);
    }
    free(pick->picked);
    vamp_series_choice_done(&pick->choice);
    free(pick->label_sets);
    free(pick->set_from);
    free(pick->metrics);
    free(pick->metric_from);
    free(pick);
}

const struct vamp_schema *vamp_pick_schema(const struct vamp_pick *pick)
{
    return &pick->schema;
}

static void give_back(const struct vamp_bucket *bucket)
{
    const ptrdiff_t at = offsetof(struct picked, bucket);
    struct picked *picked = (struct picked *)(uintptr_t)((const char *)bucket - at);
    vamp_bucket_release(picked->whole);
    atomic_store_explicit(&picked->used, false, memory_order_release);
}

/* Buckets are released in the order of their making, so the next one is nearly always free. */
static struct picked *find_free(struct vamp_pick *pick)
{
    for (unsigned tried = 0; tried < pick->picked_count; tried++) {
        struct picked *picked = &pick->picked[pick->next];
        pick->next = pick->next + 1 == pick->picked_count ? 0 : pick->next + 1;
        if (!atomic_load_explicit(&picked->used, memory_order_acquire)) {
            return picked;
        }
    }
    return NULL;
}

/* ---- values without the series that are not wanted */

static const struct vamp_chosen_set *set_of(const struct vamp_pick *pick, unsigned metric)
{
    return &pick->choice.sets[pick->set_from[pick->metrics[metric].label_set]];
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
        if (number != VAMP_SERIES_NOT_CHOSEN) {
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
        if (set->number[i] == VAMP_SERIES_NOT_CHOSEN) {
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

static bool make_room(const struct vamp_pick *pick, struct picked *picked,
                      const struct vamp_bucket *bucket)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < pick->schema.metric_count; i++) {
        if (set_of(pick, i)->restricted) {
            bytes += bucket->values[pick->metric_from[i]].count *
                     value_bytes(vamp_metrics[pick->metrics[i].id].kind);
        }
    }
    if (bytes > picked->copies_bytes) {
        free(picked->copies);
        picked->copies_bytes = bytes + bytes / 2;
        picked->copies = malloc(picked->copies_bytes);
        picked->copies_bytes = picked->copies != NULL ? picked->copies_bytes : 0;
    }
    return bytes <= picked->copies_bytes;
}

static void take_values(const struct vamp_pick *pick, struct picked *picked,
                        const struct vamp_bucket *bucket)
{
    unsigned char *at = picked->copies;
    for (unsigned i = 0; i < pick->schema.metric_count; i++) {
        const struct vamp_metric_values *from = &bucket->values[pick->metric_from[i]];
        const enum vamp_metric_kind kind = vamp_metrics[pick->metrics[i].id].kind;
        if (set_of(pick, i)->restricted) {
            copy_values(set_of(pick, i), kind, from, at, &picked->values[i]);
            at += from->count * value_bytes(kind);
        } else {
            picked->values[i] = *from;
        }
    }
}

const struct vamp_bucket *vamp_pick_bucket(struct vamp_pick *pick, const struct vamp_bucket *bucket)
{
    struct picked *picked = find_free(pick);
    if (picked == NULL || !make_room(pick, picked, bucket)) {
        return NULL;
    }
    atomic_store_explicit(&picked->used, true, memory_order_relaxed);
    vamp_series_choice_learn(&pick->choice, bucket);
    take_values(pick, picked, bucket);
    for (unsigned i = 0; i < pick->schema.label_set_count; i++) {
        const struct vamp_chosen_set *set = &pick->choice.sets[pick->set_from[i]];
        picked->series_count[i] =
            set->restricted ? set->count : bucket->series_count[pick->set_from[i]];
        picked->series[i] = set->restricted ? set->series : bucket->series[pick->set_from[i]];
    }
    picked->whole = vamp_bucket_hold(bucket);
    picked->bucket = *bucket;
    picked->bucket.schema = &pick->schema;
    picked->bucket.series_count = picked->series_count;
    picked->bucket.series = picked->series;
    picked->bucket.values = picked->values;
    picked->bucket.holders = 1;
    picked->bucket.destroy = give_back;
    return &picked->bucket;
}
