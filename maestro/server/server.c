/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "maestro/server/internal.h"
#include "vampire/core/clock.h"
#include "vampire/core/thread.h"

#define SILENCE_PRESET_MS 60000U
/* Heartbeats in one silence time, unless the options set the heartbeat. */
#define HEARTBEATS_PER_SILENCE 12U
#define HEARTBEAT_LEAST_MS 100U
/* Check liveness at the latest after this many rounds in a row that received something. */
#define BUSY_ROUNDS_MAX 100U

/* ---- the thread */

static void take_event(struct server *server, const struct fabric_event *event)
{
    struct server_peer *peer;
    switch (event->kind) {
    case FABRIC_RECEIVED:
        server_receive(server, event);
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
    int64_t now_ns = server_now();
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
        const struct gate_options gate = {.open = options->open, .munge = options->munge};
        result = gate_init(&server->gate, server->fabric, &gate, err);
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

static mstro_status status_of(int result)
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
        return status_of(result);
    }
    fetch_init(&server->fetcher, server->fabric, server->silence_ns);
    server_outlet_init(server);
    server->looked_ns = server_now();
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
