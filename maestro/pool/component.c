/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include "maestro/pool/internal.h"

struct component *component_find(const struct pool *pool, uint64_t app_id)
{
    uint64_t hash = map_hash_number(&pool->components, app_id);
    for (struct map_link *link = map_first(&pool->components, hash); link != NULL;
         link = map_next(link)) {
        struct component *component = CONTAINER_OF(link, struct component, by_id);
        if (component->id == app_id) {
            return component;
        }
    }
    return NULL;
}

static bool name_is_taken(const struct pool *pool, const char *name, uint64_t hash)
{
    for (struct map_link *link = map_first(&pool->component_names, hash); link != NULL;
         link = map_next(link)) {
        if (strcmp(CONTAINER_OF(link, struct component, by_name)->name, name) == 0) {
            return true;
        }
    }
    return false;
}

mstro_status pool_may_join(const struct pool *pool, const char *name, struct vamp_err *err)
{
    const char *fault = pool_name_fault(name);
    if (fault != NULL) {
        (void)vamp_err_set(err, -EINVAL, "join: the component's name %s", fault);
        return MSTRO_REFUSED;
    }
    if (name_is_taken(pool, name, map_hash_text(&pool->component_names, name, strlen(name)))) {
        (void)vamp_err_set(err, -EEXIST,
                           "join: a component named \"%.200s\" is here already; names are unique",
                           name);
        return MSTRO_REFUSED;
    }
    if (pool->components.count >= pool->bounds.components) {
        (void)vamp_err_set(err, -ENOSPC, "join: the workflow has at most %zu components",
                           pool->bounds.components);
        return MSTRO_NOMEM;
    }
    return MSTRO_OK;
}

static void expect_leave(struct pool *pool, uint64_t app_id)
{
    for (size_t i = 0; i < pool->subscription_count; i++) {
        if (subscription_reports_leaves(pool->subscriptions[i])) {
            pool_queue_expect_leaves(&pool->subscriptions[i]->queue, 1, app_id);
        }
    }
}

static void leave_is_next(struct pool *pool)
{
    for (size_t i = 0; i < pool->subscription_count; i++) {
        if (subscription_reports_leaves(pool->subscriptions[i])) {
            pool_queue_leave_is_next(&pool->subscriptions[i]->queue);
        }
    }
}

mstro_status pool_join(struct pool *pool, const char *name, uint64_t index, uint64_t *ret_app_id,
                       struct vamp_err *err)
{
    (void)index; /* sent to the pool manager, which does not use it yet */
    mstro_status status = pool_may_join(pool, name, err);
    if (status != MSTRO_OK) {
        return status;
    }
    size_t length = strlen(name);
    struct component *component =
        pool_memory_take(&pool->memory, POOL_MEMORY_OBJECTS, sizeof *component + length + 1);
    if (component == NULL) {
        return pool_memory_refuse(&pool->memory, "join", err);
    }
    memcpy(component->name, name, length + 1);
    component->id = ++pool->last_app;
    list_init(&component->handles);
    list_init(&component->subscriptions);

    expect_leave(pool, component->id);
    struct subject subject;
    subject_init(VAMP_EVENT_JOIN, component->id, &subject);
    subject_name(&subject, name, length);
    pool_emit(pool, &subject, true, NULL);
    list_append(&pool->component_list, &component->of_pool);
    map_insert(&pool->components, &component->by_id,
               map_hash_number(&pool->components, component->id));
    map_insert(&pool->component_names, &component->by_name,
               map_hash_text(&pool->component_names, name, length));
    pool_emit(pool, &subject, false, NULL);
    *ret_app_id = component->id;
    return MSTRO_OK;
}

void component_release(struct pool *pool, struct component *component)
{
    struct list_link *link;
    while ((link = list_first(&component->subscriptions)) != NULL) {
        subscription_release(pool, CONTAINER_OF(link, struct subscription, of_component));
    }
    while ((link = list_first(&component->handles)) != NULL) {
        handle_release(pool, CONTAINER_OF(link, struct handle, of_component));
    }
    assert(component->handle_count == 0 && component->subscription_count == 0);
    leave_is_next(pool);
    list_remove(&component->of_pool);
    map_remove(&pool->components, &component->by_id);
    map_remove(&pool->component_names, &component->by_name);
    held_forget_component(pool, component->id);
    pool_memory_give(&pool->memory, POOL_MEMORY_OBJECTS, component);
}

size_t pool_component_count(const struct pool *pool)
{
    return pool->components.count;
}

const char *pool_component_name(const struct pool *pool, uint64_t app_id)
{
    const struct component *component = component_find(pool, app_id);
    return component == NULL ? NULL : component->name;
}

void pool_flow(struct pool *pool, uint64_t app_id, uint64_t subscription_id, uint64_t number,
               bool hold)
{
    struct component *component = component_find(pool, app_id);
    struct subscription *subscription =
        component == NULL ? NULL : subscription_find(component, subscription_id);
    if (subscription == NULL || number <= subscription->flow_number) {
        return;
    }
    uint64_t serial;
    subscription->flow_number = number;
    subscription->held = hold;
    if (!hold && pool_queue_waits(&subscription->queue, &serial)) {
        component_signal(pool, component, true);
    }
}

struct pool_batch pool_events_take(struct pool *pool, uint64_t app_id, uint8_t *buffer, size_t size,
                                   size_t max_events)
{
    struct component *component = component_find(pool, app_id);
    if (component == NULL || size < POOL_BATCH_BYTES_MIN || max_events == 0) {
        return (struct pool_batch){0};
    }
    struct subscription *oldest = NULL;
    uint64_t oldest_serial = UINT64_MAX;
    for (struct list_link *link = list_first(&component->subscriptions); link != NULL;
         link = list_next(&component->subscriptions, link)) {
        struct subscription *subscription = CONTAINER_OF(link, struct subscription, of_component);
        uint64_t serial;
        if (!subscription->held && pool_queue_waits(&subscription->queue, &serial) &&
            serial <= oldest_serial) {
            oldest = subscription;
            oldest_serial = serial;
        }
    }
    if (oldest == NULL) {
        component->signalled = component->signalled_at_once = false;
        return (struct pool_batch){0};
    }
    return pool_queue_take(&oldest->queue, oldest->id, buffer, size, max_events);
}
