/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of an event through vampire in one thread, stage by stage: each line does what the line
 * before it does and one thing more. The baseline of all is protobuf-c's bare unpack of the same
 * messages with the same arena.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "event.pb-c.h"
#include "filters/event_filter.h"
#include "tests/bench/bench.h"
#include "tests/bench/stream.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/event/ring.h"
#include "vampire/core/protobuf/arena.h"
#include "vampire/stats/stats.h"

#define COMPONENTS 8  /* so few that all their series exist before anything is measured */
#define STEP_NS 10000 /* of event time: 100,000 events a second, a bucket each */
#define ARENA_BYTES 65536
#define RING_BYTES ((size_t)1 << 20)
#define BATCH 64 /* events the ring is given before they are taken: a message's worth */
#define SETS_ALL                                                                                   \
    (VAMP_SET_BASIC | VAMP_SET_WAITS | VAMP_SET_TRANSPORT | VAMP_SET_LIFECYCLE |                   \
     VAMP_SET_ANOMALIES | VAMP_SET_IN_FLIGHT)

/* What a line does, in its number above the sets. */
enum {
    WITH_RING = 1 << 16,
    WITH_FILTER = 1 << 17,
    WITH_STATISTICS = 1 << 18,
    WITHOUT_PARTS = 1 << 19, /* of waits on demands */
    WITH_TEXTS = 1 << 20,    /* the filter has conditions on texts alone */
    OVER_CDOS = 1 << 21,     /* max_cdos is an eighth of the live CDOs */
    OVER_PENDING = 1 << 22,  /* max_pending is a 64th of the live CDOs */
    SETS_MASK = (1 << 16) - 1,
};

static const char filter_text[] =
    "(and (.event.kind != require) (.component.name match '^(IFS|Products) -- ') "
    "(or (not (has .cdo.size)) (.cdo.size >= 1024)))";
static const char texts_text[] = "(and (.component.name glob '*-- *') (.cdo.name glob '*step:*') "
                                 "(.cdo.name match '^fc-[0-9]+,step:[0-9]+,level:'))";

struct events {
    uint64_t what;
    uint64_t live;
    struct bench_stream stream;
    struct vamp_decode_arena arena;
    struct vamp_ring *ring;
    struct vamp_components *components;
    struct vamp_event_filter *filter;
    struct vamp_stats *stats;
    size_t from, to;     /* what a measured run goes over */
    uint64_t checksum;   /* so that nothing is optimised away */
    uint64_t heap_calls; /* of the newest run */
    uint64_t buckets, run_buckets;
};

static void fail(struct events *events, const char *what, const struct vamp_err *err)
{
    (void)events;
    (void)fprintf(stderr, "bench: %s: %s\n", what, err->text);
    exit(1);
}

static void drop_bucket(void *context, const struct vamp_bucket *bucket)
{
    struct events *events = context;
    events->buckets++;
    vamp_bucket_release(bucket);
}

static void create_statistics(struct events *events)
{
    struct vamp_err err = VAMP_ERR_NONE;
    const uint64_t all = 2 * events->live + 1024;
    const bool over_cdos = (events->what & OVER_CDOS) != 0;
    const bool over_pending = (events->what & OVER_PENDING) != 0;
    const struct vamp_stats_options options = {
        .bucket_ns = INT64_C(1000000000),
        .lateness_ns = -1,
        .level = VAMP_LEVEL_COMPONENT,
        .sets = events->what & SETS_MASK,
        .metrics_off[VAMP_METRIC_DEMAND_WAIT_PART_NS] = (events->what & WITHOUT_PARTS) != 0,
        .sub_bits = VAMP_SUB_BITS_DEFAULT,
        .max_series = 1024,
        .max_histogram_bytes = 64 << 20,
        .max_components = 4096,
        .max_cdos = over_cdos ? events->live / 8 : all,
        .max_pending = over_pending ? events->live / 64 : all,
    };
    if (vamp_stats_create(&options, "00000000-0000-4000-8000-000000000000", events->components,
                          drop_bucket, events, &events->stats, &err) != 0) {
        fail(events, "statistics", &err);
    }
}

static void observe(struct events *events, const struct vamp_event *event)
{
    enum vamp_verdict verdict = VAMP_PASSED;
    if ((events->what & (WITH_FILTER | WITH_STATISTICS)) != 0) {
        (void)vamp_components_observe(events->components, event);
    }
    if ((events->what & WITH_FILTER) != 0) {
        verdict = vamp_event_filter_match(events->filter, event, events->components)
                      ? VAMP_PASSED
                      : VAMP_FILTERED;
    }
    if ((events->what & WITH_STATISTICS) != 0) {
        vamp_stats_observe(events->stats, event, verdict);
    }
    events->checksum += event->serial + (verdict == VAMP_PASSED);
}

/* As the pipeline does it: in groups that are looked at ahead. */
static void drain(struct events *events)
{
    const struct vamp_event *group[VAMP_LOOK_AHEAD];
    unsigned count;
    vamp_ring_publish(events->ring);
    do {
        count = vamp_ring_take(events->ring, group, VAMP_LOOK_AHEAD);
        if ((events->what & WITH_STATISTICS) != 0) {
            vamp_stats_look_ahead(events->stats, group, count);
        }
        for (unsigned i = 0; i < count; i++) {
            observe(events, group[i]);
        }
    } while (count == VAMP_LOOK_AHEAD);
    vamp_ring_release(events->ring);
}

static void run_range(struct events *events, size_t from, size_t to)
{
    const struct bench_stream *stream = &events->stream;
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_event event;
    unsigned waiting = 0;
    for (size_t i = from; i < to; i++) {
        if (vamp_event_read(stream->bytes + stream->starts[i],
                            stream->starts[i + 1] - stream->starts[i], &event, &err) != 0) {
            fail(events, "decode", &err);
        }
        if ((events->what & WITH_RING) == 0) {
            observe(events, &event);
            continue;
        }
        if (!vamp_ring_push(events->ring, &event)) {
            fail(events, "the ring is full", &err);
        }
        if (++waiting == BATCH) {
            drain(events);
            waiting = 0;
        }
    }
    if (waiting > 0) {
        drain(events);
    }
}

static uint64_t run_events(void *state)
{
    struct events *events = state;
    const uint64_t calls = bench_heap_calls();
    const uint64_t buckets = events->buckets;
    run_range(events, events->from, events->to);
    events->heap_calls = bench_heap_calls() - calls;
    events->run_buckets = events->buckets - buckets;
    return events->to - events->from;
}

/* New statistics, brought to the point where all CDOs live. */
static void reset_events(void *state)
{
    struct events *events = state;
    struct vamp_err err = VAMP_ERR_NONE;
    if ((events->what & (WITH_STATISTICS | WITH_FILTER)) == 0) {
        return;
    }
    vamp_stats_free(events->stats);
    events->stats = NULL;
    vamp_components_free(events->components);
    events->components = NULL;
    if (vamp_components_create(4096, &events->components, &err) != 0) {
        fail(events, "components", &err);
    }
    if ((events->what & WITH_STATISTICS) != 0) {
        create_statistics(events);
    }
    run_range(events, 0, events->from);
}

static uint64_t run_unpack(void *state)
{
    struct events *events = state;
    const struct bench_stream *stream = &events->stream;
    for (size_t i = events->from; i < events->to; i++) {
        const Vamp__Wire__Event *message = vamp__wire__event__unpack(
            vamp_decode_arena_reset(&events->arena), stream->starts[i + 1] - stream->starts[i],
            stream->bytes + stream->starts[i]);
        events->checksum += message != NULL ? message->serial : 0;
    }
    return events->to - events->from;
}

/* Reads every byte once. */
static uint64_t run_bytes(void *state)
{
    struct events *events = state;
    const struct bench_stream *stream = &events->stream;
    uint8_t copy[4096];
    for (size_t i = events->from; i < events->to; i++) {
        __builtin_memcpy(copy, stream->bytes + stream->starts[i],
                         stream->starts[i + 1] - stream->starts[i]);
        __asm__ volatile("" : : "r"(copy) : "memory");
        events->checksum += copy[0];
    }
    return events->to - events->from;
}

static void close_events(void *state)
{
    struct events *events = state;
    vamp_stats_free(events->stats);
    vamp_components_free(events->components);
    vamp_event_filter_free(events->filter);
    vamp_ring_free(events->ring);
    vamp_decode_arena_done(&events->arena);
    bench_stream_done(&events->stream);
    free(events);
}

static int open_events(const struct bench_line *line, const struct bench_size *size,
                       void **ret_state)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct events *events = calloc(1, sizeof *events);
    if (events == NULL) {
        return -ENOMEM;
    }
    events->what = line->number;
    events->live = size->live;
    const struct bench_plan plan = {.events = size->events + size->live * BENCH_LIFE_EVENTS,
                                    .live = size->live,
                                    .components = COMPONENTS,
                                    .step_ns = STEP_NS};
    if (bench_stream_init(&events->stream, &plan) != 0 ||
        vamp_decode_arena_init(&events->arena, ARENA_BYTES, &err) != 0 ||
        vamp_ring_create(RING_BYTES, &events->ring, &err) != 0) {
        fail(events, "prepare", &err);
    }
    const char *text = (events->what & WITH_TEXTS) != 0 ? texts_text : filter_text;
    if (vamp_event_filter_compile(text, VAMP_FILTER_INSIDE, NULL, &events->filter, &err) != 0) {
        fail(events, "filter", &err);
    }
    events->from = events->stream.warm;
    events->to = events->stream.count - COMPONENTS; /* without the leaves */
    *ret_state = events;
    return 0;
}

static void more_events(void *state, FILE *out)
{
    const struct events *events = state;
    const double count = (double)(events->to - events->from);
    (void)fprintf(
        out,
        ", \"events\": %.0f, \"bytes_per_event\": %.1f, \"heap_calls\": %" PRIu64
        ", \"buckets\": %" PRIu64,
        count,
        (double)(events->stream.starts[events->to] - events->stream.starts[events->from]) / count,
        events->heap_calls, events->run_buckets);
}

#define LINE(text_name, text_what, bits)                                                           \
    {                                                                                              \
        .name = (text_name), .what = (text_what), .each = "event",                                 \
        .baseline = "protobuf-c's bare unpack, same arena", .clock = BENCH_PROCESSOR,              \
        .counted = true, .number = (bits), .open = open_events, .reset = reset_events,             \
        .run = run_events, .base = run_unpack, .more = more_events, .close = close_events          \
    }
#define COUNTING(text_name, text_what, sets)                                                       \
    LINE(text_name, text_what, WITH_RING | WITH_STATISTICS | (sets))

const struct bench_line bench_event_lines[] = {
    {.name = "unpack",
     .what = "protobuf-c's bare unpack of an event into an arena",
     .each = "event",
     .baseline = "a copy of its bytes",
     .clock = BENCH_PROCESSOR,
     .open = open_events,
     .run = run_unpack,
     .base = run_bytes,
     .more = more_events,
     .close = close_events},
    LINE("decode", "message to event, checked", 0),
    LINE("ring", "decode, and through the ring", WITH_RING),
    LINE("filter", "ring, and a filter of three conditions", WITH_RING | WITH_FILTER),
    LINE("filter.texts", "ring, and a filter of two patterns and a regular expression",
         WITH_RING | WITH_FILTER | WITH_TEXTS),
    COUNTING("statistics.basic", "ring, and the metrics of set basic", VAMP_SET_BASIC),
    COUNTING("statistics.waits", "ring, and the metrics of set waits", VAMP_SET_WAITS),
    COUNTING("statistics.transport", "ring, and the metrics of set transport", VAMP_SET_TRANSPORT),
    COUNTING("statistics.lifecycle", "ring, and the metrics of set lifecycle", VAMP_SET_LIFECYCLE),
    COUNTING("statistics.anomalies", "ring, and the metrics of set anomalies", VAMP_SET_ANOMALIES),
    COUNTING("statistics.ended", "all metrics but what is in flight, and the parts of waits",
             (SETS_ALL & ~VAMP_SET_IN_FLIGHT) | WITHOUT_PARTS),
    COUNTING("statistics.all", "ring, and all metrics", SETS_ALL),
    COUNTING("statistics.max_cdos", "ring, and all metrics, with 8 times max_cdos live CDOs",
             SETS_ALL | OVER_CDOS),
    COUNTING("statistics.max_pending", "ring, and all metrics, with max_pending always exceeded",
             SETS_ALL | OVER_PENDING),
    COUNTING("statistics.filtered", "ring, filter, and all metrics", WITH_FILTER | SETS_ALL),
    {.name = NULL},
};
