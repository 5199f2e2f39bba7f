/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool in this process. It has no thread of its own: the thread that unlocks then delivers,
 * without the lock, the pool's events and tickets for this component. Only one thread delivers at a
 * time, so that events keep their order.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maestro/client/call.h"
#include "maestro/client/port_local.h"
#include "maestro/pool/pool.h"
#include "maestro/wire/frame.h"
#include "vampire/core/clock.h"
#include "vampire/core/list.h"

enum { EVENTS_PER_BATCH = 256, FAILED_MAX = 64 };

/* A ticket for this component. */
struct job {
    struct list_link of_port;
    struct local *local;
    uint64_t source_app_id;
    Mstro__Wire__Ticket *ticket;
};

struct local {
    struct port port;
    pthread_mutex_t lock;
    struct pool *pool;
    struct port_events events; /* all NULL: events and tickets are ignored */
    const struct port_service *service;
    struct list calls, jobs;
    uint64_t last_request;
    bool shut, delivering, events_ready;
    /* The essential fields of tickets that could not be copied because the process was out of
     * memory. */
    Mstro__Wire__Ticket failed[FAILED_MAX];
    size_t failed_count;
    uint8_t batch[FRAME_BYTES_MAX]; /* buffer of the delivering thread */
};

static struct local *as_local(struct port *port)
{
    return CONTAINER_OF(port, struct local, port);
}

/* ------------------------------------------------------------------ output of the pool */

static void hear_response(void *context, uint64_t app_id, const Mstro__Wire__Response *response)
{
    struct local *local = context;
    if (app_id == local->port.app_id) {
        calls_answer(&local->calls, response);
    } else if (local->service != NULL) {
        const struct pool_outlet *outlet = local->service->outlet;
        outlet->respond(outlet->context, app_id, response);
    }
}

static Mstro__Wire__Ticket *copy_ticket(const Mstro__Wire__Ticket *ticket)
{
    size_t bytes = mstro__wire__ticket__get_packed_size(ticket);
    uint8_t *packed = malloc(bytes + 1);
    if (packed == NULL) {
        return NULL;
    }
    (void)mstro__wire__ticket__pack(ticket, packed);
    Mstro__Wire__Ticket *copy = mstro__wire__ticket__unpack(NULL, bytes, packed);
    free(packed);
    return copy;
}

static void queue_job(struct local *local, uint64_t source_app_id,
                      const Mstro__Wire__Ticket *ticket)
{
    struct job *job = calloc(1, sizeof *job);
    Mstro__Wire__Ticket *copy = NULL;
    if (job != NULL) {
        copy = copy_ticket(ticket);
    }
    if (copy == NULL) {
        free(job);
        if (local->failed_count < FAILED_MAX) {
            Mstro__Wire__Ticket *failed = &local->failed[local->failed_count++];
            mstro__wire__ticket__init(failed);
            failed->transport_id = ticket->transport_id;
            failed->handle = ticket->handle;
            failed->has_status = true;
            failed->status = MSTRO_NOMEM;
            if (ticket->has_status) {
                failed->status = ticket->status;
            }
        }
        return;
    }
    *job = (struct job){.local = local, .source_app_id = source_app_id, .ticket = copy};
    list_append(&local->jobs, &job->of_port);
}

static void hear_ticket(void *context, uint64_t app_id, uint64_t source_app_id,
                        const Mstro__Wire__Ticket *ticket)
{
    struct local *local = context;
    if (app_id == local->port.app_id) {
        queue_job(local, source_app_id, ticket);
    } else if (local->service != NULL) {
        const struct pool_outlet *outlet = local->service->outlet;
        outlet->ticket(outlet->context, app_id, source_app_id, ticket);
    }
}

static void hear_events(void *context, uint64_t app_id, bool at_once)
{
    struct local *local = context;
    if (app_id == local->port.app_id) {
        local->events_ready = true;
    } else if (local->service != NULL) {
        const struct pool_outlet *outlet = local->service->outlet;
        outlet->events_ready(outlet->context, app_id, at_once);
    }
}

/* ------------------------------------------------------------------ delivery, without the lock */

static void end_transport(struct local *local, uint64_t transport_id, mstro_status status)
{
    Mstro__Wire__TransportEnd end = MSTRO__WIRE__TRANSPORT_END__INIT;
    end.transport_id = transport_id;
    end.status = (uint32_t)status;
    Mstro__Wire__Request request = PORT_REQUEST(TRANSPORT_END, transport_end, &end);
    (void)pthread_mutex_lock(&local->lock);
    request.id = ++local->last_request; /* no caller waits for the answer */
    pool_request(local->pool, local->port.app_id, &request);
    (void)pthread_mutex_unlock(&local->lock);
}

static void report_arrival(const struct local *local, const Mstro__Wire__Ticket *ticket,
                           mstro_status status)
{
    if (local->events.arrived != NULL) {
        local->events.arrived(local->events.context, ticket, status);
    }
}

static void finish_job(struct job *job, mstro_status status)
{
    struct local *local = job->local;
    if (job->ticket->transport_id != 0) {
        end_transport(local, job->ticket->transport_id, status);
    }
    report_arrival(local, job->ticket, status);
    mstro__wire__ticket__free_unpacked(job->ticket, NULL);
    free(job);
}

static void fetched(void *context, mstro_status status)
{
    struct job *job = context;
    struct local *local = job->local;
    finish_job(job, status);
    (void)port_local_lock(&local->port);
    port_local_unlock(&local->port);
}

static void run_job(struct job *job)
{
    struct local *local = job->local;
    const Mstro__Wire__Ticket *ticket = job->ticket;
    if (ticket->has_status && ticket->status != MSTRO_OK) {
        finish_job(job, (mstro_status)ticket->status);
        return;
    }
    if (ticket->memory == NULL || ticket->memory->bytes == 0) {
        finish_job(job, MSTRO_OK);
        return;
    }
    void *destination = NULL;
    if (local->events.place != NULL) {
        destination = local->events.place(local->events.context, ticket);
    }
    if (destination == NULL) {
        finish_job(job, MSTRO_NOMEM);
        return;
    }
    if (job->source_app_id != local->port.app_id) {
        (void)pthread_mutex_lock(&local->lock);
        const struct port_service *service = local->service;
        mstro_status status = MSTRO_NO_PM;
        if (service != NULL) {
            status = service->fetch(service->context, job->source_app_id, ticket->memory,
                                    destination, fetched, job);
        }
        (void)pthread_mutex_unlock(&local->lock);
        if (status != MSTRO_OK) {
            finish_job(job, status);
        }
        return;
    }
    /* The pool keeps each source of this component while this runs. */
    memcpy(destination, (const void *)(uintptr_t)ticket->memory->address, ticket->memory->bytes);
    finish_job(job, MSTRO_OK);
}

/* Delivers one ticket or batch. Called with the lock, which is released meanwhile. Returns false if
 * there was nothing to deliver. */
static bool deliver_one(struct local *local)
{
    struct list_link *link = list_first(&local->jobs);
    if (link != NULL) {
        list_remove(link);
        (void)pthread_mutex_unlock(&local->lock);
        run_job(CONTAINER_OF(link, struct job, of_port));
        (void)pthread_mutex_lock(&local->lock);
        return true;
    }
    if (local->failed_count > 0) {
        const Mstro__Wire__Ticket failed = local->failed[--local->failed_count];
        const mstro_status status = (mstro_status)failed.status;
        (void)pthread_mutex_unlock(&local->lock);
        if (failed.transport_id != 0) {
            end_transport(local, failed.transport_id, status);
        } else { /* the ticket only reports that a demand has ended */
            report_arrival(local, &failed, status);
        }
        (void)pthread_mutex_lock(&local->lock);
        return true;
    }
    if (!local->events_ready) {
        return false;
    }
    const struct pool_batch batch = pool_events_take(local->pool, local->port.app_id, local->batch,
                                                     sizeof local->batch, EVENTS_PER_BATCH);
    if (batch.bytes == 0) {
        local->events_ready = false;
        return true;
    }
    (void)pthread_mutex_unlock(&local->lock);
    if (local->events.events != NULL) {
        const int result =
            local->events.events(local->events.context, local->batch, batch.bytes, NULL);
        /* The pool's own batches are well-formed; if out of memory, the loss is reported later. */
        assert(result == 0 || result == -ENOMEM);
        (void)result;
    }
    (void)pthread_mutex_lock(&local->lock);
    return true;
}

struct pool *port_local_lock(struct port *port)
{
    struct local *local = as_local(port);
    (void)pthread_mutex_lock(&local->lock);
    return local->pool;
}

void port_local_unlock(struct port *port)
{
    struct local *local = as_local(port);
    if (!local->delivering) {
        local->delivering = true;
        while (deliver_one(local)) {
        }
        local->delivering = false;
    }
    (void)pthread_mutex_unlock(&local->lock);
}

/* ------------------------------------------------------------------ the table */

static void local_flow(struct port *port, uint64_t subscription, uint64_t number, bool hold)
{
    pool_flow(port_local_lock(port), port->app_id, subscription, number, hold);
    port_local_unlock(port);
}

static mstro_status local_call(struct port *port, Mstro__Wire__Request *request,
                               uint32_t deadline_ms, struct port_answer *ret_answer,
                               struct vamp_err *err)
{
    (void)deadline_ms; /* answers arrive at once, or when other components permit them */
    struct local *local = as_local(port);
    struct call call = {.answered = PTHREAD_COND_INITIALIZER};
    (void)port_local_lock(port);
    call.id = request->id = ++local->last_request;
    list_append(&local->calls, &call.of_port);
    if (!local->shut) {
        pool_request(local->pool, port->app_id, request);
    }
    port_local_unlock(port);

    (void)pthread_mutex_lock(&local->lock);
    while (!call.done && !local->shut) {
        (void)pthread_cond_wait(&call.answered, &local->lock);
    }
    list_remove(&call.of_port);
    (void)pthread_mutex_unlock(&local->lock);
    (void)pthread_cond_destroy(&call.answered);

    if (!call.done) {
        call.status = MSTRO_NO_PM;
        (void)snprintf(call.text, sizeof call.text, "this component is leaving");
    }
    if (call.status == MSTRO_OK) {
        *ret_answer = call.answer;
    } else {
        (void)vamp_err_set(err, -EIO, "%s", call.text);
    }
    return call.status;
}

/* Describes memory by its plain address and key 0; a server that opens the pool registers the
 * memory when it is needed. */
static mstro_status local_expose(struct port *port, void *address, uint64_t bytes,
                                 Mstro__Wire__Memory *ret_memory, void **ret_registration,
                                 struct vamp_err *err)
{
    (void)port;
    (void)err;
    mstro__wire__memory__init(ret_memory);
    ret_memory->address = (uint64_t)(uintptr_t)address;
    ret_memory->bytes = bytes;
    *ret_registration = NULL;
    return MSTRO_OK;
}

static void local_forget(struct port *port, void *registration)
{
    (void)port;
    (void)registration;
}

static void local_shut(struct port *port)
{
    struct local *local = as_local(port);
    (void)pthread_mutex_lock(&local->lock);
    local->shut = true;
    calls_wake(&local->calls);
    (void)pthread_mutex_unlock(&local->lock);
}

static void local_close(struct port *port)
{
    struct local *local = as_local(port);
    struct list_link *link;
    while ((link = list_take(&local->jobs)) != NULL) {
        struct job *job = CONTAINER_OF(link, struct job, of_port);
        mstro__wire__ticket__free_unpacked(job->ticket, NULL);
        free(job);
    }
    pool_free(local->pool);
    (void)pthread_mutex_destroy(&local->lock);
    free(local);
}

static const struct port_ops local_ops = {
    .call = local_call,
    .flow = local_flow,
    .expose = local_expose,
    .forget = local_forget,
    .shut = local_shut,
    .close = local_close,
};

mstro_status port_open_local(const struct port_member *member, const struct pool_bounds *bounds,
                             const struct port_events *events, struct port **ret_port,
                             struct vamp_err *err)
{
    struct local *local = calloc(1, sizeof *local);
    if (local == NULL) {
        return VAMP_REFUSE(MSTRO_NOMEM, err, -ENOMEM, "local pool: out of memory");
    }
    local->port.ops = &local_ops;
    if (events != NULL) {
        local->events = *events;
    }
    list_init(&local->calls);
    list_init(&local->jobs);
    (void)pthread_mutex_init(&local->lock, NULL);
    const struct pool_outlet outlet = {.respond = hear_response,
                                       .ticket = hear_ticket,
                                       .events_ready = hear_events,
                                       .context = local};
    mstro_status status = MSTRO_NOMEM;
    if (pool_create(bounds, &vamp_clock_system, &outlet, &local->pool, err) == 0) {
        status = pool_join(local->pool, member->component, member->index, &local->port.app_id, err);
    }
    if (status != MSTRO_OK) {
        local_close(&local->port);
        return status;
    }
    *ret_port = &local->port;
    return MSTRO_OK;
}

void port_local_serve(struct port *port, const struct port_service *service)
{
    struct local *local = as_local(port);
    (void)pthread_mutex_lock(&local->lock);
    local->service = service;
    (void)pthread_mutex_unlock(&local->lock);
}
