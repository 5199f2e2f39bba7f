/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of a CDO's handles, and what each operation of a component does to them. */
#include <assert.h>
#include <string.h>

#include "maestro/pool/internal.h"

/* ------------------------------------------------------------------ after a check that succeeded
 */

/* The attributes become final: those of the first handle with any are the CDO's. */
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

static void do_seal(struct pool *pool, struct handle *handle, const Mstro__Wire__Request *request)
{
    seal(handle, request->operation);
    cdo_finish(pool, VAMP_EVENT_SEAL, handle, request->id);
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

static void do_offer(struct pool *pool, struct handle *handle, const Mstro__Wire__Request *request)
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
    cdo_finish(pool, VAMP_EVENT_OFFER, handle, request->id);
    transport_match(pool, handle->cdo);
    cdo_settle(pool, handle->cdo);
}

static void do_require(struct pool *pool, struct handle *handle,
                       const Mstro__Wire__Request *request)
{
    seal_implicitly(pool, handle, request);
    handle->state = HANDLE_REQUIRED;
    handle->cdo->needs++;
    cdo_finish(pool, VAMP_EVENT_REQUIRE, handle, request->id);
}

static void do_demand(struct pool *pool, struct handle *handle, const Mstro__Wire__Request *request)
{
    handle->state = HANDLE_DEMANDED;
    list_append(&handle->cdo->demands, &handle->of_role);
    cdo_finish(pool, VAMP_EVENT_DEMAND, handle, request->id);
    transport_match(pool, handle->cdo);
}

static void do_retract(struct pool *pool, struct handle *handle,
                       const Mstro__Wire__Request *request)
{
    handle->state = HANDLE_RETRACTED;
    assert(handle->cdo->needs > 0);
    handle->cdo->needs--;
    cdo_finish(pool, VAMP_EVENT_RETRACT, handle, request->id);
    cdo_settle(pool, handle->cdo);
}

static void do_withdraw(struct pool *pool, struct handle *handle,
                        const Mstro__Wire__Request *request)
{
    handle->state = HANDLE_WITHDRAWING;
    handle->withdraw_request = request->id;
    cdo_settle(pool, handle->cdo);
}

static void do_dispose(struct pool *pool, struct handle *handle,
                       const Mstro__Wire__Request *request)
{
    cdo_finish(pool, VAMP_EVENT_DISPOSE, handle, request->id);
    handle_free(pool, handle);
}

/* ------------------------------------------------------------------ the legal transitions */

#define STATE_BIT(state) (1U << (unsigned)(state))

static const char *const state_names[] = {
    [HANDLE_DECLARED] = "declared",   [HANDLE_SEALED] = "sealed",
    [HANDLE_OFFERED] = "offered",     [HANDLE_WITHDRAWING] = "being withdrawn",
    [HANDLE_WITHDRAWN] = "withdrawn", [HANDLE_REQUIRED] = "required",
    [HANDLE_DEMANDED] = "demanded",   [HANDLE_SATISFIED] = "satisfied",
    [HANDLE_RETRACTED] = "retracted",
};

struct rule {
    const char *name;
    unsigned from; /* STATE_BITs */
    const char *from_text;
    void (*apply)(struct pool *pool, struct handle *handle, const Mstro__Wire__Request *request);
};

static const struct rule rules[] = {
    [MSTRO__WIRE__OPERATION__SEAL] = {"seal", STATE_BIT(HANDLE_DECLARED), "declared", do_seal},
    [MSTRO__WIRE__OPERATION__OFFER] = {"offer",
                                       STATE_BIT(HANDLE_DECLARED) | STATE_BIT(HANDLE_SEALED),
                                       "declared or sealed", do_offer},
    [MSTRO__WIRE__OPERATION__REQUIRE] = {"require",
                                         STATE_BIT(HANDLE_DECLARED) | STATE_BIT(HANDLE_SEALED),
                                         "declared or sealed", do_require},
    [MSTRO__WIRE__OPERATION__DEMAND] = {"demand", STATE_BIT(HANDLE_REQUIRED), "required",
                                        do_demand},
    [MSTRO__WIRE__OPERATION__RETRACT] = {"retract", STATE_BIT(HANDLE_REQUIRED), "required",
                                         do_retract},
    [MSTRO__WIRE__OPERATION__WITHDRAW] = {"withdraw", STATE_BIT(HANDLE_OFFERED), "offered",
                                          do_withdraw},
    [MSTRO__WIRE__OPERATION__DISPOSE] = {"dispose",
                                         STATE_BIT(HANDLE_DECLARED) | STATE_BIT(HANDLE_SEALED) |
                                             STATE_BIT(HANDLE_WITHDRAWN) |
                                             STATE_BIT(HANDLE_SATISFIED) |
                                             STATE_BIT(HANDLE_RETRACTED),
                                         "declared, sealed, withdrawn, satisfied or retracted",
                                         do_dispose},
};

static struct handle *find_handle(const struct pool *pool, const struct component *component,
                                  uint64_t id)
{
    uint64_t hash = map_hash_number(&pool->handles, id);
    for (struct map_link *link = map_first(&pool->handles, hash); link != NULL;
         link = map_next(link)) {
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

mstro_status operation_check(struct pool *pool, struct component *component,
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

mstro_status operation_apply(struct pool *pool, struct component *component,
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
    rules[operation->operation].apply(pool, handle, request);
    return MSTRO_OK;
}

/* ------------------------------------------------------------------ a component goes */

void handle_release(struct pool *pool, struct handle *handle)
{
    struct cdo *cdo = handle->cdo;
    if (handle->receiving != NULL) {
        transport_abort(pool, handle->receiving);
    }
    if (handle->state == HANDLE_REQUIRED || handle->state == HANDLE_DEMANDED) {
        assert(cdo->needs > 0);
        cdo->needs--;
    }
    cdo->handle_count++; /* stays until it is settled */
    handle_free(pool, handle);
    cdo_settle(pool, cdo);
    cdo->handle_count--;
    cdo_free_unused(pool, cdo);
}
