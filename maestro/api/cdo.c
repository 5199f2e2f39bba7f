/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maestro/api/internal.h"
#include "maestro/wire/stream.h"

/* Page-aligned memory, which fabrics register fastest; at least one page. */
static void *allocate_pages(uint64_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = NULL;
    if (bytes > SIZE_MAX - page || posix_memalign(&memory, page, VAMP_MAX(bytes, 1)) != 0) {
        return NULL;
    }
    return memory;
}

static struct mstro_cdo_ *find_cdo(uint64_t handle)
{
    struct map_link *link = map_find_number(&library.cdos, handle);
    return link == NULL ? NULL : CONTAINER_OF(link, struct mstro_cdo_, by_handle);
}

/* ------------------------------------------------------------------ attributes set by the producer
 */

static void *raw_pointer(const struct mstro_cdo_ *cdo)
{
    const struct attribute *attribute = attribute_find(cdo, MSTRO_ATTR_CORE_CDO_RAW_PTR);
    return attribute == NULL ? NULL : attribute->own.pointer;
}

static bool local_size(const struct mstro_cdo_ *cdo, uint64_t *ret_bytes)
{
    const struct attribute *attribute = attribute_find(cdo, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE);
    if (attribute == NULL) {
        return false;
    }
    memcpy(ret_bytes, attribute->value, sizeof *ret_bytes);
    return true;
}

/* ------------------------------------------------------------------ callbacks of the port */

void *cdo_place(void *context, const Mstro__Wire__Ticket *ticket)
{
    (void)context;
    const uint64_t bytes = ticket->memory->bytes;
    void *memory = NULL;
    (void)pthread_mutex_lock(&library.lock);
    struct mstro_cdo_ *cdo = find_cdo(ticket->handle);
    if (cdo != NULL && cdo->demand == DEMAND_WAITS) {
        uint64_t room;
        void *own = raw_pointer(cdo);
        const bool fits = own != NULL && local_size(cdo, &room) && room >= bytes;
        if (fits) {
            memory = own;
        } else if (cdo->received != NULL && !cdo->in_user_memory && cdo->received_bytes >= bytes) {
            memory = cdo->received; /* allocated for a transport that failed */
        } else {
            if (!cdo->in_user_memory) {
                free(cdo->received);
            }
            memory = allocate_pages(bytes);
        }
        cdo->in_user_memory = fits;
        cdo->received = memory;
        cdo->received_bytes = bytes;
    }
    (void)pthread_mutex_unlock(&library.lock);
    return memory;
}

void cdo_arrived(void *context, const Mstro__Wire__Ticket *ticket, mstro_status status)
{
    (void)context;
    bool ends = status == MSTRO_OK || (ticket->has_status && ticket->status != MSTRO_OK);
    (void)pthread_mutex_lock(&library.lock);
    struct mstro_cdo_ *cdo = find_cdo(ticket->handle);
    if (cdo != NULL && !ends && status == MSTRO_OFI_FAIL && ticket->memory->place != NULL) {
        log_say(
            LOG_LEVEL_ERROR,
            "mstro_cdo_demand: the data of \"%.100s\" could not be read over \"%.20s\" from the "
            "component that offers them: it has ended, or this host does not reach its "
            "address, which its " STREAM_ENV_BIND " chooses",
            cdo->name, ticket->memory->place->provider);
    }
    if (cdo != NULL && ends && cdo->demand == DEMAND_WAITS) {
        /* Attributes that the consumer can query afterwards. */
        if (status == MSTRO_OK) {
            status = attributes_from_wire(cdo, ticket->attributes, ticket->n_attributes);
        }
        if (status == MSTRO_OK) {
            uint64_t bytes = ticket->size_bytes;
            status = attribute_put(cdo, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE,
                                   MSTRO_CDO_ATTR_VALUE_uint64, &bytes, true, false);
        }
        if (status == MSTRO_OK && ticket->memory != NULL && !cdo->in_user_memory) {
            status = attribute_put(cdo, MSTRO_ATTR_CORE_CDO_RAW_PTR, MSTRO_CDO_ATTR_VALUE_pointer,
                                   cdo->received, false, true);
        }
        if (ticket->text != NULL) {
            cdo->demand_text[0] = '\0';
            (void)strncat(cdo->demand_text, ticket->text, sizeof cdo->demand_text - 1);
        }
        cdo->demand = DEMAND_ENDED;
        cdo->demand_status = status;
        (void)pthread_cond_broadcast(&cdo->changed);
    }
    (void)pthread_mutex_unlock(&library.lock);
}

void cdos_wake(void)
{
    LIST_EACH (cdo, &library.cdo_list, struct mstro_cdo_, of_library) {
        (void)pthread_cond_broadcast(&cdo->changed);
    }
}

size_t cdos_detach(void)
{
    size_t count = 0;
    struct list_link *link;
    while ((link = list_take(&library.cdo_list)) != NULL) {
        list_append(&library.leftovers, link);
        CONTAINER_OF(link, struct mstro_cdo_, of_library)->registered = false;
        count++;
    }
    return count;
}

/* ------------------------------------------------------------------ declare and dispose */

static void free_cdo(struct mstro_cdo_ *cdo)
{
    attributes_free(cdo);
    free(cdo->copy);
    if (!cdo->in_user_memory) {
        free(cdo->received);
    }
    (void)pthread_cond_destroy(&cdo->changed);
    free(cdo->name);
    free(cdo);
}

mstro_status mstro_cdo_declare(const char *name, mstro_cdo_attributes attributes, mstro_cdo *result)
{
    if (name == NULL || result == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_cdo_declare: no name, or no place for the result");
    }
    if (attributes != MSTRO_ATTR_DEFAULT) {
        return api_fail(MSTRO_UNIMPL, "mstro_cdo_declare: only MSTRO_ATTR_DEFAULT; set attributes "
                                      "with mstro_cdo_attribute_set");
    }
    mstro_status status = api_enter("mstro_cdo_declare", 0);
    if (status != MSTRO_OK) {
        return status;
    }
    struct mstro_cdo_ *cdo = calloc(1, sizeof *cdo);
    char *own_name = strdup(name);
    if (cdo == NULL || own_name == NULL) {
        free(cdo);
        free(own_name);
        api_leave();
        return api_fail(MSTRO_NOMEM, "mstro_cdo_declare: out of memory");
    }
    cdo->name = own_name;
    list_link_init(&cdo->of_library);
    (void)pthread_cond_init(&cdo->changed, NULL);
    Mstro__Wire__Declare declare = MSTRO__WIRE__DECLARE__INIT;
    declare.name = cdo->name;
    Mstro__Wire__Request request = PORT_REQUEST(DECLARE, declare, &declare);
    struct port_answer answer;
    const char *text = own_name;
    status = attribute_put(cdo, MSTRO_ATTR_CORE_CDO_NAME, MSTRO_CDO_ATTR_VALUE_cstring, &text,
                           false, true);
    if (status == MSTRO_OK) {
        status = api_call(&request, 0, &answer);
    }
    if (status == MSTRO_OK) {
        (void)pthread_mutex_lock(&library.lock);
        cdo->handle = answer.handle;
        cdo->generation = library.generation;
        list_append(&library.cdo_list, &cdo->of_library);
        map_insert_number(&library.cdos, &cdo->by_handle, cdo->handle);
        (void)pthread_mutex_unlock(&library.lock);
        *result = cdo;
    } else {
        free_cdo(cdo);
    }
    api_leave();
    return status;
}

/* ------------------------------------------------------------------ operations */

/* Sends an operation. The caller sets only the fields that are specific to it; NULL: none. */
static mstro_status operate(const struct mstro_cdo_ *cdo, Mstro__Wire__Operation kind,
                            Mstro__Wire__CdoOperation *operation)
{
    Mstro__Wire__CdoOperation plain = MSTRO__WIRE__CDO_OPERATION__INIT;
    if (operation == NULL) {
        operation = &plain;
    }
    Mstro__Wire__Request request = PORT_REQUEST(OPERATION, operation, operation);
    request.operation->operation = kind;
    request.operation->handle = cdo->handle;
    return api_call(&request, 0, NULL);
}

static mstro_status run(const char *what, struct mstro_cdo_ *cdo,
                        mstro_status (*step)(struct mstro_cdo_ *cdo))
{
    if (cdo == NULL) {
        return api_fail(MSTRO_INVARG, "%s: no CDO", what);
    }
    mstro_status status = api_enter(what, cdo->generation);
    if (status == MSTRO_OK) {
        status = step(cdo);
        api_leave();
    }
    return status;
}

/* Copies the data if raw-ptr was set with `copy`, so that the caller's memory is not needed
 * afterwards. */
static mstro_status copy_data(struct mstro_cdo_ *cdo)
{
    uint64_t bytes;
    const void *data = raw_pointer(cdo);
    if (!cdo->copy_wanted || cdo->copy != NULL || data == NULL || !local_size(cdo, &bytes)) {
        return MSTRO_OK;
    }
    cdo->copy = allocate_pages(bytes);
    if (cdo->copy == NULL) {
        return api_fail(MSTRO_NOMEM,
                        "mstro_cdo_seal: out of memory for a copy of the data of "
                        "\"%.200s\"",
                        cdo->name);
    }
    memcpy(cdo->copy, data, bytes);
    return attribute_put(cdo, MSTRO_ATTR_CORE_CDO_RAW_PTR, MSTRO_CDO_ATTR_VALUE_pointer, cdo->copy,
                         false, true);
}

static mstro_status seal(struct mstro_cdo_ *cdo)
{
    mstro_status status = copy_data(cdo);
    if (status != MSTRO_OK) {
        return status;
    }
    Mstro__Wire__CdoOperation operation = MSTRO__WIRE__CDO_OPERATION__INIT;
    operation.attributes = attributes_to_wire(cdo, &operation.n_attributes);
    if (operation.attributes == NULL) {
        return api_fail(MSTRO_NOMEM, "mstro_cdo_seal: out of memory");
    }
    operation.has_size_bytes = local_size(cdo, &operation.size_bytes);
    status = operate(cdo, MSTRO__WIRE__OPERATION__SEAL, &operation);
    free(operation.attributes);
    if (status == MSTRO_OK && !cdo->sealed) {
        attributes_warn(cdo);
    }
    cdo->sealed |= status == MSTRO_OK;
    return status;
}

static void forget_memory(struct mstro_cdo_ *cdo)
{
    if (cdo->registered) {
        cdo->registered = false;
        library.port->ops->forget(library.port, cdo->registration);
    }
}

static mstro_status offer(struct mstro_cdo_ *cdo)
{
    mstro_status status = MSTRO_OK;
    if (!cdo->sealed) {
        status = seal(cdo);
    }
    if (status != MSTRO_OK) {
        return status;
    }
    Mstro__Wire__Memory memory = MSTRO__WIRE__MEMORY__INIT;
    Mstro__Wire__CdoOperation operation = MSTRO__WIRE__CDO_OPERATION__INIT;
    uint64_t bytes;
    void *data = raw_pointer(cdo);
    if (data != NULL && !cdo->registered && local_size(cdo, &bytes) && bytes > 0) {
        struct vamp_err err = VAMP_ERR_NONE;
        status =
            library.port->ops->expose(library.port, data, bytes, &memory, &cdo->registration, &err);
        if (status != MSTRO_OK) {
            return api_fail(status, "mstro_cdo_offer: \"%.200s\": %s", cdo->name, err.text);
        }
        cdo->registered = true;
        operation.memory = &memory;
    }
    status = operate(cdo, MSTRO__WIRE__OPERATION__OFFER, &operation);
    if (status != MSTRO_OK && operation.memory != NULL) {
        forget_memory(cdo);
    }
    return status;
}

/* Data that have arrived or will arrive from now on are for the demand. */
static void wait_for_data(struct mstro_cdo_ *cdo)
{
    (void)pthread_mutex_lock(&library.lock);
    if (cdo->demand == DEMAND_NONE) {
        cdo->demand = DEMAND_WAITS;
    }
    (void)pthread_mutex_unlock(&library.lock);
}

static mstro_status require(struct mstro_cdo_ *cdo)
{
    mstro_status status = MSTRO_OK;
    if (!cdo->sealed) {
        status = seal(cdo);
    }
    wait_for_data(cdo); /* the pool manager may start a transport at once */
    if (status == MSTRO_OK) {
        status = operate(cdo, MSTRO__WIRE__OPERATION__REQUIRE, NULL);
    }
    return status;
}

static mstro_status demand(struct mstro_cdo_ *cdo)
{
    wait_for_data(cdo);
    mstro_status status = operate(cdo, MSTRO__WIRE__OPERATION__DEMAND, NULL);
    const bool accepted = status == MSTRO_OK;
    (void)pthread_mutex_lock(&library.lock);
    /* The data may have arrived already. */
    while (accepted && cdo->demand == DEMAND_WAITS && !library.gone && library.ready) {
        (void)pthread_cond_wait(&cdo->changed, &library.lock);
    }
    const bool ended = cdo->demand == DEMAND_ENDED;
    if (accepted) {
        status = ended ? cdo->demand_status : MSTRO_NO_PM;
    }
    cdo->demand = DEMAND_NONE;
    (void)pthread_mutex_unlock(&library.lock);
    if (!accepted || status == MSTRO_OK) {
        return status;
    }
    return api_fail(status, "mstro_cdo_demand: \"%.200s\": %s", cdo->name,
                    ended ? cdo->demand_text : "the pool manager is gone");
}

static mstro_status retract(struct mstro_cdo_ *cdo)
{
    return operate(cdo, MSTRO__WIRE__OPERATION__RETRACT, NULL);
}

static mstro_status withdraw(struct mstro_cdo_ *cdo)
{
    mstro_status status = operate(cdo, MSTRO__WIRE__OPERATION__WITHDRAW, NULL);
    if (status == MSTRO_OK) {
        forget_memory(cdo);
    }
    return status;
}

#define PUBLIC(name)                                                                               \
    mstro_status mstro_cdo_##name(mstro_cdo cdo)                                                   \
    {                                                                                              \
        return run("mstro_cdo_" #name, cdo, name);                                                 \
    }
PUBLIC(seal)
PUBLIC(offer)
PUBLIC(require)
PUBLIC(demand)
PUBLIC(retract)
PUBLIC(withdraw)

mstro_status mstro_cdo_dispose(mstro_cdo cdo)
{
    if (cdo == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_cdo_dispose: no CDO");
    }
    const bool inside = api_is_inside(cdo->generation);
    mstro_status status = MSTRO_OK;
    if (inside) {
        status = operate(cdo, MSTRO__WIRE__OPERATION__DISPOSE, NULL);
    }
    if (status == MSTRO_NO_PM) {
        status = MSTRO_OK; /* the handle was freed with the pool */
    }
    if (status == MSTRO_OK) {
        forget_memory(cdo); /* a leftover has no registered memory */
        (void)pthread_mutex_lock(&library.lock);
        if (inside) {
            map_remove(&library.cdos, &cdo->by_handle);
        }
        list_remove(&cdo->of_library);
        (void)pthread_mutex_unlock(&library.lock);
        free_cdo(cdo);
    }
    if (inside) {
        api_leave();
    }
    return status;
}

const char *mstro_cdo_name(mstro_cdo cdo)
{
    return cdo == NULL ? NULL : cdo->name;
}

mstro_status mstro_cdo_access_ptr(mstro_cdo cdo, void **data, int64_t *bytes)
{
    if (cdo == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_cdo_access_ptr: no CDO");
    }
    uint64_t size = 0;
    void *memory = raw_pointer(cdo);
    bool sized = local_size(cdo, &size);
    if (memory == NULL || !sized || size > INT64_MAX) {
        return api_note(LOG_LEVEL_INFO, MSTRO_NOENT, "mstro_cdo_access_ptr: \"%.200s\" has no data",
                        cdo->name);
    }
    if (data != NULL) {
        *data = memory;
        cdo->in_user_memory = cdo->in_user_memory || memory == cdo->received;
    }
    if (bytes != NULL) {
        *bytes = (int64_t)size;
    }
    return MSTRO_OK;
}
