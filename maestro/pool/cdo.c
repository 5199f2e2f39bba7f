/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CDOs, their handles and the transports between handles: the effect of each operation of a
 * component.
 *
 * A transport begins with a ticket to the sink, and ends when the sink reports its end or leaves.
 * If the source leaves, the sink's read fails and the sink reports that, so every transport ends
 * exactly once. When a transport fails, the next offer that this demand has not tried is used. If
 * there is none, the demand ends with MSTRO_FAIL and the handle is `required` again: its owner may
 * demand again, which waits for a new offer, or retract.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "maestro/pool/internal.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/event/event.h"
#include "vampire/core/hash.h"

static void cdo_subject(enum vamp_event_kind kind, uint64_t app_id, struct cdo *cdo,
                        struct subject *ret_subject)
{
    subject_init(kind, app_id, ret_subject);
    subject_name(ret_subject, cdo->name, cdo->name_length);
    ret_subject->cdo = cdo;
    if (cdo->has_size) {
        ret_subject->event.size_bytes = cdo->size_bytes;
        ret_subject->event.present |= VAMP_HAS_SIZE;
    }
}

/* ------------------------------------------------------------------ declare and end */

static struct cdo *find_cdo(const struct pool *pool, const char *name, uint64_t *ret_hash)
{
    size_t length = strlen(name);
    *ret_hash = map_hash_text(&pool->cdos, name, length);
    for (struct map_link *link = map_first(&pool->cdos, *ret_hash); link != NULL;
         link = map_next(link)) {
        struct cdo *cdo = CONTAINER_OF(link, struct cdo, by_name);
        if (cdo->name_length == length && memcmp(cdo->name, name, length) == 0) {
            return cdo;
        }
    }
    return NULL;
}

static size_t cdo_bytes(size_t name_length)
{
    return sizeof(struct cdo) + VAMP_EVENT_CDO_BYTES(name_length) + 1;
}

static mstro_status check_declare(struct pool *pool, struct component *component,
                                  const Mstro__Wire__Request *request, struct subject *ret_subject,
                                  struct vamp_err *err)
{
    const char *name = request->declare->name;
    const char *fault = pool_name_fault(name);
    if (fault != NULL) {
        return VAMP_REFUSE(MSTRO_INVARG, err, -EINVAL, "declare: the name of the CDO %s", fault);
    }
    if (component->handle_count >= pool->bounds.handles_per_component) {
        return VAMP_REFUSE(MSTRO_NOMEM, err, -ENOSPC, "declare: a component holds at most %zu CDOs",
                           pool->bounds.handles_per_component);
    }
    uint64_t hash;
    struct cdo *cdo = find_cdo(pool, name, &hash);
    size_t bytes = sizeof(struct handle) + (cdo == NULL ? cdo_bytes(strlen(name)) : 0);
    if (!pool_memory_has_room(&pool->memory, POOL_MEMORY_OBJECTS, bytes)) {
        return pool_memory_refuse(&pool->memory, "declare", err);
    }
    if (cdo != NULL) {
        cdo_subject(VAMP_EVENT_DECLARE, component->id, cdo, ret_subject);
        return MSTRO_OK;
    }
    if (pool->cdos.count >= pool->bounds.cdos) {
        return VAMP_REFUSE(MSTRO_NOMEM, err, -ENOSPC, "declare: the pool holds at most %zu CDOs",
                           pool->bounds.cdos);
    }
    subject_init(VAMP_EVENT_DECLARE, component->id, ret_subject);
    subject_name(ret_subject, name, strlen(name));
    return MSTRO_OK;
}

/* The id must be unique, but need not be secret. */
static struct cdo *create_cdo(struct pool *pool, const char *name, uint64_t hash)
{
    size_t length = strlen(name);
    struct cdo *cdo = pool_memory_take(&pool->memory, POOL_MEMORY_OBJECTS, cdo_bytes(length));
    if (cdo == NULL) {
        return NULL;
    }
    const struct vamp_cdo_id id = {vamp_random_next(&pool->random),
                                   vamp_random_next(&pool->random)};
    vamp_cdo_id_to_bytes(id, cdo->id);
    cdo->packed_length = vamp_event_pack_cdo(id, name, length, cdo->packed);
    cdo->packed[cdo->packed_length] = '\0';
    cdo->name = (const char *)cdo->packed + cdo->packed_length - length;
    cdo->name_length = length;
    list_init(&cdo->offers);
    list_init(&cdo->demands);
    map_insert(&pool->cdos, &cdo->by_name, hash);
    return cdo;
}

/* Frees the CDO if it has no handle. */
static void free_unused_cdo(struct pool *pool, struct cdo *cdo)
{
    if (cdo->handle_count == 0) {
        assert(cdo->needs == 0 && list_is_empty(&cdo->offers) && list_is_empty(&cdo->demands));
        map_remove(&pool->cdos, &cdo->by_name);
        pool_attributes_release(&pool->memory, cdo->attributes);
        pool_memory_give(&pool->memory, POOL_MEMORY_OBJECTS, cdo);
    }
}

static mstro_status apply_declare(struct pool *pool, struct component *component,
                                  const Mstro__Wire__Request *request, struct vamp_err *err)
{
    uint64_t hash;
    const char *name = request->declare->name;
    struct handle *handle = pool_memory_take(&pool->memory, POOL_MEMORY_OBJECTS, sizeof *handle);
    struct cdo *cdo = find_cdo(pool, name, &hash);
    if (cdo == NULL && handle != NULL) {
        cdo = create_cdo(pool, name, hash);
    }
    if (handle == NULL || cdo == NULL) {
        pool_memory_give(&pool->memory, POOL_MEMORY_OBJECTS, handle);
        return pool_memory_refuse(&pool->memory, "declare", err);
    }
    handle->id = ++pool->last_handle;
    handle->component = component;
    handle->cdo = cdo;
    cdo->handle_count++;
    list_link_init(&handle->of_role);
    list_init(&handle->sending);
    list_append(&component->handles, &handle->of_component);
    component->handle_count++;
    map_insert_number(&pool->handles, &handle->by_id, handle->id);

    struct answer answer = {.handle = handle->id};
    memcpy(answer.cdo_id, cdo->id, sizeof answer.cdo_id);
    struct subject subject;
    cdo_subject(VAMP_EVENT_DECLARE, component->id, cdo, &subject);
    pool_finish(pool, &subject, request->id, &answer);
    return MSTRO_OK;
}

const struct request_rule rule_declare = {check_declare, apply_declare};

/* Frees a handle to which there is no transport, and the CDO with its last handle. */
static void free_handle(struct pool *pool, struct handle *handle)
{
    assert(handle->receiving == NULL);
    assert(handle->component->handle_count > 0 && handle->cdo->handle_count > 0);
    /* Transports from the handle continue without it: only their sinks report the end. */
    struct list_link *link;
    while ((link = list_take(&handle->sending)) != NULL) {
        CONTAINER_OF(link, struct transport, of_source)->source = NULL;
    }
    map_remove(&pool->handles, &handle->by_id);
    list_remove(&handle->of_component);
    list_remove(&handle->of_role);
    handle->component->handle_count--;
    handle->cdo->handle_count--;
    free_unused_cdo(pool, handle->cdo);
    pool_attributes_release(&pool->memory, handle->attributes);
    pool_memory_give(&pool->memory, POOL_MEMORY_OBJECTS, handle);
}

/* ------------------------------------------------------------------ withdrawals */

/* Emits the event of an operation on the handle, and answers the request. */
static void finish(struct pool *pool, enum vamp_event_kind kind, struct handle *handle,
                   uint64_t request_id)
{
    struct subject subject;
    cdo_subject(kind, handle->component->id, handle->cdo, &subject);
    pool_finish(pool, &subject, request_id, NULL);
}

/* Returns a withdrawal that can be answered. A withdrawal waits for transports from its handle and,
 * unless there is another offer, for all components that require or demand the CDO. */
static struct handle *find_free_withdrawal(const struct cdo *cdo)
{
    bool stays = false;
    LIST_EACH (handle, &cdo->offers, struct handle, of_role) {
        stays = stays || handle->state == HANDLE_OFFERED;
    }
    LIST_EACH (handle, &cdo->offers, struct handle, of_role) {
        if (handle->state == HANDLE_WITHDRAWING && list_is_empty(&handle->sending) &&
            (stays || cdo->needs == 0)) {
            return handle;
        }
    }
    return NULL;
}

/* Answers all withdrawals that need not wait any longer. */
static void settle(struct pool *pool, struct cdo *cdo)
{
    struct handle *handle;
    while ((handle = find_free_withdrawal(cdo)) != NULL) {
        list_remove(&handle->of_role);
        handle->state = HANDLE_WITHDRAWN;
        finish(pool, VAMP_EVENT_WITHDRAW, handle, handle->waiting_request);
    }
}

/* ------------------------------------------------------------------ transports */

static bool was_tried(const struct handle *demand, uint64_t offer)
{
    for (size_t i = 0; i < demand->tried_count; i++) {
        if (demand->tried[i] == offer) {
            return true;
        }
    }
    return false;
}

/* Chooses an offer, preferably one that is not being withdrawn. A chosen offer moves to the end of
 * the list, so that several offers share the load. */
static struct handle *choose_offer(struct cdo *cdo, const struct handle *demand)
{
    struct handle *chosen = NULL;
    LIST_EACH (offer, &cdo->offers, struct handle, of_role) {
        const bool stays = offer->state == HANDLE_OFFERED;
        if ((stays || chosen == NULL) && !was_tried(demand, offer->id)) {
            chosen = offer;
            if (stays) {
                break;
            }
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
    event->cause = transport->for_demand ? VAMP_CAUSE_DEMAND : VAMP_CAUSE_MANAGER;
    event->present |= VAMP_HAS_PEER | VAMP_HAS_TRANSPORT | VAMP_HAS_SIZE | VAMP_HAS_CAUSE;
    /* Within one component, memory is copied and the event has no tier. */
    if (sink != transport->source_app_id) {
        event->tier = VAMP_TIER_OFI;
        event->present |= VAMP_HAS_TIER;
    }
}

/* Fills the subject of the event that ends the transport. Durations are measured by the monotonic
 * clock, which is not affected by setting the wall clock. */
static void end_subject(const struct pool *pool, enum vamp_event_kind kind,
                        const struct transport *transport, struct subject *ret_subject)
{
    transport_subject(kind, transport, ret_subject);
    ret_subject->event.duration_ns =
        (uint64_t)(vamp_clock_monotonic_ns(pool->clock) - transport->started_ns);
    ret_subject->event.present |= VAMP_HAS_DURATION;
}

/* Starts the transport from `source` to `sink`: emits its event and sends the ticket to the sink.
 * Returns 0 or -ENOMEM. */
static int begin_transport(struct pool *pool, struct handle *sink, struct handle *source)
{
    assert(sink->state == HANDLE_DEMANDED || sink->state == HANDLE_REQUIRED);
    assert(sink->receiving == NULL);
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
    map_insert_number(&pool->transports, &transport->by_id, transport->id);
    list_append(&source->sending, &transport->of_source);
    transport->for_demand = sink->state == HANDLE_DEMANDED;
    transport->started_ns = vamp_clock_monotonic_ns(pool->clock);
    sink->receiving = transport;
    list_remove(&sink->of_role);

    /* SIGNAL_BEFORE subscribers are notified before the ticket is sent. */
    struct subject subject;
    transport_subject(VAMP_EVENT_TRANSPORT_INIT, transport, &subject);
    pool_emit(pool, &subject, true, NULL);
    Mstro__Wire__Memory memory = MSTRO__WIRE__MEMORY__INIT;
    Mstro__Wire__Ticket ticket = MSTRO__WIRE__TICKET__INIT;
    ticket.transport_id = transport->id;
    ticket.handle = sink->id;
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
    pool->outlet.ticket(pool->outlet.context, sink->component->id, transport->source_app_id,
                        &ticket);
    pool_emit(pool, &subject, false, NULL);
    return 0;
}

/* Ends a demand without data, and reports this to its component by a ticket with a status. A handle
 * that only required the CDO waits for its demand instead. */
static void end_demand(struct pool *pool, struct handle *demand, mstro_status status)
{
    char text[] = "no offer of this CDO could be read";
    list_remove(&demand->of_role);
    demand->tried_count = 0;
    if (demand->state == HANDLE_REQUIRED) {
        return;
    }
    demand->state = HANDLE_REQUIRED;
    Mstro__Wire__Ticket ticket = MSTRO__WIRE__TICKET__INIT;
    ticket.handle = demand->id;
    ticket.has_status = true;
    ticket.status = (uint32_t)status;
    ticket.text = text;
    pool->outlet.ticket(pool->outlet.context, demand->component->id, 0, &ticket);
}

/* Starts transports for all demands for which there is an offer. */
static void match(struct pool *pool, struct cdo *cdo)
{
    struct list_link *link = list_first(&cdo->demands);
    while (link != NULL) {
        struct list_link *next = list_next(&cdo->demands, link);
        struct handle *demand = CONTAINER_OF(link, struct handle, of_role);
        struct handle *offer = choose_offer(cdo, demand);
        if (offer != NULL) {
            if (begin_transport(pool, demand, offer) < 0) {
                end_demand(pool, demand, MSTRO_NOMEM);
            }
        } else if (demand->tried_count > 0) {
            end_demand(pool, demand, MSTRO_FAIL);
        }
        link = next;
    }
}

/* Returns NULL if there is no such transport to the component. */
static struct transport *find_transport(const struct pool *pool, const struct component *component,
                                        uint64_t id)
{
    struct map_link *link = map_find_number(&pool->transports, id);
    if (link == NULL) {
        return NULL;
    }
    struct transport *transport = CONTAINER_OF(link, struct transport, by_id);
    return transport->sink->component == component ? transport : NULL;
}

static mstro_status check_transport_end(struct pool *pool, struct component *component,
                                        const Mstro__Wire__Request *request,
                                        struct subject *ret_subject, struct vamp_err *err)
{
    const Mstro__Wire__TransportEnd *end = request->transport_end;
    const struct transport *transport = find_transport(pool, component, end->transport_id);
    if (transport == NULL) {
        return VAMP_REFUSE(MSTRO_NOENT, err, -ENOENT,
                           "transport end: this component has no transport %llu",
                           (unsigned long long)end->transport_id);
    }
    const bool completed = end->status == MSTRO_OK;
    end_subject(pool, completed ? VAMP_EVENT_TRANSPORT_COMPLETED : VAMP_EVENT_TRANSPORT_FAILED,
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

static mstro_status apply_transport_end(struct pool *pool, struct component *component,
                                        const Mstro__Wire__Request *request, struct vamp_err *err)
{
    const Mstro__Wire__TransportEnd *end = request->transport_end;
    struct subject subject;
    mstro_status status = check_transport_end(pool, component, request, &subject, err);
    if (status != MSTRO_OK) {
        return status;
    }
    struct transport *transport = find_transport(pool, component, end->transport_id);
    struct handle *sink = transport->sink;
    struct cdo *cdo = sink->cdo;
    if (sink->state == HANDLE_RETRACTING) {
        sink->state = HANDLE_RETRACTED;
    } else if (end->status == MSTRO_OK) {
        sink->delivered = true;
        sink->tried_count = 0;
        assert(cdo->needs > 0);
        cdo->needs--;
        if (sink->state == HANDLE_DEMANDED) {
            sink->state = HANDLE_SATISFIED;
        }
    } else if (sink->state == HANDLE_DEMANDED) {
        assert(sink->tried_count < POOL_OFFERS_TRIED_MAX);
        sink->tried[sink->tried_count++] = transport->source_handle;
        list_append(&cdo->demands, &sink->of_role);
    }
    remove_transport(pool, transport);
    pool_finish(pool, &subject, request->id, NULL);
    if (sink->state == HANDLE_RETRACTED) {
        finish(pool, VAMP_EVENT_RETRACT, sink, sink->waiting_request);
    } else if (end->status != MSTRO_OK) {
        if (sink->tried_count == POOL_OFFERS_TRIED_MAX) {
            end_demand(pool, sink, MSTRO_FAIL);
        }
        match(pool, cdo);
    }
    settle(pool, cdo);
    return MSTRO_OK;
}

const struct request_rule rule_transport_end = {check_transport_end, apply_transport_end};

/* ------------------------------------------------------------------ operations */

/* Makes the attributes final; the attributes of the first handle that has any become the CDO's. */
static void seal(struct handle *handle, const Mstro__Wire__CdoOperation *operation)
{
    struct cdo *cdo = handle->cdo;
    handle->state = HANDLE_SEALED;
    handle->has_size = operation->has_size_bytes;
    handle->size_bytes = operation->size_bytes;
    if (handle->has_size && !cdo->has_size) {
        cdo->has_size = true;
        cdo->size_bytes = handle->size_bytes;
        cdo->match_known = 0;
    }
    if (handle->attributes != NULL && cdo->attributes == NULL) {
        cdo->attributes = handle->attributes;
        cdo->attributes->references++;
        cdo->match_known = 0;
    }
}

static void do_seal(struct pool *pool, struct handle *handle, const Mstro__Wire__Request *request)
{
    seal(handle, request->operation);
    finish(pool, VAMP_EVENT_SEAL, handle, request->id);
}

/* Seals a handle whose component has not done so, with events before and after as for a SEAL. */
static void seal_implicitly(struct pool *pool, struct handle *handle,
                            const Mstro__Wire__Request *request)
{
    if (handle->state == HANDLE_DECLARED) {
        struct subject subject;
        cdo_subject(VAMP_EVENT_SEAL, handle->component->id, handle->cdo, &subject);
        pool_emit(pool, &subject, true /* before */, NULL);
        seal(handle, request->operation);
        /* Sealing may have set the size, which is part of the subject. */
        cdo_subject(VAMP_EVENT_SEAL, handle->component->id, handle->cdo, &subject);
        pool_emit(pool, &subject, false /* after */, NULL);
    }
}

static void do_offer(struct pool *pool, struct handle *handle, const Mstro__Wire__Request *request)
{
    seal_implicitly(pool, handle, request);
    const Mstro__Wire__Memory *memory = request->operation->memory;
    if (memory != NULL) {
        handle->has_memory = true;
        handle->memory_address = memory->address;
        handle->memory_key = memory->key;
        handle->memory_bytes = memory->bytes;
    }
    handle->state = HANDLE_OFFERED;
    list_append(&handle->cdo->offers, &handle->of_role);
    finish(pool, VAMP_EVENT_OFFER, handle, request->id);
    match(pool, handle->cdo);
    settle(pool, handle->cdo);
}

static void do_require(struct pool *pool, struct handle *handle,
                       const Mstro__Wire__Request *request)
{
    seal_implicitly(pool, handle, request);
    handle->state = HANDLE_REQUIRED;
    handle->cdo->needs++;
    finish(pool, VAMP_EVENT_REQUIRE, handle, request->id);
    if (pool->bounds.move_at_require) {
        list_append(&handle->cdo->demands, &handle->of_role);
        match(pool, handle->cdo);
    }
}

static void do_demand(struct pool *pool, struct handle *handle, const Mstro__Wire__Request *request)
{
    handle->state = handle->delivered ? HANDLE_SATISFIED : HANDLE_DEMANDED;
    if (!handle->delivered && handle->receiving == NULL) {
        list_remove(&handle->of_role);
        list_append(&handle->cdo->demands, &handle->of_role);
    }
    finish(pool, VAMP_EVENT_DEMAND, handle, request->id);
    match(pool, handle->cdo);
}

static void do_retract(struct pool *pool, struct handle *handle,
                       const Mstro__Wire__Request *request)
{
    list_remove(&handle->of_role);
    assert(handle->delivered || handle->cdo->needs > 0);
    handle->cdo->needs -= !handle->delivered;
    if (handle->receiving !=
        NULL) { /* the memory for the data must stay valid until the transport ends */
        handle->state = HANDLE_RETRACTING;
        handle->waiting_request = request->id;
        return;
    }
    handle->state = HANDLE_RETRACTED;
    finish(pool, VAMP_EVENT_RETRACT, handle, request->id);
    settle(pool, handle->cdo);
}

static void do_withdraw(struct pool *pool, struct handle *handle,
                        const Mstro__Wire__Request *request)
{
    handle->state = HANDLE_WITHDRAWING;
    handle->waiting_request = request->id;
    settle(pool, handle->cdo);
}

static void do_dispose(struct pool *pool, struct handle *handle,
                       const Mstro__Wire__Request *request)
{
    finish(pool, VAMP_EVENT_DISPOSE, handle, request->id);
    free_handle(pool, handle);
}

/* ------------------------------------------------------------------ the legal transitions */

#define STATE_BIT(state) (1U << (unsigned)(state))
#define UNUSED_YET (STATE_BIT(HANDLE_DECLARED) | STATE_BIT(HANDLE_SEALED))

static const char *const state_names[] = {
    [HANDLE_DECLARED] = "declared",
    [HANDLE_SEALED] = "sealed",
    [HANDLE_OFFERED] = "offered",
    [HANDLE_WITHDRAWING] = "being withdrawn",
    [HANDLE_WITHDRAWN] = "withdrawn",
    [HANDLE_REQUIRED] = "required",
    [HANDLE_DEMANDED] = "demanded",
    [HANDLE_SATISFIED] = "satisfied",
    [HANDLE_RETRACTING] = "being retracted",
    [HANDLE_RETRACTED] = "retracted",
};

struct rule {
    const char *name;
    unsigned from; /* set of STATE_BITs */
    const char *from_text;
    void (*apply)(struct pool *pool, struct handle *handle, const Mstro__Wire__Request *request);
};

static const struct rule rules[] = {
    [MSTRO__WIRE__OPERATION__SEAL] = {"seal", STATE_BIT(HANDLE_DECLARED), "declared", do_seal},
    [MSTRO__WIRE__OPERATION__OFFER] = {"offer", UNUSED_YET, "declared or sealed", do_offer},
    [MSTRO__WIRE__OPERATION__REQUIRE] = {"require", UNUSED_YET, "declared or sealed", do_require},
    [MSTRO__WIRE__OPERATION__DEMAND] = {"demand", STATE_BIT(HANDLE_REQUIRED), "required",
                                        do_demand},
    [MSTRO__WIRE__OPERATION__RETRACT] = {"retract", STATE_BIT(HANDLE_REQUIRED), "required",
                                         do_retract},
    [MSTRO__WIRE__OPERATION__WITHDRAW] = {"withdraw", STATE_BIT(HANDLE_OFFERED), "offered",
                                          do_withdraw},
    [MSTRO__WIRE__OPERATION__DISPOSE] = {"dispose",
                                         UNUSED_YET | STATE_BIT(HANDLE_WITHDRAWN) |
                                             STATE_BIT(HANDLE_SATISFIED) |
                                             STATE_BIT(HANDLE_RETRACTED),
                                         "declared, sealed, withdrawn, satisfied or retracted",
                                         do_dispose},
};

/* Returns NULL if the component has no handle with this id. */
static struct handle *find_handle(const struct pool *pool, const struct component *component,
                                  uint64_t id)
{
    struct map_link *link = map_find_number(&pool->handles, id);
    if (link == NULL) {
        return NULL;
    }
    struct handle *handle = CONTAINER_OF(link, struct handle, by_id);
    return handle->component == component ? handle : NULL;
}

static bool keeps_attributes(const struct handle *handle,
                             const Mstro__Wire__CdoOperation *operation)
{
    return operation->n_attributes > 0 && handle->state == HANDLE_DECLARED &&
           operation->operation != MSTRO__WIRE__OPERATION__DISPOSE;
}

static mstro_status check_operation(struct pool *pool, struct component *component,
                                    const Mstro__Wire__Request *request,
                                    struct subject *ret_subject, struct vamp_err *err)
{
    const Mstro__Wire__CdoOperation *operation = request->operation;
    size_t number = (size_t)operation->operation;
    if (number >= sizeof rules / sizeof rules[0] || rules[number].name == NULL) {
        return VAMP_REFUSE(MSTRO_INVMSG, err, -EINVAL, "unknown CDO operation %d",
                           (int)operation->operation);
    }
    const struct rule *rule = &rules[number];
    struct handle *handle = find_handle(pool, component, operation->handle);
    if (handle == NULL) {
        return VAMP_REFUSE(MSTRO_NOENT, err, -ENOENT, "%s: this component has no CDO handle %llu",
                           rule->name, (unsigned long long)operation->handle);
    }
    if ((rule->from & STATE_BIT(handle->state)) == 0) {
        return VAMP_REFUSE(MSTRO_INVSTATE, err, -EPERM,
                           "%s: the CDO \"%.200s\" is %s; %s is possible when it is %s", rule->name,
                           handle->cdo->name, state_names[handle->state], rule->name,
                           rule->from_text);
    }
    if (number == MSTRO__WIRE__OPERATION__OFFER && operation->memory != NULL && handle->has_size &&
        operation->memory->bytes != handle->size_bytes) {
        return VAMP_REFUSE(MSTRO_INVARG, err, -EINVAL,
                           "offer: \"%.200s\" was sealed with %" PRIu64
                           " bytes, the data offered have %" PRIu64,
                           handle->cdo->name, handle->size_bytes, operation->memory->bytes);
    }
    size_t bytes = pool_attributes_bytes(operation->attributes, operation->n_attributes);
    if (bytes > pool->bounds.attribute_bytes_per_cdo) {
        return VAMP_REFUSE(MSTRO_NOMEM, err, -E2BIG,
                           "%s: the attributes of \"%.200s\" take %zu bytes, at most %zu are "
                           "possible",
                           rule->name, handle->cdo->name, bytes,
                           pool->bounds.attribute_bytes_per_cdo);
    }
    if (keeps_attributes(handle, operation) &&
        !pool_memory_has_room(
            &pool->memory, POOL_MEMORY_OBJECTS,
            pool_attributes_copy_bytes(operation->attributes, operation->n_attributes))) {
        return pool_memory_refuse(&pool->memory, rule->name, err);
    }
    cdo_subject((enum vamp_event_kind)number, component->id, handle->cdo, ret_subject);
    return MSTRO_OK;
}

static mstro_status apply_operation(struct pool *pool, struct component *component,
                                    const Mstro__Wire__Request *request, struct vamp_err *err)
{
    const Mstro__Wire__CdoOperation *operation = request->operation;
    struct handle *handle = find_handle(pool, component, operation->handle);
    if (keeps_attributes(handle, operation)) {
        handle->attributes =
            pool_attributes_copy(&pool->memory, operation->attributes, operation->n_attributes);
        if (handle->attributes == NULL) {
            return pool_memory_refuse(&pool->memory, rules[operation->operation].name, err);
        }
    }
    rules[operation->operation].apply(pool, handle, request);
    return MSTRO_OK;
}

const struct request_rule rule_operation = {check_operation, apply_operation};

/* ------------------------------------------------------------------ the end of a component */

void handle_release(struct pool *pool, struct handle *handle)
{
    struct cdo *cdo = handle->cdo;
    if (handle->receiving != NULL) {
        struct subject subject;
        end_subject(pool, VAMP_EVENT_TRANSPORT_FAILED, handle->receiving, &subject);
        pool_emit(pool, &subject, true, NULL);
        remove_transport(pool, handle->receiving);
        pool_emit(pool, &subject, false, NULL);
    }
    if (!handle->delivered &&
        (handle->state == HANDLE_REQUIRED || handle->state == HANDLE_DEMANDED)) {
        assert(cdo->needs > 0);
        cdo->needs--;
    }
    cdo->handle_count++; /* keeps the CDO until its withdrawals are settled */
    free_handle(pool, handle);
    settle(pool, cdo);
    cdo->handle_count--;
    free_unused_cdo(pool, cdo);
}
