/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool: the components of the workflow, the CDOs and their states, waiting requests, and
 * subscriptions. Pure logic: no I/O, no threads, no clock of its own. The pool manager calls it
 * with messages from the fabric; a component without a pool manager has a pool in its own process.
 * Both use the same code and therefore behave identically.
 *
 * Requests and answers are the message structs of the wire protocol (pool.proto). The caller has
 * decoded them and checked that they are well formed; the pool checks their meaning. All output
 * goes through `struct pool_outlet`, which is called from inside the pool_* functions; an outlet
 * must not call back into the pool, except for pool_component_name. The caller serialises all calls
 * with one lock.
 *
 * With `move_at_require` a transport begins as soon as a component requires an offered CDO (its
 * cause is then the manager): a later demand finds the data already there, and a retract is
 * answered when the transport to the handle has ended. If such a transport fails, it is not retried
 * before the demand.
 *
 * A demand is answered when it is registered. A ticket follows when there is an offer, and ends
 * with the sink's TransportEnd. A transport continues if its source leaves, because only the sink
 * can determine its outcome. When a transport fails, the next offer that this demand has not tried
 * is used; if there is none, the demand ends (a ticket with `status`), and the handle is required
 * again. A withdrawal is answered when no transport reads from the handle and either another offer
 * remains or no component requires or demands the CDO.
 *
 * Order of events: the operation is checked; SIGNAL_BEFORE subscribers receive the event; the
 * operation is handled; it is answered; the other subscribers receive the event, which does not add
 * to the time that the component waits. A refused operation has no event. REQUIRE_ACK delays a
 * request before it is handled or, for events sent afterwards, before it is answered; JOIN,
 * TRANSPORT_INIT and the death of a component are not requests and are not delayed. Selectors use
 * the attributes of the first handle of the CDO that was sealed with any; before that, only the
 * name. Events without a CDO pass every selector.
 *
 * Limits, all refused with MSTRO_NOMEM and a text: components, handles per component, existing
 * CDOs, attribute bytes per CDO, subscriptions per component. The bytes queued per subscription are
 * also limited; there, events are dropped and counted instead. In addition, one memory limit covers
 * the whole pool: half for components, CDOs and subscriptions, half for queued events. If the first
 * half is used up, joins, declarations, attributes and subscriptions are refused; if the second is,
 * events are dropped and counted. A request that releases something is never refused.
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
    size_t memory_bytes; /* limit for the whole pool; 0: only the other limits apply */
    unsigned
        move_at_require; /* an option, not a limit; 1: data are moved before they are demanded */
};
extern const struct pool_bounds pool_bounds_default;

struct pool_outlet {
    /* The answer to a request from app_id; the message is valid only during the call. */
    void (*respond)(void *context, uint64_t app_id, const Mstro__Wire__Response *response);
    /* Sends app_id the ticket for fetching a CDO from source_app_id; the outlet adds the source's
     * address. A ticket with `status` set is not a transport (source_app_id is 0): it reports that
     * the demand of `handle` has ended without data. */
    void (*ticket)(void *context, uint64_t app_id, uint64_t source_app_id,
                   const Mstro__Wire__Ticket *ticket);
    /* Events are waiting for app_id: call pool_events_take soon. `at_once`: a subscription requires
     * acknowledgements, or much of a queue is in use. Called at most once with each value of
     * `at_once` until pool_events_take has found no events. */
    void (*events_ready)(void *context, uint64_t app_id, bool at_once);
    void *context;
};

VAMP_MUST_CHECK int pool_create(const struct pool_bounds *bounds, const struct vamp_clock *clock,
                                const struct pool_outlet *outlet, struct pool **ret_pool,
                                struct vamp_err *err);
void pool_free(struct pool *pool);

/* Checks whether pool_join would accept the component, except for memory. Returns the statuses of
 * pool_join. */
mstro_status pool_may_join(const struct pool *pool, const char *component, struct vamp_err *err);
/* Adds a component; its name must differ from those of all present components. Returns MSTRO_OK and
 * its id (1, 2, ..., never reused), MSTRO_REFUSED (duplicate, empty or not valid UTF-8) or
 * MSTRO_NOMEM. Emits JOIN. */
mstro_status pool_join(struct pool *pool, const char *component, uint64_t index,
                       uint64_t *ret_app_id, struct vamp_err *err);
/* Emits a SAMPLE that reports where a component that has joined runs. NULL: emits nothing. */
void pool_tell_process(struct pool *pool, const char *component,
                       const Mstro__Wire__Process *process);
/* Emits SAMPLEs that report the usage of the pool's limits: "maestro_pool cdos=40i". */
void pool_tell_use(struct pool *pool);
/* Removes a component: releases its handles, fails the transports from it, ends its subscriptions,
 * and resumes requests of others that waited for it. Emits LEAVE. Unknown ids are ignored. */
void pool_leave(struct pool *pool, uint64_t app_id, enum vamp_leave_reason reason);
/* Handles a request from a present component. Exactly one response follows, during this call or
 * later (but never after the component's pool_leave). When a LEAVE request is answered, the
 * component has already been removed: the outlet can drop its state after that response. Requests
 * that must wait are copied. */
void pool_request(struct pool *pool, uint64_t app_id, const Mstro__Wire__Request *request);

/* Minimum buffer size for pool_events_take: one event with the longest name. */
#define POOL_BATCH_BYTES_MIN ((size_t)6144)

struct pool_batch {
    size_t bytes;
    size_t events; /* number of events in the batch */
    uint64_t lost; /* number of events lost before its first event */
};

/* Moves waiting events of one subscription of app_id into `buffer` as one packed
 * vamp.wire.EventBatch (the bytes that follow the tag and length of Envelope.events). At most
 * `size` bytes (at least POOL_BATCH_BYTES_MIN) and `max_events` events are moved; they leave the
 * queue, so call this only when they can be sent. The subscription whose first event has the lowest
 * serial is served first, so that all subscriptions of one component advance together. Returns a
 * description of the batch; 0 bytes: no events wait, and events_ready is called again for the next
 * event. */
struct pool_batch pool_events_take(struct pool *pool, uint64_t app_id, uint8_t *buffer, size_t size,
                                   size_t max_events);
/* Reports that a component cannot store more events of a subscription (`hold`), or can again. In
 * the meantime events stay in the queue; when it is full, further events are lost and counted. A
 * `number` that is not higher than the last one is outdated and is ignored, as is an unknown
 * subscription. */
void pool_flow(struct pool *pool, uint64_t app_id, uint64_t subscription, uint64_t number,
               bool hold);

/* Returns a component that has not acknowledged an event for which another component has waited
 * since before `until_ns` (monotonic); 0: none. */
uint64_t pool_overdue(const struct pool *pool, int64_t until_ns);

/* Memory in use, to compare with bounds.memory_bytes, in bytes. */
struct pool_memory_state {
    size_t limit, object_bytes, event_bytes;
    uint64_t refused; /* number of joins and requests refused at the limit */
};
void pool_memory_state(const struct pool *pool, struct pool_memory_state *ret_state);

size_t pool_component_count(const struct pool *pool);
const char *pool_component_name(const struct pool *pool,
                                uint64_t app_id); /* Returns NULL if the id is unknown. */
