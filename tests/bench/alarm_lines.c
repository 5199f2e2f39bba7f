/* SPDX-License-Identifier: BSD-3-Clause */
/* Costs at the end of a bucket of fifty alarm rules on a quantile of waits, or of transports
 * between pairs of components, compared to reading the bucket's histograms once. CDOs have all
 * sizes. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tests/bench/bench.h"
#include "tests/bench/stream.h"
#include "vampire/alarms/alarms.h"
#include "vampire/stats/bucket/rows.h"
#include "vampire/stats/stats.h"

#define RULES 50
/* A line's number is its number of components, plus PAIRS if its rules are on transports. */
#define PAIRS (1 << 16)
#define EVENTS 300000
#define LIVE 2000
#define STEP_NS 20000 /* 50,000 events a second */
#define BUCKETS_MAX 8
#define ROUNDS 4

struct judging {
    struct vamp_alarm_config rules[RULES];
    struct vamp_alarms *alarms;
    const struct vamp_bucket *buckets[BUCKETS_MAX]; /* full ones, kept */
    unsigned count;
    uint64_t checksum, resident_bytes;
};

static void keep_bucket(void *context, const struct vamp_bucket *bucket)
{
    struct judging *judging = context;
    if (judging->count < BUCKETS_MAX) {
        judging->buckets[judging->count++] = bucket;
    } else {
        vamp_bucket_release(bucket);
    }
}

static void say_nothing(void *context, bool error, const char *line)
{
    (void)context, (void)error, (void)line;
}

static void must(int status, const struct vamp_err *err)
{
    if (status != 0) {
        (void)fprintf(stderr, "bench: alarms: %s\n", err->text);
        exit(1);
    }
}

static void count_stream(struct judging *judging, const struct bench_line *line,
                         const struct bench_size *size)
{
    struct vamp_err err = VAMP_ERR_NONE;
    const struct bench_plan plan = {.events =
                                        size->events >= BENCH_EVENTS_FULL ? EVENTS : EVENTS / 10,
                                    .live = LIVE,
                                    .components = (unsigned)(line->number % PAIRS),
                                    .step_ns = STEP_NS};
    const struct vamp_stats_options options = {
        .bucket_ns = INT64_C(1000000000),
        .lateness_ns = -1,
        .level = VAMP_LEVEL_COMPONENT,
        .sets = VAMP_SET_WAITS | VAMP_SET_TRANSPORT,
        .sub_bits = VAMP_SUB_BITS_DEFAULT,
        .max_series = 65536,
        .max_histogram_bytes = 256 << 20,
        .max_components = 4096,
        .max_cdos = 4 * LIVE,
        .max_pending = 4 * LIVE,
    };
    struct vamp_components *components;
    struct vamp_stats *stats;
    must(vamp_components_create(options.max_components, &components, &err), &err);
    must(vamp_stats_create(&options, "00000000-0000-4000-8000-000000000000", components,
                           keep_bucket, judging, &stats, &err),
         &err);
    struct bench_maker *maker = bench_maker_create(&plan);
    must(maker == NULL ? -ENOMEM : 0, &err);
    for (struct vamp_event event; bench_maker_next(maker, &event);) {
        (void)vamp_components_observe(components, &event);
        vamp_stats_observe(stats, &event, VAMP_PASSED);
    }
    bench_maker_free(maker);
    vamp_stats_finish(stats);
    /* Buckets name components and series: neither is freed. */
}

static void make_rule(const struct bench_line *line, struct vamp_alarm_config *rule)
{
    const bool pairs = line->number >= PAIRS;
    const char *const words[][2] = {{"name", "waits"},
                                    {"metric", pairs ? "transport_ns" : "demand_wait_ns"},
                                    {"quantile", "0.99"},
                                    {"when", "> 1h"}};
    struct vamp_err err = VAMP_ERR_NONE;
    must(vamp_alarm_config_init(rule, &err), &err);
    if (pairs) {
        rule->options.without = UINT64_C(1) << VAMP_LABEL_SIZE_CLASS | UINT64_C(1)
                                                                           << VAMP_LABEL_TIER;
    }
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        must(vamp_opt_set(vamp_opt_find(vamp_alarm_options, words[i][0]), &rule->options,
                          words[i][1], &err),
             &err);
    }
}

static int open_judging(const struct bench_line *line, const struct bench_size *size,
                        void **ret_state)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct judging *judging = calloc(1, sizeof *judging);
    if (judging == NULL) {
        return -ENOMEM;
    }
    count_stream(judging, line, size);
    for (unsigned i = 0; i < RULES; i++) {
        make_rule(line, &judging->rules[i]);
    }
    const struct vamp_alarms_options options = {.configs = judging->rules,
                                                .count = RULES,
                                                .schema = judging->buckets[0]->schema,
                                                .say = say_nothing};
    const uint64_t before = bench_resident_bytes();
    must(vamp_alarms_create(&options, &judging->alarms, &err), &err);
    for (unsigned i = 0; i < judging->count; i++) {
        struct vamp_alarm_change *changes;
        judging->checksum +=
            vamp_alarms_evaluate(judging->alarms, judging->buckets[i], 0, &changes);
    }
    judging->resident_bytes = bench_resident_bytes() - before;
    *ret_state = judging;
    return 0;
}

static uint64_t judge_buckets(void *state)
{
    struct judging *judging = state;
    for (unsigned i = 0; i < ROUNDS * judging->count; i++) {
        struct vamp_alarm_change *changes;
        judging->checksum += vamp_alarms_evaluate(
            judging->alarms, judging->buckets[i % judging->count], 0, &changes);
        free(changes);
    }
    return (uint64_t)ROUNDS * judging->count;
}

static uint64_t read_buckets(void *state)
{
    struct judging *judging = state;
    for (unsigned i = 0; i < ROUNDS * judging->count; i++) {
        struct vamp_rows rows = vamp_rows(judging->buckets[i % judging->count], VAMP_ROWS_IDLE);
        while (vamp_rows_next(&rows)) {
            judging->checksum += rows.row.number;
        }
    }
    return (uint64_t)ROUNDS * judging->count;
}

static void print_resident(void *state, FILE *out)
{
    const struct judging *judging = state;
    (void)fprintf(out, ", \"resident_bytes\": %" PRIu64, judging->resident_bytes);
}

static void close_judging(void *state)
{
    struct judging *judging = state;
    vamp_alarms_free(judging->alarms);
    for (unsigned i = 0; i < RULES; i++) {
        vamp_alarm_config_done(&judging->rules[i]);
    }
    for (unsigned i = 0; i < judging->count; i++) {
        vamp_bucket_release(judging->buckets[i]);
    }
    free(judging);
}

#define ALARMS(text_name, text_what, value)                                                        \
    {                                                                                              \
        .name = (text_name), .what = "fifty rules on the 99th percentile of " text_what,           \
        .each = "bucket", .baseline = "a walk over the bucket's rows", .clock = BENCH_PROCESSOR,   \
        .number = (value), .open = open_judging, .run = judge_buckets, .base = read_buckets,       \
        .more = print_resident, .close = close_judging                                             \
    }

const struct bench_line bench_alarm_lines[] = {
    ALARMS("alarms", "waits on a bucket of 400 components", 400),
    ALARMS("alarms.pairs", "transports between pairs of 60 components", PAIRS | 60),
    ALARMS("alarms.pairs.500", "transports between pairs of 500 components", PAIRS | 500),
    {.name = NULL},
};
