/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of the pool for components in other processes, including batches of events. Called with
 * the lock held, on the server's thread or on a thread of the local component. */
#include <assert.h>
#include <stdlib.h>

#include "maestro/server/internal.h"

static void respond(void *context, uint64_t app_id, const Mstro__Wire__Response *response)
{
    struct server *server = context;
    struct server_peer *peer = server_find_app(server, app_id);
    if (peer == NULL || peer->state != SERVER_PEER_JOINED) {
        return;
    }
    server_send(server, peer, FRAME_RESPONSE, &response->base);
    if (peer->leaving && pool_component_name(server->pool, app_id) == NULL) {
        server_peer_left(server, peer,
                         SERVER_LINGER_NS); /* the response answered its leave request */
    }
}

/* Makes the local component's memory readable for this transport. */
static bool lend(struct server *server, struct server_peer *peer, uint64_t transport_id,
                 Mstro__Wire__Memory *memory, struct carrier_place *ret_place)
{
    struct server_loan *loan = calloc(1, sizeof *loan);
    if (loan == NULL || fetch_expose(&server->fetcher, NULL, (void *)(uintptr_t)memory->address,
                                     memory->bytes, &loan->memory, ret_place, NULL) != 0) {
        free(loan);
        return false;
    }
    loan->transport_id = transport_id;
    loan->next = peer->loans;
    peer->loans = loan;
    memory->address = loan->memory.address;
    memory->key = loan->memory.key;
    return true;
}

static void send_ticket(void *context, uint64_t app_id, uint64_t source_app_id,
                        const Mstro__Wire__Ticket *ticket)
{
    struct server *server = context;
    struct server_peer *peer = server_find_app(server, app_id);
    if (peer == NULL || peer->state != SERVER_PEER_JOINED) {
        return;
    }
    Mstro__Wire__Ticket whole = *ticket;
    Mstro__Wire__Memory memory = MSTRO__WIRE__MEMORY__INIT;
    Mstro__Wire__Place place = MSTRO__WIRE__PLACE__INIT;
    struct carrier_place lent;
    const struct carrier_place *at = NULL;
    if (ticket->memory != NULL && ticket->memory->bytes > 0) {
        const struct server_peer *source = server_find_app(server, source_app_id);
        memory = *ticket->memory;
        whole.memory = &memory;
        if (source != NULL) {
            at = &source->place;
        } else if (lend(server, peer, ticket->transport_id, &memory, &lent)) {
            at = &lent;
        }
        if (at != NULL) { /* otherwise the sink reports the transport as failed */
            place.provider = frame_text(at->provider);
            place.has_protocol = 1;
            place.protocol = at->protocol;
            place.address = frame_bytes(at->address, at->length);
            memory.place = &place;
        }
    }
    server_send(server, peer, FRAME_TICKET, &whole.base);
}

static void events_ready(void *context, uint64_t app_id, bool at_once)
{
    struct server *server = context;
    struct server_peer *peer = server_find_app(server, app_id);
    if (peer != NULL && peer->state == SERVER_PEER_JOINED) {
        peer->events_waiting = true;
        peer->emptying |= at_once;
        server_put_to_work(server, peer);
    }
}

/* ---- payloads for the local component */

struct local_fetch {
    struct server *server;
    void (*done)(void *done_context, mstro_status status);
    void *done_context;
};

/* Runs on the server's thread with the lock, which is released for the receiver. */
static void local_fetch_done(void *context, int status)
{
    struct local_fetch fetch = *(struct local_fetch *)context;
    free(context);
    port_local_unlock(fetch.server->port);
    fetch.done(fetch.done_context, status == 0 ? MSTRO_OK : MSTRO_OFI_FAIL);
    (void)port_local_lock(fetch.server->port);
}

static mstro_status fetch_for_local(void *context, uint64_t source_app_id,
                                    const Mstro__Wire__Memory *memory, void *destination,
                                    void (*done)(void *done_context, mstro_status status),
                                    void *done_context)
{
    struct server *server = context;
    struct server_peer *source = server_find_app(server, source_app_id);
    if (source == NULL) {
        return MSTRO_OFI_FAIL;
    }
    struct local_fetch *fetch = malloc(sizeof *fetch);
    if (fetch == NULL) {
        return MSTRO_NOMEM;
    }
    *fetch = (struct local_fetch){.server = server, .done = done, .done_context = done_context};
    struct fetch_order order = {.source = source->place,
                                .address = memory->address,
                                .key = memory->key,
                                .destination = destination,
                                .bytes = memory->bytes,
                                .done = local_fetch_done,
                                .context = fetch};
    if (fetch_start(&server->fetcher, &order) != 0) {
        free(fetch);
        return MSTRO_NOMEM;
    }
    stream_wake(server->hub);
    return MSTRO_OK;
}

void server_outlet_init(struct server *server)
{
    list_init(&server->all);
    list_init(&server->work);
    list_init(&server->gathering);
    server->outlet = (struct pool_outlet){
        .respond = respond, .ticket = send_ticket, .events_ready = events_ready, .context = server};
    server->service = (struct port_service){
        .outlet = &server->outlet, .fetch = fetch_for_local, .context = server};
}

/* ---- events */

struct filling {
    struct server *server;
    struct server_peer *peer;
    size_t bytes;
};

static size_t fill_batch(void *context, uint8_t *body, size_t size)
{
    struct filling *filling = context;
    const struct pool_batch batch =
        pool_events_take(filling->server->pool, filling->peer->app_id, body, size,
                         filling->server->events_per_message);
    filling->server->counts.events_sent += batch.events;
    filling->server->counts.events_lost += batch.lost;
    filling->bytes = batch.bytes;
    return batch.bytes;
}

/* Returns whether events are due and a message with them can be sent. */
static bool may_send_batch(const struct server_peer *peer)
{
    uint64_t window = SERVER_WINDOW;
    if (peer->window_bytes < SERVER_WINDOW_SMALL_BYTES) {
        window = SERVER_WINDOW_SMALL;
    }
    return peer->emptying && link_clear(&peer->link) &&
           peer->batches_sent - peer->batches_taken < window;
}

/* Delays the peer's events: until they are due, the peer is not checked in every round. */
static void gather(struct server *server, struct server_peer *peer)
{
    const int64_t due_ns = peer->batched_ns + SERVER_BATCH_NS;
    if (list_is_empty(&server->gathering) || due_ns < server->gathered_ns) {
        server->gathered_ns = due_ns;
    }
    list_remove(&peer->of_gathering);
    list_append(&server->gathering, &peer->of_gathering);
}

/* Once the events of one peer are due, checks all peers with delayed events; those whose events are
 * not due stay delayed. */
static void end_gathering(struct server *server, int64_t now_ns)
{
    struct list_link *link;
    while (now_ns >= server->gathered_ns && (link = list_take(&server->gathering)) != NULL) {
        server_put_to_work(server, CONTAINER_OF(link, struct server_peer, of_gathering));
    }
}

static void send_batches(struct server *server, struct server_peer *peer, int64_t now_ns)
{
    struct filling filling = {server, peer, 0};
    if (!peer->events_waiting) {
        return;
    }
    if (!peer->emptying && now_ns - peer->batched_ns < SERVER_BATCH_NS) {
        gather(server, peer);
        return;
    }
    peer->batched_ns = now_ns;
    peer->emptying = true;
    while (may_send_batch(peer)) {
        const int result = link_send_events(&peer->link, now_ns, fill_batch, &filling);
        if (result <= 0) { /* no events wait, or out of memory: the next event tries again */
            peer->events_waiting = peer->emptying = false;
            break;
        }
        static_assert(FRAME_BYTES_MAX <= UINT16_MAX, "the size of a batch fits into window[]");
        peer->window[peer->batches_sent++ % SERVER_WINDOW_SMALL] = (uint16_t)filling.bytes;
        peer->window_bytes += (uint32_t)filling.bytes;
        server->counts.event_messages++;
    }
    if (peer->emptying && peer->link.stream != NULL && !link_clear(&peer->link)) {
        stream_ask_room(peer->link.stream);
    }
}

static void work_for(struct server *server, struct server_peer *peer, int64_t now_ns)
{
    if (peer->silent && peer->state == SERVER_PEER_JOINED) {
        server_give_up(server, peer, "it does not read: %zu KiB wait for it",
                       STREAM_QUEUE_BYTES / 1024);
    } else {
        send_batches(server, peer, now_ns);
    }
}

int64_t server_work(struct server *server, int64_t now_ns)
{
    end_gathering(server, now_ns);
    struct list_link *link;
    while ((link = list_take(&server->work)) != NULL) {
        work_for(server, CONTAINER_OF(link, struct server_peer, of_work), now_ns);
    }
    return list_is_empty(&server->gathering) ? INT64_MAX : server->gathered_ns;
}
