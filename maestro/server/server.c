/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maestro/server/internal.h"
#include "maestro/wire/fabric.h"
#include "vampire/core/thread.h"
#include "vampire/core/values.h"

#define SILENCE_PRESET_NS INT64_C(60000000000)
/* Number of heartbeats per silence time, unless the options set the heartbeat. */
#define HEARTBEATS_PER_SILENCE 12
#define HEARTBEAT_LEAST_NS INT64_C(100000000)
/* Number of consecutive rounds with messages after which liveness is checked. */
#define BUSY_ROUNDS_MAX 100U

/* ---- messages from components: checked, then passed to the pool. A malformed message ends the
 * connection of its sender and does not affect other components */

static void reject(struct server *server, struct server_peer *peer, const char *why)
{
    server_dismiss(server, peer, VAMP_LEAVE_PROTOCOL, MSTRO_INVMSG, why);
}

/* Stores the location at which the component offers payloads; it has only one. */
static bool take_place(struct server_peer *peer, const Mstro__Wire__Place *place)
{
    if (place == NULL || place->address.len == 0 || place->address.len > CARRIER_ADDRESS_BYTES ||
        strlen(place->provider) >= CARRIER_PROVIDER_BYTES) {
        return false;
    }
    peer->place = (struct carrier_place){.protocol = place->protocol, .length = place->address.len};
    memcpy(peer->place.provider, place->provider, strlen(place->provider));
    memcpy(peer->place.address, place->address.data, place->address.len);
    return true;
}

static void take_request(struct server *server, struct server_peer *peer,
                         const Mstro__Wire__Request *request)
{
    if (request->what_case == MSTRO__WIRE__REQUEST__WHAT__NOT_SET) {
        reject(server, peer, "a request without a content");
        return;
    }
    server->counts.requests++;
    if (request->what_case == MSTRO__WIRE__REQUEST__WHAT_OPERATION &&
        request->operation->memory != NULL &&
        !take_place(peer, request->operation->memory->place)) {
        reject(server, peer, "an offer of data without their address");
        return;
    }
    if (request->what_case == MSTRO__WIRE__REQUEST__WHAT_TRANSPORT_END) {
        server_return_loan(server, peer, request->transport_end->transport_id);
    }
    if (request->what_case == MSTRO__WIRE__REQUEST__WHAT_LEAVE) {
        peer->leaving = true;
    }
    pool_request(server->pool, peer->app_id, request);
}

static void take_body(struct server *server, struct server_peer *peer, const struct frame *frame,
                      const void *body)
{
    const Mstro__Wire__Flow *flow;
    switch (frame->kind) {
    case FRAME_REQUEST:
        take_request(server, peer, body);
        break;
    case FRAME_HEARTBEAT: /* most heartbeats have no content */
        flow = ((const Mstro__Wire__Heartbeat *)body)->flow;
        if (flow != NULL) {
            pool_flow(server->pool, peer->app_id, flow->subscription, flow->number, flow->hold);
        }
        break;
    case FRAME_GOODBYE: /* the component closes without having left */
        server_dismiss(server, peer, VAMP_LEAVE_VANISHED, MSTRO_NO_PM, "good-bye");
        break;
    case FRAME_JOIN:
    case FRAME_WELCOME:
    case FRAME_RESPONSE:
    case FRAME_TICKET:
    case FRAME_EVENTS:
        reject(server, peer, "a message of an unexpected kind");
        break;
    }
}

/* Handles the fields that every message of a joined component contains in addition to its body.
 * Returns false if the peer was removed. */
static bool handle_header(struct server *server, struct server_peer *peer,
                          const struct frame *frame)
{
    const uint64_t batches_taken = frame->events_taken; /* a number of batches, not of events */
    peer->heard_ns = monotonic_ns();
    if (batches_taken > peer->batches_sent || batches_taken < peer->batches_taken) {
        reject(server, peer, "an acknowledgement of events that were not sent");
        return false;
    }
    if (batches_taken > peer->batches_taken && peer->emptying) {
        server_put_to_work(server, peer);
    }
    while (peer->batches_taken < batches_taken) {
        peer->window_bytes -= peer->window[peer->batches_taken % SERVER_WINDOW_SMALL];
        peer->batches_taken++;
    }
    return true;
}

/* Handles the first message of a connection: a join, or a good-bye. */
static void take_first(struct server *server, struct stream *stream, const struct frame *frame,
                       int version_result)
{
    const void *join = NULL;
    if (frame->kind == FRAME_JOIN) {
        join = frame_unpack(frame, &server->arena, NULL);
    }
    if (join != NULL) {
        server_join(server, stream, join, version_result);
    } else {
        server->counts.protocol_errors++;
        stream_close(stream);
    }
}

static void take_frame(struct server *server, struct server_peer *peer, const struct frame *frame)
{
    if (peer->state == SERVER_PEER_ENDING) {
        if (frame->kind == FRAME_GOODBYE) {
            peer->end_ns = 0;
            server_look_by(server, 0);
        } else {
            server->counts.late++;
        }
        return;
    }
    struct vamp_err err = VAMP_ERR_NONE;
    const void *body = frame_unpack(frame, &server->arena, &err);
    if (body == NULL) {
        reject(server, peer, err.text);
    } else if (handle_header(server, peer, frame)) {
        take_body(server, peer, frame, body);
    }
}

/* ---- the streams */

static void receive(void *context, struct stream *stream, const uint8_t *bytes, size_t length)
{
    struct server *server = context;
    struct server_peer *peer = stream_owner(stream);
    struct vamp_err err = VAMP_ERR_NONE;
    struct frame frame;
    const int result = frame_parse(bytes, length, &frame, &err);
    /* Envelope and Join keep their layout in all versions, so that a join with another version can
     * be refused with a text. */
    if (peer == NULL && (result == 0 || result == -EPROTO)) {
        take_first(server, stream, &frame, result);
    } else if (peer == NULL) {
        server->counts.protocol_errors++;
        stream_close(stream);
    } else if (result == 0) {
        take_frame(server, peer, &frame);
    } else if (peer->state == SERVER_PEER_ENDING) {
        server->counts.late++;
    } else {
        reject(server, peer, err.text);
    }
}

static void connection_opened(void *context, struct stream *stream)
{
    (void)context, (void)stream; /* its join follows */
}

static void connection_drained(void *context, struct stream *stream)
{
    struct server_peer *peer = stream_owner(stream);
    if (peer != NULL && peer->emptying) {
        server_put_to_work(context, peer);
    }
}

static void connection_closed(void *context, struct stream *stream, int status)
{
    struct server *server = context;
    struct server_peer *peer = stream_owner(stream);
    if (peer == NULL) {
        return;
    }
    peer->link.stream = NULL;
    if (status == -EBADMSG && peer->state == SERVER_PEER_JOINED) {
        reject(server, peer, "bytes that are no frame");
    } else {
        server_dismiss(server, peer, VAMP_LEAVE_VANISHED, MSTRO_NO_PM, "its connection has ended");
    }
    peer->end_ns = 0;
    server_look_by(server, 0);
}

/* ---- the thread */

/* Runs one round with the lock held. Returns the time until the next work. */
static int64_t go_round(struct server *server)
{
    const unsigned count = stream_poll(server->hub);
    const int64_t now_ns = monotonic_ns();
    int64_t next_ns = fetch_advance(&server->fetcher, now_ns);
    int64_t work_ns = server_work(server, now_ns);
    /* A peer is considered unresponsive only after all received messages have been handled. */
    server->busy_rounds++;
    if (count == 0) {
        server->busy_rounds = 0;
    }
    int64_t look_ns = server->check_ns;
    if (server->busy_rounds % BUSY_ROUNDS_MAX == 0) {
        look_ns = server_look_after(server, now_ns);
    }
    stream_flush_all(server->hub);
    next_ns = VAMP_MIN(next_ns, work_ns);
    next_ns = VAMP_MIN(next_ns, look_ns);
    int64_t idle_ns = VAMP_MAX(next_ns, now_ns) - now_ns;
    idle_ns = VAMP_MIN(idle_ns, CARRIER_WAIT_LONGEST_NS);
    fetch_wait(&server->fetcher, server->waits_for, &idle_ns);
    return idle_ns;
}

static void *serve(void *argument)
{
    struct server *server = argument;
    bool ended = false;
    while (!ended) {
        (void)port_local_lock(server->port);
        int64_t idle_ns = go_round(server);
        ended = server->phase == SERVER_ENDED;
        port_local_unlock(server->port);
        if (!ended && idle_ns > 0) {
            stream_wait(server->hub, server->waits_for, idle_ns);
        }
    }
    return NULL;
}

/* ---- start and stop */

static int describe(struct server *server, const char *workflow,
                    const struct server_options *options, struct vamp_err *err)
{
    struct info *info = &server->info;
    if (strlen(workflow) >= sizeof info->workflow) {
        return vamp_err_set(err, -EINVAL,
                            "the workflow's name has %zu bytes, at most %d are allowed",
                            strlen(workflow), INFO_WORKFLOW_BYTES - 1);
    }
    (void)snprintf(info->workflow, sizeof info->workflow, "%s", workflow);
    const char *provider = fabric_provider_choice(options->provider);
    if (strlen(provider) >= sizeof info->provider ||
        (provider[0] != '\0' && !fabric_provider_is_known(provider))) {
        return vamp_err_set(
            err, -EINVAL, "\"%.60s\" is not a provider that transfers payloads; " FABRIC_PROVIDERS,
            provider);
    }
    (void)snprintf(info->provider, sizeof info->provider, "%s", provider);
    const uint8_t *address = stream_address(server->hub, &info->address_length);
    memcpy(info->address, address, info->address_length);
    while (info->session == 0) {
        const int result = secure_random(&info->session, sizeof info->session, err);
        if (result != 0) {
            return result;
        }
    }
    info->host = info_host();
    info->keyed = !server->gate.open;
    info->key = server->gate.key;
    info->munge = server->gate.credentials != NULL;
    return info_print(info, server->info_text, err);
}

static int64_t number_or(int64_t number, int64_t other)
{
    return number != 0 ? number : other;
}

static int take_options(struct server *server, const struct server_options *options,
                        struct vamp_err *err)
{
    server->silence_ns = number_or(options->silence_ns, SILENCE_PRESET_NS);
    const int64_t twelfth_ns = server->silence_ns / HEARTBEATS_PER_SILENCE;
    server->heartbeat_ns =
        number_or(options->heartbeat_ns, VAMP_MAX(twelfth_ns, HEARTBEAT_LEAST_NS));
    if (server->heartbeat_ns < HEARTBEAT_LEAST_NS ||
        server->silence_ns / 3 < server->heartbeat_ns) {
        return vamp_err_set(err, -EINVAL,
                            "a heartbeat of %" PRId64 " ms and a silence of %" PRId64
                            " ms do not fit together; the "
                            "heartbeat is at least 100 ms, the silence at least three heartbeats",
                            server->heartbeat_ns / 1000000, server->silence_ns / 1000000);
    }
    server->tell_use_ns = options->tell_use_ns;
    server->acknowledge_ns = number_or(options->acknowledge_ns, server->silence_ns);
    server->events_per_message = SERVER_BATCH_EVENTS;
    if (options->events_per_message != 0) {
        server->events_per_message = options->events_per_message;
    }
    server->say = options->say;
    return 0;
}

static int open_server(struct server *server, const char *workflow,
                       const struct server_options *options, struct vamp_err *err)
{
    int result = take_options(server, options, err);
    if (result == 0) {
        result = vamp_decode_arena_init(&server->arena, FRAME_ARENA_BYTES, err);
    }
    if (result == 0 && map_init(&server->by_app) != 0) {
        result = vamp_err_set_errno(err, ENOMEM, "keep the components");
    }
    server->handler = (struct stream_handler){.opened = connection_opened,
                                              .received = receive,
                                              .drained = connection_drained,
                                              .closed = connection_closed,
                                              .context = server};
    if (result == 0) {
        result = gate_init(&server->gate, options, err);
    }
    if (result == 0) {
        result = stream_hub_open(&server->handler, &server->hub, err);
    }
    if (result == 0) {
        result = stream_listen(server->hub, &server->gate.key, options->bind, err);
    }
    if (result == 0) {
        result = describe(server, workflow, options, err);
    }
    return result;
}

static mstro_status status_of_start(int result)
{
    switch (result) {
    case -ENOMEM:
        return MSTRO_NOMEM;
    case -EINVAL:
        return MSTRO_INVARG;
    default:
        return MSTRO_OFI_FAIL;
    }
}

static void free_server(struct server *server)
{
    struct list_link *link;
    while ((link = list_first(&server->all)) != NULL) {
        server_peer_remove(server, CONTAINER_OF(link, struct server_peer, of_server));
    }
    stream_hub_close(server->hub);
    gate_done(&server->gate);
    map_done(&server->by_app);
    vamp_decode_arena_done(&server->arena);
    free(server);
}

mstro_status server_start(struct port *local_port, const char *workflow,
                          const struct server_options *options, struct server **ret_server,
                          struct vamp_err *err)
{
    static const struct server_options defaults = {0};
    if (options == NULL) {
        options = &defaults;
    }
    struct server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        (void)vamp_err_set_errno(err, ENOMEM, "start the pool manager");
        return MSTRO_NOMEM;
    }
    server->port = local_port;
    server_outlet_init(server);
    int result = open_server(server, workflow, options, err);
    if (result != 0) {
        free_server(server);
        return status_of_start(result);
    }
    fetch_init(&server->fetcher, server->info.provider,
               stream_bind_choice(options->bind, STREAM_BIND_PRESET), server->silence_ns);
    server->looked_ns = monotonic_ns();
    server->pool = port_local_lock(local_port);
    result = vamp_thread_start(&server->thread, "pool manager", serve, server, err);
    port_local_unlock(local_port); /* held until here, because the thread reads its own id */
    if (result != 0) {
        free_server(server);
        return MSTRO_NOMEM;
    }
    port_local_serve(local_port, &server->service);
    *ret_server = server;
    return MSTRO_OK;
}

void server_stop(struct server *server, struct server_counts *ret_counts)
{
    if (server == NULL) {
        return;
    }
    atomic_store(&server->stop, true);
    stream_wake(server->hub);
    (void)pthread_join(server->thread, NULL);
    port_local_serve(server->port, NULL);
    (void)port_local_lock(server->port);
    fetch_end(&server->fetcher);
    struct pool_memory_state memory;
    pool_memory_state(server->pool, &memory);
    server->counts.memory_refused = memory.refused;
    server->counts.strangers = stream_strangers(server->hub, NULL);
    port_local_unlock(server->port);
    if (ret_counts != NULL) {
        *ret_counts = server->counts;
    }
    free_server(server);
}

const char *server_info(const struct server *server)
{
    return server->info_text;
}
