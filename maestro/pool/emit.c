/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the event of an operation and queues it for the subscriptions it concerns. */
#include <assert.h>
#include <string.h>

#include "maestro/pool/internal.h"
#include "vampire/core/event/cdo_id.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/protobuf/wire.h"

void subject_init(enum vamp_event_kind kind, uint64_t app_id, struct subject *ret_subject)
{
    *ret_subject = (struct subject){
        .event = {.kind = (uint8_t)kind, .app_id = app_id, .present = VAMP_HAS_APP}};
}

void subject_name(struct subject *subject, const char *name, size_t length)
{
    struct vamp_event *event = &subject->event;
    event->name = name;
    event->name_length = (uint32_t)length;
    event->present = (uint16_t)(event->present | vamp_event_name_field(event->kind));
}

/* A core attribute is known from the CDO itself, whatever was sealed. */
static void look_up_attribute(void *context, int field, const char *name, struct vamp_value *ret)
{
    (void)field;
    const struct subject *subject = context;
    const struct vamp_event *event = &subject->event;
    if (strcmp(name, MSTRO_ATTR_CORE_CDO_NAME) == 0) {
        *ret = (struct vamp_value){.type = VAMP_VALUE_TEXT,
                                   .text = {.bytes = event->name, .length = event->name_length}};
    } else if (strcmp(name, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE) == 0) {
        *ret = (struct vamp_value){.type = vamp_event_has(event, VAMP_HAS_SIZE) ? VAMP_VALUE_INT
                                                                                : VAMP_VALUE_ABSENT,
                                   .integer = (int64_t)event->size_bytes};
    } else {
        pool_attributes_lookup(subject->cdo == NULL ? NULL : subject->cdo->attributes, name, ret);
    }
}

static bool evaluate(const struct subscription *subscription, const struct subject *subject)
{
    struct subject context = *subject; /* lookup takes a pointer that is not const */
    return vamp_expression_match(subscription->selector, look_up_attribute, &context);
}

/* Selectors say which CDOs; events that are not about a CDO pass them. */
static bool selects(const struct pool *pool, const struct subscription *subscription,
                    const struct subject *subject)
{
    if (subscription->selector == NULL || !vamp_event_has(&subject->event, VAMP_HAS_CDO_NAME)) {
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
    if ((subscription->kinds & VAMP_EVENT_BIT(subject->event.kind)) == 0 ||
        ((subscription->options & MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE) != 0) != before) {
        return false;
    }
    if ((subscription->options & MSTRO_SUBSCRIPTION_OPTS_NO_LOCAL_EVENTS) != 0 &&
        subscription->component->id == subject->event.app_id) {
        return false;
    }
    return selects(pool, subscription, subject);
}

/* Packs the event in `pool->packed`, as it stands in a batch. */
static void pack(struct pool *pool, const struct subject *subject, bool before,
                 struct pool_queue_event *ret_packed)
{
    struct vamp_event event = subject->event;
    event.serial = ret_packed->serial = ++pool->last_serial;
    event.time_ns = vamp_clock_utc_ns(pool->clock);
    event.present |= VAMP_HAS_SERIAL | VAMP_HAS_TIME;
    event.phase = before ? VAMP_PHASE_BEFORE : VAMP_PHASE_AFTER;
    if (subject->cdo != NULL) {
        event.cdo_id = vamp_cdo_id_from_bytes(subject->cdo->id);
        event.present |= VAMP_HAS_CDO_ID;
    }
    uint8_t *message = pool->packed + VAMP_WIRE_WRAP_BYTES;
    const size_t length =
        vamp_event_pack(&event, message, sizeof pool->packed - VAMP_WIRE_WRAP_BYTES);
    assert(length > 0); /* the longest name fits */
    ret_packed->bytes = vamp_wire_lead(message, VAMP_EVENT_BATCH_EVENT, length);
    ret_packed->length = (size_t)(message + length - ret_packed->bytes);
}

/* Without memory the operation is not held: a subscriber that is informed late does less harm than
 * a workflow that stops. */
static void await_acknowledgement(struct pool *pool, const struct subscription *subscription,
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

static enum pool_queue_class class_of(const struct subject *subject, bool before)
{
    if (subject->event.kind == VAMP_EVENT_JOIN) {
        return POOL_QUEUE_JOIN;
    }
    if (subject->event.kind == VAMP_EVENT_LEAVE && !(before && subject->announced_again)) {
        return POOL_QUEUE_LEAVE;
    }
    return POOL_QUEUE_OTHER;
}

void component_signal(struct pool *pool, struct component *component, bool at_once)
{
    if (!component->signalled || (at_once && !component->signalled_at_once)) {
        component->signalled = true;
        component->signalled_at_once = at_once;
        pool->outlet.events_ready(pool->outlet.context, component->id, at_once);
    }
}

void pool_emit(struct pool *pool, const struct subject *subject, bool before,
               struct held **ret_held)
{
    uint64_t kinds = before ? pool->kinds_before : pool->kinds_after;
    if ((kinds & VAMP_EVENT_BIT(subject->event.kind)) == 0) {
        return;
    }
    struct pool_queue_event event = {.app_id = subject->event.app_id,
                                     .class = class_of(subject, before)};
    for (size_t i = 0; i < pool->subscription_count; i++) {
        struct subscription *subscription = pool->subscriptions[i];
        if (!concerns(pool, subscription, subject, before)) {
            continue;
        }
        if (event.length == 0) {
            pack(pool, subject, before, &event);
        }
        const bool queued = pool_queue_push(&subscription->queue, &event);
        const bool awaited = (subscription->options & MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK) != 0;
        if (queued && awaited && ret_held != NULL) {
            await_acknowledgement(pool, subscription, ret_held);
        }
        if (!subscription->held) {
            component_signal(pool, subscription->component,
                             awaited || pool_queue_has_many(&subscription->queue));
        }
    }
}
