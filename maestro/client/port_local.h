/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface between a local port and the server that opens its pool to other processes.
 *
 * The pool, and all code that it calls, runs only between lock and unlock. The local port describes
 * offered memory by its plain address and key 0; the server makes it readable for the duration of
 * each transport, so the local port does not depend on the fabric.
 */
#pragma once

#include "maestro/client/port.h"
#include "maestro/pool/pool.h"

struct port_service {
    /* Output of the pool for components other than the local port's own. Called with the lock held.
     */
    const struct pool_outlet *outlet;
    /* Fetches a CDO from another process for the local port's component: reads `memory` of
     * source_app_id into `destination`. Returns MSTRO_OK: `done` is called exactly once, on the
     * server's thread without the lock, also when the server stops. Other statuses: `done` is not
     * called. Called with the lock held; does not block. */
    mstro_status (*fetch)(void *context, uint64_t source_app_id, const Mstro__Wire__Memory *memory,
                          void *destination, void (*done)(void *done_context, mstro_status status),
                          void *done_context);
    void *context;
};

struct pool *port_local_lock(struct port *local_port);
/* Unlocks, and then delivers, on the calling thread, the pool's output for the port's own component
 * (events, tickets). The caller must hold no lock that a port_events callback may take. */
void port_local_unlock(struct port *local_port);
/* Attaches the server, which must stay valid until it is detached by a call with NULL. Takes the
 * lock itself. */
void port_local_serve(struct port *local_port, const struct port_service *service);
