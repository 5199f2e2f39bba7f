/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Made-up schemas and buckets for the tests of the writers. Every value follows from metric,
 * series and bucket number by the formulas below, so that a reader in another language
 * (tests/e2e/made_up.py) computes them again. The metrics are the real catalogue.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/plain_histogram.h"
#include "vampire/stats/bucket/bucket.h"

#define MADE_START_NS INT64_C(1795232640000000000) /* 2026-11-21T03:44:00Z */
#define MADE_WIDTH_NS INT64_C(1000000000)
#define MADE_COMPONENTS 6

/* Names as components may really have them; the last but one is not UTF-8. */
static const char *const made_names[MADE_COMPONENTS] = {
    "IFS -- 0",
    "Products, \"1\"",
    ("Gr\xC3\xB6\xC3\x9F"
     "e \\ / {}"),
    "tab\tand\nline \x01",
    "bad \xFF byte",
    "emoji \xF0\x9F\x8C\x8D",
};

struct made_run {
    struct vamp_run run;
    struct vamp_schema schema;
    struct vamp_label_set sets[VAMP_METRICS_MAX];
    struct vamp_schema_metric metrics[VAMP_METRICS_MAX];
    struct vamp_series *series[VAMP_METRICS_MAX];               /* per set, max_series of them */
    const struct vamp_series **series_arrays[VAMP_METRICS_MAX]; /* pointers to them */
    const struct vamp_series *const *series_tables[VAMP_METRICS_MAX];
    unsigned growth; /* series each bucket adds */
    unsigned
        long_name_from; /* series number from which component names have 1,000 bytes; 0: never */
};

static inline const char *made_label(const struct made_run *made, enum vamp_label label,
                                     unsigned series)
{
    static const char long_name[] =
#define TEN(x) x x x x x x x x x x
        TEN(TEN(TEN("n")));
#undef TEN
    if (series == 0) {
        return VAMP_SERIES_OTHER;
    }
    switch (label) {
    case VAMP_LABEL_COMPONENT:
    case VAMP_LABEL_SOURCE:
    case VAMP_LABEL_SINK:
    case VAMP_LABEL_PRODUCER:
    case VAMP_LABEL_CONSUMER:
    case VAMP_LABEL_MODEL:
    case VAMP_LABEL_SOURCE_MODEL:
    case VAMP_LABEL_SINK_MODEL:
    case VAMP_LABEL_PRODUCER_MODEL:
    case VAMP_LABEL_CONSUMER_MODEL:
        if (made->long_name_from > 0 && series >= made->long_name_from) {
            return long_name;
        }
        return made_names[series % MADE_COMPONENTS];
    case VAMP_LABEL_OPERATION:
        return vamp_event_kind_name(series % 15 + 1);
    case VAMP_LABEL_SIZE_CLASS:
        return vamp_size_class_name(series % VAMP_SIZE_CLASS_COUNT);
    case VAMP_LABEL_TIER:
        return vamp_tier_name(series % VAMP_TIER_COUNT);
    case VAMP_LABEL_CAUSE:
        return vamp_cause_name(series % VAMP_CAUSE_COUNT);
    case VAMP_LABEL_ANOMALY:
        return "negative_interval";
    case VAMP_LABEL_OUTPUT:
        return "files";
    case VAMP_LABEL_REASON:
        return vamp_loss_name(series % VAMP_LOSS_COUNT);
    case VAMP_LABEL_PART:
        return vamp_wait_part_name(series % VAMP_WAIT_PART_COUNT);
    case VAMP_LABEL_METRIC:
    case VAMP_LABEL_GROUP:
        return vamp_metrics[series % VAMP_METRICS_BUILT_IN].name;
    case VAMP_LABEL_HOST:
    case VAMP_LABEL_JOB:
    case VAMP_LABEL_NAME:
    case VAMP_LABEL_REFUSAL:
        return vamp_refusal_name(series % VAMP_REFUSAL_COUNT);
    case VAMP_LABEL_WORKFLOW:
        return "forecast";
    case VAMP_LABEL_RUN:
        return "11111111-2222-4333-8444-555555555555";
    case VAMP_LABEL_ATTRIBUTE:
        break;
    }
    return "unknown";
}

static inline unsigned made_set(struct made_run *made, uint32_t labels, unsigned max_series)
{
    struct vamp_label_set set = {.max_series = labels == 0 ? 1 : max_series};
    for (unsigned label = 0; label < VAMP_LABEL_COUNT; label++) {
        if ((labels >> label & 1U) != 0) {
            size_t used = strlen(set.name);
            (void)snprintf(set.name + used, sizeof set.name - used, "%s%s", used > 0 ? "_" : "",
                           vamp_label_name(label));
            set.labels[set.label_count++] = (enum vamp_label)label;
        }
    }
    if (set.label_count == 1) {
        (void)snprintf(set.name + strlen(set.name), sizeof set.name - strlen(set.name), "_series");
    }
    for (unsigned s = 0; s < made->schema.label_set_count; s++) {
        if (strcmp(made->sets[s].name, set.name) == 0) {
            return s;
        }
    }
    unsigned number = made->schema.label_set_count++;
    made->sets[number] = set;
    return number;
}

static inline void made_series(struct made_run *made, unsigned s)
{
    const struct vamp_label_set *set = &made->sets[s];
    made->series[s] = calloc(set->max_series, sizeof *made->series[s]);
    made->series_arrays[s] = calloc(set->max_series, sizeof *made->series_arrays[s]);
    made->series_tables[s] = made->series_arrays[s];
    for (unsigned i = 0; i < set->max_series; i++) {
        struct vamp_series *series = &made->series[s][i];
        for (unsigned l = 0; l < set->label_count; l++) {
            series->labels[l] = made_label(made, set->labels[l], i);
        }
        made->series_arrays[s][i] = series;
    }
}

/* All metrics of the catalogue whose set is in `sets` (enum vamp_metric_set bits); UINT64_MAX:
 * those of one run. */
static inline struct made_run *made_run_create(uint64_t sets, unsigned max_series, unsigned growth,
                                               unsigned long_name_from)
{
    struct made_run *made = calloc(1, sizeof *made);
    sets &= sets == UINT64_MAX ? ~(uint64_t)VAMP_SET_COLLECT : sets;
    made->growth = growth;
    made->long_name_from = long_name_from;
    memcpy(made->run.id, "11111111-2222-4333-8444-555555555555", 37);
    made->run.workflow = "fore/cast \"1\"";
    made->run.component = "vampire";
    made->run.host = "node1";
    made->run.pid = 4711;
    made->run.user = "operator";
    made->run.batch_job = "815";
    made->run.version = "test";
    made->run.clock = "event";
    made->run.sampling = "none";
    made->run.configuration = "{\"workflow\": \"forecast\"}";
    made->run.started_ns = MADE_START_NS;
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        if ((vamp_metrics[id].sets & sets) != 0) {
            made->metrics[made->schema.metric_count++] = (struct vamp_schema_metric){
                .id = (enum vamp_metric_id)id,
                .label_set = made_set(made, vamp_metrics[id].labels, max_series)};
        }
    }
    for (unsigned s = 0; s < made->schema.label_set_count; s++) {
        made_series(made, s);
    }
    made->schema.label_sets = made->sets;
    made->schema.metrics = made->metrics;
    vamp_bins_init(&made->schema.bins, VAMP_SUB_BITS_DEFAULT);
    made->schema.max_components = 1024;
    made->schema.level = VAMP_LEVEL_COMPONENT;
    made->schema.bucket_ns = MADE_WIDTH_NS;
    return made;
}

static inline void made_run_free(struct made_run *made)
{
    for (unsigned s = 0; s < made->schema.label_set_count; s++) {
        free(made->series[s]);
        free(made->series_arrays[s]);
    }
    free(made);
}

static inline unsigned made_series_count(const struct made_run *made, unsigned set, uint64_t number)
{
    uint64_t count = 3 + made->growth * number;
    unsigned most = made->sets[set].max_series;
    return count < most ? (unsigned)count : most;
}

/* Increment of a counter in bucket n. */
static inline uint64_t made_delta(unsigned metric, unsigned series, uint64_t n)
{
    return (metric + 1) * (series + 1) + n % 7;
}

/* Values recorded in bucket n: none when (metric + series + n) % 3 == 0, else as many as that
 * remainder, this one and its doubles. */
static inline unsigned made_recorded(unsigned metric, unsigned series, uint64_t n)
{
    return (unsigned)((metric + series + n) % 3);
}
static inline uint64_t made_value(unsigned metric, unsigned series, uint64_t n)
{
    return 1000 * (metric + 1) + 37 * series + n;
}

static inline int64_t made_gauge(unsigned metric, unsigned series, uint64_t n)
{
    return (int64_t)(metric * 10 + series + n) - 5;
}

/* A bucket and all it owns in one list of blocks. */
struct made_bucket {
    struct vamp_bucket bucket;
    unsigned series_count[VAMP_METRICS_MAX];
    struct vamp_metric_values values[VAMP_METRICS_MAX];
    struct vamp_gap gap;
    struct vamp_component_row components[2];
    void *blocks[2 * VAMP_METRICS_MAX];
    unsigned block_count;
    unsigned *destroyed; /* counted up when the last holder lets go */
};

static inline void made_bucket_destroy(const struct vamp_bucket *bucket)
{
    struct made_bucket *made = (struct made_bucket *)(uintptr_t)bucket;
    for (unsigned i = 0; i < made->block_count; i++) {
        free(made->blocks[i]);
    }
    if (made->destroyed != NULL) {
        __atomic_add_fetch(made->destroyed, 1, __ATOMIC_SEQ_CST);
    }
    free(made);
}

static inline void *made_block(struct made_bucket *bucket, size_t items, size_t bytes)
{
    void *block = calloc(items, bytes);
    bucket->blocks[bucket->block_count++] = block;
    return block;
}

static inline void made_bucket_histogram(const struct vamp_histogram *dense, unsigned bins,
                                         struct vamp_bucket_histogram *to)
{
    to->count = dense->count;
    to->sum = dense->sum;
    to->min = dense->min;
    to->max = dense->max;
    for (unsigned i = 0; i < bins; i++) {
        if (dense->bins[i] > 0) {
            to->bins[to->bin_count++] = (struct vamp_bin_count){dense->bins[i], i};
        }
    }
}

static inline void made_fill_histograms(const struct made_run *made, struct made_bucket *bucket,
                                        unsigned m, unsigned series_count)
{
    const unsigned bins = made->schema.bins.count;
    const size_t bytes = vamp_bucket_histogram_bytes(bins);
    struct vamp_histogram_value *values = made_block(bucket, series_count, sizeof *values);
    char *histograms = made_block(bucket, series_count, bytes);
    struct vamp_histogram *dense =
        made_block(bucket, 1, sizeof *dense + bins * sizeof dense->bins[0]);
    unsigned used = 0;
    for (unsigned s = 0; s < series_count; s++) {
        unsigned id = made->metrics[m].id;
        unsigned recorded = made_recorded(id, s, bucket->bucket.number);
        if (recorded == 0) {
            continue;
        }
        struct vamp_bucket_histogram *histogram =
            (struct vamp_bucket_histogram *)(void *)(histograms + used * bytes);
        vamp_histogram_clear(dense, bins);
        for (unsigned k = 0; k < recorded; k++) {
            plain_histogram_record(dense, made->schema.bins.sub_bits,
                                   made_value(id, s, bucket->bucket.number) << k);
        }
        made_bucket_histogram(dense, bins, histogram);
        values[used++] = (struct vamp_histogram_value){.series = s, .histogram = histogram};
    }
    bucket->values[m].count = used;
    bucket->values[m].histograms = values;
}

static inline void made_fill_metric(const struct made_run *made, struct made_bucket *bucket,
                                    unsigned m)
{
    const uint64_t n = bucket->bucket.number;
    const unsigned id = made->metrics[m].id,
                   count = bucket->series_count[made->metrics[m].label_set];
    if (vamp_metrics[id].kind == VAMP_HISTOGRAM) {
        made_fill_histograms(made, bucket, m, count);
        return;
    }
    bucket->values[m].count = count;
    if (vamp_metrics[id].kind == VAMP_GAUGE) {
        struct vamp_gauge_value *gauges = made_block(bucket, count, sizeof *gauges);
        for (unsigned s = 0; s < count; s++) {
            int64_t value = made_gauge(id, s, n);
            gauges[s] = (struct vamp_gauge_value){value, value - (int64_t)(n % 2), value + 2};
        }
        bucket->values[m].gauges = gauges;
        return;
    }
    struct vamp_counter_value *counters = made_block(bucket, count, sizeof *counters);
    for (unsigned s = 0; s < count; s++) {
        for (uint64_t k = 0; k <= n; k++) {
            bool exists = s < made_series_count(made, made->metrics[m].label_set, k);
            counters[s].value += exists ? made_delta(id, s, k) : 0;
        }
        counters[s].delta = made_delta(id, s, n);
    }
    bucket->values[m].counters = counters;
}

/* Bucket number n of the run, with one holder. A gap every tenth bucket, component n joins in
 * bucket n for the first six, the first one leaves in bucket 8. */
static inline const struct vamp_bucket *made_bucket(const struct made_run *made, uint64_t n,
                                                    unsigned *destroyed)
{
    struct made_bucket *bucket = calloc(1, sizeof *bucket);
    bucket->destroyed = destroyed;
    bucket->bucket.number = n;
    for (unsigned s = 0; s < made->schema.label_set_count; s++) {
        bucket->series_count[s] = made_series_count(made, s, n);
    }
    for (unsigned m = 0; m < made->schema.metric_count; m++) {
        made_fill_metric(made, bucket, m);
    }
    const int64_t start = MADE_START_NS + (int64_t)n * MADE_WIDTH_NS;
    unsigned components = 0;
    if (n < MADE_COMPONENTS || n == 8) {
        bucket->components[components++] = (struct vamp_component_row){
            .index = n == 8 ? 1 : (unsigned)n + 1,
            .component = {.app_id = n == 8 ? 100 : 100 + n,
                          .name = made_names[n == 8 ? 0 : n],
                          .joined_ns = n == 8 ? MADE_START_NS : start,
                          .left_ns = n == 8 ? start : INT64_MIN,
                          .operations = n * 3,
                          .reason = n == 8 ? VAMP_LEAVE_FINALIZED : VAMP_LEAVE_UNKNOWN}};
    }
    bucket->gap = (struct vamp_gap){start, start + 500, VAMP_LOSS_POOL_MANAGER, n};
    bucket->bucket = (struct vamp_bucket){
        .number = n,
        .buckets = 1,
        .start_ns = start,
        .width_ns = MADE_WIDTH_NS,
        .schema = &made->schema,
        .series_count = bucket->series_count,
        .series = made->series_tables,
        .values = bucket->values,
        .accounting = {.received = 10 * n + 3,
                       .decoded = 10 * n + 2,
                       .rejected = 1,
                       .filtered = 2,
                       .counted = 10 * n,
                       .late = n / 2,
                       .lost = {n / 10 * 10, 0, 0},
                       .outputs = {{"files", n, n, 0, 0, 0}},
                       .output_count = 1},
        .gaps = &bucket->gap,
        .gap_count = n % 10 == 9 ? 1 : 0,
        .components = bucket->components,
        .component_count = components,
        .holders = 1,
        .destroy = made_bucket_destroy,
    };
    return &bucket->bucket;
}
