/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of the statistics for tests: feeds events, keeps all buckets, finds values by label text.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/events.h"
#include "vampire/stats/stats.h"

#define COLLECT_BUCKETS_MAX 20000
#define COLLECT_RUN_ID "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
#define SECOND INT64_C(1000000000)
#define ALL_SETS                                                                                   \
    (VAMP_SET_BASIC | VAMP_SET_WAITS | VAMP_SET_TRANSPORT | VAMP_SET_LIFECYCLE |                   \
     VAMP_SET_ANOMALIES | VAMP_SET_IN_FLIGHT)

struct collect {
    struct vamp_components *components;
    struct vamp_stats *stats;
    const struct vamp_bucket **buckets;
    size_t count;
};

static inline struct vamp_stats_options collect_options(void)
{
    return (struct vamp_stats_options){
        .bucket_ns = SECOND,
        .lateness_ns = -1,
        .level = VAMP_LEVEL_COMPONENT,
        .sets = ALL_SETS,
        .sub_bits = 3,
        .max_series = 1000,
        .max_histogram_bytes = 64 << 20,
        .max_components = 64,
        .max_cdos = 1000,
        .max_pending = 1000,
    };
}

static inline void collect_emit(void *context, const struct vamp_bucket *bucket)
{
    struct collect *collect = context;
    assert_true(collect->count < COLLECT_BUCKETS_MAX);
    assert_int_equal(bucket->number, collect->count);
    collect->buckets[collect->count++] = bucket;
}

static inline void collect_start(struct collect *collect, const struct vamp_stats_options *options)
{
    struct vamp_err err = VAMP_ERR_NONE;
    memset(collect, 0, sizeof *collect);
    collect->buckets = calloc(COLLECT_BUCKETS_MAX, sizeof(struct vamp_bucket *));
    assert_non_null(collect->buckets);
    assert_int_equal(vamp_components_create(options->max_components, &collect->components, &err),
                     0);
    int status = vamp_stats_create(options, COLLECT_RUN_ID, collect->components, collect_emit,
                                   collect, &collect->stats, &err);
    if (status != 0) {
        fail_msg("%s", err.text);
    }
}

static inline void collect_feed(struct collect *collect, struct vamp_event event)
{
    if (!vamp_event_is_mark(&event)) {
        vamp_components_observe(collect->components, &event);
    }
    vamp_stats_observe(collect->stats, &event, true);
}

static inline void collect_end(struct collect *collect)
{
    for (size_t i = 0; i < collect->count; i++) {
        vamp_bucket_release(collect->buckets[i]);
    }
    free(collect->buckets);
    vamp_stats_free(collect->stats);
    vamp_components_free(collect->components);
}

/* Index of the metric in the schema, -1 when it is not enabled. */
static inline int collect_metric(const struct collect *collect, enum vamp_metric_id id)
{
    const struct vamp_schema *schema = vamp_stats_schema(collect->stats);
    for (unsigned i = 0; i < schema->metric_count; i++) {
        if (schema->metrics[i].id == id) {
            return (int)i;
        }
    }
    return -1;
}

static inline void collect_series_text(const struct vamp_bucket *bucket, unsigned set,
                                       unsigned series, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < bucket->schema->label_sets[set].label_count && used < bytes; i++) {
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i == 0 ? "" : "|",
                                 bucket->series[set][series]->labels[i]);
    }
}

/* The series with these labels, joined by "|"; -1 when it is not there. */
static inline int collect_series(const struct vamp_bucket *bucket, int metric, const char *labels)
{
    const unsigned set = bucket->schema->metrics[metric].label_set;
    for (unsigned s = 0; s < bucket->series_count[set]; s++) {
        char text[9000];
        collect_series_text(bucket, set, s, text, sizeof text);
        if (strcmp(text, labels) == 0) {
            return (int)s;
        }
    }
    return -1;
}

/* A counter's value at the end of a bucket, 0 when there is no such series yet. */
static inline uint64_t collect_counter(const struct collect *collect, size_t bucket,
                                       enum vamp_metric_id id, const char *labels)
{
    const struct vamp_bucket *at = collect->buckets[bucket];
    const int metric = collect_metric(collect, id);
    const int series = collect_series(at, metric, labels);
    return series < 0 ? 0 : at->values[metric].counters[series].value;
}

static inline struct vamp_gauge_value collect_gauge(const struct collect *collect, size_t bucket,
                                                    enum vamp_metric_id id, const char *labels)
{
    const struct vamp_bucket *at = collect->buckets[bucket];
    const int metric = collect_metric(collect, id);
    const int series = collect_series(at, metric, labels);
    return series < 0 ? (struct vamp_gauge_value){0} : at->values[metric].gauges[series];
}

/* One series' histogram in one bucket, NULL when it recorded nothing there. */
static inline const struct vamp_bucket_histogram *collect_histogram(const struct collect *collect,
                                                                    size_t bucket,
                                                                    enum vamp_metric_id id,
                                                                    const char *labels)
{
    const struct vamp_bucket *at = collect->buckets[bucket];
    const int metric = collect_metric(collect, id);
    const int series = collect_series(at, metric, labels);
    for (unsigned i = 0; series >= 0 && i < at->values[metric].count; i++) {
        if (at->values[metric].histograms[i].series == (unsigned)series) {
            return at->values[metric].histograms[i].histogram;
        }
    }
    return NULL;
}

/* Values recorded by all series of a metric in the whole run. */
static inline uint64_t collect_recorded(const struct collect *collect, enum vamp_metric_id id)
{
    const int metric = collect_metric(collect, id);
    uint64_t count = 0;
    for (size_t b = 0; b < collect->count; b++) {
        for (unsigned i = 0; i < collect->buckets[b]->values[metric].count; i++) {
            count += collect->buckets[b]->values[metric].histograms[i].histogram->count;
        }
    }
    return count;
}
