/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target of the pool manager: up to four components say whatever the input (script.h) wants to
 * a whole service, over streams without a network. Whatever they say, what the pool manager says
 * is well-formed (memory_stream.h checks it), its books agree, and everything is given back.
 */
/* Its rounds are driven one by one, without a thread. */
#include "maestro/server/server.c"

#include "tests/fuzz/hearer.h"
#include "tests/fuzz/memory_stream.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

#define POOL_SESSION UINT64_C(0x5e5510)

/* ---- the pool manager's own component: listens to everything, offers a CDO and wants another */

static uint8_t offered[8192];

static uint64_t call(struct port *port, Mstro__Wire__Request *request)
{
    struct port_answer answer = {0};
    require(port->ops->call(port, request, 1000, &answer, NULL) == MSTRO_OK);
    return answer.handle;
}

static uint64_t declare(struct port *port, const char *name)
{
    char copy[32];
    (void)snprintf(copy, sizeof copy, "%s", name);
    Mstro__Wire__Declare what = MSTRO__WIRE__DECLARE__INIT;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    what.name = copy;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_DECLARE;
    request.declare = &what;
    return call(port, &request);
}

static void operate(struct port *port, Mstro__Wire__Operation operation, uint64_t handle)
{
    Mstro__Wire__Memory memory = MSTRO__WIRE__MEMORY__INIT;
    memory.address = (uint64_t)(uintptr_t)offered;
    memory.bytes = sizeof offered;
    Mstro__Wire__CdoOperation what = MSTRO__WIRE__CDO_OPERATION__INIT;
    what.operation = operation;
    what.handle = handle;
    what.memory = operation == MSTRO__WIRE__OPERATION__OFFER ? &memory : NULL;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_OPERATION;
    request.operation = &what;
    (void)call(port, &request);
}

static void play_own_part(struct port *port)
{
    Mstro__Wire__Subscribe subscribe = MSTRO__WIRE__SUBSCRIBE__INIT;
    subscribe.event_kinds = 0xfffe;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_SUBSCRIBE;
    request.subscribe = &subscribe;
    (void)call(port, &request);
    uint64_t handle = declare(port, "local");
    operate(port, MSTRO__WIRE__OPERATION__SEAL, handle);
    operate(port, MSTRO__WIRE__OPERATION__OFFER, handle);
    handle = declare(port, "remote");
    operate(port, MSTRO__WIRE__OPERATION__REQUIRE, handle);
    operate(port, MSTRO__WIRE__OPERATION__DEMAND, handle);
}

/* ---- the service */

static struct server *open_service(struct port *port)
{
    /* Behind the gate is where the code is: without the key no input gets past it. */
    static const struct server_options options = {.open = true};
    struct server *server = calloc(1, sizeof *server);
    require(server != NULL);
    server->port = port;
    server->thread = pthread_self();
    require(open_server(server, "fuzz", &options, NULL) == 0);
    server->info.session = POOL_SESSION;
    fetch_init(&server->fetcher, "", "", server->silence_ns);
    server_outlet_init(server);
    server->looked_ns = monotonic_ns();
    server->pool = port_local_lock(port);
    port_local_unlock(port);
    port_local_serve(port, &server->service);
    return server;
}

static void go_rounds(struct server *server, unsigned rounds)
{
    while (rounds-- > 0) {
        (void)port_local_lock(server->port);
        (void)go_round(server);
        port_local_unlock(server->port);
    }
}

/* What hours would bring. */
static void let_time_pass(struct server *server, size_t how)
{
    LIST_EACH (peer, &server->all, struct server_peer, of_server) {
        peer->batched_ns = 0;
        peer->link.sent_ns = how % 4 == 1 ? 0 : peer->link.sent_ns;
        peer->heard_ns = how % 4 == 2 ? 0 : peer->heard_ns;
        peer->end_ns = how % 4 == 3 ? 0 : peer->end_ns;
    }
    server->check_ns = 0;
}

/* Of the members whose turn it is; a closed one is opened again. */
static struct stream *streams[SCRIPT_PEERS];

static void say(struct server *server, const struct script_step *step)
{
    struct stream **stream = &streams[step->peer];
    if (!memory_stream_is_open(server->hub, *stream)) {
        *stream = memory_stream_open(server->hub);
    }
    const struct server_peer *peer = stream_owner(*stream);
    const struct frame frame = {.events_taken = peer != NULL ? peer->batches_sent : 0};
    size_t length = 0;
    const uint8_t *message = script_message(step, frame, &length);
    memory_stream_put(*stream, message, length);
}

static void check_books(const struct server *server)
{
    size_t joined = 0;
    LIST_EACH (peer, &server->all, struct server_peer, of_server) {
        bool present = pool_component_name(server->pool, peer->app_id) != NULL;
        /* A subscriber may hold up the answer to a leave that is done. */
        require(present == (peer->state == SERVER_PEER_JOINED) || (!present && peer->leaving));
        joined += present ? 1U : 0U;
        require(peer->batches_sent - peer->batches_taken <= SERVER_WINDOW_SMALL);
        require(peer->link.stream == NULL || peer->link.stream->admitted);
    }
    require(pool_component_count(server->pool) == joined + 1);
    require(server->refused <= SERVER_REFUSED_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Small, so that an input reaches the bounds. */
    static const struct pool_bounds bounds = {.components = 4,
                                              .cdos = 12,
                                              .handles_per_component = 8,
                                              .subscriptions_per_component = 3,
                                              .attribute_bytes_per_cdo = 512,
                                              .queue_bytes_per_subscription = 8192};
    static const struct port_member member = {.workflow = "fuzz", .component = "pool manager"};
    struct hearer hearer = {.place_count = 0};
    const struct port_events events = hearer_callbacks(&hearer);
    struct port *port = NULL;
    require(port_open_local(&member, &bounds, &events, &port, NULL) == MSTRO_OK);
    struct server *server = open_service(port);
    play_own_part(port);
    memset(streams, 0, sizeof streams);
    struct script_step step;
    const uint8_t *at = data;
    for (unsigned i = 0; i < SCRIPT_STEPS_MAX && script_next(&at, data + size, &step); i++) {
        if (step.what == SCRIPT_PAUSE) {
            let_time_pass(server, step.length);
        } else {
            say(server, &step);
        }
        go_rounds(server, 2);
        check_books(server);
    }
    port_local_serve(port, NULL);
    (void)port_local_lock(port);
    fetch_end(&server->fetcher);
    port_local_unlock(port);
    free_server(server);
    port->ops->shut(port);
    port->ops->close(port);
    require(hearer.refused ==
            0); /* what the pool manager says to its own component is well-formed */
    hearer_free_places(&hearer);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return script_mutate(data, size, max, seed);
}
