/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool under a clock that stands still, with an outlet that records, and the requests that
 * tests send to it.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "maestro/pool/pool.h"
#include "tests/lib/fake_clock.h"

#define SEAL MSTRO__WIRE__OPERATION__SEAL
#define OFFER MSTRO__WIRE__OPERATION__OFFER
#define REQUIRE MSTRO__WIRE__OPERATION__REQUIRE
#define DEMAND MSTRO__WIRE__OPERATION__DEMAND
#define RETRACT MSTRO__WIRE__OPERATION__RETRACT
#define WITHDRAW MSTRO__WIRE__OPERATION__WITHDRAW
#define DISPOSE MSTRO__WIRE__OPERATION__DISPOSE

#define ALL_KINDS ((UINT64_C(1) << 16) - 2)
#define UNANSWERED (-1)

enum { RECORDS_MAX = 4096, START_NS = 1000000000 };

struct answer_record {
    uint64_t app, id;
    int status;
    uint64_t handle, subscription;
    unsigned char cdo_id[16];
    char text[VAMP_ERR_TEXT_BYTES];
    size_t ready_count; /* of the world, when it was answered */
};

struct ticket_record {
    uint64_t app, source, transport, handle, size;
    uint32_t status;
    size_t attributes;
    bool memory;
};

struct world {
    struct vamp_fake_clock clock;
    struct pool *pool;
    uint64_t last_request;
    uint64_t sealed_bytes[256]; /* of a handle, the last of those with the same place; 0: none */
    struct answer_record answers[RECORDS_MAX];
    size_t answer_count;
    struct ticket_record tickets[RECORDS_MAX];
    size_t ticket_count;
    size_t ready_count;
    bool ready_at_once; /* of the newest of them */
};

/* ------------------------------------------------------------------ outlet */

static inline void on_response(void *context, uint64_t app, const Mstro__Wire__Response *response)
{
    struct world *world = context;
    assert_true(world->answer_count < RECORDS_MAX);
    for (size_t i = 0; i < world->answer_count; i++) {
        if (world->answers[i].app == app) {
            assert_int_not_equal(world->answers[i].id, response->id); /* exactly one */
        }
    }
    struct answer_record *answer = &world->answers[world->answer_count++];
    *answer = (struct answer_record){.app = app,
                                     .id = response->id,
                                     .status = (int)response->status,
                                     .handle = response->handle,
                                     .subscription = response->subscription,
                                     .ready_count = world->ready_count};
    if (response->has_cdo_id) {
        assert_int_equal(response->cdo_id.len, 16);
        memcpy(answer->cdo_id, response->cdo_id.data, 16);
    }
    if (response->text != NULL) {
        (void)snprintf(answer->text, sizeof answer->text, "%s", response->text);
    }
}

static inline void on_ticket(void *context, uint64_t app, uint64_t source,
                             const Mstro__Wire__Ticket *ticket)
{
    struct world *world = context;
    assert_true(world->ticket_count < RECORDS_MAX);
    world->tickets[world->ticket_count++] =
        (struct ticket_record){.app = app,
                               .source = source,
                               .transport = ticket->transport_id,
                               .handle = ticket->handle,
                               .size = ticket->size_bytes,
                               .status = ticket->status,
                               .attributes = ticket->n_attributes,
                               .memory = ticket->memory != NULL};
}

static inline void on_ready(void *context, uint64_t app, bool at_once)
{
    (void)app;
    ((struct world *)context)->ready_count++;
    ((struct world *)context)->ready_at_once = at_once;
}

static inline struct world *world_create(const struct pool_bounds *bounds)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    vamp_fake_clock_init(&world->clock, START_NS);
    const struct pool_outlet outlet = {
        .respond = on_response, .ticket = on_ticket, .events_ready = on_ready, .context = world};
    assert_int_equal(pool_create(bounds, &world->clock.clock, &outlet, &world->pool, NULL), 0);
    return world;
}

static inline void world_free(struct world *world)
{
    pool_free(world->pool);
    free(world);
}

/* ------------------------------------------------------------------ requests */

static inline uint64_t join(struct world *world, const char *name)
{
    uint64_t app = 0;
    assert_int_equal(pool_join(world->pool, name, 0, &app, NULL), MSTRO_OK);
    return app;
}

static inline uint64_t send(struct world *world, uint64_t app, Mstro__Wire__Request *request)
{
    request->id = ++world->last_request;
    pool_request(world->pool, app, request);
    return request->id;
}

static inline const struct answer_record *answer_to(const struct world *world, uint64_t id)
{
    for (size_t i = 0; i < world->answer_count; i++) {
        if (world->answers[i].id == id) {
            return &world->answers[i];
        }
    }
    return NULL;
}

static inline int status_of(const struct world *world, uint64_t id)
{
    const struct answer_record *answer = answer_to(world, id);
    return answer == NULL ? UNANSWERED : answer->status;
}

static inline uint64_t send_declare(struct world *world, uint64_t app, const char *name)
{
    Mstro__Wire__Declare declare = MSTRO__WIRE__DECLARE__INIT;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    char *copy = strdup(name);
    declare.name = copy;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_DECLARE;
    request.declare = &declare;
    uint64_t id = send(world, app, &request);
    free(copy);
    return id;
}

static inline uint64_t declare(struct world *world, uint64_t app, const char *name)
{
    const struct answer_record *answer = answer_to(world, send_declare(world, app, name));
    assert_non_null(answer);
    assert_int_equal(answer->status, MSTRO_OK);
    return answer->handle;
}

static inline uint64_t send_operation(struct world *world, uint64_t app, uint64_t handle,
                                      Mstro__Wire__Operation kind)
{
    Mstro__Wire__Memory memory = MSTRO__WIRE__MEMORY__INIT;
    const uint64_t sealed = world->sealed_bytes[handle % 256];
    memory.bytes = sealed != 0 ? sealed : 77;
    Mstro__Wire__CdoOperation operation = MSTRO__WIRE__CDO_OPERATION__INIT;
    operation.operation = kind;
    operation.handle = handle;
    operation.memory = kind == OFFER ? &memory : NULL;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_OPERATION;
    request.operation = &operation;
    return send(world, app, &request);
}

static inline int operate(struct world *world, uint64_t app, uint64_t handle,
                          Mstro__Wire__Operation kind)
{
    return status_of(world, send_operation(world, app, handle, kind));
}

static inline void must(struct world *world, uint64_t app, uint64_t handle,
                        Mstro__Wire__Operation kind)
{
    assert_int_equal(operate(world, app, handle, kind), MSTRO_OK);
}

/* A new handle in a state that most tests begin with. */
static inline uint64_t offered(struct world *world, uint64_t app, const char *name)
{
    uint64_t handle = declare(world, app, name);
    must(world, app, handle, OFFER);
    return handle;
}

static inline uint64_t required(struct world *world, uint64_t app, const char *name)
{
    uint64_t handle = declare(world, app, name);
    must(world, app, handle, REQUIRE);
    return handle;
}

static inline uint64_t demanded(struct world *world, uint64_t app, const char *name)
{
    uint64_t handle = required(world, app, name);
    must(world, app, handle, DEMAND);
    return handle;
}

static inline int seal_with(struct world *world, uint64_t app, uint64_t handle, const char *key,
                            int64_t value, uint64_t size)
{
    char name[128];
    (void)snprintf(name, sizeof name, "%s", key);
    Mstro__Wire__Attribute attribute = MSTRO__WIRE__ATTRIBUTE__INIT;
    attribute.key = name;
    attribute.value_case = MSTRO__WIRE__ATTRIBUTE__VALUE_INTEGER;
    attribute.integer = value;
    Mstro__Wire__Attribute *attributes[] = {&attribute};
    Mstro__Wire__CdoOperation operation = MSTRO__WIRE__CDO_OPERATION__INIT;
    operation.operation = SEAL;
    operation.handle = handle;
    operation.attributes = attributes;
    operation.n_attributes = 1;
    operation.has_size_bytes = true;
    operation.size_bytes = size;
    world->sealed_bytes[handle % 256] = size;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_OPERATION;
    request.operation = &operation;
    return status_of(world, send(world, app, &request));
}

static inline uint64_t send_end(struct world *world, uint64_t app, uint64_t transport,
                                mstro_status status)
{
    Mstro__Wire__TransportEnd end = MSTRO__WIRE__TRANSPORT_END__INIT;
    end.transport_id = transport;
    end.status = (uint32_t)status;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_TRANSPORT_END;
    request.transport_end = &end;
    return send(world, app, &request);
}

static inline uint64_t send_subscribe(struct world *world, uint64_t app, const char *selector,
                                      uint64_t kinds, uint32_t options)
{
    char text[256];
    Mstro__Wire__Subscribe subscribe = MSTRO__WIRE__SUBSCRIBE__INIT;
    if (selector != NULL) {
        (void)snprintf(text, sizeof text, "%s", selector);
        subscribe.selector = text;
    }
    subscribe.event_kinds = kinds;
    subscribe.options = options;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_SUBSCRIBE;
    request.subscribe = &subscribe;
    return send(world, app, &request);
}

static inline uint64_t subscribe(struct world *world, uint64_t app, const char *selector,
                                 uint64_t kinds, uint32_t options)
{
    const struct answer_record *answer =
        answer_to(world, send_subscribe(world, app, selector, kinds, options));
    assert_non_null(answer);
    assert_int_equal(answer->status, MSTRO_OK);
    assert_true(answer->subscription > 0);
    return answer->subscription;
}

static inline uint64_t send_unsubscribe(struct world *world, uint64_t app, uint64_t subscription)
{
    Mstro__Wire__Unsubscribe unsubscribe = MSTRO__WIRE__UNSUBSCRIBE__INIT;
    unsubscribe.subscription = subscription;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_UNSUBSCRIBE;
    request.unsubscribe = &unsubscribe;
    return send(world, app, &request);
}

static inline int acknowledge(struct world *world, uint64_t app, uint64_t subscription,
                              uint64_t serial)
{
    Mstro__Wire__EventAck ack = MSTRO__WIRE__EVENT_ACK__INIT;
    ack.subscription = subscription;
    ack.serials = &serial;
    ack.n_serials = 1;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_EVENT_ACK;
    request.event_ack = &ack;
    return status_of(world, send(world, app, &request));
}

static inline uint64_t send_leave(struct world *world, uint64_t app)
{
    Mstro__Wire__Leave leave = MSTRO__WIRE__LEAVE__INIT;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_LEAVE;
    request.leave = &leave;
    return send(world, app, &request);
}

/* ------------------------------------------------------------------ events */

struct heard {
    uint64_t subscription, serial, app, peer, transport, size, lost;
    uint32_t kind, reason;
    bool before, has_size, has_cdo, has_tier, has_duration;
    uint32_t tier, cause;
    int64_t time_ns;
    uint64_t duration_ns;
    char name[64];
};

struct ear {
    struct heard events[RECORDS_MAX];
    size_t count, batches;
};

static inline void hear_batch(struct ear *ear, const Vamp__Wire__EventBatch *batch)
{
    ear->batches++;
    if (batch->n_events == 0) {
        assert_true(batch->lost > 0);
        ear->events[ear->count++] =
            (struct heard){.subscription = batch->subscription, .lost = batch->lost};
    }
    for (size_t i = 0; i < batch->n_events; i++) {
        const Vamp__Wire__Event *event = batch->events[i];
        struct heard *heard = &ear->events[ear->count++];
        *heard = (struct heard){.subscription = batch->subscription,
                                .serial = event->serial,
                                .app = event->app_id,
                                .peer = event->peer_id,
                                .transport = event->transport_id,
                                .size = event->size_bytes,
                                .lost = i == 0 ? batch->lost : 0,
                                .kind = event->kind,
                                .reason = event->reason,
                                .before = event->before,
                                .has_size = event->has_size_bytes,
                                .has_cdo = event->has_cdo_id,
                                .has_tier = event->has_tier,
                                .tier = event->tier,
                                .cause = event->cause,
                                .time_ns = event->time_ns,
                                .has_duration = event->has_duration_ns,
                                .duration_ns = event->duration_ns};
        size_t length = event->name.len < 63 ? event->name.len : 63;
        if (length > 0) {
            memcpy(heard->name, event->name.data, length);
        }
    }
}

/* Everything that waits for `app`, batch by batch. */
static inline void listen(struct world *world, uint64_t app, size_t max_events, struct ear *ear)
{
    uint8_t buffer[16384];
    struct pool_batch taken;
    *ear = (struct ear){.count = 0};
    while ((taken = pool_events_take(world->pool, app, buffer, sizeof buffer, max_events)).bytes >
           0) {
        Vamp__Wire__EventBatch *batch = vamp__wire__event_batch__unpack(NULL, taken.bytes, buffer);
        assert_non_null(batch);
        assert_int_equal(batch->n_events, taken.events);
        assert_int_equal(batch->lost, taken.lost);
        hear_batch(ear, batch);
        vamp__wire__event_batch__free_unpacked(batch, NULL);
    }
}

static inline void assert_kinds(const struct ear *ear, const uint32_t *kinds, size_t count)
{
    assert_int_equal(ear->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ear->events[i].kind, kinds[i]);
    }
}
#define ASSERT_KINDS(ear, ...)                                                                     \
    assert_kinds((ear), (const uint32_t[]){__VA_ARGS__},                                           \
                 sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
