/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "maestro/server/internal.h"
#include "vampire/core/thread.h"

#define SILENCE_PRESET_MS 60000U
/* Heartbeats in one silence time, unless the options set the heartbeat. */
#define HEARTBEATS_PER_SILENCE 12U
#define HEARTBEAT_LEAST_MS 100U
/* Check liveness at the latest after this many rounds in a row that received something. */
#define BUSY_ROUNDS_MAX 100U

/* ---- messages from components: checked, then passed to the pool. A bad one ends the connection of
 * its sender and affects no other component */

static void reject(struct server *server, struct server_peer *peer, const char *why)
{
    server_dismiss(server, peer, VAMP_LEAVE_PROTOCOL, MSTRO_INVMSG, why);
}

static void take_request(struct server *server, struct server_peer *peer,
                         const Mstro__Wire__Request *request)
{
    if (request->what_case == MSTRO__WIRE__REQUEST__WHAT__NOT_SET) {
        reject(server, peer, "a request asks for nothing");
        return;
    }
    server->counts.requests++;
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
    case FRAME_HEARTBEAT: /* often its arrival is enough */
        flow = ((const Mstro__Wire__Heartbeat *)body)->flow;
        if (flow != NULL) {
            pool_flow(server->pool, peer->app_id, flow->subscription, flow->number, flow->hold);
        }
        break;
    case FRAME_GOODBYE: /* it closes without having left */
        server_dismiss(server, peer, VAMP_LEAVE_VANISHED, MSTRO_NO_PM, "good-bye");
        break;
    case FRAME_JOIN:
    case FRAME_WELCOME:
    case FRAME_RESPONSE:
    case FRAME_TICKET:
    case FRAME_EVENTS:
        reject(server, peer, "a message of a kind that components do not send");
        break;
    }
}

/* What every message of a joined component contains in addition to its body. False: the peer is
 * gone. */
static bool take_head(struct server *server, struct server_peer *peer, const struct frame *frame)
{
    peer->heard_ns = monotonic_ns();
    if (frame->sequence <= peer->received_sequence) {
        return false; /* a copy; occurs after a reconnection */
    }
    if (frame->sequence != peer->received_sequence + 1) {
        server_dismiss(server, peer, VAMP_LEAVE_VANISHED, MSTRO_OFI_FAIL,
                       "messages to the pool manager were lost");
        return false;
    }
    peer->received_sequence = frame->sequence;
    if (frame->events_taken > peer->batches_sent || frame->events_taken < peer->batches_taken) {
        reject(server, peer, "an acknowledgement of events that were not sent");
        return false;
    }
    if (frame->events_taken > peer->batches_taken) {
        peer->batches_taken = frame->events_taken;
        if (peer->emptying) {
            server_put_to_work(server, peer);
        }
    }
    return true;
}

static void take_frame(struct server *server, const struct frame *frame, int version_result)
{
    struct server_peer *peer = server_find_session(server, frame->session);
    if (peer == NULL && frame->kind != FRAME_JOIN) {
        server->counts.protocol_errors++; /* not joined, or given up: it notices that itself */
        return;
    }
    if (peer != NULL && peer->state == SERVER_PEER_ENDING) {
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
        if (peer != NULL) {
            reject(server, peer, err.text);
        } else {
            server->counts.protocol_errors++;
        }
    } else if (frame->kind == FRAME_JOIN) {
        server_join(server, frame, body, version_result);
    } else if (take_head(server, peer, frame)) {
        take_body(server, peer, frame, body);
    }
}

static void receive(struct server *server, const struct fabric_event *event)
{
    struct frame frame;
    int result = frame_parse(event->bytes, event->length, &frame, NULL);
    /* Envelope and Join keep their layout in all versions, so that a join of another version can be
     * refused with a text. */
    if (result == 0 || (result == -EPROTO && frame.kind == FRAME_JOIN)) {
        take_frame(server, &frame, result);
    } else {
        server->counts.protocol_errors++; /* the sender is not known */
    }
}

/* ---- the thread */

static void take_event(struct server *server, const struct fabric_event *event)
{
    struct server_peer *peer;
    switch (event->kind) {
    case FABRIC_RECEIVED:
        receive(server, event);
        fabric_release(server->fabric, event);
        break;
    case FABRIC_SENT:
        peer = server_find_session(server, event->tag);
        if (peer != NULL) {
            link_sent(&peer->link);
            peer->broken = peer->broken || event->status != 0;
            if (peer->broken || peer->link.first != NULL || peer->emptying) {
                server_put_to_work(server, peer);
            }
        }
        break;
    case FABRIC_READ: /* only the fetcher reads, on an endpoint of its own */
        break;
    }
}

static void fail(struct server *server, int result)
{
    (void)snprintf(server->failure, sizeof server->failure,
                   "the fabric (%s) has failed: %s; no component can be served any more",
                   fabric_provider(server->fabric), strerror(-result));
    atomic_store(&server->failed, true);
    uint64_t one = 1;
    (void)!write(server->failure_fd, &one, sizeof one);
    while (server->all != NULL) {
        server_dismiss(server, server->all, VAMP_LEAVE_VANISHED, MSTRO_OFI_FAIL, server->failure);
        server_peer_remove(server, server->all);
    }
    server->phase = SERVER_ENDED;
}

/* One round with the lock held. Returns the time until the next work. */
static int64_t go_round(struct server *server)
{
    struct fabric_event events[FABRIC_EVENTS];
    int count = fabric_poll(server->fabric, events);
    if (count < 0) {
        fail(server, count);
        return 0;
    }
    int64_t now_ns = monotonic_ns();
    for (int i = 0; i < count; i++) {
        take_event(server, &events[i]);
    }
    int64_t next_ns = fetch_advance(&server->fetcher, now_ns);
    int64_t work_ns = server_work(server, now_ns);
    int64_t look_ns = now_ns;
    /* A peer can be called silent only after everything that came in was handled. */
    server->busy_rounds = count == 0 ? 0 : server->busy_rounds + 1;
    if (server->busy_rounds % BUSY_ROUNDS_MAX == 0) {
        look_ns = server_look_after(server, now_ns);
    }
    next_ns = work_ns < next_ns ? work_ns : next_ns;
    next_ns = look_ns < next_ns ? look_ns : next_ns;
    return count > 0 || next_ns <= now_ns ? 0 : next_ns - now_ns;
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
            fabric_wait(server->fabric, server->fetcher.reader,
                        idle_ns < FABRIC_WAIT_LONGEST_NS ? idle_ns : FABRIC_WAIT_LONGEST_NS);
        }
    }
    return NULL;
}

/* ---- start and stop */

static int describe(struct server *server, const char *workflow, struct vamp_err *err)
{
    struct info *info = &server->info;
    if (strlen(workflow) >= sizeof info->workflow) {
        return vamp_err_set(err, -EINVAL,
                            "the workflow's name has %zu bytes, at most %d are allowed",
                            strlen(workflow), INFO_WORKFLOW_BYTES - 1);
    }
    (void)snprintf(info->workflow, sizeof info->workflow, "%s", workflow);
    (void)snprintf(info->provider, sizeof info->provider, "%s", fabric_provider(server->fabric));
    info->protocol = fabric_protocol(server->fabric);
    const uint8_t *address = fabric_address(server->fabric, &info->address_length);
    memcpy(info->address, address, info->address_length);
    while (info->session == 0) {
        if (getrandom(&info->session, sizeof info->session, 0) < 0) {
            return vamp_err_set_errno(err, errno, "get a random number");
        }
    }
    info->keyed = !server->gate.open;
    info->key = server->gate.key;
    info->munge = server->gate.credentials != NULL;
    info->challenge.address = server->gate.memory.address;
    info->challenge.key = server->gate.memory.key;
    return info_print(info, server->info_text, err);
}

static int take_options(struct server *server, const struct server_options *options,
                        struct vamp_err *err)
{
    uint32_t silence_ms = options->silence_ms != 0 ? options->silence_ms : SILENCE_PRESET_MS;
    uint32_t heartbeat_ms = options->heartbeat_ms;
    if (heartbeat_ms == 0) {
        heartbeat_ms = silence_ms / HEARTBEATS_PER_SILENCE;
        heartbeat_ms = heartbeat_ms > HEARTBEAT_LEAST_MS ? heartbeat_ms : HEARTBEAT_LEAST_MS;
    }
    if (heartbeat_ms < HEARTBEAT_LEAST_MS || silence_ms / 3 < heartbeat_ms) {
        return vamp_err_set(err, -EINVAL,
                            "a heartbeat of %u ms and a silence of %u ms do not go together; the "
                            "heartbeat is at least 100 ms, the silence at least three heartbeats",
                            heartbeat_ms, silence_ms);
    }
    server->heartbeat_ns = (int64_t)heartbeat_ms * 1000000;
    server->silence_ns = (int64_t)silence_ms * 1000000;
    server->events_per_message =
        options->events_per_message != 0 ? options->events_per_message : SERVER_BATCH_EVENTS;
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
    if (result == 0 && (map_init(&server->by_session) != 0 || map_init(&server->by_app) != 0)) {
        result = vamp_err_set_errno(err, ENOMEM, "keep the components");
    }
    if (result == 0) {
        const struct fabric_kind kind = {.provider = fabric_provider_choice(options->provider)};
        result = fabric_open(&kind, options->bind, &server->fabric, err);
    }
    if (result == 0) {
        result = gate_init(&server->gate, server->fabric, options, err);
    }
    if (result == 0) {
        result = describe(server, workflow, err);
    }
    if (result == 0) {
        server->failure_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (server->failure_fd < 0) {
            result = vamp_err_set_errno(err, errno, "create an event descriptor");
        }
    }
    return result;
}

static void free_server(struct server *server)
{
    while (server->all != NULL) {
        server_peer_remove(server, server->all);
    }
    gate_done(&server->gate, server->fabric);
    fabric_close(server->fabric);
    map_done(&server->by_session);
    map_done(&server->by_app);
    vamp_decode_arena_done(&server->arena);
    if (server->failure_fd >= 0) {
        (void)close(server->failure_fd);
    }
    free(server);
}

mstro_status server_start(struct port *local_port, const char *workflow,
                          const struct server_options *options, struct server **ret_server,
                          struct vamp_err *err)
{
    static const struct server_options presets = {0};
    struct server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        (void)vamp_err_set_errno(err, ENOMEM, "start the pool manager");
        return MSTRO_NOMEM;
    }
    server->port = local_port;
    server->failure_fd = -1;
    int result = open_server(server, workflow, options != NULL ? options : &presets, err);
    if (result != 0) {
        free_server(server);
        return result == -ENOMEM ? MSTRO_NOMEM : result == -EINVAL ? MSTRO_INVARG : MSTRO_OFI_FAIL;
    }
    fetch_init(&server->fetcher, server->fabric, server->silence_ns);
    server_outlet_init(server);
    server->looked_ns = monotonic_ns();
    server->pool = port_local_lock(local_port);
    result = vamp_thread_start(&server->thread, "pool manager", serve, server, err);
    port_local_unlock(local_port); /* not before: the thread reads its own id */
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
    fabric_wake(server->fabric);
    (void)pthread_join(server->thread, NULL);
    port_local_serve(server->port, NULL);
    (void)port_local_lock(server->port);
    fetch_end(&server->fetcher);
    struct pool_memory_state memory;
    pool_memory_state(server->pool, &memory);
    server->counts.memory_refused = memory.refused;
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

int server_failure_fd(const struct server *server)
{
    return server->failure_fd;
}

const char *server_failure(const struct server *server)
{
    return atomic_load(&server->failed) ? server->failure : NULL;
}
