/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port connects a component to its pool. The interface is one table with two implementations:
 * `remote`, connected to a pool manager (maestro/wire), and `local`, a pool in this process, which
 * works alone or is the pool manager. maestro/api uses nothing else from maestro/client.
 *
 * A port has a progress thread if it needs one. Callbacks of `struct port_events` run on that
 * thread (or, for a local port, on the calling thread) without any lock of the port held; they must
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
    /* Returns memory for the payload of a ticket's CDO: ticket->memory->bytes, page aligned. NULL:
     * refuse the transport. Called before the payload is read. */
    void *(*place)(void *context, const Mstro__Wire__Ticket *ticket);
    /* The payload is complete (MSTRO_OK) or the transport failed. The port sends TransportEnd to
     * the pool before this call, so the pool receives it before any later request of the component.
     * After a failure the pool tries another offer, or ends the demand with a ticket whose `status`
     * is set. For a ticket with `status` the port only makes this call, with that status: it does
     * not call `place` or send TransportEnd. For a ticket without memory it sends TransportEnd and
     * calls this with MSTRO_OK, without `place`. */
    void (*arrived)(void *context, const Mstro__Wire__Ticket *ticket, mstro_status status);
    /* Receives a batch of events in wire format (EventBatch of event.proto), valid during the call.
     * Returns 0; -EBADMSG with text: malformed; -ENOMEM with text: the events are lost, and the
     * loss cannot be reported now because the process is out of memory. */
    int (*events)(void *context, const uint8_t *batch, size_t length, struct vamp_err *err);
    /* The pool manager is gone (it vanished or sent a good-bye): all current and later calls return
     * MSTRO_NO_PM. Called once. */
    void (*gone)(void *context, mstro_status status, const char *text);
    void *context;
};

struct port;

/* The fields of a response that are used after the call. */
struct port_answer {
    uint64_t handle;
    uint64_t subscription;
    uint64_t events;
    unsigned char cdo_id[16];
};

/* Defines a request. `what` is an enum name of the message Request, `member` the corresponding
 * member. */
#define PORT_REQUEST(what, member, body)                                                           \
    {                                                                                              \
        .base = PROTOBUF_C_MESSAGE_INIT(&mstro__wire__request__descriptor),                        \
        .what_case = MSTRO__WIRE__REQUEST__WHAT_##what, .member = (body)                           \
    }

struct port_ops {
    /* Sends a request and waits for its response. The port sets `request->id`. `deadline_ms` 0: no
     * limit while the pool exists (withdraw, subscribers' acknowledgements). `ret_response` is only
     * written on MSTRO_OK; other statuses are from the pool or the port, with text in err. */
    mstro_status (*call)(struct port *port, Mstro__Wire__Request *request, uint32_t deadline_ms,
                         struct port_answer *ret_answer, struct vamp_err *err);
    /* Reports that the component cannot store more events of a subscription (`hold`), or can again.
     * Events already in transit still arrive, at most 512 KiB. `number` increases with each call
     * for one subscription: a message overtaken by a later one is ignored. Older pool managers
     * ignore this and continue to send. */
    void (*flow)(struct port *port, uint64_t subscription, uint64_t number, bool hold);
    /* Makes memory readable for sinks until it is forgotten. */
    mstro_status (*expose)(struct port *port, void *address, uint64_t bytes,
                           Mstro__Wire__Memory *ret_memory, void **ret_registration,
                           struct vamp_err *err);
    void (*forget)(struct port *port, void *registration);
    /* Ends current and later calls with MSTRO_NO_PM; `gone` is not called. */
    void (*shut)(struct port *port);
    /* After shut, when no call is in progress: ends the connection, without sending a leave
     * request, and frees the port. */
    void (*close)(struct port *port);
};

/* First member of every port. */
struct port {
    const struct port_ops *ops;
    uint64_t app_id;
};

/* The component that joins. The texts are only read while a port is opened. */
struct port_member {
    const char *workflow, *component;
    uint64_t index;                /* rank, only reported to the pool manager */
    Mstro__Wire__Process *process; /* NULL: not reported */
};

/* Joins the pool manager that `info` describes. Returns MSTRO_OK, MSTRO_REFUSED, MSTRO_NO_PM (no
 * answer within `deadline_ms`), MSTRO_INVARG (malformed info), MSTRO_OFI_FAIL or MSTRO_NOMEM. */
mstro_status port_open_remote(const char *info, const struct port_member *member,
                              uint32_t deadline_ms, const struct port_events *events,
                              struct port **ret_port, struct vamp_err *err);

/* Opens a pool that only this process uses. `bounds` NULL: the defaults. `events` NULL: for a
 * component that neither subscribes nor demands; events that arrive nevertheless are ignored. */
mstro_status port_open_local(const struct port_member *member, const struct pool_bounds *bounds,
                             const struct port_events *events, struct port **ret_port,
                             struct vamp_err *err);
