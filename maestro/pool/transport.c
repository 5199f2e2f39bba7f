/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transports between components. A transport begins with a ticket to the sink and ends when the
 * sink reports its end or leaves; when its source has left, the sink's read fails and the sink
 * reports that, so every transport ends exactly once.
 *
 * When a transport fails, the next offer that this demand has not tried is taken. When there is
 * none, the demand ends with MSTRO_FAIL and the handle is `required` again: its owner may demand
 * once more, which waits for a new offer, or retract.
 */
#include <assert.h>

#include "maestro/pool/internal.h"

static bool was_tried(const struct handle *demand, uint64_t offer)
{
    for (size_t i = 0; i < demand->tried_count; i++) {
        if (demand->tried[i] == offer) {
            return true;
        }
    }
    return false;
}

/* An offer that is not being withdrawn is preferred; an offer moves to the end of the list when
 * used, so that several offers share the load. */
static struct handle *choose_offer(struct cdo *cdo, const struct handle *demand)
{
    struct handle *chosen = NULL;
    for (struct list_link *link = list_first(&cdo->offers); link != NULL;
         link = list_next(&cdo->offers, link)) {
        struct handle *offer = CONTAINER_OF(link, struct handle, of_role);
        if (was_tried(demand, offer->id)) {
            continue;
        }
        if (offer->state == HANDLE_OFFERED) {
            chosen = offer;
            break;
        }
        if (chosen == NULL) {
            chosen = offer;
        }
    }
    if (chosen != NULL) {
        list_remove(&chosen->of_role);
        list_append(&cdo->offers, &chosen->of_role);
    }
    return chosen;
}

static void transport_subject(enum vamp_event_kind kind, const struct transport *transport,
                              struct subject *ret_subject)
{
    uint64_t sink = transport->sink->component->id;
    cdo_subject(kind, sink, transport->sink->cdo, ret_subject);
    struct vamp_event *event = &ret_subject->event;
    event->peer_id = transport->source_app_id;
    event->transport_id = transport->id;
    event->size_bytes = transport->size_bytes;
    event->cause = VAMP_CAUSE_DEMAND;
    event->present |= VAMP_HAS_PEER | VAMP_HAS_TRANSPORT | VAMP_HAS_SIZE | VAMP_HAS_CAUSE;
    /* Within one component memory is copied: no tier. */
    if (sink != transport->source_app_id) {
        event->tier = VAMP_TIER_OFI;
        event->present |= VAMP_HAS_TIER;
    }
}

/* Of an event that ends the transport. By the monotonic clock, which steps of the wall clock do not
 * affect. */
static void end_subject(const struct pool *pool, enum vamp_event_kind kind,
                        const struct transport *transport, struct subject *ret_subject)
{
    transport_subject(kind, transport, ret_subject);
    ret_subject->event.duration_ns =
        (uint64_t)(vamp_clock_monotonic_ns(pool->clock) - transport->started_ns);
    ret_subject->event.present |= VAMP_HAS_DURATION;
}

static void send_ticket(struct pool *pool, const struct transport *transport)
{
    const struct handle *source = transport->source;
    Mstro__Wire__Memory memory = MSTRO__WIRE__MEMORY__INIT;
    Mstro__Wire__Ticket ticket = MSTRO__WIRE__TICKET__INIT;
    ticket.transport_id = transport->id;
    ticket.handle = transport->sink->id;
    ticket.size_bytes = transport->size_bytes;
    if (source->attributes != NULL) {
        ticket.n_attributes = source->attributes->count;
        ticket.attributes = source->attributes->items;
    }
    if (source->has_memory) {
        memory.address = source->memory_address;
        memory.key = source->memory_key;
        memory.bytes = source->memory_bytes;
        ticket.memory = &memory;
    }
    pool->outlet.ticket(pool->outlet.context, transport->sink->component->id,
                        transport->source_app_id, &ticket);
}

static int begin_transport(struct pool *pool, struct handle *sink, struct handle *source)
{
    assert(sink->state == HANDLE_DEMANDED && sink->receiving == NULL);
    assert(source->state == HANDLE_OFFERED || source->state == HANDLE_WITHDRAWING);
    struct transport *transport =
        pool_memory_take(&pool->memory, POOL_MEMORY_TRANSPORTS, sizeof *transport);
    if (transport == NULL) {
        return -ENOMEM;
    }
    transport->id = ++pool->last_transport;
    transport->sink = sink;
    transport->source = source;
    transport->source_app_id = source->component->id;
    transport->source_handle = source->id;
    transport->size_bytes = source->has_memory ? source->memory_bytes : source->size_bytes;
    map_insert(&pool->transports, &transport->by_id,
               map_hash_number(&pool->transports, transport->id));
    list_append(&source->sending, &transport->of_source);
    transport->started_ns = vamp_clock_monotonic_ns(pool->clock);
    sink->receiving = transport;
    list_remove(&sink->of_role);

    struct subject subject;
    transport_subject(VAMP_EVENT_TRANSPORT_INIT, transport, &subject);
    pool_emit(pool, &subject, true, NULL);
    send_ticket(pool, transport);
    pool_emit(pool, &subject, false, NULL);
    return 0;
}

/* The demand has ended without data; a ticket with a status reports that to its component. */
static void give_up(struct pool *pool, struct handle *demand, mstro_status status)
{
    char text[] = "no offer of this CDO could be read";
    list_remove(&demand->of_role);
    demand->state = HANDLE_REQUIRED;
    demand->tried_count = 0;
    Mstro__Wire__Ticket ticket = MSTRO__WIRE__TICKET__INIT;
    ticket.handle = demand->id;
    ticket.has_status = true;
    ticket.status = (uint32_t)status;
    ticket.text = text;
    pool->outlet.ticket(pool->outlet.context, demand->component->id, 0, &ticket);
}

void transport_match(struct pool *pool, struct cdo *cdo)
{
    struct list_link *link = list_first(&cdo->demands);
    while (link != NULL) {
        struct list_link *next = list_next(&cdo->demands, link);
        struct handle *demand = CONTAINER_OF(link, struct handle, of_role);
        struct handle *offer = choose_offer(cdo, demand);
        if (offer != NULL) {
            if (begin_transport(pool, demand, offer) < 0) {
                give_up(pool, demand, MSTRO_NOMEM);
            }
        } else if (demand->tried_count > 0) {
            give_up(pool, demand, MSTRO_FAIL);
        }
        link = next;
    }
}

static struct transport *find_transport(const struct pool *pool, uint64_t id)
{
    uint64_t hash = map_hash_number(&pool->transports, id);
    for (struct map_link *link = map_first(&pool->transports, hash); link != NULL;
         link = map_next(link)) {
        struct transport *transport = CONTAINER_OF(link, struct transport, by_id);
        if (transport->id == id) {
            return transport;
        }
    }
    return NULL;
}

mstro_status transport_check_end(struct pool *pool, struct component *component,
                                 const Mstro__Wire__TransportEnd *end, struct subject *ret_subject,
                                 struct vamp_err *err)
{
    const struct transport *transport = find_transport(pool, end->transport_id);
    if (transport == NULL || transport->sink->component != component) {
        (void)vamp_err_set(err, -ENOENT, "transport end: this component has no transport %llu",
                           (unsigned long long)end->transport_id);
        return MSTRO_NOENT;
    }
    end_subject(pool,
                end->status == MSTRO_OK ? VAMP_EVENT_TRANSPORT_COMPLETED
                                        : VAMP_EVENT_TRANSPORT_FAILED,
                transport, ret_subject);
    return MSTRO_OK;
}

static void remove_transport(struct pool *pool, struct transport *transport)
{
    assert(transport->sink->receiving == transport);
    map_remove(&pool->transports, &transport->by_id);
    list_remove(&transport->of_source);
    transport->sink->receiving = NULL;
    pool_memory_give(&pool->memory, POOL_MEMORY_TRANSPORTS, transport);
}

mstro_status transport_apply_end(struct pool *pool, struct component *component,
                                 const Mstro__Wire__Request *request, struct vamp_err *err)
{
    const Mstro__Wire__TransportEnd *end = request->transport_end;
    struct subject subject;
    mstro_status status = transport_check_end(pool, component, end, &subject, err);
    if (status != MSTRO_OK) {
        return status;
    }
    struct transport *transport = find_transport(pool, end->transport_id);
    struct handle *sink = transport->sink;
    struct cdo *cdo = sink->cdo;
    if (end->status == MSTRO_OK) {
        sink->state = HANDLE_SATISFIED;
        sink->tried_count = 0;
        assert(cdo->needs > 0);
        cdo->needs--;
    } else {
        assert(sink->tried_count < POOL_OFFERS_TRIED_MAX);
        sink->tried[sink->tried_count++] = transport->source_handle;
        list_append(&cdo->demands, &sink->of_role);
    }
    remove_transport(pool, transport);
    pool_finish(pool, &subject, request->id, NULL);
    if (end->status != MSTRO_OK) {
        if (sink->tried_count == POOL_OFFERS_TRIED_MAX) {
            give_up(pool, sink, MSTRO_FAIL);
        }
        transport_match(pool, cdo);
    }
    cdo_settle(pool, cdo);
    return MSTRO_OK;
}

void transport_abort(struct pool *pool, struct transport *transport)
{
    struct subject subject;
    end_subject(pool, VAMP_EVENT_TRANSPORT_FAILED, transport, &subject);
    pool_emit(pool, &subject, true, NULL);
    remove_transport(pool, transport);
    pool_emit(pool, &subject, false, NULL);
}
