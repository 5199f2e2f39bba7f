/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers to requests, and requests that wait for subscribers' acknowledgements. */
#include <assert.h>
#include <string.h>

#include "maestro/pool/internal.h"

void pool_respond(struct pool *pool, uint64_t app_id, uint64_t request_id, mstro_status status,
                  const char *text, const struct answer *answer)
{
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
    if (answer != NULL && answer->has_handle) {
        memcpy(id, answer->cdo_id, sizeof id);
        response.has_handle = true;
        response.handle = answer->handle;
        response.has_cdo_id = true;
        response.cdo_id = (ProtobufCBinaryData){.len = sizeof id, .data = id};
    }
    if (answer != NULL && answer->has_subscription) {
        response.has_subscription = true;
        response.subscription = answer->subscription;
    }
    pool->outlet.respond(pool->outlet.context, app_id, &response);
}

/* ------------------------------------------------------------------ waiting for subscribers */

void held_keep(struct pool *pool, struct held *held, uint64_t app_id, uint64_t request_id)
{
    assert(held->waiting_count > 0);
    held->app_id = app_id;
    held->request_id = request_id;
    list_append(&pool->held_list, &held->of_pool);
    map_insert(&pool->helds, &held->by_serial, map_hash_number(&pool->helds, held->serial));
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
    struct list_link *link = list_first(&pool->held_list);
    while (link != NULL) {
        struct list_link *next = list_next(&pool->held_list, link);
        held_release(pool, CONTAINER_OF(link, struct held, of_pool), subscription);
        link = next;
    }
}

static void forget_in(struct pool *pool, struct list *list, uint64_t app_id)
{
    struct list_link *link = list_first(list);
    while (link != NULL) {
        struct list_link *next = list_next(list, link);
        struct held *held = CONTAINER_OF(link, struct held, of_pool);
        if (held->app_id == app_id) {
            held_free(pool, held);
        }
        link = next;
    }
}

void held_forget_component(struct pool *pool, uint64_t app_id)
{
    forget_in(pool, &pool->held_list, app_id);
    forget_in(pool, &pool->runnable, app_id);
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
