/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joins a pool in another process: the steps from the text of MSTRO_POOL_MANAGER_INFO to the pool
 * manager's welcome. One thread.
 */
#pragma once

#include "maestro/client/port.h"
#include "maestro/wire/credential.h"
#include "maestro/wire/info.h"
#include "maestro/wire/link.h"
#include "maestro/wire/stream.h"
#include "vampire/core/protobuf/arena.h"

/* The connection to a pool manager. All zeros initially, except `info`, `handler` and `arena`. */
struct pool_manager {
    struct info info;
    struct stream_handler handler; /* its callbacks call pool_manager_hear and pool_manager_closed
                                    * until the welcome */
    struct stream_hub *hub;
    struct link link;
    bool opened; /* both ends of the connection have authenticated */
    int closed;  /* reason why the connection has ended, -errno; 0: it has not ended */
    struct credentials
        *credentials; /* MUNGE library, open while joining if the info requires credentials */
    struct credential credential;        /* credential of the last join */
    struct vamp_decode_arena arena;      /* memory for decoded messages */
    const Mstro__Wire__Welcome *welcome; /* in the arena, valid until the arena is used again */
    bool answered;                       /* a welcome arrived, which may be a refusal */
    /* From the welcome: */
    uint64_t app_id;
    int64_t heartbeat_ns, silence_ns;
};

/* Opens the hub and joins as `member`. On failure, with text, the caller must still close what is
 * open: hub, arena and credentials. */
mstro_status pool_manager_join(struct pool_manager *pm, const struct port_member *member,
                               uint32_t deadline_ms, struct vamp_err *err);
/* Handles a message that arrived before the welcome. */
void pool_manager_hear(struct pool_manager *pm, const uint8_t *bytes, size_t length);
/* Handles the end of the connection; later sends fail. */
void pool_manager_closed(struct pool_manager *pm, int status);
