/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool: the components of the workflow, the CDOs and their states, the requests that wait, and
 * the subscriptions. Pure logic: no I/O, no thread, no clock of its own. The pool manager calls it
 * with messages from the fabric, and a component without a pool manager has one in its own process:
 * the same code, so both behave alike.
 *
 * Requests and answers are the wire's message structs (pool.proto), decoded and checked for
 * well-formedness by the caller; the pool checks their meaning. All its output goes through `struct
 * pool_outlet`, called from inside the pool_* functions; an outlet must not call back into the
 * pool, except pool_component_name. The caller serialises all calls with one lock.
 *
 * With `move_at_require` a transport begins as soon as a component requires what is offered (its
 * cause is then the manager): the demand finds the data there, and a retract is answered when a
 * transport to the handle has ended. Such a transport is not tried again before the demand.
 *
 * A demand is answered when it is registered; a ticket follows when there is an offer, and ends
 * with the sink's TransportEnd. A transport whose source leaves continues: only its sink knows how
 * it ends. When one fails, the next offer that this demand has not tried is used; without one the
 * demand ends (a ticket with `status`), and the handle is required again. A withdrawal is answered
 * when nothing reads from the handle and either another offer stays or no component requires or
 * demands the CDO.
 *
 * Events: the operation is checked; SIGNAL_BEFORE subscribers get the event; it is handled; it is
 * answered; the others get the event, outside of the time that the component waits. A refused
 * operation has no event. REQUIRE_ACK delays a request before it is handled, or, once its event is
 * sent, before it is answered; JOIN, TRANSPORT_INIT and a death are no requests and are not
 * delayed. Selectors see the attributes of the first handle of the CDO that was sealed with any;
 * before that only the name. Events about no CDO pass every selector.
 *
 * Limits, all refused with MSTRO_NOMEM and a text: components, handles of one component, live CDOs,
 * attribute bytes of one CDO, subscriptions of one component, bytes queued in one subscription
 * (there: dropped and counted, never refused). One memory limit covers them all: half of it for
 * components, CDOs and subscriptions, half for queued events: at the first, a join, a declaration,
 * attributes and a subscription are refused; at the second, events are dropped and counted. A
 * request that releases something is never refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maestro/maestro.h"
#include "pool.pb-c.h"
#include "vampire/core/clock.h"
#include "vampire/core/err.h"
#include "vampire/core/event/event.h"

struct pool;

struct pool_bounds {
    size_t components, cdos, handles_per_component, subscriptions_per_component;
    size_t attribute_bytes_per_cdo, queue_bytes_per_subscription;
    size_t memory_bytes;      /* of the whole pool; 0: only the other limits */
    unsigned move_at_require; /* not a limit; 1: data move before they are demanded */
};
extern const struct pool_bounds pool_bounds_default;

struct pool_outlet {
    /* The answer to a request of app_id; the message is only valid during the call. */
    void (*respond)(void *context, uint64_t app_id, const Mstro__Wire__Response *response);
    /* Sends app_id the ticket to fetch a CDO from source_app_id: the outlet adds the source's
     * address. A ticket with `status` set is no transport (source_app_id is 0): the demand of
     * `handle` has ended without data. */
    void (*ticket)(void *context, uint64_t app_id, uint64_t source_app_id,
                   const Mstro__Wire__Ticket *ticket);
    /* app_id has events waiting: pool_events_take soon. `at_once`: a subscription asks for
     * acknowledgements, or much of a queue is used. Called once for each of the two until
     * pool_events_take finds nothing. */
    void (*events_ready)(void *context, uint64_t app_id, bool at_once);
    void *context;
};

VAMP_MUST_CHECK int pool_create(const struct pool_bounds *bounds, const struct vamp_clock *clock,
                                const struct pool_outlet *outlet, struct pool **ret_pool,
                                struct vamp_err *err);
void pool_free(struct pool *pool);

/* Whether pool_join would accept the component, not considering memory. Statuses as pool_join. */
mstro_status pool_may_join(const struct pool *pool, const char *component, struct vamp_err *err);
/* Adds a component; names are unique among those present. MSTRO_OK and its id (1, 2, ... never
 * reused), MSTRO_REFUSED (name taken, or not valid UTF-8, or empty) or MSTRO_NOMEM. Emits JOIN. */
mstro_status pool_join(struct pool *pool, const char *component, uint64_t index,
                       uint64_t *ret_app_id, struct vamp_err *err);
/* Emits a SAMPLE that reports where the component, which has joined, runs. NULL: nothing. */
void pool_tell_process(struct pool *pool, const char *component,
                       const Mstro__Wire__Process *process);
/* Emits SAMPLEs that report how much of its limits is used: "maestro_pool cdos=40i". */
void pool_tell_use(struct pool *pool);
/* The component is gone: releases its handles, fails what it was sending, ends its subscriptions,
 * resumes requests of others that waited for it. Emits LEAVE. Unknown ids are ignored. */
void pool_leave(struct pool *pool, uint64_t app_id, enum vamp_leave_reason reason);
/* A request of a present component. Exactly one response follows for each, now or later (never
 * after pool_leave of it). When LEAVE is answered the component is gone already: the outlet can
 * forget it after that response. The request is copied where it has to wait. */
void pool_request(struct pool *pool, uint64_t app_id, const Mstro__Wire__Request *request);

/* Smallest buffer pool_events_take may be given: one event with the longest name fits. */
#define POOL_BATCH_BYTES_MIN ((size_t)6144)

struct pool_batch {
    size_t bytes;
    size_t events; /* in it */
    uint64_t lost; /* before its first event */
};

/* Moves waiting events of one subscription of app_id into `buffer` as one packed
 * vamp.wire.EventBatch (the bytes that follow the tag and length of Envelope.events). At most
 * `size` bytes (at least POOL_BATCH_BYTES_MIN) and `max_events` events; the events leave the queue,
 * so call it only when they can be sent. The subscription whose first event has the lowest serial
 * goes first, so that all subscriptions of one component advance together. Returns what was
 * written; no bytes: nothing waits, and events_ready is called again for the next event. */
struct pool_batch pool_events_take(struct pool *pool, uint64_t app_id, uint8_t *buffer, size_t size,
                                   size_t max_events);
/* A component cannot store more events of a subscription (`hold`), or can again: until then they
 * stay in the queue, where they are lost and counted once it is full. A `number` that is not higher
 * than the last one is out of date and ignored, as is an unknown subscription. */
void pool_flow(struct pool *pool, uint64_t app_id, uint64_t subscription, uint64_t number,
               bool hold);

/* A component that has not acknowledged an event for which another one has waited since before
 * `until_ns` (monotonic); 0: none. */
uint64_t pool_overdue(const struct pool *pool, int64_t until_ns);

/* Memory in use under bounds.memory_bytes, in bytes. */
struct pool_memory_state {
    size_t limit, object_bytes, event_bytes;
    uint64_t refused; /* joins and requests, at the limit */
};
void pool_memory_state(const struct pool *pool, struct pool_memory_state *ret_state);

size_t pool_component_count(const struct pool *pool);
const char *pool_component_name(const struct pool *pool, uint64_t app_id); /* NULL: unknown */
