/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a CDO as its handles' states. */
#include <string.h>

#include "maestro/pool/internal.h"

#define STATE_BIT(state) (1U << (unsigned)(state))

static const char *const state_names[] = {
    [HANDLE_DECLARED] = "declared",   [HANDLE_SEALED] = "sealed",
    [HANDLE_OFFERED] = "offered",     [HANDLE_WITHDRAWING] = "being withdrawn",
    [HANDLE_WITHDRAWN] = "withdrawn", [HANDLE_REQUIRED] = "required",
    [HANDLE_DEMANDED] = "demanded",   [HANDLE_SATISFIED] = "satisfied",
    [HANDLE_RETRACTED] = "retracted",
};

/* The legal transitions. */
struct rule {
    const char *name;
    unsigned from; /* STATE_BITs */
    const char *from_text;
    void (*handle)(struct pool *pool, struct handle *handle, const Mstro__Wire__Request *request);
};

static void handle_seal(struct pool *pool, struct handle *handle,
                        const Mstro__Wire__Request *request);
static void handle_offer(struct pool *pool, struct handle *handle,
                         const Mstro__Wire__Request *request);
static void handle_require(struct pool *pool, struct handle *handle,
                           const Mstro__Wire__Request *request);
static void handle_demand(struct pool *pool, struct handle *handle,
                          const Mstro__Wire__Request *request);
static void handle_retract(struct pool *pool, struct handle *handle,
                           const Mstro__Wire__Request *request);
static void handle_withdraw(struct pool *pool, struct handle *handle,
                            const Mstro__Wire__Request *request);
static void handle_dispose(struct pool *pool, struct handle *handle,
                           const Mstro__Wire__Request *request);

static const struct rule rules[] = {
    [MSTRO__WIRE__OPERATION__SEAL] = {"seal", STATE_BIT(HANDLE_DECLARED), "declared", handle_seal},
    [MSTRO__WIRE__OPERATION__OFFER] = {"offer",
                                       STATE_BIT(HANDLE_DECLARED) | STATE_BIT(HANDLE_SEALED),
                                       "declared or sealed", handle_offer},
    [MSTRO__WIRE__OPERATION__REQUIRE] = {"require",
                                         STATE_BIT(HANDLE_DECLARED) | STATE_BIT(HANDLE_SEALED),
                                         "declared or sealed", handle_require},
    [MSTRO__WIRE__OPERATION__DEMAND] = {"demand", STATE_BIT(HANDLE_REQUIRED), "required",
                                        handle_demand},
    [MSTRO__WIRE__OPERATION__RETRACT] = {"retract", STATE_BIT(HANDLE_REQUIRED), "required",
                                         handle_retract},
    [MSTRO__WIRE__OPERATION__WITHDRAW] = {"withdraw", STATE_BIT(HANDLE_OFFERED), "offered",
                                          handle_withdraw},
    [MSTRO__WIRE__OPERATION__DISPOSE] = {"dispose",
                                         STATE_BIT(HANDLE_DECLARED) | STATE_BIT(HANDLE_SEALED) |
                                             STATE_BIT(HANDLE_WITHDRAWN) |
                                             STATE_BIT(HANDLE_SATISFIED) |
                                             STATE_BIT(HANDLE_RETRACTED),
                                         "declared, sealed, withdrawn, satisfied or retracted",
                                         handle_dispose},
};

void cdo_subject(enum vamp_event_kind kind, uint64_t app_id, struct cdo *cdo,
                 struct subject *ret_subject)
{
    *ret_subject = (struct subject){
        .kind = kind,
        .app_id = app_id,
        .cdo = cdo,
        .name = cdo->name,
        .name_length = cdo->name_length,
        .has_size = cdo->has_size,
        .size_bytes = cdo->size_bytes,
    };
}

/* ------------------------------------------------------------------ declare, and the end */

static struct cdo *find_cdo(const struct pool *pool, const char *name, uint64_t *ret_hash)
{
    size_t length = strlen(name);
    *ret_hash = table_hash_text(&pool->cdos, name, length);
    for (struct table_link *link = table_first(&pool->cdos, *ret_hash); link != NULL;
         link = table_next(link)) {
        struct cdo *cdo = CONTAINER_OF(link, struct cdo, by_name);
        if (cdo->name_length == length && memcmp(cdo->name, name, length) == 0) {
            return cdo;
        }
    }
    return NULL;
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
    bytes += cdo == NULL ? sizeof *cdo + strlen(declare->name) + 1 : 0;
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
    *ret_subject = (struct subject){.kind = VAMP_EVENT_DECLARE,
                                    .app_id = component->id,
                                    .name = declare->name,
                                    .name_length = strlen(declare->name)};
    return MSTRO_OK;
}

static struct cdo *create_cdo(struct pool *pool, const char *name, uint64_t hash)
{
    size_t length = strlen(name);
    struct cdo *cdo =
        pool_memory_take(&pool->memory, POOL_MEMORY_OBJECTS, sizeof *cdo + length + 1);
    if (cdo == NULL) {
        return NULL;
    }
    uint64_t id[2] = {pool_random(pool), pool_random(pool)};
    memcpy(cdo->id, id, sizeof cdo->id);
    cdo->name_length = length;
    memcpy(cdo->name, name, length + 1);
    list_init(&cdo->offers);
    list_init(&cdo->demands);
    table_insert(&pool->cdos, &cdo->by_name, hash);
    return cdo;
}

static void free_unused_cdo(struct pool *pool, struct cdo *cdo)
{
    if (cdo->handle_count == 0) {
        table_remove(&pool->cdos, &cdo->by_name);
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
    table_insert(&pool->handles, &handle->by_id, table_hash_number(&pool->handles, handle->id));

    struct answer answer = {.has_handle = true, .handle = handle->id};
    memcpy(answer.cdo_id, cdo->id, sizeof answer.cdo_id);
    struct subject subject;
    cdo_subject(VAMP_EVENT_DECLARE, component->id, cdo, &subject);
    pool_finish(pool, &subject, request->id, &answer);
    return MSTRO_OK;
}

/* What is running from the handle goes on without it: only its sink knows how it ends. */
static void orphan_transports(struct handle *handle)
{
    struct list_link *link;
    while ((link = list_take(&handle->sending)) != NULL) {
        struct transport *transport = CONTAINER_OF(link, struct transport, of_source);
        transport->source = NULL;
    }
}

static void free_handle(struct pool *pool, struct handle *handle)
{
    orphan_transports(handle);
    table_remove(&pool->handles, &handle->by_id);
    list_remove(&handle->of_component);
    list_remove(&handle->of_role);
    handle->component->handle_count--;
    handle->cdo->handle_count--;
    free_unused_cdo(pool, handle->cdo);
    pool_attributes_release(&pool->memory, handle->attributes);
    pool_memory_give(&pool->memory, POOL_MEMORY_OBJECTS, handle);
}

void handle_release(struct pool *pool, struct handle *handle)
{
    struct cdo *cdo = handle->cdo;
    if (handle->receiving != NULL) {
        transport_abort(pool, handle->receiving);
    }
    if (handle->state == HANDLE_REQUIRED || handle->state == HANDLE_DEMANDED) {
        cdo->needs--;
    }
    cdo->handle_count++; /* stays until it is settled */
    free_handle(pool, handle);
    cdo_settle(pool, cdo);
    cdo->handle_count--;
    free_unused_cdo(pool, cdo);
}

/* ------------------------------------------------------------------ operations on a handle */

static struct handle *find_handle(const struct pool *pool, const struct component *component,
                                  uint64_t id)
{
    uint64_t hash = table_hash_number(&pool->handles, id);
    for (struct table_link *link = table_first(&pool->handles, hash); link != NULL;
         link = table_next(link)) {
        struct handle *handle = CONTAINER_OF(link, struct handle, by_id);
        if (handle->id == id) {
            return handle->component == component ? handle : NULL;
        }
    }
    return NULL;
}

static bool keeps_attributes(const struct handle *handle,
                             const Mstro__Wire__CdoOperation *operation)
{
    return operation->n_attributes > 0 && handle->state == HANDLE_DECLARED &&
           operation->operation != MSTRO__WIRE__OPERATION__DISPOSE;
}

mstro_status cdo_check_operation(struct pool *pool, struct component *component,
                                 const Mstro__Wire__CdoOperation *operation,
                                 struct subject *ret_subject, struct vamp_err *err)
{
    size_t number = (size_t)operation->operation;
    if (number >= sizeof rules / sizeof rules[0] || rules[number].name == NULL) {
        (void)vamp_err_set(err, -EINVAL, "unknown CDO operation %d", (int)operation->operation);
        return MSTRO_INVMSG;
    }
    const struct rule *rule = &rules[number];
    struct handle *handle = find_handle(pool, component, operation->handle);
    if (handle == NULL) {
        (void)vamp_err_set(err, -ENOENT, "%s: this component has no CDO handle %llu", rule->name,
                           (unsigned long long)operation->handle);
        return MSTRO_NOENT;
    }
    if ((rule->from & STATE_BIT(handle->state)) == 0) {
        (void)vamp_err_set(
            err, -EPERM, "%s: the CDO \"%.200s\" is %s; %s is possible when it is %s", rule->name,
            handle->cdo->name, state_names[handle->state], rule->name, rule->from_text);
        return MSTRO_INVSTATE;
    }
    size_t bytes = pool_attributes_bytes(operation->attributes, operation->n_attributes);
    if (bytes > pool->bounds.attribute_bytes_per_cdo) {
        (void)vamp_err_set(err, -E2BIG,
                           "%s: the attributes of \"%.200s\" take %zu bytes, at most %zu are "
                           "possible",
                           rule->name, handle->cdo->name, bytes,
                           pool->bounds.attribute_bytes_per_cdo);
        return MSTRO_NOMEM;
    }
    if (keeps_attributes(handle, operation) &&
        !pool_memory_has_room(
            &pool->memory, POOL_MEMORY_OBJECTS,
            pool_attributes_copy_bytes(operation->attributes, operation->n_attributes))) {
        return pool_memory_refuse(&pool->memory, rule->name, err);
    }
    cdo_subject((enum vamp_event_kind)number, component->id, handle->cdo, ret_subject);
    return MSTRO_OK;
}

mstro_status cdo_apply_operation(struct pool *pool, struct component *component,
                                 const Mstro__Wire__Request *request, struct vamp_err *err)
{
    const Mstro__Wire__CdoOperation *operation = request->operation;
    struct handle *handle = find_handle(pool, component, operation->handle);
    if (keeps_attributes(handle, operation)) {
        handle->attributes =
            pool_attributes_copy(&pool->memory, operation->attributes, operation->n_attributes);
        if (handle->attributes == NULL) {
            return pool_memory_refuse(&pool->memory, rules[operation->operation].name, err);
        }
    }
    rules[operation->operation].handle(pool, handle, request);
    return MSTRO_OK;
}

/* The attributes become final: the first handle with any speaks for the CDO. */
static void seal(struct handle *handle, const Mstro__Wire__CdoOperation *operation)
{
    struct cdo *cdo = handle->cdo;
    handle->state = HANDLE_SEALED;
    handle->has_size = operation->has_size_bytes;
    handle->size_bytes = operation->size_bytes;
    if (handle->has_size && !cdo->has_size) {
        cdo->has_size = true;
        cdo->size_bytes = handle->size_bytes;
        cdo->match_known = 0;
    }
    if (handle->attributes != NULL && cdo->attributes == NULL) {
        cdo->attributes = pool_attributes_retain(handle->attributes);
        cdo->match_known = 0;
    }
}

static void finish(struct pool *pool, enum vamp_event_kind kind, struct handle *handle,
                   uint64_t request_id)
{
    struct subject subject;
    cdo_subject(kind, handle->component->id, handle->cdo, &subject);
    pool_finish(pool, &subject, request_id, NULL);
}

static void handle_seal(struct pool *pool, struct handle *handle,
                        const Mstro__Wire__Request *request)
{
    seal(handle, request->operation);
    finish(pool, VAMP_EVENT_SEAL, handle, request->id);
}

static void seal_implicitly(struct pool *pool, struct handle *handle,
                            const Mstro__Wire__Request *request)
{
    if (handle->state == HANDLE_DECLARED) {
        struct subject subject;
        cdo_subject(VAMP_EVENT_SEAL, handle->component->id, handle->cdo, &subject);
        pool_emit(pool, &subject, true, NULL);
        seal(handle, request->operation);
        cdo_subject(VAMP_EVENT_SEAL, handle->component->id, handle->cdo, &subject);
        pool_emit(pool, &subject, false, NULL);
    }
}

static void handle_offer(struct pool *pool, struct handle *handle,
                         const Mstro__Wire__Request *request)
{
    seal_implicitly(pool, handle, request);
    const Mstro__Wire__Memory *memory = request->operation->memory;
    if (memory != NULL) {
        handle->has_memory = true;
        handle->memory_address = memory->address;
        handle->memory_key = memory->key;
        handle->memory_bytes = memory->bytes;
    }
    handle->state = HANDLE_OFFERED;
    list_append(&handle->cdo->offers, &handle->of_role);
    finish(pool, VAMP_EVENT_OFFER, handle, request->id);
    transport_match(pool, handle->cdo);
    cdo_settle(pool, handle->cdo);
}

static void handle_require(struct pool *pool, struct handle *handle,
                           const Mstro__Wire__Request *request)
{
    seal_implicitly(pool, handle, request);
    handle->state = HANDLE_REQUIRED;
    handle->cdo->needs++;
    finish(pool, VAMP_EVENT_REQUIRE, handle, request->id);
}

static void handle_demand(struct pool *pool, struct handle *handle,
                          const Mstro__Wire__Request *request)
{
    handle->state = HANDLE_DEMANDED;
    list_append(&handle->cdo->demands, &handle->of_role);
    finish(pool, VAMP_EVENT_DEMAND, handle, request->id);
    transport_match(pool, handle->cdo);
}

static void handle_retract(struct pool *pool, struct handle *handle,
                           const Mstro__Wire__Request *request)
{
    handle->state = HANDLE_RETRACTED;
    handle->cdo->needs--;
    finish(pool, VAMP_EVENT_RETRACT, handle, request->id);
    cdo_settle(pool, handle->cdo);
}

static void handle_withdraw(struct pool *pool, struct handle *handle,
                            const Mstro__Wire__Request *request)
{
    handle->state = HANDLE_WITHDRAWING;
    handle->withdraw_request = request->id;
    cdo_settle(pool, handle->cdo);
}

static void handle_dispose(struct pool *pool, struct handle *handle,
                           const Mstro__Wire__Request *request)
{
    finish(pool, VAMP_EVENT_DISPOSE, handle, request->id);
    free_handle(pool, handle);
}

/* A withdrawal waits for what runs from it, and, while no other offer stays, for everybody who
 * requires or demands the CDO. */
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
        finish(pool, VAMP_EVENT_WITHDRAW, handle, handle->withdraw_request);
    }
}
