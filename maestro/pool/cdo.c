/* SPDX-License-Identifier: BSD-3-Clause */
/* CDOs and their handles: found, made and freed; and when a withdrawal may end. */
#include <assert.h>
#include <string.h>

#include "maestro/pool/internal.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/event/event.h"

void cdo_subject(enum vamp_event_kind kind, uint64_t app_id, struct cdo *cdo,
                 struct subject *ret_subject)
{
    subject_init(kind, app_id, ret_subject);
    subject_name(ret_subject, cdo->name, cdo->name_length);
    ret_subject->cdo = cdo;
    if (cdo->has_size) {
        ret_subject->event.size_bytes = cdo->size_bytes;
        ret_subject->event.present |= VAMP_HAS_SIZE;
    }
}

/* ------------------------------------------------------------------ declare, and the end */

static struct cdo *find_cdo(const struct pool *pool, const char *name, uint64_t *ret_hash)
{
    size_t length = strlen(name);
    *ret_hash = map_hash_text(&pool->cdos, name, length);
    for (struct map_link *link = map_first(&pool->cdos, *ret_hash); link != NULL;
         link = map_next(link)) {
        struct cdo *cdo = CONTAINER_OF(link, struct cdo, by_name);
        if (cdo->name_length == length && memcmp(cdo->name, name, length) == 0) {
            return cdo;
        }
    }
    return NULL;
}

static size_t cdo_bytes(size_t name_length)
{
    return sizeof(struct cdo) + VAMP_EVENT_CDO_BYTES(name_length) + 1;
}

mstro_status cdo_check_declare(struct pool *pool, struct component *component,
                               const Mstro__Wire__Declare *declare, struct subject *ret_subject,
                               struct vamp_err *err)
{
    const char *fault = pool_name_fault(declare->name);
    if (fault != NULL) {
        (void)vamp_err_set(err, -EINVAL, "declare: the name of the CDO %s", fault);
        return MSTRO_INVARG;
    }
    if (component->handle_count >= pool->bounds.handles_per_component) {
        (void)vamp_err_set(err, -ENOSPC, "declare: a component holds at most %zu CDOs",
                           pool->bounds.handles_per_component);
        return MSTRO_NOMEM;
    }
    uint64_t hash;
    struct cdo *cdo = find_cdo(pool, declare->name, &hash);
    size_t bytes = sizeof(struct handle);
    bytes += cdo == NULL ? cdo_bytes(strlen(declare->name)) : 0;
    if (!pool_memory_has_room(&pool->memory, POOL_MEMORY_OBJECTS, bytes)) {
        return pool_memory_refuse(&pool->memory, "declare", err);
    }
    if (cdo != NULL) {
        cdo_subject(VAMP_EVENT_DECLARE, component->id, cdo, ret_subject);
        return MSTRO_OK;
    }
    if (pool->cdos.count >= pool->bounds.cdos) {
        (void)vamp_err_set(err, -ENOSPC, "declare: the pool holds at most %zu CDOs",
                           pool->bounds.cdos);
        return MSTRO_NOMEM;
    }
    subject_init(VAMP_EVENT_DECLARE, component->id, ret_subject);
    subject_name(ret_subject, declare->name, strlen(declare->name));
    return MSTRO_OK;
}

/* xorshift128+: ids have to be different, not secret. */
static uint64_t random_number(struct pool *pool)
{
    uint64_t first = pool->random[0];
    uint64_t second = pool->random[1];
    pool->random[0] = second;
    first ^= first << 23;
    pool->random[1] = first ^ second ^ (first >> 18) ^ (second >> 5);
    return pool->random[1] + second;
}

static struct cdo *create_cdo(struct pool *pool, const char *name, uint64_t hash)
{
    size_t length = strlen(name);
    struct cdo *cdo = pool_memory_take(&pool->memory, POOL_MEMORY_OBJECTS, cdo_bytes(length));
    if (cdo == NULL) {
        return NULL;
    }
    const struct vamp_cdo_id id = {random_number(pool), random_number(pool)};
    vamp_cdo_id_to_bytes(id, cdo->id);
    cdo->packed_length = vamp_event_pack_cdo(id, name, length, cdo->packed);
    cdo->packed[cdo->packed_length] = '\0';
    cdo->name = (const char *)cdo->packed + cdo->packed_length - length;
    cdo->name_length = length;
    list_init(&cdo->offers);
    list_init(&cdo->demands);
    map_insert(&pool->cdos, &cdo->by_name, hash);
    return cdo;
}

void cdo_free_unused(struct pool *pool, struct cdo *cdo)
{
    if (cdo->handle_count == 0) {
        assert(cdo->needs == 0 && list_is_empty(&cdo->offers) && list_is_empty(&cdo->demands));
        map_remove(&pool->cdos, &cdo->by_name);
        pool_attributes_release(&pool->memory, cdo->attributes);
        pool_memory_give(&pool->memory, POOL_MEMORY_OBJECTS, cdo);
    }
}

mstro_status cdo_apply_declare(struct pool *pool, struct component *component,
                               const Mstro__Wire__Request *request, struct vamp_err *err)
{
    uint64_t hash;
    const char *name = request->declare->name;
    struct handle *handle = pool_memory_take(&pool->memory, POOL_MEMORY_OBJECTS, sizeof *handle);
    struct cdo *cdo = find_cdo(pool, name, &hash);
    if (cdo == NULL && handle != NULL) {
        cdo = create_cdo(pool, name, hash);
    }
    if (handle == NULL || cdo == NULL) {
        pool_memory_give(&pool->memory, POOL_MEMORY_OBJECTS, handle);
        return pool_memory_refuse(&pool->memory, "declare", err);
    }
    handle->id = ++pool->last_handle;
    handle->component = component;
    handle->cdo = cdo;
    cdo->handle_count++;
    list_link_init(&handle->of_role);
    list_init(&handle->sending);
    list_append(&component->handles, &handle->of_component);
    component->handle_count++;
    map_insert(&pool->handles, &handle->by_id, map_hash_number(&pool->handles, handle->id));

    struct answer answer = {.has_handle = true, .handle = handle->id};
    memcpy(answer.cdo_id, cdo->id, sizeof answer.cdo_id);
    struct subject subject;
    cdo_subject(VAMP_EVENT_DECLARE, component->id, cdo, &subject);
    pool_finish(pool, &subject, request->id, &answer);
    return MSTRO_OK;
}

/* Transports from the handle continue without it: only their sinks know how they end. */
static void orphan_transports(struct handle *handle)
{
    struct list_link *link;
    while ((link = list_take(&handle->sending)) != NULL) {
        struct transport *transport = CONTAINER_OF(link, struct transport, of_source);
        transport->source = NULL;
    }
}

void handle_free(struct pool *pool, struct handle *handle)
{
    assert(handle->receiving == NULL);
    assert(handle->component->handle_count > 0 && handle->cdo->handle_count > 0);
    orphan_transports(handle);
    map_remove(&pool->handles, &handle->by_id);
    list_remove(&handle->of_component);
    list_remove(&handle->of_role);
    handle->component->handle_count--;
    handle->cdo->handle_count--;
    cdo_free_unused(pool, handle->cdo);
    pool_attributes_release(&pool->memory, handle->attributes);
    pool_memory_give(&pool->memory, POOL_MEMORY_OBJECTS, handle);
}

/* ------------------------------------------------------------------ withdrawals */

void cdo_finish(struct pool *pool, enum vamp_event_kind kind, struct handle *handle,
                uint64_t request_id)
{
    struct subject subject;
    cdo_subject(kind, handle->component->id, handle->cdo, &subject);
    pool_finish(pool, &subject, request_id, NULL);
}

/* A withdrawal waits for transports from it, and, while there is no other offer, for all components
 * that require or demand the CDO. */
static struct handle *find_free_withdrawal(const struct cdo *cdo)
{
    bool stays = false;
    for (struct list_link *link = list_first(&cdo->offers); link != NULL;
         link = list_next(&cdo->offers, link)) {
        stays = stays || CONTAINER_OF(link, struct handle, of_role)->state == HANDLE_OFFERED;
    }
    for (struct list_link *link = list_first(&cdo->offers); link != NULL;
         link = list_next(&cdo->offers, link)) {
        struct handle *handle = CONTAINER_OF(link, struct handle, of_role);
        if (handle->state == HANDLE_WITHDRAWING && list_is_empty(&handle->sending) &&
            (stays || cdo->needs == 0)) {
            return handle;
        }
    }
    return NULL;
}

void cdo_settle(struct pool *pool, struct cdo *cdo)
{
    struct handle *handle;
    while ((handle = find_free_withdrawal(cdo)) != NULL) {
        list_remove(&handle->of_role);
        handle->state = HANDLE_WITHDRAWN;
        cdo_finish(pool, VAMP_EVENT_WITHDRAW, handle, handle->withdraw_request);
    }
}
