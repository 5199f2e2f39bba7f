/* SPDX-License-Identifier: BSD-3-Clause */
/* Payloads: from a ticket over a remote read to the end of the transport. */
#include <stdlib.h>
#include <string.h>

#include "maestro/remote_internal.h"

/* Sources kept connected; beyond that the ones not in use are let go. */
#define SOURCES_MAX 256U

/* ---- sources; with the lock */

static void drop_source(struct remote *remote, struct remote_source *source)
{
    list_remove(&source->of_remote);
    remote->source_count--;
    fabric_peer_remove(remote->fabric, source->peer);
    free(source);
}

static void drop_unused(struct remote *remote)
{
    struct list_link *link = list_first(&remote->sources);
    while (link != NULL) {
        struct list_link *next = list_next(&remote->sources, link);
        struct remote_source *source = CONTAINER_OF(link, struct remote_source, of_remote);
        if (!fetch_uses(&remote->fetcher, source->peer)) {
            drop_source(remote, source);
        }
        link = next;
    }
}

static struct remote_source *find_source(struct remote *remote, const ProtobufCBinaryData *address)
{
    for (struct list_link *link = list_first(&remote->sources); link != NULL;
         link = list_next(&remote->sources, link)) {
        struct remote_source *source = CONTAINER_OF(link, struct remote_source, of_remote);
        if (source->address_length == address->len &&
            memcmp(source->address, address->data, address->len) == 0) {
            return source;
        }
    }
    return NULL;
}

/* 0 or -errno. */
static int connect_source(struct remote *remote, const Mstro__Wire__Ticket *ticket,
                          fabric_peer *ret_peer)
{
    const ProtobufCBinaryData *address = &ticket->source_address;
    if (!ticket->has_source_address || address->len == 0 || address->len > FABRIC_ADDRESS_BYTES) {
        return -EINVAL;
    }
    if (ticket->source_session == remote->info.session) {
        *ret_peer = remote->link.peer; /* the pool manager's own component */
        return 0;
    }
    struct remote_source *source = find_source(remote, address);
    if (source != NULL && source->session != ticket->source_session) {
        drop_source(remote, source); /* another process at the same address */
        source = NULL;
    }
    if (source == NULL) {
        if (remote->source_count >= SOURCES_MAX) {
            drop_unused(remote);
        }
        source = calloc(1, sizeof *source);
        if (source == NULL) {
            return -ENOMEM;
        }
        int result =
            fabric_peer_add(remote->fabric, address->data, address->len, &source->peer, NULL);
        if (result != 0) {
            free(source);
            return result;
        }
        source->session = ticket->source_session;
        source->address_length = address->len;
        memcpy(source->address, address->data, address->len);
        list_append(&remote->sources, &source->of_remote);
        remote->source_count++;
    }
    *ret_peer = source->peer;
    return 0;
}

void remote_forget_sources(struct remote *remote)
{
    struct list_link *link;
    while ((link = list_first(&remote->sources)) != NULL) {
        drop_source(remote, CONTAINER_OF(link, struct remote_source, of_remote));
    }
}

/* ---- transports */

static void close_source(void *context)
{
    const struct remote_transport *transport = context;
    struct remote *remote = transport->remote;
    for (struct list_link *link = list_first(&remote->sources); link != NULL;
         link = list_next(&remote->sources, link)) {
        struct remote_source *source = CONTAINER_OF(link, struct remote_source, of_remote);
        if (source->peer == transport->peer) {
            drop_source(remote, source);
            return;
        }
    }
}

/* With the lock: what follows is done without, by remote_finish_transports. */
static void transport_done(void *context, int status)
{
    struct remote_transport *transport = context;
    transport->status = status == 0 ? MSTRO_OK : MSTRO_OFI_FAIL;
    list_append(&transport->remote->ended, &transport->of_remote);
}

static void send_end(struct remote *remote, const struct remote_transport *transport)
{
    Mstro__Wire__TransportEnd end = MSTRO__WIRE__TRANSPORT_END__INIT;
    end.transport_id = transport->ticket->transport_id;
    end.status = (uint32_t)transport->status;
    if (transport->status == MSTRO_OK && transport->ticket->memory != NULL) {
        end.has_bytes = 1;
        end.bytes = transport->ticket->memory->bytes;
    }
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_TRANSPORT_END;
    request.transport_end = &end;
    (void)pthread_mutex_lock(&remote->lock);
    if (!remote->gone) {
        request.id = ++remote->last_request; /* nobody waits for the answer */
        if (link_send(&remote->link, remote_now(), FRAME_REQUEST, &request.base) != 0) {
            remote_lose(remote, "a finished transport could not be reported to the pool manager");
        }
    }
    (void)pthread_mutex_unlock(&remote->lock);
}

static void finish(struct remote *remote, struct remote_transport *transport)
{
    if (transport->ticket->transport_id != 0) {
        send_end(remote, transport);
    }
    remote->events.arrived(remote->events.context, transport->ticket, transport->status);
    mstro__wire__ticket__free_unpacked(transport->ticket, NULL);
    free(transport);
}

void remote_finish_transports(struct remote *remote)
{
    struct list_link *link;
    do {
        (void)pthread_mutex_lock(&remote->lock);
        link = list_first(&remote->ended);
        if (link != NULL) {
            list_remove(link);
        }
        (void)pthread_mutex_unlock(&remote->lock);
        if (link != NULL) {
            finish(remote, CONTAINER_OF(link, struct remote_transport, of_remote));
        }
    } while (link != NULL);
}

/* Finds a place for the payload and starts reading. MSTRO_OK: under way. */
static mstro_status begin(struct remote *remote, struct remote_transport *transport)
{
    const Mstro__Wire__Ticket *ticket = transport->ticket;
    void *destination = remote->events.place(remote->events.context, ticket);
    if (destination == NULL) {
        return MSTRO_NOMEM;
    }
    struct fetch_order order = {.address = ticket->memory->address,
                                .key = ticket->memory->key,
                                .destination = destination,
                                .bytes = ticket->memory->bytes,
                                .done = transport_done,
                                .context = transport};
    (void)pthread_mutex_lock(&remote->lock);
    int result = connect_source(remote, ticket, &transport->peer);
    if (result == 0) {
        order.peer = transport->peer;
        order.give_up = order.peer == remote->link.peer ? NULL : close_source;
        result = fetch_start(&remote->fetcher, &order);
    }
    (void)pthread_mutex_unlock(&remote->lock);
    return result == 0 ? MSTRO_OK : MSTRO_OFI_FAIL;
}

void remote_ticket(struct remote *remote, const struct frame *frame)
{
    struct remote_transport *transport = calloc(1, sizeof *transport);
    Mstro__Wire__Ticket *ticket = NULL;
    if (transport != NULL) {
        ticket = mstro__wire__ticket__unpack(NULL, frame->body_length, frame->body);
    }
    if (ticket == NULL) {
        free(transport);
        (void)pthread_mutex_lock(&remote->lock);
        remote_lose(remote, "no memory for a ticket of the pool manager");
        (void)pthread_mutex_unlock(&remote->lock);
        return;
    }
    *transport = (struct remote_transport){.remote = remote, .ticket = ticket};
    if (ticket->has_status && ticket->status != MSTRO_OK) {
        transport->status =
            ticket->status < mstro_status_MAX ? (mstro_status)ticket->status : MSTRO_FAIL;
    } else if (ticket->memory != NULL && ticket->memory->bytes > 0) {
        transport->status = begin(remote, transport);
        if (transport->status == MSTRO_OK) {
            return; /* transport_done will come */
        }
    }
    finish(remote, transport);
}
