/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/pool/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/random.h>

#include "maestro/pool/internal.h"

const struct pool_bounds pool_bounds_default = {
    .components = 4096,
    .cdos = (size_t)1 << 21,
    .handles_per_component = (size_t)1 << 20,
    .subscriptions_per_component = 256,
    .attribute_bytes_per_cdo = 8192,
    .queue_bytes_per_subscription = (size_t)16 << 20,
    .memory_bytes = (size_t)2 << 30,
};

static int seed(struct pool *pool, struct vamp_err *err)
{
    if (getrandom(pool->random, sizeof pool->random, 0) != (ssize_t)sizeof pool->random) {
        return vamp_err_set_errno(err, errno, "pool: random numbers");
    }
    pool->random[0] |= 1; /* all zeroes would stay so */
    return 0;
}

static int init_tables(struct pool *pool)
{
    struct map *const tables[] = {&pool->components, &pool->component_names, &pool->cdos,
                                  &pool->handles,    &pool->transports,      &pool->helds};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (map_init(tables[i]) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

int pool_create(const struct pool_bounds *bounds, const struct vamp_clock *clock,
                const struct pool_outlet *outlet, struct pool **ret_pool, struct vamp_err *err)
{
    struct pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) {
        return vamp_err_set(err, -ENOMEM, "pool: no memory");
    }
    pool->bounds = bounds == NULL ? pool_bounds_default : *bounds;
    pool_memory_init(&pool->memory, pool->bounds.memory_bytes);
    pool->clock = clock;
    pool->outlet = *outlet;
    pool->match_epoch = 1; /* a new CDO has 0: it knows no results */
    list_init(&pool->component_list);
    list_init(&pool->held_list);
    list_init(&pool->runnable);
    int status = seed(pool, err);
    if (status == 0 && init_tables(pool) < 0) {
        status = vamp_err_set(err, -ENOMEM, "pool: no memory");
    }
    if (status < 0) {
        pool_free(pool);
        return status;
    }
    *ret_pool = pool;
    return 0;
}

static void ignore_response(void *context, uint64_t app_id, const Mstro__Wire__Response *response)
{
    (void)context;
    (void)app_id;
    (void)response;
}

static void ignore_ticket(void *context, uint64_t app_id, uint64_t source_app_id,
                          const Mstro__Wire__Ticket *ticket)
{
    (void)context;
    (void)app_id;
    (void)source_app_id;
    (void)ticket;
}

static void ignore_events(void *context, uint64_t app_id, bool at_once)
{
    (void)context;
    (void)app_id;
    (void)at_once;
}

void pool_free(struct pool *pool)
{
    if (pool == NULL) {
        return;
    }
    pool->outlet = (struct pool_outlet){
        .respond = ignore_response, .ticket = ignore_ticket, .events_ready = ignore_events};
    struct list_link *link;
    while ((link = list_first(&pool->component_list)) != NULL) {
        component_release(pool, CONTAINER_OF(link, struct component, of_pool));
    }
    /* What is left belonged to components that had gone with their answer outstanding. */
    struct list *const lists[] = {&pool->held_list, &pool->runnable};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        while ((link = list_take(lists[i])) != NULL) {
            held_free(pool, CONTAINER_OF(link, struct held, of_pool));
        }
    }
    assert(pool->memory.object_bytes == 0 && pool->memory.event_bytes == 0);
    assert(pool->cdos.count == 0 && pool->handles.count == 0 && pool->transports.count == 0);
    map_done(&pool->components);
    map_done(&pool->component_names);
    map_done(&pool->cdos);
    map_done(&pool->handles);
    map_done(&pool->transports);
    map_done(&pool->helds);
    free(pool->subscriptions);
    free(pool);
}

void pool_memory_state(const struct pool *pool, struct pool_memory_state *ret_state)
{
    *ret_state = (struct pool_memory_state){.limit = pool->memory.limit,
                                            .object_bytes = pool->memory.object_bytes,
                                            .event_bytes = pool->memory.event_bytes,
                                            .refused = pool->memory.refused};
}
