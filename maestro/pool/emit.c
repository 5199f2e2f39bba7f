/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates the event of an operation and queues it for the subscriptions to which it applies;
 * answers the request, at once or after subscribers have acknowledged the event. */
#include <assert.h>
#include <string.h>

#include "maestro/pool/internal.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/protobuf/wire.h"
#include "vampire/core/utf8.h"

enum {
    /* Maximum size of an event in a batch, excluding its name. */
    BESIDE_NAME_MOST = VAMP_EVENT_PACKED_BYTES_MAX - VAMP_NAME_BYTES_MAX + VAMP_WIRE_LEAD_BYTES_MAX,
    /* The same for typical events: id, kind, time, and short numbers. */
    BESIDE_NAME_USUAL = 46,
};

const char *pool_name_fault(const char *name)
{
    size_t length = strlen(name);
    if (length == 0) {
        return "is empty";
    }
    if (length > VAMP_NAME_BYTES_MAX) {
        return "is longer than 4096 bytes";
    }
    return vamp_utf8_is_valid(name) ? NULL : "is not valid UTF-8";
}

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

/* Core attributes are those of the CDO itself, regardless of the sealed attributes. */
static void look_up_attribute(void *context, int field, const char *name, struct vamp_value *ret)
{
    (void)field;
    const struct subject *subject = context;
    const struct vamp_event *event = &subject->event;
    if (strcmp(name, MSTRO_ATTR_CORE_CDO_NAME) == 0) {
        *ret = (struct vamp_value){.type = VAMP_VALUE_TEXT,
                                   .text = {.bytes = event->name, .length = event->name_length}};
    } else if (strcmp(name, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE) == 0) {
        if (vamp_event_has(event, VAMP_HAS_SIZE)) {
            *ret =
                (struct vamp_value){.type = VAMP_VALUE_INT, .integer = (int64_t)event->size_bytes};
        }
    } else if (subject->cdo != NULL) {
        pool_attributes_lookup(subject->cdo->attributes, name, ret);
    }
}

static bool evaluate(const struct subscription *subscription, struct subject *subject)
{
    return vamp_expression_match(subscription->selector, look_up_attribute, subject);
}

/* Returns whether the subscription's selector accepts the event. Events without a CDO are always
 * accepted. */
static bool selects(const struct pool *pool, const struct subscription *subscription,
                    struct subject *subject)
{
    if (subscription->selector == NULL || subject->event.kind == VAMP_EVENT_SAMPLE ||
        !vamp_event_has(&subject->event, VAMP_HAS_CDO_NAME)) {
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
        cdo->match_known |= bit;
        cdo->match_holds &= ~bit;
        if (evaluate(subscription, subject)) {
            cdo->match_holds |= bit;
        }
    }
    return (cdo->match_holds & bit) != 0;
}

static bool concerns(const struct pool *pool, const struct subscription *subscription,
                     struct subject *subject, enum vamp_event_phase phase)
{
    if ((subscription->kinds[phase] & VAMP_EVENT_BIT(subject->event.kind)) == 0 ||
        (subscription->no_local && subscription->component->id == subject->event.app_id)) {
        return false;
    }
    return selects(pool, subscription, subject);
}

/* Packs the event as a field of a batch. Returns its length in bytes. */
static size_t pack(const struct subject *subject, uint8_t *at)
{
    const struct vamp_event *event = &subject->event;
    const struct cdo *cdo = subject->cdo;
    const size_t gap = vamp_wire_lead_bytes(event->name_length + BESIDE_NAME_USUAL);
    const uint8_t *packed = NULL;
    size_t packed_length = 0;
    if (cdo != NULL) {
        packed = cdo->packed;
        packed_length = cdo->packed_length;
    }
    const size_t length = vamp_event_pack_of_cdo(event, packed, packed_length, at + gap);
    return (size_t)(vamp_wire_wrap(at, gap, VAMP_EVENT_BATCH_EVENT, length) - at);
}

/* If out of memory, the operation is not delayed: a late notification of a subscriber does less
 * harm than a blocked workflow. */
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

void pool_emit(struct pool *pool, struct subject *subject, bool before, struct held **ret_held)
{
    struct vamp_event *event = &subject->event;
    const enum vamp_event_phase phase = before ? VAMP_PHASE_BEFORE : VAMP_PHASE_AFTER;
    if ((pool->kinds[phase] & VAMP_EVENT_BIT(subject->event.kind)) == 0) {
        return;
    }
    const enum pool_queue_class class = class_of(subject, before);
    const size_t most = BESIDE_NAME_MOST + subject->event.name_length;
    bool numbered = false;
    for (size_t i = 0; i < pool->subscription_count; i++) {
        struct subscription *subscription = pool->subscriptions[i];
        if (!concerns(pool, subscription, subject, phase)) {
            continue;
        }
        if (!numbered) { /* assigns the event's serial number */
            numbered = true;
            event->serial = ++pool->last_serial;
            event->time_ns = vamp_clock_utc_ns(pool->clock);
            event->present |= VAMP_HAS_SERIAL | VAMP_HAS_TIME;
            event->phase = (uint8_t)phase;
        }
        struct pool_queue *queue = &subscription->queue;
        uint8_t *at = pool_queue_begin(queue, event, class, most);
        if (at != NULL) {
            pool_queue_end(queue, pack(subject, at));
            if (subscription->awaited && ret_held != NULL) {
                await_acknowledgement(pool, subscription, ret_held);
            }
        }
        if (!subscription->held) {
            component_signal(pool, subscription->component,
                             subscription->awaited || pool_queue_has_many(queue));
        }
    }
}

/* ------------------------------------------------------------------ answers */

void pool_respond(struct pool *pool, uint64_t app_id, uint64_t request_id, mstro_status status,
                  const char *text, const struct answer *answer)
{
    if (pool->outlet.respond == NULL) {
        return;
    }
    Mstro__Wire__Response response = MSTRO__WIRE__RESPONSE__INIT;
    char copy[VAMP_ERR_TEXT_BYTES];
    unsigned char id[POOL_CDO_ID_BYTES];
    response.id = request_id;
    response.status = (uint32_t)status;
    if (status != MSTRO_OK && text != NULL) {
        memccpy(copy, text, '\0', sizeof copy - 1);
        copy[sizeof copy - 1] = '\0';
        response.text = copy;
    }
    if (answer != NULL && answer->handle != 0) {
        memcpy(id, answer->cdo_id, sizeof id);
        response.has_handle = true;
        response.handle = answer->handle;
        response.has_cdo_id = true;
        response.cdo_id = (ProtobufCBinaryData){.len = sizeof id, .data = id};
    }
    if (answer != NULL && answer->subscription != 0) {
        response.has_subscription = true;
        response.subscription = answer->subscription;
    }
    if (answer != NULL && answer->events != 0) {
        response.has_events = true;
        response.events = answer->events;
    }
    pool->outlet.respond(pool->outlet.context, app_id, &response);
}

/* ------------------------------------------------------------------ waiting for subscribers */

void held_keep(struct pool *pool, struct held *held, uint64_t app_id, uint64_t request_id)
{
    assert(held->waiting_count > 0);
    held->app_id = app_id;
    held->request_id = request_id;
    held->since_ns = vamp_clock_monotonic_ns(pool->clock);
    list_append(&pool->held_list, &held->of_pool);
    map_insert_number(&pool->helds, &held->by_serial, held->serial);
}

void held_free(struct pool *pool, struct held *held)
{
    if (held->waiting_count > 0 && list_is_linked(&held->of_pool)) {
        map_remove(&pool->helds, &held->by_serial);
    }
    list_remove(&held->of_pool);
    if (held->request != NULL) {
        mstro__wire__request__free_unpacked(held->request, &pool->memory.messages);
    }
    pool_memory_give(&pool->memory, POOL_MEMORY_OBJECTS, held);
}

void held_release(struct pool *pool, struct held *held, uint64_t subscription)
{
    for (size_t i = 0; i < held->waiting_count; i++) {
        if (held->waiting[i] != subscription) {
            continue;
        }
        held->waiting[i] = held->waiting[--held->waiting_count];
        if (held->waiting_count == 0) {
            map_remove(&pool->helds, &held->by_serial);
            list_remove(&held->of_pool);
            list_append(&pool->runnable, &held->of_pool);
        }
        return;
    }
}

void held_forget_subscription(struct pool *pool, uint64_t subscription)
{
    for (struct list_link *link = list_first(&pool->held_list), *next; link != NULL; link = next) {
        next = list_next(&pool->held_list, link);
        held_release(pool, CONTAINER_OF(link, struct held, of_pool), subscription);
    }
}

void held_forget_component(struct pool *pool, uint64_t app_id)
{
    struct list *const lists[] = {&pool->held_list, &pool->runnable};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (struct list_link *link = list_first(lists[i]), *next; link != NULL; link = next) {
            next = list_next(lists[i], link);
            struct held *held = CONTAINER_OF(link, struct held, of_pool);
            if (held->app_id == app_id) {
                held_free(pool, held);
            }
        }
    }
}

void pool_finish(struct pool *pool, struct subject *subject, uint64_t request_id,
                 const struct answer *answer)
{
    struct held *held = NULL;
    const bool awaited = (pool->kinds_awaited & VAMP_EVENT_BIT(subject->event.kind)) != 0;
    if (awaited) {
        pool_emit(pool, subject, false, &held);
    }
    if (held == NULL) {
        pool_respond(pool, subject->event.app_id, request_id, MSTRO_OK, NULL, answer);
        if (!awaited) {
            pool_emit(pool, subject, false, NULL);
        }
        return;
    }
    if (answer != NULL) {
        held->answer = *answer;
    }
    held_keep(pool, held, subject->event.app_id, request_id);
}
