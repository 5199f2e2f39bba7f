/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool's work for an operation: alone, and with a subscriber that takes every event. The
 * difference is what a joined vampire costs the pool, without its messages. Each line's baseline
 * copies, for each operation, as many bytes as the subscriber's events have.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "maestro/pool/pool.h"
#include "tests/bench/bench.h"

#define ALL_KINDS ((UINT64_C(1) << 16) - 2)
/* Of vampire's subscription with SIGNAL_BEFORE, as it is preset. */
#define BEFORE_KINDS                                                                               \
    (VAMP_EVENT_BIT(VAMP_EVENT_DEMAND) | VAMP_EVENT_BIT(VAMP_EVENT_WITHDRAW) |                     \
     VAMP_EVENT_BIT(VAMP_EVENT_LEAVE))
#define BATCH 64 /* events of a message, as the pool manager presets it */
#define CDO_BYTES 8192
#define OPERATIONS 11 /* of one CDO */

struct pool_bench {
    struct pool *pool;
    uint64_t cdos; /* of a run */
    uint64_t producer, consumer, subscriber;
    uint64_t number, last_request, handle, transport; /* of the newest answer and ticket */
    uint64_t operations, event_bytes;                 /* of the newest run */
    bool ready;
    uint8_t batch[POOL_BATCH_BYTES_MIN];
    uint8_t copy[POOL_BATCH_BYTES_MIN];
};

static void respond(void *context, uint64_t app_id, const Mstro__Wire__Response *response)
{
    (void)app_id;
    struct pool_bench *bench = context;
    if (response->status != MSTRO_OK) {
        (void)fprintf(stderr, "bench: the pool refused: %s\n", response->text);
        exit(1);
    }
    if (response->has_handle) {
        bench->handle = response->handle;
    }
}

static void take_ticket(void *context, uint64_t app_id, uint64_t source_app_id,
                        const Mstro__Wire__Ticket *ticket)
{
    (void)app_id;
    (void)source_app_id;
    ((struct pool_bench *)context)->transport = ticket->transport_id;
}

static void set_ready(void *context, uint64_t app_id, bool at_once)
{
    (void)app_id;
    ((struct pool_bench *)context)->ready = at_once;
}

static void ask(struct pool_bench *bench, uint64_t app_id, Mstro__Wire__Request *request)
{
    request->id = ++bench->last_request;
    bench->operations++;
    pool_request(bench->pool, app_id, request);
}

static void declare(struct pool_bench *bench, uint64_t app_id, char *name)
{
    Mstro__Wire__Declare body = MSTRO__WIRE__DECLARE__INIT;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    body.name = name;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_DECLARE;
    request.declare = &body;
    ask(bench, app_id, &request);
}

static void operate(struct pool_bench *bench, uint64_t app_id, uint64_t handle,
                    Mstro__Wire__Operation kind)
{
    Mstro__Wire__Memory memory = MSTRO__WIRE__MEMORY__INIT;
    Mstro__Wire__CdoOperation body = MSTRO__WIRE__CDO_OPERATION__INIT;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    memory.bytes = CDO_BYTES;
    body.operation = kind;
    body.handle = handle;
    body.memory = kind == MSTRO__WIRE__OPERATION__OFFER ? &memory : NULL;
    body.has_size_bytes = kind == MSTRO__WIRE__OPERATION__SEAL;
    body.size_bytes = CDO_BYTES;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_OPERATION;
    request.operation = &body;
    ask(bench, app_id, &request);
}

static void end_transport(struct pool_bench *bench)
{
    Mstro__Wire__TransportEnd body = MSTRO__WIRE__TRANSPORT_END__INIT;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    body.transport_id = bench->transport;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_TRANSPORT_END;
    request.transport_end = &body;
    ask(bench, bench->consumer, &request);
}

/* What the pool manager sends, in messages that are full but for the last ones. */
static void take_events(struct pool_bench *bench)
{
    struct pool_batch batch;
    do {
        batch = pool_events_take(bench->pool, bench->subscriber, bench->batch, sizeof bench->batch,
                                 BATCH);
        bench->event_bytes += batch.bytes;
    } while (batch.bytes > 0);
    bench->ready = false;
}

/* From its declaration by the producer to its disposal by the consumer. */
static void move_cdo(struct pool_bench *bench)
{
    char name[64];
    (void)snprintf(name, sizeof name, "field/%08" PRIu64 "/temperature/level 17", bench->number++);
    declare(bench, bench->producer, name);
    const uint64_t made = bench->handle;
    operate(bench, bench->producer, made, MSTRO__WIRE__OPERATION__SEAL);
    operate(bench, bench->producer, made, MSTRO__WIRE__OPERATION__OFFER);
    declare(bench, bench->consumer, name);
    const uint64_t wanted = bench->handle;
    operate(bench, bench->consumer, wanted, MSTRO__WIRE__OPERATION__SEAL);
    operate(bench, bench->consumer, wanted, MSTRO__WIRE__OPERATION__REQUIRE);
    operate(bench, bench->consumer, wanted, MSTRO__WIRE__OPERATION__DEMAND);
    end_transport(bench);
    operate(bench, bench->producer, made, MSTRO__WIRE__OPERATION__WITHDRAW);
    operate(bench, bench->producer, made, MSTRO__WIRE__OPERATION__DISPOSE);
    operate(bench, bench->consumer, wanted, MSTRO__WIRE__OPERATION__DISPOSE);
    if (bench->ready) {
        take_events(bench);
    }
}

static uint64_t run_pool(void *state)
{
    struct pool_bench *bench = state;
    bench->operations = bench->event_bytes = 0;
    for (uint64_t i = 0; i < bench->cdos; i++) {
        move_cdo(bench);
    }
    take_events(bench);
    return bench->operations;
}

static uint64_t run_copies(void *state)
{
    struct pool_bench *bench = state;
    const size_t each = bench->operations == 0 ? 64 : bench->event_bytes / bench->operations + 1;
    for (uint64_t i = 0; i < bench->operations; i++) {
        memcpy(bench->copy, bench->batch, each);
        __asm__ volatile("" : : "r"(bench->copy) : "memory");
    }
    return bench->operations;
}

static uint64_t join(struct pool_bench *bench, const char *name)
{
    uint64_t app_id = 0;
    if (pool_join(bench->pool, name, 0, &app_id, NULL) != MSTRO_OK) {
        (void)fprintf(stderr, "bench: %s cannot join the pool\n", name);
        exit(1);
    }
    return app_id;
}

static void subscribe(struct pool_bench *bench, uint64_t kinds, uint32_t options)
{
    Mstro__Wire__Subscribe body = MSTRO__WIRE__SUBSCRIBE__INIT;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    body.event_kinds = kinds;
    body.options = options;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_SUBSCRIBE;
    request.subscribe = &body;
    ask(bench, bench->subscriber, &request);
}

static int open_pool(const struct bench_line *line, const struct bench_size *size, void **ret_state)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct pool_bench *bench = calloc(1, sizeof *bench);
    if (bench == NULL) {
        return -ENOMEM;
    }
    const struct pool_outlet outlet = {
        .respond = respond, .ticket = take_ticket, .events_ready = set_ready, .context = bench};
    if (pool_create(&pool_bounds_default, &vamp_clock_system, &outlet, &bench->pool, &err) != 0) {
        (void)fprintf(stderr, "bench: %s\n", err.text);
        free(bench);
        return -ENOMEM;
    }
    bench->cdos = size->events / OPERATIONS;
    bench->producer = join(bench, "IFS -- 0");
    bench->consumer = join(bench, "Products -- 0");
    bench->subscriber = join(bench, "vampire");
    if (line->number != 0) {
        subscribe(bench, BEFORE_KINDS, MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE);
        subscribe(bench, ALL_KINDS, MSTRO_SUBSCRIPTION_OPTS_DEFAULT);
    }
    *ret_state = bench;
    return 0;
}

static void more_pool(void *state, FILE *out)
{
    const struct pool_bench *bench = state;
    (void)fprintf(out, ", \"event_bytes_per_operation\": %.1f",
                  (double)bench->event_bytes / (double)bench->operations);
}

static void close_pool(void *state)
{
    struct pool_bench *bench = state;
    pool_free(bench->pool);
    free(bench);
}

#define POOL(text_name, text_what, subscribed)                                                     \
    {                                                                                              \
        .name = (text_name), .what = (text_what), .each = "operation",                             \
        .baseline = "a copy of its events' bytes", .clock = BENCH_PROCESSOR, .counted = true,      \
        .number = (subscribed), .open = open_pool, .run = run_pool, .base = run_copies,            \
        .more = more_pool, .close = close_pool                                                     \
    }

const struct bench_line bench_pool_lines[] = {
    POOL("pool.alone", "an operation in the pool, without a subscriber", 0),
    POOL("pool.subscribed", "the same with vampire's subscriptions, events taken in batches", 1),
    {.name = NULL},
};
