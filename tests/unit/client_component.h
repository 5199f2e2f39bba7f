/* SPDX-License-Identifier: BSD-3-Clause */
/* A component for tests of the pool manager: a port and what it has heard. */
#pragma once

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maestro/client/port.h"
#include "vampire/core/clock.h"
#include "vampire/core/event/codec.h"

#define COMPONENT_WORKFLOW "test workflow"
#define COMPONENT_DEADLINE_MS 10000U

struct component {
    struct port *port;
    pthread_mutex_t lock;
    uint8_t *payload; /* the last one */
    uint64_t payload_bytes;
    unsigned arrived, failed;
    mstro_status arrived_status;
    uint64_t events, lost, out_of_order, last_serial;
    uint64_t kinds[VAMP_EVENT_KIND_COUNT];
    uint32_t leave_reason;
    unsigned gone;
};

static inline void *component_place(void *context, const Mstro__Wire__Ticket *ticket)
{
    struct component *component = context;
    (void)pthread_mutex_lock(&component->lock);
    free(component->payload);
    component->payload = aligned_alloc(4096, (ticket->memory->bytes + 4095) / 4096 * 4096);
    component->payload_bytes = ticket->memory->bytes;
    void *place = component->payload;
    (void)pthread_mutex_unlock(&component->lock);
    return place;
}

static inline void component_arrived(void *context, const Mstro__Wire__Ticket *ticket,
                                     mstro_status status)
{
    struct component *component = context;
    (void)ticket;
    (void)pthread_mutex_lock(&component->lock);
    component->arrived_status = status;
    component->arrived++;
    component->failed += status != MSTRO_OK ? 1U : 0U;
    (void)pthread_mutex_unlock(&component->lock);
}

static inline int component_events(void *context, const uint8_t *packed, size_t length,
                                   struct vamp_err *err)
{
    struct component *component = context;
    struct vamp_event_batch batch;
    const uint8_t *bytes = NULL;
    size_t event_length = 0;
    struct vamp_event event;
    int result = vamp_event_batch_open(packed, length, &batch, err);
    (void)pthread_mutex_lock(&component->lock);
    component->lost += result == 0 ? batch.lost : 0;
    while (result == 0 && vamp_event_batch_next(&batch, &bytes, &event_length)) {
        result = vamp_event_read(bytes, event_length, &event, err);
        if (result != 0) {
            break;
        }
        component->events++;
        component->kinds[event.kind]++;
        component->out_of_order += event.serial <= component->last_serial ? 1U : 0U;
        component->last_serial = event.serial;
        if (event.kind == VAMP_EVENT_LEAVE) {
            component->leave_reason = event.reason;
        }
    }
    (void)pthread_mutex_unlock(&component->lock);
    return result;
}

static inline void component_gone(void *context, mstro_status status, const char *text)
{
    struct component *component = context;
    (void)status;
    if (strstr(text, "has shut down") == NULL) { /* else it was expected */
        (void)fprintf(stderr, "application %llu: %s\n", (unsigned long long)component->port->app_id,
                      text);
    }
    (void)pthread_mutex_lock(&component->lock);
    component->gone++;
    (void)pthread_mutex_unlock(&component->lock);
}

static inline struct port_events component_callbacks(struct component *component)
{
    return (struct port_events){.place = component_place,
                                .arrived = component_arrived,
                                .events = component_events,
                                .gone = component_gone,
                                .context = component};
}

static inline mstro_status component_open(struct component *component, const char *info,
                                          const char *workflow, const char *name,
                                          uint32_t deadline_ms, struct vamp_err *err)
{
    *component = (struct component){0};
    (void)pthread_mutex_init(&component->lock, NULL);
    struct port_events events = component_callbacks(component);
    const struct port_member member = {.workflow = workflow, .component = name};
    return port_open_remote(info, &member, deadline_ms, &events, &component->port, err);
}

static inline mstro_status component_call(struct component *component,
                                          Mstro__Wire__Request *request,
                                          struct port_answer *ret_answer)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct port_answer unused;
    return component->port->ops->call(component->port, request, COMPONENT_DEADLINE_MS,
                                      ret_answer != NULL ? ret_answer : &unused, &err);
}

static inline mstro_status component_declare(struct component *component, const char *name,
                                             uint64_t *ret_handle)
{
    char copy[256];
    (void)strncpy(copy, name, sizeof copy - 1);
    copy[sizeof copy - 1] = '\0';
    Mstro__Wire__Declare declare = MSTRO__WIRE__DECLARE__INIT;
    declare.name = copy;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_DECLARE;
    request.declare = &declare;
    struct port_answer answer = {0};
    mstro_status status = component_call(component, &request, &answer);
    *ret_handle = answer.handle;
    return status;
}

/* `memory` only with OFFER, else NULL; with SEAL its bytes are the size. */
static inline mstro_status component_operate(struct component *component,
                                             Mstro__Wire__Operation operation, uint64_t handle,
                                             Mstro__Wire__Memory *memory)
{
    Mstro__Wire__CdoOperation what = MSTRO__WIRE__CDO_OPERATION__INIT;
    what.operation = operation;
    what.handle = handle;
    if (memory != NULL && operation == MSTRO__WIRE__OPERATION__SEAL) {
        what.has_size_bytes = 1;
        what.size_bytes = memory->bytes;
    } else {
        what.memory = memory;
    }
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_OPERATION;
    request.operation = &what;
    return component_call(component, &request, NULL);
}

static inline mstro_status component_subscribe(struct component *component)
{
    Mstro__Wire__Subscribe subscribe = MSTRO__WIRE__SUBSCRIBE__INIT;
    subscribe.event_kinds = 0xfffe;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_SUBSCRIBE;
    request.subscribe = &subscribe;
    return component_call(component, &request, NULL);
}

/* Declares, seals and offers `bytes` of memory. */
static inline mstro_status component_offer(struct component *component, const char *name,
                                           void *address, uint64_t bytes, uint64_t *ret_handle,
                                           void **ret_registration)
{
    Mstro__Wire__Memory memory = MSTRO__WIRE__MEMORY__INIT;
    struct vamp_err err = VAMP_ERR_NONE;
    mstro_status status = component->port->ops->expose(component->port, address, bytes, &memory,
                                                       ret_registration, &err);
    if (status == MSTRO_OK) {
        status = component_declare(component, name, ret_handle);
    }
    if (status == MSTRO_OK) {
        status = component_operate(component, MSTRO__WIRE__OPERATION__SEAL, *ret_handle, &memory);
    }
    if (status == MSTRO_OK) {
        status = component_operate(component, MSTRO__WIRE__OPERATION__OFFER, *ret_handle, &memory);
    }
    return status;
}

static inline void component_leave(struct component *component)
{
    Mstro__Wire__Leave leave = MSTRO__WIRE__LEAVE__INIT;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_LEAVE;
    request.leave = &leave;
    (void)component_call(component, &request, NULL);
}

static inline void component_close(struct component *component)
{
    component->port->ops->shut(component->port);
    component->port->ops->close(component->port);
    free(component->payload);
    (void)pthread_mutex_destroy(&component->lock);
}

/* A counter of the component, read under its lock. */
#define COMPONENT_READ(component, member)                                                          \
    __extension__({                                                                                \
        (void)pthread_mutex_lock(&(component)->lock);                                              \
        uint64_t value_ = (component)->member;                                                     \
        (void)pthread_mutex_unlock(&(component)->lock);                                            \
        value_;                                                                                    \
    })

/* Waits until the condition holds, at most ten seconds. */
#define COMPONENT_WAIT(condition)                                                                  \
    do {                                                                                           \
        int64_t end_ = vamp_clock_monotonic_ns(&vamp_clock_system) + 10 * VAMP_NS_PER_SECOND;      \
        while (!(condition) && vamp_clock_monotonic_ns(&vamp_clock_system) < end_) {               \
            (void)usleep(2000);                                                                    \
        }                                                                                          \
        assert_true(condition);                                                                    \
    } while (0)
