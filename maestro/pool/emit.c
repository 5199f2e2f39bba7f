/* SPDX-License-Identifier: BSD-3-Clause */
/* From what happened to bytes in the queues of those who asked for it. */
#include <assert.h>
#include <string.h>

#include "maestro/pool/internal.h"
#include "vampire/core/varint.h"

/* A core attribute is known from the CDO itself, whatever was sealed. */
static void lookup(void *context, int field, const char *name, struct vamp_value *ret)
{
    (void)field;
    const struct subject *subject = context;
    if (strcmp(name, MSTRO_ATTR_CORE_CDO_NAME) == 0) {
        *ret =
            (struct vamp_value){.type = VAMP_VALUE_TEXT,
                                .text = {.bytes = subject->name, .length = subject->name_length}};
    } else if (strcmp(name, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE) == 0) {
        *ret = (struct vamp_value){.type = subject->has_size ? VAMP_VALUE_INT : VAMP_VALUE_ABSENT,
                                   .integer = (int64_t)subject->size_bytes};
    } else {
        pool_attributes_lookup(subject->cdo == NULL ? NULL : subject->cdo->attributes, name, ret);
    }
}

static bool evaluate(const struct subscription *subscription, const struct subject *subject)
{
    struct subject context = *subject; /* lookup takes a pointer that is not const */
    return vamp_expression_match(subscription->selector, lookup, &context);
}

/* Selectors say which CDOs; events that are not about a CDO pass them. */
static bool selects(const struct pool *pool, const struct subscription *subscription,
                    const struct subject *subject)
{
    if (subscription->selector == NULL || subject->name == NULL ||
        subject->kind == VAMP_EVENT_JOIN) {
        return true;
    }
    if (subject->cdo == NULL || subscription->match_bit < 0) {
        return evaluate(subscription, subject);
    }
    struct cdo *cdo = subject->cdo;
    if (cdo->match_epoch != pool->match_epoch) {
        cdo->match_epoch = pool->match_epoch;
        cdo->match_known = 0;
    }
    uint64_t bit = UINT64_C(1) << (unsigned)subscription->match_bit;
    if ((cdo->match_known & bit) == 0) {
        bool holds = evaluate(subscription, subject);
        cdo->match_known |= bit;
        cdo->match_holds = holds ? cdo->match_holds | bit : cdo->match_holds & ~bit;
    }
    return (cdo->match_holds & bit) != 0;
}

static bool concerns(const struct pool *pool, const struct subscription *subscription,
                     const struct subject *subject, bool before)
{
    if ((subscription->kinds & POOL_EVENT_BIT(subject->kind)) == 0 ||
        ((subscription->options & MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE) != 0) != before) {
        return false;
    }
    if ((subscription->options & MSTRO_SUBSCRIPTION_OPTS_NO_LOCAL_EVENTS) != 0 &&
        subscription->component->id == subject->app_id) {
        return false;
    }
    return selects(pool, subscription, subject);
}

static void fill(const struct pool *pool, const struct subject *subject, bool before,
                 Vamp__Wire__Event *event)
{
    union {
        const void *borrowed;
        uint8_t *bytes;
    } name = {.borrowed = subject->name}, id = {.borrowed = NULL};
    event->kind = (uint32_t)subject->kind;
    event->has_serial = true;
    event->serial = pool->last_serial;
    event->has_time_ns = true;
    event->time_ns = vamp_clock_utc_ns(pool->clock);
    event->has_app_id = true;
    event->app_id = subject->app_id;
    if (subject->cdo != NULL) {
        id.borrowed = subject->cdo->id;
        event->has_cdo_id = true;
        event->cdo_id = (ProtobufCBinaryData){.len = POOL_CDO_ID_BYTES, .data = id.bytes};
    }
    if (subject->name != NULL) {
        event->has_name = true;
        event->name = (ProtobufCBinaryData){.len = subject->name_length, .data = name.bytes};
    }
    event->has_size_bytes = subject->has_size;
    event->size_bytes = subject->size_bytes;
    event->has_peer_id = subject->has_peer;
    event->peer_id = subject->peer_id;
    event->has_transport_id = subject->transport_id != 0;
    event->transport_id = subject->transport_id;
    event->has_tier = subject->tier != VAMP_TIER_UNKNOWN;
    event->tier = subject->tier;
    event->has_cause = subject->cause != VAMP_CAUSE_UNKNOWN;
    event->cause = subject->cause;
    event->has_reason = subject->kind == VAMP_EVENT_LEAVE;
    event->reason = subject->reason;
    event->has_duration_ns = subject->has_duration;
    event->duration_ns = subject->duration_ns;
    event->has_before = before;
    event->before = before;
}

/* The event as it stands in a batch: field 3, its length, the message. */
static size_t pack(struct pool *pool, const struct subject *subject, bool before)
{
    Vamp__Wire__Event event = VAMP__WIRE__EVENT__INIT;
    fill(pool, subject, before, &event);
    size_t length = vamp__wire__event__get_packed_size(&event);
    uint8_t *at = pool->packed;
    *at++ = 3 << 3 | 2;
    at = vamp_varint_write(at, length);
    assert((size_t)(at - pool->packed) + length <= sizeof pool->packed);
    (void)vamp__wire__event__pack(&event, at);
    return (size_t)(at - pool->packed) + length;
}

/* Without memory the operation goes on unheld: better late news than a workflow that stands. */
static void await(struct pool *pool, const struct subscription *subscription,
                  struct held **ret_held)
{
    struct held *held = *ret_held;
    if (held == NULL) {
        held = pool_memory_take(&pool->memory, POOL_MEMORY_OBJECTS,
                                sizeof *held + pool->subscription_count * sizeof held->waiting[0]);
        if (held == NULL) {
            return;
        }
        list_link_init(&held->of_pool);
        held->serial = pool->last_serial;
        held->waiting_capacity = pool->subscription_count;
        *ret_held = held;
    }
    assert(held->waiting_count < held->waiting_capacity);
    held->waiting[held->waiting_count++] = subscription->id;
}

void pool_emit(struct pool *pool, const struct subject *subject, bool before,
               struct held **ret_held)
{
    uint64_t kinds = before ? pool->kinds_before : pool->kinds_after;
    if ((kinds & POOL_EVENT_BIT(subject->kind)) == 0) {
        return;
    }
    size_t length = 0;
    for (size_t i = 0; i < pool->subscription_count; i++) {
        struct subscription *subscription = pool->subscriptions[i];
        if (!concerns(pool, subscription, subject, before)) {
            continue;
        }
        if (length == 0) {
            pool->last_serial++;
            length = pack(pool, subject, before);
        }
        bool queued =
            pool_queue_push(&subscription->queue, pool->last_serial, pool->packed, length);
        if (queued && ret_held != NULL &&
            (subscription->options & MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK) != 0) {
            await(pool, subscription, ret_held);
        }
        if (!subscription->component->signalled) {
            subscription->component->signalled = true;
            pool->outlet.events_ready(pool->outlet.context, subscription->component->id);
        }
    }
}
