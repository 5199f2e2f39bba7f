/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/stream.h"
#include "tests/lib/recorder.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "vampire/core/event/codec.h"
#include "vampire/core/recording/recording.h"

#define START_NS (INT64_C(1767225600) * 1000000000) /* 2026-01-01T00:00:00Z */
#define FIRST_APP 2                                 /* 1 is a pool manager's own */
#define PACKED_BYTES_MAX 192                        /* of an event of this stream */
#define KIBIBYTE 1024

/* The life of a CDO, event by event. */
struct stage {
    enum vamp_event_kind kind;
    enum vamp_event_phase phase;
    bool consumer; /* acts; else the producer */
    bool sized, transport;
};
static const struct stage life[] = {
    {VAMP_EVENT_DECLARE, VAMP_PHASE_AFTER, false, false, false},
    {VAMP_EVENT_SEAL, VAMP_PHASE_AFTER, false, true, false},
    {VAMP_EVENT_OFFER, VAMP_PHASE_AFTER, false, true, false},
    {VAMP_EVENT_DECLARE, VAMP_PHASE_AFTER, true, false, false},
    {VAMP_EVENT_REQUIRE, VAMP_PHASE_AFTER, true, false, false},
    {VAMP_EVENT_DEMAND, VAMP_PHASE_BEFORE, true, false, false},
    {VAMP_EVENT_DEMAND, VAMP_PHASE_AFTER, true, false, false},
    {VAMP_EVENT_TRANSPORT_INIT, VAMP_PHASE_AFTER, true, true, true},
    {VAMP_EVENT_TRANSPORT_COMPLETED, VAMP_PHASE_AFTER, true, true, true},
    {VAMP_EVENT_DISPOSE, VAMP_PHASE_AFTER, true, false, false},
    {VAMP_EVENT_WITHDRAW, VAMP_PHASE_BEFORE, false, true, false},
    {VAMP_EVENT_WITHDRAW, VAMP_PHASE_AFTER, false, true, false},
    {VAMP_EVENT_DISPOSE, VAMP_PHASE_AFTER, false, true, false},
};
static_assert(sizeof life / sizeof life[0] == BENCH_LIFE_EVENTS, "as the header has it");
static const struct stage brief_life[] = {
    {VAMP_EVENT_DECLARE, VAMP_PHASE_AFTER, false, false, false},
    {VAMP_EVENT_OFFER, VAMP_PHASE_AFTER, false, true, false},
    {VAMP_EVENT_DEMAND, VAMP_PHASE_AFTER, true, false, false},
    {VAMP_EVENT_DISPOSE, VAMP_PHASE_AFTER, true, false, false},
    {VAMP_EVENT_WITHDRAW, VAMP_PHASE_AFTER, false, true, false},
    {VAMP_EVENT_DISPOSE, VAMP_PHASE_AFTER, false, true, false},
};
#define STAGES(stages) ((uint32_t)(sizeof(stages) / sizeof(stages)[0]))

struct cdo {
    uint64_t number;
    uint32_t stage;
};

struct bench_maker {
    struct bench_plan plan;
    uint64_t random, made, cdos, serial;
    unsigned joined, left;
    const struct stage *life;
    uint32_t stages; /* of it */
    struct cdo *slots;
    char name[64];
};

/* splitmix64 */
static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static uint64_t next_random(struct bench_maker *maker)
{
    return mix(maker->random += UINT64_C(0x9e3779b97f4a7c15));
}

struct bench_maker *bench_maker_create(const struct bench_plan *plan)
{
    struct bench_maker *maker = calloc(1, sizeof *maker);
    if (maker == NULL) {
        return NULL;
    }
    maker->plan = *plan;
    maker->plan.start_ns = plan->start_ns != 0 ? plan->start_ns : START_NS;
    maker->life = plan->brief ? brief_life : life;
    maker->stages = plan->brief ? STAGES(brief_life) : STAGES(life);
    maker->slots = calloc(plan->live, sizeof *maker->slots);
    if (maker->slots == NULL) {
        bench_maker_free(maker);
        return NULL;
    }
    return maker;
}

void bench_maker_free(struct bench_maker *maker)
{
    if (maker != NULL) {
        free(maker->slots);
        free(maker);
    }
}

static void stamp(struct bench_maker *maker, struct vamp_event *event)
{
    event->serial = ++maker->serial;
    event->time_ns = maker->plan.start_ns + (int64_t)maker->serial * maker->plan.step_ns;
    event->present |= VAMP_HAS_SERIAL | VAMP_HAS_TIME | VAMP_HAS_APP;
}

static void make_component(struct bench_maker *maker, enum vamp_event_kind kind, unsigned number,
                           struct vamp_event *ret_event)
{
    *ret_event = (struct vamp_event){.kind = (uint8_t)kind, .app_id = FIRST_APP + number};
    stamp(maker, ret_event);
    if (kind == VAMP_EVENT_JOIN) {
        const bool producer = number < maker->plan.components / 2;
        ret_event->name_length = (uint32_t)snprintf(maker->name, sizeof maker->name, "%s -- %u",
                                                    producer ? "IFS" : "Products", number);
        ret_event->name = maker->name;
        ret_event->present |= VAMP_HAS_COMPONENT_NAME;
    } else {
        ret_event->reason = VAMP_LEAVE_FINALIZED;
        ret_event->present |= VAMP_HAS_REASON;
    }
}

static void make_operation(struct bench_maker *maker, struct vamp_event *ret_event)
{
    const uint64_t at =
        maker->made < maker->plan.live ? maker->made : next_random(maker) % maker->plan.live;
    struct cdo *cdo = &maker->slots[at];
    if (cdo->stage == 0) {
        cdo->number = ++maker->cdos;
    }
    const struct stage *stage = &maker->life[cdo->stage];
    const unsigned producers = maker->plan.components / 2;
    const uint64_t producer = FIRST_APP + cdo->number % producers;
    const uint64_t consumer = FIRST_APP + producers + cdo->number / producers % producers;
    const uint64_t number = cdo->number;
    *ret_event = (struct vamp_event){
        .kind = (uint8_t)stage->kind,
        .phase = (uint8_t)stage->phase,
        .app_id = stage->consumer ? consumer : producer,
        .cdo_id = {.high = mix(number), .low = mix(~number)},
        .name = maker->name,
        .name_length = (uint32_t)snprintf(maker->name, sizeof maker->name,
                                          "fc-%08" PRIu64 ",step:%" PRIu64 ",level:%" PRIu64,
                                          number, number / 1000 % 240, number % 137),
        .present = VAMP_HAS_CDO_ID | VAMP_HAS_CDO_NAME,
    };
    stamp(maker, ret_event);
    if (stage->sized) {
        ret_event->size_bytes = KIBIBYTE << mix(number) % 13;
        ret_event->present |= VAMP_HAS_SIZE;
    }
    if (stage->transport) {
        ret_event->peer_id = producer;
        ret_event->transport_id = number;
        ret_event->tier = VAMP_TIER_OFI;
        ret_event->cause = VAMP_CAUSE_DEMAND;
        ret_event->present |= VAMP_HAS_PEER | VAMP_HAS_TRANSPORT | VAMP_HAS_TIER | VAMP_HAS_CAUSE;
    }
    cdo->stage = (cdo->stage + 1) % maker->stages;
    maker->made++;
}

bool bench_maker_next(struct bench_maker *maker, struct vamp_event *ret_event)
{
    if (maker->joined < maker->plan.components) {
        make_component(maker, VAMP_EVENT_JOIN, maker->joined++, ret_event);
    } else if (maker->made < maker->plan.events) {
        make_operation(maker, ret_event);
    } else if (maker->left < maker->plan.components) {
        make_component(maker, VAMP_EVENT_LEAVE, maker->left++, ret_event);
    } else {
        return false;
    }
    return true;
}

int bench_stream_init(struct bench_stream *stream, const struct bench_plan *plan)
{
    const size_t most = plan->events + 2 * (size_t)plan->components;
    *stream = (struct bench_stream){.bytes = malloc(most * PACKED_BYTES_MAX),
                                    .starts = calloc(most + 1, sizeof *stream->starts)};
    struct bench_maker *maker = bench_maker_create(plan);
    if (stream->bytes == NULL || stream->starts == NULL || maker == NULL) {
        bench_maker_free(maker);
        return -ENOMEM;
    }
    struct vamp_event event;
    size_t at = 0;
    while (stream->count < most && bench_maker_next(maker, &event)) {
        at += vamp_event_pack(&event, stream->bytes + at, PACKED_BYTES_MAX);
        stream->starts[++stream->count] = at;
    }
    /* A life later the CDOs are spread over all stages, and most have been through all of them. */
    const size_t settled = plan->components + plan->live * BENCH_LIFE_EVENTS;
    stream->warm = settled < stream->count / 2 ? settled : stream->count / 2;
    bench_maker_free(maker);
    return 0;
}

void bench_stream_done(struct bench_stream *stream)
{
    free(stream->bytes);
    free(stream->starts);
    *stream = (struct bench_stream){.bytes = NULL};
}

int bench_stream_record(const struct bench_plan *plan, const char *path)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_recorder *recorder = NULL;
    const struct vamp_recording_header header = {
        .workflow = "bench", .component = "vampire", .started_ns = START_NS, .event_kinds = 0xfffe};
    struct bench_maker *maker = bench_maker_create(plan);
    int result = maker == NULL ? vamp_err_set(&err, -ENOMEM, "no memory")
                               : recorder_open(path, &header, &recorder, &err);
    struct vamp_event event;
    while (result == 0 && bench_maker_next(maker, &event)) {
        result = vamp_recorder_add(recorder, &event, &err);
    }
    const int closed = vamp_recorder_close(recorder, result == 0 ? &err : NULL);
    bench_maker_free(maker);
    if (result != 0 || closed != 0) {
        (void)fprintf(stderr, "bench: %s: %s\n", path, err.text);
        return 1;
    }
    return 0;
}
