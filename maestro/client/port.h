/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port: how a component reaches its pool. One table has two implementations: `remote` over
 * libfabric to a pool manager, `local` to a pool in this process (alone, or because this process is
 * the pool manager). maestro/api uses nothing else of maestro/client.
 *
 * A port owns a progress thread where it needs one. Callbacks of `struct port_events` run on that
 * thread (or on the calling thread of a local port) without any lock of the port held; they must
 * not block on the network, and may call all port functions except close.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maestro/maestro.h"
#include "pool.pb-c.h"
#include "vampire/core/err.h"

struct pool_bounds;

struct port_events {
    /* Memory for the payload of a ticket's CDO: ticket->memory->bytes, page aligned. NULL: refuse
     * the transport. Called before the payload is read. */
    void *(*place)(void *context, const Mstro__Wire__Ticket *ticket);
    /* The payload is in place (MSTRO_OK) or this transport failed. The port sends TransportEnd to
     * the pool before this is called, so that the pool receives whatever the component does next
     * after it. After a failure the pool tries another offer or ends the demand with a ticket whose
     * `status` is set. For such a ticket the port calls only this, with that status: no place, no
     * TransportEnd. A ticket without memory: no place, TransportEnd, MSTRO_OK. */
    void (*arrived)(void *context, const Mstro__Wire__Ticket *ticket, mstro_status status);
    /* A batch of events as it came (EventBatch of event.proto), valid during the call. 0, or
     * -EBADMSG with text: it is malformed; -ENOMEM with text: its events are lost, and memory is
     * too short to report that now. */
    int (*events)(void *context, const uint8_t *batch, size_t length, struct vamp_err *err);
    /* The pool manager is gone (it vanished or sent a good-bye): every call in progress and every
     * later one ends with MSTRO_NO_PM. Called once. */
    void (*gone)(void *context, mstro_status status, const char *text);
    void *context;
};

struct port;

/* The fields of a Response that outlive the call. */
struct port_answer {
    uint64_t handle;
    uint64_t subscription;
    unsigned char cdo_id[16];
};

/* The request that asks for `what`, a word of the message Request, whose member is `member`. */
#define PORT_REQUEST(what, member, body)                                                           \
    {                                                                                              \
        .base = PROTOBUF_C_MESSAGE_INIT(&mstro__wire__request__descriptor),                        \
        .what_case = MSTRO__WIRE__REQUEST__WHAT_##what, .member = (body)                           \
    }

struct port_ops {
    /* Sends a request and waits for its response. `request->id` is set by the port. `deadline_ms`
     * 0: as long as the pool lives (withdraw, subscribers' acknowledgements). `ret_response` is
     * only written on MSTRO_OK; other statuses are the pool's or the port's, with text in err. */
    mstro_status (*call)(struct port *port, Mstro__Wire__Request *request, uint32_t deadline_ms,
                         struct port_answer *ret_answer, struct vamp_err *err);
    /* The component cannot store more events of a subscription (`hold`), or can again; what is
     * being sent still arrives, at most 512 KiB. `number` grows with each call for one
     * subscription: a call that is overtaken by a later one has no effect. An older pool manager
     * ignores this and continues to send. */
    void (*flow)(struct port *port, uint64_t subscription, uint64_t number, bool hold);
    /* Makes memory readable for sinks until forgotten. */
    mstro_status (*expose)(struct port *port, void *address, uint64_t bytes,
                           Mstro__Wire__Memory *ret_memory, void **ret_registration,
                           struct vamp_err *err);
    void (*forget)(struct port *port, void *registration);
    /* Calls in progress and later ones end with MSTRO_NO_PM; `gone` is not called. */
    void (*shut)(struct port *port);
    /* After shut, with no call in progress: ends the connection, without a leave request of its
     * own, and frees the port. */
    void (*close)(struct port *port);
};

/* First member of every port. */
struct port {
    const struct port_ops *ops;
    uint64_t app_id;
};

/* Who joins. The texts are only read while a port is opened. */
struct port_member {
    const char *workflow, *component;
    uint64_t index;                /* only reported to the pool manager */
    Mstro__Wire__Process *process; /* NULL: not reported */
};

/* Joins the pool manager that `info` describes. MSTRO_REFUSED, MSTRO_NO_PM (no answer within
 * `deadline_ms`), MSTRO_INVARG (info cannot be read), MSTRO_OFI_FAIL, MSTRO_NOMEM. */
mstro_status port_open_remote(const char *info, const struct port_member *member,
                              uint32_t deadline_ms, const struct port_events *events,
                              struct port **ret_port, struct vamp_err *err);

/* A pool of this process alone. `bounds` NULL: the defaults. `events` NULL: for a component that
 * neither subscribes nor demands; events that arrive anyway are ignored. */
mstro_status port_open_local(const struct port_member *member, const struct pool_bounds *bounds,
                             const struct port_events *events, struct port **ret_port,
                             struct vamp_err *err);
