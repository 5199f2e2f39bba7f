/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port: how a component reaches its pool. Two kinds behind one table: `remote` over libfabric
 * to a pool manager, `local` to a pool in this process (alone, or because this process is the
 * pool manager). The API layer (api_*.c) knows only this.
 *
 * A port owns a progress thread where it needs one. Callbacks of `struct port_events` run on that
 * thread (or on the calling thread of a local port) without any lock of the port held; they must
 * not block on the network and may call port functions except close.
 */
#ifndef MAESTRO_PORT_H
#define MAESTRO_PORT_H

#include <stdint.h>

#include "maestro/maestro.h"
#include "pool.pb-c.h"
#include "vampire/core/err.h"

/* A batch of events as received: one malloc'ed block that holds the unpacked message and every
 * text. Whoever gets it frees it with port_batch_free. */
struct port_batch {
    const Vamp__Wire__EventBatch *batch;
    void *block;
};
void port_batch_free(struct port_batch *batch);

struct port_events {
    /* Memory for the payload of a ticket's CDO: ticket->memory->bytes, page aligned. NULL: refuse
     * the transport. Called before the payload is read. */
    void *(*place)(void *context, const Mstro__Wire__Ticket *ticket);
    /* The payload is in place (MSTRO_OK) or will not come. The port tells the pool afterwards. */
    void (*arrived)(void *context, const Mstro__Wire__Ticket *ticket, mstro_status status);
    /* Takes the batch over. */
    void (*events)(void *context, struct port_batch *batch);
    /* The pool manager is gone (vanished or said good-bye): every call in progress and every later
     * one ends with MSTRO_NO_PM. Called once. */
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

struct port_ops {
    /* Sends a request and waits for its response. `request->id` is set by the port. `deadline_ms` 0: as
     * long as the pool lives (withdraw, subscribers' acknowledgements). `ret_response` is only
     * written on MSTRO_OK; other statuses are the pool's or the port's own, with text in err. */
    mstro_status (*call)(struct port *port, Mstro__Wire__Request *request, uint32_t deadline_ms,
                         struct port_answer *ret_answer, struct vamp_err *err);
    /* Makes memory readable for sinks until forgotten. */
    mstro_status (*expose)(struct port *port, void *address, uint64_t bytes,
                           Mstro__Wire__Memory *ret_memory, void **ret_registration,
                           struct vamp_err *err);
    void (*forget)(struct port *port, void *registration);
    /* Ends the connection, without a leave request of its own, and frees the port. */
    void (*close)(struct port *port);
};

/* First member of every port. */
struct port {
    const struct port_ops *ops;
    uint64_t app_id;
};

/* Joins the pool manager that `info` describes. MSTRO_REFUSED, MSTRO_NO_PM (nobody answers in
 * `deadline_ms`), MSTRO_INVARG (info cannot be read), MSTRO_OFI_FAIL, MSTRO_NOMEM. */
mstro_status port_open_remote(const char *info, const char *workflow, const char *component,
                              uint64_t index, uint32_t deadline_ms, const struct port_events *events,
                              struct port **ret_port, struct vamp_err *err);

/* A pool of this process alone. */
mstro_status port_open_local(const char *workflow, const char *component, uint64_t index,
                             const struct port_events *events, struct port **ret_port,
                             struct vamp_err *err);

/* The pool manager service (server.c): serves `port`'s pool (a local port) to other processes over the fabric
 * from a thread of its own. `provider` NULL: from the environment, else the default. */
struct server;
mstro_status server_start(struct port *local_port, const char *workflow, const char *provider,
                          struct server **ret_server, struct vamp_err *err);
/* Printable, one line, no ';'; owned by the server. */
const char *server_info(const struct server *server);
/* Says good-bye to all components and ends the thread. NULL-safe. */
void server_stop(struct server *server);

#endif
