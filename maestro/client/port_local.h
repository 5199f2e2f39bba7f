/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between a local port and the server that opens its pool to other processes.
 *
 * The pool and everything called from inside it is used only between lock and unlock. The local
 * port describes offered memory by its plain address and key 0; the server makes it readable for
 * the time of each transport, so the local port does not depend on the fabric.
 */
#pragma once

#include "maestro/client/port.h"
#include "maestro/pool/pool.h"

struct port_service {
    /* What the pool sends to components other than the local port's own. Called with the lock
     * held. */
    const struct pool_outlet *outlet;
    /* Fetches a CDO from another process for the local port's component: reads `memory` of
     * source_app_id into `destination`. MSTRO_OK: `done` is called exactly once, on the server's
     * thread without the lock, also when the server stops. Another status: it is not called. Called
     * with the lock held; does not block. */
    mstro_status (*fetch)(void *context, uint64_t source_app_id, const Mstro__Wire__Memory *memory,
                          void *destination, void (*done)(void *done_context, mstro_status status),
                          void *done_context);
    void *context;
};

struct pool *port_local_lock(struct port *local_port);
/* Then delivers, on the calling thread, what the pool had for the port's own component (events,
 * tickets): hold no lock that a port_events callback may take. */
void port_local_unlock(struct port *local_port);
/* Attaches the server, which stays valid until detached with NULL. Takes the lock itself. */
void port_local_serve(struct port *local_port, const struct port_service *service);
