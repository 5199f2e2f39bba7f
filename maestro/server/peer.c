/* SPDX-License-Identifier: BSD-3-Clause */
/* Components in other processes: lookup, joining, leaving, dismissal. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "maestro/server/internal.h"
#include "maestro/wire/fabric.h"

struct server_peer *server_find_app(const struct server *server, uint64_t app_id)
{
    struct map_link *link = map_find_number(&server->by_app, app_id);
    return link != NULL ? CONTAINER_OF(link, struct server_peer, by_app) : NULL;
}

/* Makes the server's thread run a round; any thread with the lock. */
static void wake(struct server *server)
{
    if (!pthread_equal(pthread_self(), server->thread)) {
        stream_wake(server->hub);
    }
}

void server_put_to_work(struct server *server, struct server_peer *peer)
{
    if (!list_is_linked(&peer->of_work)) {
        list_append(&server->work, &peer->of_work);
        wake(server);
    }
}

void server_return_loan(struct server *server, struct server_peer *peer, uint64_t transport_id)
{
    struct server_loan **at = &peer->loans;
    while (*at != NULL && (*at)->transport_id != transport_id) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        struct server_loan *loan = *at;
        *at = loan->next;
        fetch_forget(&server->fetcher, &loan->memory);
        free(loan);
    }
}

static void return_all_loans(struct server *server, struct server_peer *peer)
{
    while (peer->loans != NULL) {
        server_return_loan(server, peer, peer->loans->transport_id);
    }
}

void server_peer_remove(struct server *server, struct server_peer *peer)
{
    map_remove(&server->by_app, &peer->by_app);
    list_remove(&peer->of_gathering);
    list_remove(&peer->of_server);
    list_remove(&peer->of_work);
    return_all_loans(server, peer);
    if (peer->link.stream != NULL) {
        stream_close(peer->link.stream);
    }
    if (peer->app_id == 0) {
        server->refused--;
    }
    free(peer);
}

void server_peer_left(struct server *server, struct server_peer *peer, int64_t linger_ns)
{
    peer->state = SERVER_PEER_ENDING;
    peer->end_ns = monotonic_ns() + linger_ns;
    server_look_by(server, peer->end_ns);
    peer->events_waiting = peer->emptying = false;
    return_all_loans(server, peer);
}

void server_dismiss(struct server *server, struct server_peer *peer, enum vamp_leave_reason reason,
                    mstro_status status, const char *text)
{
    if (peer->state == SERVER_PEER_ENDING) {
        return;
    }
    int64_t linger_ns = SERVER_LINGER_NS;
    if (reason == VAMP_LEAVE_VANISHED) {
        linger_ns = SERVER_VANISHED_LINGER_NS;
    }
    server_peer_left(server, peer, linger_ns);
    Mstro__Wire__Goodbye goodbye = MSTRO__WIRE__GOODBYE__INIT;
    goodbye.status = (uint32_t)status;
    goodbye.text = frame_text(text);
    /* the component may already be gone: a failure does not matter */
    if (link_send(&peer->link, monotonic_ns(), FRAME_GOODBYE, &goodbye.base) != 0) {
        peer->end_ns = 0;
        server_look_by(server, 0);
    }
    server_put_to_work(server, peer);
    if (peer->place.length > 0) {
        fetch_abandon(&server->fetcher, NULL, &peer->place);
    }
    if (reason == VAMP_LEAVE_VANISHED) {
        fabric_bury(&peer->place);
        server->counts.vanished++;
    } else if (reason == VAMP_LEAVE_PROTOCOL) {
        server->counts.protocol_errors++;
    }
    pool_leave(server->pool, peer->app_id, reason);
}

void server_send(struct server *server, struct server_peer *peer, enum frame_kind kind,
                 const ProtobufCMessage *body)
{
    if (link_send(&peer->link, monotonic_ns(), kind, body) == -ENOBUFS) {
        peer->silent = true;
        server_put_to_work(server, peer);
    } else {
        wake(server); /* the server's thread sends it */
    }
}

/* ---- joining */

/* Returns NULL if out of memory. */
static struct server_peer *new_peer(struct stream *stream)
{
    struct server_peer *peer = calloc(1, sizeof *peer);
    if (peer != NULL) {
        list_link_init(&peer->of_server);
        list_link_init(&peer->of_work);
        list_link_init(&peer->of_gathering);
        peer->heard_ns = monotonic_ns();
        peer->link.stream = stream;
    }
    return peer;
}

static void send_welcome(struct server *server, struct server_peer *peer, mstro_status status,
                         const char *text)
{
    Mstro__Wire__Welcome welcome = MSTRO__WIRE__WELCOME__INIT;
    welcome.status = (uint32_t)status;
    if (status == MSTRO_OK) {
        welcome.has_app_id = 1;
        welcome.app_id = peer->app_id;
        welcome.has_heartbeat_ms = 1;
        welcome.heartbeat_ms = (uint32_t)(server->heartbeat_ns / 1000000);
        welcome.has_silence_ms = 1;
        welcome.silence_ms = (uint32_t)(server->silence_ns / 1000000);
    } else {
        welcome.text = frame_text(text);
    }
    server_send(server, peer, FRAME_WELCOME, &welcome.base);
}

static mstro_status examine(const struct server *server, const struct stream *stream,
                            const Mstro__Wire__Join *join, int version_result, struct vamp_err *err)
{
    uint64_t limit;
    if (version_result != 0) {
        return VAMP_REFUSE(MSTRO_REFUSED, err, -EPROTO,
                           "the pool manager uses pool protocol version %d, the component "
                           "another one; use the same release for both",
                           FRAME_VERSION);
    }
    if (server->phase != SERVER_RUNS) {
        return VAMP_REFUSE(MSTRO_NO_PM, err, -ESHUTDOWN, "the pool manager is shutting down");
    }
    if (join->pool_session != server->info.session) {
        return VAMP_REFUSE(MSTRO_REFUSED, err, -ESTALE,
                           "the pool manager's info is of an earlier pool manager; "
                           "use the one of the pool manager that runs now");
    }
    if (strcmp(join->workflow, server->info.workflow) != 0) {
        return VAMP_REFUSE(MSTRO_REFUSED, err, -EPERM,
                           "this pool manager serves the workflow \"%.100s\", not \"%.100s\"",
                           server->info.workflow, join->workflow);
    }
    if (stream_is_reserve(stream, &limit)) {
        return VAMP_REFUSE(MSTRO_NOMEM, err, -EMFILE,
                           "the pool manager has reached its limit of %" PRIu64
                           " open files, one per component; increase the limit (ulimit -n) and "
                           "restart it",
                           limit);
    }
    return pool_may_join(server->pool, join->component, err);
}

/* Counts the refusal. Returns false if SERVER_REFUSED_MAX refusals are pending, so this one is not
 * answered. */
static bool count_refusal(struct server *server, const struct vamp_err *reason)
{
    server->refusal = *reason;
    server->counts.refused++;
    if (server->refused < SERVER_REFUSED_MAX) {
        return true;
    }
    server->counts.unanswered++;
    return false;
}

static void welcome(struct server *server, struct server_peer *peer, mstro_status status,
                    struct vamp_err *err)
{
    if (status == MSTRO_OK) {
        peer->state = SERVER_PEER_JOINED;
        server->counts.joins++;
        server_look_by(server, monotonic_ns() + server->heartbeat_ns);
    } else {
        server_peer_left(server, peer, SERVER_LINGER_NS);
        server->refused++;
    }
    map_insert_number(&server->by_app, &peer->by_app, peer->app_id);
    list_append(&server->all, &peer->of_server);
    send_welcome(server, peer, status, err->text);
}

void server_join(struct server *server, struct stream *stream, const Mstro__Wire__Join *join,
                 int version_result)
{
    struct vamp_err err = VAMP_ERR_NONE;
    mstro_status status = MSTRO_REFUSED;
    stream_admit(stream);
    if (gate_check_credential(&server->gate, stream, join, &err) == 0) {
        status = examine(server, stream, join, version_result, &err);
    }
    /* Allocated before the pool reports the join: if that fails, the component has not joined, and
     * joins again later. */
    struct server_peer *peer = NULL;
    if (status == MSTRO_OK || count_refusal(server, &err)) {
        peer = new_peer(stream);
    }
    if (peer != NULL && status == MSTRO_OK) {
        status = pool_join(server->pool, join->component, join->index, &peer->app_id, &err);
        if (status != MSTRO_OK && !count_refusal(server, &err)) {
            free(peer);
            peer = NULL;
        }
    }
    if (status == MSTRO_OK && peer != NULL) {
        pool_tell_process(server->pool, join->component, join->process);
    }
    if (peer == NULL) {
        stream_close(stream);
        return;
    }
    stream_set_owner(stream, peer);
    welcome(server, peer, status, &err);
}
