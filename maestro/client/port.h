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
#ifndef MAESTRO_CLIENT_PORT_H
#define MAESTRO_CLIENT_PORT_H

#include <stdbool.h>
#include <stddef.h>
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
    /* The payload is in place (MSTRO_OK) or this transport failed. The port tells the pool first
     * (TransportEnd goes out before this is called), so that whatever the component does next
     * comes behind it. After a failure the pool tries another offer or ends the demand with a
     * ticket whose `status` is set. For such a ticket the port calls only this, with that status:
     * no place, no TransportEnd. A ticket without memory: no place, TransportEnd, MSTRO_OK. */
    void (*arrived)(void *context, const Mstro__Wire__Ticket *ticket, mstro_status status);
    /* Optional: a batch packed as it came, valid during the call. False: not taken; it comes
     * unpacked, to `events`. */
    bool (*packed)(void *context, const uint8_t *batch, size_t length);
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
    /* Sends a request and waits for its response. `request->id` is set by the port. `deadline_ms`
     * 0: as long as the pool lives (withdraw, subscribers' acknowledgements). `ret_response` is
     * only written on MSTRO_OK; other statuses are the pool's or the port's own, with text in err.
     */
    mstro_status (*call)(struct port *port, Mstro__Wire__Request *request, uint32_t deadline_ms,
                         struct port_answer *ret_answer, struct vamp_err *err);
    /* Makes memory readable for sinks until forgotten. */
    mstro_status (*expose)(struct port *port, void *address, uint64_t bytes,
                           Mstro__Wire__Memory *ret_memory, void **ret_registration,
                           struct vamp_err *err);
    void (*forget)(struct port *port, void *registration);
    /* Calls in progress and later ones end with MSTRO_NO_PM; `gone` is not called. */
    void (*shut)(struct port *port);
    /* Behind shut, with no call in progress: ends the connection, without a leave request of its
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
    uint64_t index; /* told to the pool manager, nothing more */
};

/* Joins the pool manager that `info` describes. MSTRO_REFUSED, MSTRO_NO_PM (nobody answers in
 * `deadline_ms`), MSTRO_INVARG (info cannot be read), MSTRO_OFI_FAIL, MSTRO_NOMEM. */
mstro_status port_open_remote(const char *info, const struct port_member *member,
                              uint32_t deadline_ms, const struct port_events *events,
                              struct port **ret_port, struct vamp_err *err);

/* A pool of this process alone. `bounds` NULL: the defaults. `events` NULL: for a component that
 * neither subscribes nor demands; what it is told all the same is ignored. */
struct pool;
struct pool_bounds;
struct pool_outlet;
mstro_status port_open_local(const struct port_member *member, const struct pool_bounds *bounds,
                             const struct port_events *events, struct port **ret_port,
                             struct vamp_err *err);

/* ---- between a local port and the server that opens its pool to other processes.
 *
 * The pool and everything called from inside it is used only between lock and unlock. Offered
 * memory is described by the local port with its plain address and key 0; the server makes it
 * readable for the time of each transport, so the local port knows nothing of the fabric. */
struct port_service {
    /* What the pool says to components other than the local port's own. Called with the lock
     * held. */
    const struct pool_outlet *outlet;
    /* The local port's component is to fetch a CDO from another process: reads `memory` of
     * source_app_id into `destination`. MSTRO_OK: `done` is called exactly once, on the
     * server's thread without the lock, also when the server stops. Another status: it is not
     * called. Called with the lock held; does not block. */
    mstro_status (*fetch)(void *context, uint64_t source_app_id, const Mstro__Wire__Memory *memory,
                          void *destination, void (*done)(void *done_context, mstro_status status),
                          void *done_context);
    void *context;
};
struct pool *port_local_lock(struct port *local_port);
/* Then does, on the calling thread, what the pool had for the port's own component meanwhile
 * (events, tickets): hold no lock that a port_events callback may want. */
void port_local_unlock(struct port *local_port);
/* Attaches the server, which stays valid until detached with NULL. Takes the lock itself. */
void port_local_serve(struct port *local_port, const struct port_service *service);

/* The pool manager service (server.c): serves the pool of a local port to other processes over
 * the fabric, from a thread of its own. Zero or NULL members: from the environment
 * (MSTRO_OFI_PROVIDER, FI_PROVIDER, MSTRO_POOL_BIND), else the default. */
struct server;
struct server_options {
    const char *provider;              /* "tcp;ofi_rxm" */
    const char *bind;                  /* address to listen on; 127.0.0.1 */
    uint32_t heartbeat_ms, silence_ms; /* 500, 60000 */
    size_t events_per_message;         /* at most; 64 */
    /* What somebody who looks after the workflow should know; rarely. On the server's thread, with
     * the lock held. NULL: nobody is told. */
    void (*say)(const char *text);
};
/* `options` NULL: all defaults. */
mstro_status server_start(struct port *local_port, const char *workflow,
                          const struct server_options *options, struct server **ret_server,
                          struct vamp_err *err);
/* Printable, one line, no ';'; owned by the server. */
const char *server_info(const struct server *server);
struct server_counts {
    uint64_t joins, refused, requests;
    uint64_t unanswered; /* of the refused: too many at a time to tell each */
    uint64_t event_messages, events_sent;
    uint64_t events_lost; /* as told to the subscribers */
    uint64_t vanished;    /* components */
    uint64_t protocol_errors;
    uint64_t memory_refused; /* joins and requests, at the pool's bound of memory */
};
/* A descriptor that becomes readable when the service has failed for good; the text of the failure,
 * NULL while it works. */
int server_failure_fd(const struct server *server);
const char *server_failure(const struct server *server);
/* Sends what is queued, says good-bye to all components and ends the thread; about two seconds when
 * a component does not listen. NULL-safe. `ret_counts` may be NULL. */
void server_stop(struct server *server, struct server_counts *ret_counts);

#endif
