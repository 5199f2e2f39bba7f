/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps of a request: check; notify SIGNAL_BEFORE subscribers; wait for their acknowledgements;
 * check again if it had to wait; handle; notify the other subscribers; wait for their
 * acknowledgements; answer. Without acknowledgements all of it happens in one call.
 */
#include <assert.h>
#include <stdlib.h>

#include "maestro/pool/internal.h"

/* A copy that outlives the caller's message. */
static Mstro__Wire__Request *copy_request(struct pool *pool, const Mstro__Wire__Request *request)
{
    size_t bytes = mstro__wire__request__get_packed_size(request);
    uint8_t *packed = malloc(bytes + 1);
    if (packed == NULL) {
        return NULL;
    }
    (void)mstro__wire__request__pack(request, packed);
    Mstro__Wire__Request *copy =
        mstro__wire__request__unpack(&pool->memory.messages, bytes, packed);
    free(packed);
    return copy;
}

static void acknowledge(struct pool *pool, const struct component *component,
                        const Mstro__Wire__Request *request)
{
    const Mstro__Wire__EventAck *ack = request->event_ack;
    if (subscription_find(component, ack->subscription) == NULL) {
        pool_respond(pool, component->id, request->id, MSTRO_NOENT,
                     "acknowledge: this component has no such subscription", NULL);
        return;
    }
    for (size_t i = 0; i < ack->n_serials; i++) {
        uint64_t hash = map_hash_number(&pool->helds, ack->serials[i]);
        for (struct map_link *link = map_first(&pool->helds, hash); link != NULL;
             link = map_next(link)) {
            struct held *held = CONTAINER_OF(link, struct held, by_serial);
            if (held->serial == ack->serials[i]) {
                held_release(pool, held, ack->subscription);
                break;
            }
        }
    }
    pool_respond(pool, component->id, request->id, MSTRO_OK, NULL, NULL);
}

/* ------------------------------------------------------------------ handling */

static void leave_subject(const struct component *component, enum vamp_leave_reason reason,
                          struct subject *ret_subject)
{
    subject_init(VAMP_EVENT_LEAVE, component->id, ret_subject);
    ret_subject->event.reason = (uint8_t)reason;
    ret_subject->event.present |= VAMP_HAS_REASON;
    ret_subject->announced_again = component->leaving;
}

static mstro_status check_request(struct pool *pool, struct component *component,
                                  const Mstro__Wire__Request *request, struct subject *ret_subject,
                                  struct vamp_err *err)
{
    switch (request->what_case) {
    case MSTRO__WIRE__REQUEST__WHAT_DECLARE:
        return cdo_check_declare(pool, component, request->declare, ret_subject, err);
    case MSTRO__WIRE__REQUEST__WHAT_OPERATION:
        return operation_check(pool, component, request->operation, ret_subject, err);
    case MSTRO__WIRE__REQUEST__WHAT_SUBSCRIBE:
        subject_init(VAMP_EVENT_SUBSCRIBE, component->id, ret_subject);
        return subscription_check(pool, component, request->subscribe, err);
    case MSTRO__WIRE__REQUEST__WHAT_UNSUBSCRIBE:
        subject_init(VAMP_EVENT_UNSUBSCRIBE, component->id, ret_subject);
        return subscription_check_end(component, request->unsubscribe, err);
    case MSTRO__WIRE__REQUEST__WHAT_LEAVE:
        leave_subject(component, VAMP_LEAVE_FINALIZED, ret_subject);
        return MSTRO_OK;
    case MSTRO__WIRE__REQUEST__WHAT_TRANSPORT_END:
        return transport_check_end(pool, component, request->transport_end, ret_subject, err);
    case MSTRO__WIRE__REQUEST__WHAT_EVENT_ACK: /* has no event of its own, is never held */
    case MSTRO__WIRE__REQUEST__WHAT__NOT_SET:
    case _MSTRO__WIRE__REQUEST__WHAT__CASE_IS_INT_SIZE:
        break;
    }
    (void)vamp_err_set(err, -EINVAL, "the request asks for nothing this pool manager knows");
    return MSTRO_INVMSG;
}

static mstro_status leave(struct pool *pool, struct component *component,
                          const Mstro__Wire__Request *request)
{
    struct subject subject;
    leave_subject(component, VAMP_LEAVE_FINALIZED, &subject);
    component_release(pool, component);
    pool_finish(pool, &subject, request->id, NULL);
    return MSTRO_OK;
}

static mstro_status apply_request(struct pool *pool, struct component *component,
                                  const Mstro__Wire__Request *request, struct vamp_err *err)
{
    switch (request->what_case) {
    case MSTRO__WIRE__REQUEST__WHAT_DECLARE:
        return cdo_apply_declare(pool, component, request, err);
    case MSTRO__WIRE__REQUEST__WHAT_OPERATION:
        return operation_apply(pool, component, request, err);
    case MSTRO__WIRE__REQUEST__WHAT_SUBSCRIBE:
        return subscription_apply(pool, component, request, err);
    case MSTRO__WIRE__REQUEST__WHAT_UNSUBSCRIBE:
        return subscription_apply_end(pool, component, request, err);
    case MSTRO__WIRE__REQUEST__WHAT_LEAVE:
        return leave(pool, component, request);
    case MSTRO__WIRE__REQUEST__WHAT_TRANSPORT_END:
        return transport_apply_end(pool, component, request, err);
    case MSTRO__WIRE__REQUEST__WHAT_EVENT_ACK:
    case MSTRO__WIRE__REQUEST__WHAT__NOT_SET:
    case _MSTRO__WIRE__REQUEST__WHAT__CASE_IS_INT_SIZE:
        break;
    }
    return MSTRO_INVMSG; /* check has refused it */
}

/* After a check that succeeded just now. */
static void handle_request(struct pool *pool, struct component *component,
                           const Mstro__Wire__Request *request)
{
    struct vamp_err err = VAMP_ERR_NONE;
    uint64_t app_id = component->id;
    mstro_status status = apply_request(pool, component, request, &err);
    if (status != MSTRO_OK) {
        pool_respond(pool, app_id, request->id, status, err.text, NULL);
    }
}

/* True when the request now waits; false: go on. */
static bool hold_before(struct pool *pool, struct component *component,
                        const Mstro__Wire__Request *request, struct subject *subject)
{
    struct held *held = NULL;
    pool_emit(pool, subject, true, &held);
    component->leaving |= subject->event.kind == VAMP_EVENT_LEAVE;
    if (held == NULL) {
        return false;
    }
    held->request = copy_request(pool, request);
    if (held->request == NULL) {
        pool_memory_give(&pool->memory, POOL_MEMORY_OBJECTS, held);
        return false;
    }
    held_keep(pool, held, component->id, request->id);
    return true;
}

/* Continues the requests that wait no longer. At the end of every call into the pool. */
static void run_held(struct pool *pool)
{
    struct list_link *link;
    while ((link = list_take(&pool->runnable)) != NULL) {
        struct held *held = CONTAINER_OF(link, struct held, of_pool);
        if (held->request == NULL) {
            pool_respond(pool, held->app_id, held->request_id, MSTRO_OK, NULL, &held->answer);
            held_free(pool, held);
            continue;
        }
        struct component *component = component_find(pool, held->app_id);
        assert(component != NULL); /* the requests of a component that left were freed with it */
        struct vamp_err err = VAMP_ERR_NONE;
        struct subject subject;
        mstro_status status = check_request(pool, component, held->request, &subject, &err);
        if (status == MSTRO_OK) {
            handle_request(pool, component, held->request);
        } else {
            pool_respond(pool, held->app_id, held->request_id, status, err.text, NULL);
        }
        held_free(pool, held);
    }
}

void pool_request(struct pool *pool, uint64_t app_id, const Mstro__Wire__Request *request)
{
    struct component *component = component_find(pool, app_id);
    if (component == NULL) {
        return;
    }
    if (request->what_case == MSTRO__WIRE__REQUEST__WHAT_EVENT_ACK) {
        acknowledge(pool, component, request);
        run_held(pool);
        return;
    }
    struct vamp_err err = VAMP_ERR_NONE;
    struct subject subject;
    mstro_status status = check_request(pool, component, request, &subject, &err);
    if (status == MSTRO_OK && pool->helds.count >= POOL_HELD_MAX) {
        (void)vamp_err_set(&err, -ENOSPC,
                           "%d requests wait for subscribers' acknowledgements already",
                           POOL_HELD_MAX);
        status = MSTRO_NOMEM;
    }
    if (status != MSTRO_OK) {
        pool_respond(pool, app_id, request->id, status, err.text, NULL);
        return;
    }
    bool has_listener = (pool->kinds[VAMP_PHASE_BEFORE] & VAMP_EVENT_BIT(subject.event.kind)) != 0;
    if (!has_listener || !hold_before(pool, component, request, &subject)) {
        handle_request(pool, component, request);
    }
    run_held(pool);
}

void pool_leave(struct pool *pool, uint64_t app_id, enum vamp_leave_reason reason)
{
    struct component *component = component_find(pool, app_id);
    if (component == NULL) {
        held_forget_component(pool, app_id);
        return;
    }
    struct subject subject;
    leave_subject(component, reason, &subject);
    pool_emit(pool, &subject, true, NULL);
    component_release(pool, component);
    pool_emit(pool, &subject, false, NULL);
    run_held(pool);
}
