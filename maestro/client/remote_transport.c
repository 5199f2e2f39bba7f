/* SPDX-License-Identifier: BSD-3-Clause */
/* Payloads: from a ticket over remote reads to the end of the transport. */
#include <stdlib.h>
#include <string.h>

#include "maestro/client/remote_internal.h"

/* With the lock. remote_finish_transports does the rest without it. */
static void transport_done(void *context, int status)
{
    struct remote_transport *transport = context;
    transport->status = status == 0 ? MSTRO_OK : MSTRO_OFI_FAIL;
    list_append(&transport->remote->ended, &transport->of_ended);
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
        request.id = ++remote->last_request; /* no caller waits for the answer */
        if (link_send(&remote->link, remote_now(), FRAME_REQUEST, &request.base) != 0) {
            remote_lose(remote, "a finished transport could not be reported to the pool manager");
        }
    }
    (void)pthread_mutex_unlock(&remote->lock);
}

/* Finds a place for the payload and starts reading. MSTRO_OK: under way. */
static mstro_status begin(struct remote *remote, struct remote_transport *transport)
{
    const Mstro__Wire__Ticket *ticket = transport->ticket;
    const ProtobufCBinaryData *address = &ticket->source_address;
    if (!ticket->has_source_address || address->len > FABRIC_ADDRESS_BYTES) {
        return MSTRO_OFI_FAIL;
    }
    struct fetch_order order = {
        .source = {.session = ticket->source_session, .length = address->len},
        .address = ticket->memory->address,
        .key = ticket->memory->key,
        .bytes = ticket->memory->bytes,
        .done = transport_done,
        .context = transport};
    memcpy(order.source.address, address->data, address->len);
    order.destination = remote->events.place(remote->events.context, ticket);
    if (order.destination == NULL) {
        return MSTRO_NOMEM;
    }
    (void)pthread_mutex_lock(&remote->lock);
    int result = fetch_start(&remote->fetcher, &order);
    (void)pthread_mutex_unlock(&remote->lock);
    return result == 0 ? MSTRO_OK : MSTRO_NOMEM;
}

static void finish(struct remote *remote, struct remote_transport *transport)
{
    if (transport->ticket->transport_id != 0) {
        send_end(remote, transport);
    }
    remote->events.arrived(remote->events.context, transport->ticket, transport->status);
    (void)pthread_mutex_lock(&remote->lock);
    list_remove(&transport->of_remote);
    (void)pthread_mutex_unlock(&remote->lock);
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
            finish(remote, CONTAINER_OF(link, struct remote_transport, of_ended));
        }
    } while (link != NULL);
}

/* A transport of the same handle that is still under way has been given up by the pool manager. Its
 * memory may be given back as soon as the demand ends, so nothing may be written to it any more.
 * With the lock. */
static void abandon_earlier(struct remote *remote, const Mstro__Wire__Ticket *ticket)
{
    for (struct list_link *link = list_first(&remote->transports); link != NULL;
         link = list_next(&remote->transports, link)) {
        const struct remote_transport *earlier =
            CONTAINER_OF(link, struct remote_transport, of_remote);
        if (earlier->ticket->handle == ticket->handle) {
            fetch_abandon(&remote->fetcher, earlier);
        }
    }
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
    (void)pthread_mutex_lock(&remote->lock);
    abandon_earlier(remote, ticket);
    list_append(&remote->transports, &transport->of_remote);
    bool gone = remote->gone;
    (void)pthread_mutex_unlock(&remote->lock);
    if (ticket->has_status && ticket->status != MSTRO_OK) {
        transport->status =
            ticket->status < mstro_status_MAX ? (mstro_status)ticket->status : MSTRO_FAIL;
    } else if (gone) {
        transport->status = MSTRO_NO_PM;
    } else if (ticket->memory != NULL && ticket->memory->bytes > 0) {
        transport->status = begin(remote, transport);
        if (transport->status == MSTRO_OK) {
            return; /* transport_done will come */
        }
    }
    finish(remote, transport);
}
