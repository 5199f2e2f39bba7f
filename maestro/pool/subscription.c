/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include "maestro/pool/internal.h"
#include "vampire/core/list.h"

/* Estimated size of a compiled selector in bytes per byte of its text. */
#define SELECTOR_FACTOR ((size_t)64)

#define OPTIONS_KNOWN                                                                              \
    ((uint32_t)(MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK | MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE |      \
                MSTRO_SUBSCRIPTION_OPTS_NO_LOCAL_EVENTS))

static mstro_status compile(const char *text, struct vamp_expression **ret_selector,
                            struct vamp_err *err)
{
    /* Every name is an attribute, because the pool has no schemas. */
    const struct vamp_vocabulary vocabulary = {.prefix = NULL};
    *ret_selector = NULL;
    if (text == NULL) {
        return MSTRO_OK;
    }
    const int status = vamp_expression_compile(text, &vocabulary, ret_selector, err);
    if (status == 0) {
        return MSTRO_OK;
    }
    (void)vamp_err_wrap(err, "selector");
    return status == -ENOMEM ? MSTRO_NOMEM : MSTRO_INVARG;
}

static size_t selector_bytes(const Mstro__Wire__Subscribe *subscribe)
{
    return subscribe->selector == NULL ? 0 : strlen(subscribe->selector) * SELECTOR_FACTOR;
}

static mstro_status check_subscribe(struct pool *pool, struct component *component,
                                    const Mstro__Wire__Request *request,
                                    struct subject *ret_subject, struct vamp_err *err)
{
    const Mstro__Wire__Subscribe *subscribe = request->subscribe;
    subject_init(VAMP_EVENT_SUBSCRIBE, component->id, ret_subject);
    if ((subscribe->options & ~OPTIONS_KNOWN) != 0) {
        return VAMP_REFUSE(MSTRO_INVARG, err, -EINVAL, "subscribe: unknown option bits 0x%x",
                           (unsigned)(subscribe->options & ~OPTIONS_KNOWN));
    }
    if (component->subscription_count >= pool->bounds.subscriptions_per_component) {
        return VAMP_REFUSE(MSTRO_NOMEM, err, -ENOSPC,
                           "subscribe: a component has at most %zu subscriptions",
                           pool->bounds.subscriptions_per_component);
    }
    if (!pool_memory_has_room(&pool->memory, POOL_MEMORY_OBJECTS,
                              sizeof(struct subscription) + selector_bytes(subscribe))) {
        return pool_memory_refuse(&pool->memory, "subscribe", err);
    }
    struct vamp_expression *selector;
    mstro_status status = compile(subscribe->selector, &selector, err);
    if (status == MSTRO_OK) {
        vamp_expression_free(selector);
    }
    return status;
}

static void gather_kinds(struct pool *pool)
{
    pool->kinds[VAMP_PHASE_AFTER] = pool->kinds[VAMP_PHASE_BEFORE] = pool->kinds_awaited = 0;
    for (size_t i = 0; i < pool->subscription_count; i++) {
        const struct subscription *subscription = pool->subscriptions[i];
        pool->kinds[VAMP_PHASE_AFTER] |= subscription->kinds[VAMP_PHASE_AFTER];
        pool->kinds[VAMP_PHASE_BEFORE] |= subscription->kinds[VAMP_PHASE_BEFORE];
        if (subscription->awaited) {
            pool->kinds_awaited |= subscription->kinds[VAMP_PHASE_AFTER];
        }
    }
}

/* Allocates a bit for cached results in every CDO, and invalidates results cached for its previous
 * user. Returns -1 if all bits are in use. */
static int take_match_bit(struct pool *pool)
{
    if (~pool->match_bits_used == 0) {
        return -1;
    }
    int bit = __builtin_ctzll(~pool->match_bits_used);
    pool->match_bits_used |= UINT64_C(1) << (unsigned)bit;
    pool->match_epoch++;
    return bit;
}

bool subscription_reports_leaves(const struct subscription *subscription)
{
    const uint64_t kinds =
        subscription->kinds[VAMP_PHASE_AFTER] | subscription->kinds[VAMP_PHASE_BEFORE];
    return (kinds & VAMP_EVENT_BIT(VAMP_EVENT_LEAVE)) != 0;
}

static mstro_status apply_subscribe(struct pool *pool, struct component *component,
                                    const Mstro__Wire__Request *request, struct vamp_err *err)
{
    const Mstro__Wire__Subscribe *subscribe = request->subscribe;
    struct subscription *subscription =
        pool_memory_take(&pool->memory, POOL_MEMORY_OBJECTS, sizeof *subscription);
    if (subscription == NULL ||
        !vamp_array_reserve(&pool->subscriptions, &pool->subscription_capacity,
                            pool->subscription_count, sizeof(struct subscription *))) {
        pool_memory_give(&pool->memory, POOL_MEMORY_OBJECTS, subscription);
        return pool_memory_refuse(&pool->memory, "subscribe", err);
    }
    mstro_status status = compile(subscribe->selector, &subscription->selector, err);
    if (status != MSTRO_OK) {
        pool_memory_give(&pool->memory, POOL_MEMORY_OBJECTS, subscription);
        return status;
    }
    subscription->selector_bytes = selector_bytes(subscribe);
    pool_memory_charge(&pool->memory, POOL_MEMORY_OBJECTS, subscription->selector_bytes);
    subscription->id = ++pool->last_subscription;
    subscription->component = component;
    const bool before = (subscribe->options & MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE) != 0;
    subscription->kinds[before ? VAMP_PHASE_BEFORE : VAMP_PHASE_AFTER] =
        subscribe->event_kinds & (VAMP_EVENT_KINDS_ALL | VAMP_EVENT_BIT(VAMP_EVENT_SAMPLE));
    subscription->awaited = (subscribe->options & MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK) != 0;
    subscription->no_local = (subscribe->options & MSTRO_SUBSCRIPTION_OPTS_NO_LOCAL_EVENTS) != 0;
    subscription->match_bit = -1;
    if (subscription->selector != NULL) {
        subscription->match_bit = take_match_bit(pool);
    }
    pool_queue_init(&subscription->queue, pool->bounds.queue_bytes_per_subscription,
                    pool->bounds.components, &pool->memory);
    if (subscription_reports_leaves(subscription)) {
        pool_queue_expect_leaves(&subscription->queue, pool->components.count, 1);
    }

    /* Added only now: its own SUBSCRIBE event is for the other subscriptions only. */
    struct answer answer = {.subscription = subscription->id};
    struct subject subject;
    subject_init(VAMP_EVENT_SUBSCRIBE, component->id, &subject);
    pool_finish(pool, &subject, request->id, &answer);
    list_append(&component->subscriptions, &subscription->of_component);
    component->subscription_count++;
    pool->subscriptions[pool->subscription_count++] = subscription;
    gather_kinds(pool);
    return MSTRO_OK;
}

const struct request_rule rule_subscribe = {check_subscribe, apply_subscribe};

struct subscription *subscription_find(const struct component *component, uint64_t id)
{
    LIST_EACH (subscription, &component->subscriptions, struct subscription, of_component) {
        if (subscription->id == id) {
            return subscription;
        }
    }
    return NULL;
}

void subscription_release(struct pool *pool, struct subscription *subscription)
{
    size_t row = 0;
    while (row < pool->subscription_count && pool->subscriptions[row] != subscription) {
        row++;
    }
    assert(row < pool->subscription_count && subscription->component->subscription_count > 0);
    pool->subscription_count--;
    memmove(&pool->subscriptions[row], &pool->subscriptions[row + 1],
            (pool->subscription_count - row) * sizeof(struct subscription *));
    gather_kinds(pool);
    if (subscription->match_bit >= 0) {
        pool->match_bits_used &= ~(UINT64_C(1) << (unsigned)subscription->match_bit);
    }
    list_remove(&subscription->of_component);
    subscription->component->subscription_count--;
    held_forget_subscription(pool, subscription->id);
    vamp_expression_free(subscription->selector);
    pool_memory_discharge(&pool->memory, POOL_MEMORY_OBJECTS, subscription->selector_bytes);
    pool_queue_done(&subscription->queue);
    pool_memory_give(&pool->memory, POOL_MEMORY_OBJECTS, subscription);
}

void subscription_finish(struct pool *pool, struct component *component,
                         const Mstro__Wire__Request *request)
{
    struct subscription *subscription = subscription_find(component, request->finish->subscription);
    if (subscription == NULL) {
        pool_respond(pool, component->id, request->id, MSTRO_NOENT,
                     "finish: this component has no such subscription", NULL);
        return;
    }
    memset(subscription->kinds, 0, sizeof subscription->kinds);
    gather_kinds(pool);
    const struct answer answer = {.events = subscription->queue.total};
    pool_respond(pool, component->id, request->id, MSTRO_OK, NULL, &answer);
    component_signal(pool, component, true);
}

static mstro_status check_unsubscribe(struct pool *pool, struct component *component,
                                      const Mstro__Wire__Request *request,
                                      struct subject *ret_subject, struct vamp_err *err)
{
    (void)pool;
    const Mstro__Wire__Unsubscribe *unsubscribe = request->unsubscribe;
    subject_init(VAMP_EVENT_UNSUBSCRIBE, component->id, ret_subject);
    if (subscription_find(component, unsubscribe->subscription) == NULL) {
        return VAMP_REFUSE(MSTRO_NOENT, err, -ENOENT,
                           "unsubscribe: this component has no subscription %llu",
                           (unsigned long long)unsubscribe->subscription);
    }
    return MSTRO_OK;
}

static mstro_status apply_unsubscribe(struct pool *pool, struct component *component,
                                      const Mstro__Wire__Request *request, struct vamp_err *err)
{
    (void)err;
    subscription_release(pool, subscription_find(component, request->unsubscribe->subscription));
    struct subject subject;
    subject_init(VAMP_EVENT_UNSUBSCRIBE, component->id, &subject);
    pool_finish(pool, &subject, request->id, NULL);
    return MSTRO_OK;
}

const struct request_rule rule_unsubscribe = {check_unsubscribe, apply_unsubscribe};
