/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maestro/api/internal.h"

/* Page aligned, which fabrics register fastest; at least one page. */
static void *allocate_pages(uint64_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = NULL;
    if (bytes > SIZE_MAX - page || posix_memalign(&memory, page, bytes == 0 ? 1 : bytes) != 0) {
        return NULL;
    }
    return memory;
}

static struct mstro_cdo_ *find_cdo(uint64_t handle)
{
    uint64_t hash = map_hash_number(&library.cdos, handle);
    for (struct map_link *link = map_first(&library.cdos, hash); link != NULL;
         link = map_next(link)) {
        struct mstro_cdo_ *cdo = CONTAINER_OF(link, struct mstro_cdo_, by_handle);
        if (cdo->handle == handle) {
            return cdo;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ what the producer set */

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

/* The caller's own memory when it is large enough, else new memory. */
static void *choose_memory(struct mstro_cdo_ *cdo, uint64_t bytes)
{
    uint64_t room;
    void *own = raw_pointer(cdo);
    if (own != NULL && local_size(cdo, &room) && room >= bytes) {
        cdo->in_user_memory = true;
        return own;
    }
    if (cdo->received != NULL && !cdo->in_user_memory && cdo->received_bytes >= bytes) {
        return cdo->received; /* of a transport that failed before */
    }
    if (!cdo->in_user_memory) {
        free(cdo->received);
    }
    cdo->in_user_memory = false;
    cdo->received = NULL;
    return allocate_pages(bytes);
}

void *cdo_place(void *context, const Mstro__Wire__Ticket *ticket)
{
    (void)context;
    (void)pthread_mutex_lock(&library.lock);
    void *memory = NULL;
    struct mstro_cdo_ *cdo = find_cdo(ticket->handle);
    if (cdo != NULL && cdo->demand == DEMAND_WAITS) {
        memory = choose_memory(cdo, ticket->memory->bytes);
        cdo->received = memory;
        cdo->received_bytes = ticket->memory->bytes;
    }
    (void)pthread_mutex_unlock(&library.lock);
    return memory;
}

/* Keeps what the consumer can query afterwards. */
static mstro_status take_over(struct mstro_cdo_ *cdo, const Mstro__Wire__Ticket *ticket)
{
    mstro_status status = attributes_from_wire(cdo, ticket->attributes, ticket->n_attributes);
    uint64_t bytes = ticket->size_bytes;
    if (status == MSTRO_OK) {
        status = attribute_put(cdo, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE,
                               MSTRO_CDO_ATTR_VALUE_uint64, &bytes, true, false);
    }
    if (status == MSTRO_OK && ticket->memory != NULL && !cdo->in_user_memory) {
        status = attribute_put(cdo, MSTRO_ATTR_CORE_CDO_RAW_PTR, MSTRO_CDO_ATTR_VALUE_pointer,
                               cdo->received, false, true);
    }
    return status;
}

void cdo_arrived(void *context, const Mstro__Wire__Ticket *ticket, mstro_status status)
{
    (void)context;
    bool ends = status == MSTRO_OK || (ticket->has_status && ticket->status != MSTRO_OK);
    (void)pthread_mutex_lock(&library.lock);
    struct mstro_cdo_ *cdo = ends ? find_cdo(ticket->handle) : NULL;
    if (cdo != NULL && cdo->demand == DEMAND_WAITS) {
        if (status == MSTRO_OK) {
            status = take_over(cdo, ticket);
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
    for (struct list_link *link = list_first(&library.cdo_list); link != NULL;
         link = list_next(&library.cdo_list, link)) {
        (void)pthread_cond_broadcast(&CONTAINER_OF(link, struct mstro_cdo_, of_library)->changed);
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

static mstro_status declare(struct mstro_cdo_ *cdo)
{
    Mstro__Wire__Declare declare = MSTRO__WIRE__DECLARE__INIT;
    declare.name = cdo->name;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_DECLARE;
    request.declare = &declare;
    struct port_answer answer;
    const char *name = cdo->name;
    mstro_status status = attribute_put(cdo, MSTRO_ATTR_CORE_CDO_NAME, MSTRO_CDO_ATTR_VALUE_cstring,
                                        &name, false, true);
    if (status == MSTRO_OK) {
        status = api_call(&request, &answer);
    }
    if (status == MSTRO_OK) {
        (void)pthread_mutex_lock(&library.lock);
        cdo->handle = answer.handle;
        cdo->generation = library.generation;
        list_append(&library.cdo_list, &cdo->of_library);
        map_insert(&library.cdos, &cdo->by_handle, map_hash_number(&library.cdos, cdo->handle));
        (void)pthread_mutex_unlock(&library.lock);
    }
    return status;
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
    mstro_status status = api_enter("mstro_cdo_declare");
    if (status != MSTRO_OK) {
        return status;
    }
    struct mstro_cdo_ *cdo = calloc(1, sizeof *cdo);
    if (cdo != NULL) {
        list_link_init(&cdo->of_library);
        (void)pthread_cond_init(&cdo->changed, NULL);
        cdo->name = strdup(name);
    }
    status = cdo == NULL || cdo->name == NULL
                 ? api_fail(MSTRO_NOMEM, "mstro_cdo_declare: no memory")
                 : declare(cdo);
    if (status == MSTRO_OK) {
        *result = cdo;
    } else if (cdo != NULL) {
        free_cdo(cdo);
    }
    api_leave();
    return status;
}

/* ------------------------------------------------------------------ operations */

/* The caller sets only the fields of `operation` that are specific to it. */
static mstro_status operate(const struct mstro_cdo_ *cdo, Mstro__Wire__Operation kind,
                            Mstro__Wire__CdoOperation *operation)
{
    operation->operation = kind;
    operation->handle = cdo->handle;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_OPERATION;
    request.operation = operation;
    return api_call(&request, NULL);
}

static mstro_status operate_plainly(const struct mstro_cdo_ *cdo, Mstro__Wire__Operation kind)
{
    Mstro__Wire__CdoOperation operation = MSTRO__WIRE__CDO_OPERATION__INIT;
    return operate(cdo, kind, &operation);
}

static mstro_status enter_with(const char *what, struct mstro_cdo_ *cdo)
{
    return cdo == NULL ? api_fail(MSTRO_INVARG, "%s: no CDO", what)
                       : api_enter_for(what, cdo->generation);
}

/* raw-ptr was set with `copy`: from now on the caller's memory is not needed. */
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
                        "mstro_cdo_seal: no memory for a copy of the data of "
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
        return api_fail(MSTRO_NOMEM, "mstro_cdo_seal: no memory");
    }
    operation.has_size_bytes = local_size(cdo, &operation.size_bytes);
    status = operate(cdo, MSTRO__WIRE__OPERATION__SEAL, &operation);
    free(operation.attributes);
    cdo->sealed = cdo->sealed || status == MSTRO_OK;
    return status;
}

mstro_status mstro_cdo_seal(mstro_cdo cdo)
{
    mstro_status status = enter_with("mstro_cdo_seal", cdo);
    if (status == MSTRO_OK) {
        status = seal(cdo);
        api_leave();
    }
    return status;
}

static void forget_memory(struct mstro_cdo_ *cdo)
{
    if (cdo->registered) {
        cdo->registered = false;
        library.port->ops->forget(library.port, cdo->registration);
    }
}

static mstro_status expose(struct mstro_cdo_ *cdo, Mstro__Wire__Memory *memory,
                           Mstro__Wire__CdoOperation *operation)
{
    uint64_t bytes;
    void *data = raw_pointer(cdo);
    if (data == NULL || cdo->registered || !local_size(cdo, &bytes) || bytes == 0) {
        return MSTRO_OK;
    }
    struct vamp_err err = VAMP_ERR_NONE;
    mstro_status status =
        library.port->ops->expose(library.port, data, bytes, memory, &cdo->registration, &err);
    if (status != MSTRO_OK) {
        return api_fail(status, "mstro_cdo_offer: \"%.200s\": %s", cdo->name, err.text);
    }
    cdo->registered = true;
    operation->memory = memory;
    return MSTRO_OK;
}

static mstro_status offer(struct mstro_cdo_ *cdo)
{
    mstro_status status = cdo->sealed ? MSTRO_OK : seal(cdo);
    Mstro__Wire__Memory memory = MSTRO__WIRE__MEMORY__INIT;
    Mstro__Wire__CdoOperation operation = MSTRO__WIRE__CDO_OPERATION__INIT;
    if (status == MSTRO_OK) {
        status = expose(cdo, &memory, &operation);
    }
    if (status != MSTRO_OK) {
        return status;
    }
    status = operate(cdo, MSTRO__WIRE__OPERATION__OFFER, &operation);
    if (status != MSTRO_OK && operation.memory != NULL) {
        forget_memory(cdo);
    }
    return status;
}

mstro_status mstro_cdo_offer(mstro_cdo cdo)
{
    mstro_status status = enter_with("mstro_cdo_offer", cdo);
    if (status == MSTRO_OK) {
        status = offer(cdo);
        api_leave();
    }
    return status;
}

mstro_status mstro_cdo_require(mstro_cdo cdo)
{
    mstro_status status = enter_with("mstro_cdo_require", cdo);
    if (status == MSTRO_OK) {
        status = cdo->sealed ? MSTRO_OK : seal(cdo);
        if (status == MSTRO_OK) {
            status = operate_plainly(cdo, MSTRO__WIRE__OPERATION__REQUIRE);
        }
        api_leave();
    }
    return status;
}

/* After DEMAND was answered; the data may be here already. */
static mstro_status await_data(struct mstro_cdo_ *cdo)
{
    (void)pthread_mutex_lock(&library.lock);
    while (cdo->demand == DEMAND_WAITS && !library.gone && library.ready) {
        (void)pthread_cond_wait(&cdo->changed, &library.lock);
    }
    bool ended = cdo->demand == DEMAND_ENDED;
    mstro_status status = ended ? cdo->demand_status : MSTRO_NO_PM;
    cdo->demand = DEMAND_NONE;
    (void)pthread_mutex_unlock(&library.lock);
    if (status == MSTRO_OK) {
        return status;
    }
    return api_fail(status, "mstro_cdo_demand: \"%.200s\": %s", cdo->name,
                    ended ? cdo->demand_text : "the pool manager is gone");
}

mstro_status mstro_cdo_demand(mstro_cdo cdo)
{
    mstro_status status = enter_with("mstro_cdo_demand", cdo);
    if (status != MSTRO_OK) {
        return status;
    }
    (void)pthread_mutex_lock(&library.lock);
    cdo->demand = DEMAND_WAITS;
    (void)pthread_mutex_unlock(&library.lock);
    status = operate_plainly(cdo, MSTRO__WIRE__OPERATION__DEMAND);
    if (status == MSTRO_OK) {
        status = await_data(cdo);
    } else {
        (void)pthread_mutex_lock(&library.lock);
        cdo->demand = DEMAND_NONE;
        (void)pthread_mutex_unlock(&library.lock);
    }
    api_leave();
    return status;
}

mstro_status mstro_cdo_retract(mstro_cdo cdo)
{
    mstro_status status = enter_with("mstro_cdo_retract", cdo);
    if (status == MSTRO_OK) {
        status = operate_plainly(cdo, MSTRO__WIRE__OPERATION__RETRACT);
        api_leave();
    }
    return status;
}

mstro_status mstro_cdo_withdraw(mstro_cdo cdo)
{
    mstro_status status = enter_with("mstro_cdo_withdraw", cdo);
    if (status == MSTRO_OK) {
        status = operate_plainly(cdo, MSTRO__WIRE__OPERATION__WITHDRAW);
        if (status == MSTRO_OK) {
            forget_memory(cdo);
        }
        api_leave();
    }
    return status;
}

mstro_status mstro_cdo_dispose(mstro_cdo cdo)
{
    if (cdo == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_cdo_dispose: no CDO");
    }
    if (api_enter_for("mstro_cdo_dispose", cdo->generation) != MSTRO_OK) {
        api_forget_leftover(&cdo->of_library);
        free_cdo(cdo);
        return MSTRO_OK;
    }
    mstro_status status = operate_plainly(cdo, MSTRO__WIRE__OPERATION__DISPOSE);
    if (status == MSTRO_NO_PM) {
        status = MSTRO_OK; /* the handle ended with the pool */
    }
    if (status == MSTRO_OK) {
        forget_memory(cdo);
        (void)pthread_mutex_lock(&library.lock);
        map_remove(&library.cdos, &cdo->by_handle);
        list_remove(&cdo->of_library);
        (void)pthread_mutex_unlock(&library.lock);
        free_cdo(cdo);
    }
    api_leave();
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
        return api_fail(MSTRO_NOENT, "mstro_cdo_access_ptr: \"%.200s\" has no data", cdo->name);
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
