/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of a sample in one thread: a line of InfluxDB's protocol, as collectd sends it, becomes
 * an event and goes through the ring into a declared metric. The baseline is the check of the line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"
#include "vampire/core/event/ring.h"
#include "vampire/core/event/sample.h"
#include "vampire/stats/bucket/declared.h"
#include "vampire/stats/stats.h"

#define SERIES 1000
#define LINE_BYTES 128
#define STEP_NS 50000 /* of event time: 20,000 samples a second */
#define BATCH 64
#define RING_BYTES ((size_t)1 << 20)

enum { GAUGE, COUNTER, HISTOGRAM, UNDECLARED };
static const char *const measurements[] = {"memory", "cpu", "latency", "other"};

struct samples {
    uint64_t count, checksum;
    const char *measurement;
    struct vamp_ring *ring;
    struct vamp_components *components;
    struct vamp_stats *stats;
    char (*lines)[LINE_BYTES];
};

static void fail(const char *what, const struct vamp_err *err)
{
    (void)fprintf(stderr, "bench: %s: %s\n", what, err->text);
    exit(1);
}

static void drop_bucket(void *context, const struct vamp_bucket *bucket)
{
    (void)context;
    vamp_bucket_release(bucket);
}

static void reset_samples(void *state)
{
    struct samples *samples = state;
    struct vamp_err err = VAMP_ERR_NONE;
    const struct vamp_stats_options options = {
        .bucket_ns = INT64_C(1000000000),
        .lateness_ns = -1,
        .level = VAMP_LEVEL_COMPONENT,
        .sets = VAMP_SET_BASIC,
        .sub_bits = VAMP_SUB_BITS_DEFAULT,
        .max_series = 4096,
        .max_histogram_bytes = 64 << 20,
        .max_components = 4096,
        .max_cdos = 1024,
        .max_pending = 1024,
    };
    vamp_stats_free(samples->stats);
    vamp_components_free(samples->components);
    samples->components = NULL;
    samples->stats = NULL;
    if (vamp_components_create(4096, &samples->components, &err) != 0 ||
        vamp_stats_create(&options, "00000000-0000-4000-8000-000000000000", samples->components,
                          drop_bucket, NULL, &samples->stats, &err) != 0) {
        fail("statistics", &err);
    }
}

static void drain(struct samples *samples)
{
    const struct vamp_event *event = NULL;
    vamp_ring_publish(samples->ring);
    while ((event = vamp_ring_next(samples->ring)) != NULL) {
        vamp_stats_tick(samples->stats, event->time_ns);
        vamp_stats_sample(samples->stats, event);
    }
    vamp_ring_release(samples->ring);
}

static uint64_t run_samples(void *state)
{
    struct samples *samples = state;
    struct vamp_err err = VAMP_ERR_NONE;
    for (uint64_t i = 0; i < samples->count; i++) {
        const char *text = samples->lines[i % SERIES];
        struct vamp_sample_line line;
        const char *field = NULL;
        size_t length = 0;
        char sample[LINE_BYTES];
        if (vamp_sample_line_read(text, strlen(text), &line, &err) != 0 ||
            !vamp_sample_line_next(&line, &field, &length)) {
            fail(text, &err);
        }
        memcpy(sample, line.text, line.series_length);
        sample[line.series_length] = ' ';
        memcpy(sample + line.series_length + 1, field, length);
        const struct vamp_event event = {.kind = VAMP_EVENT_SAMPLE,
                                         .time_ns = (int64_t)(i + 1) * STEP_NS,
                                         .name = sample,
                                         .name_length = (uint32_t)(line.series_length + 1 + length),
                                         .present = VAMP_HAS_TIME | VAMP_HAS_CDO_NAME};
        if (!vamp_ring_push(samples->ring, &event)) {
            fail("the ring is full", &err);
        }
        if (i % BATCH == BATCH - 1) {
            drain(samples);
        }
    }
    drain(samples);
    return samples->count;
}

static uint64_t run_check(void *state)
{
    struct samples *samples = state;
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_sample_line line;
    for (uint64_t i = 0; i < samples->count; i++) {
        const char *text = samples->lines[i % SERIES];
        if (vamp_sample_line_read(text, strlen(text), &line, &err) != 0) {
            fail(text, &err);
        }
        samples->checksum += line.series_length;
    }
    return samples->count;
}

static void close_samples(void *state)
{
    struct samples *samples = state;
    vamp_stats_free(samples->stats);
    vamp_components_free(samples->components);
    vamp_ring_free(samples->ring);
    free(samples->lines);
    free(samples);
}

static int open_samples(const struct bench_line *line, const struct bench_size *size,
                        void **ret_state)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct samples *samples = calloc(1, sizeof *samples);
    if (samples == NULL) {
        return -ENOMEM;
    }
    samples->count = size->events;
    samples->measurement = measurements[line->number];
    samples->lines = calloc(SERIES, sizeof *samples->lines);
    if (samples->lines == NULL || vamp_ring_create(RING_BYTES, &samples->ring, &err) != 0 ||
        vamp_declare("used gauge memory.value host=host name=type_instance", &err) != 0 ||
        vamp_declare("ticks counter cpu.value host=host name=type_instance", &err) != 0 ||
        vamp_declare("latency_ns histogram latency.value host=host", &err) != 0) {
        fail("prepare", &err);
    }
    for (unsigned i = 0; i < SERIES; i++) {
        (void)snprintf(samples->lines[i], LINE_BYTES,
                       "%s,host=n%u.site.org,type=%s,type_instance=used value=%u 1795406414480",
                       samples->measurement, i, samples->measurement, 1474859008 + i * 7919);
    }
    *ret_state = samples;
    return 0;
}

#define LINE(text_name, text_what, kind)                                                           \
    {                                                                                              \
        .name = (text_name), .what = (text_what), .each = "sample",                                \
        .baseline = "the check of its line", .clock = BENCH_PROCESSOR, .counted = true,            \
        .number = (kind), .open = open_samples, .reset = reset_samples, .run = run_samples,        \
        .base = run_check, .close = close_samples                                                  \
    }

const struct bench_line bench_sample_lines[] = {
    LINE("sample.gauge", "a line to a gauge of 1,000 hosts, through the ring", GAUGE),
    LINE("sample.counter", "the same to a counter", COUNTER),
    LINE("sample.histogram", "the same to a histogram", HISTOGRAM),
    LINE("sample.undeclared", "the same, of nothing that is declared", UNDECLARED),
    {.name = NULL},
};
