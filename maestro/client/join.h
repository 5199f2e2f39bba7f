/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a component joins a pool in another process: from the text of MSTRO_POOL_MANAGER_INFO to the
 * pool manager's welcome. One thread.
 */
#pragma once

#include "maestro/client/port.h"
#include "maestro/wire/credential.h"
#include "maestro/wire/info.h"
#include "maestro/wire/link.h"
#include "maestro/wire/stream.h"
#include "vampire/core/protobuf/arena.h"

/* The connection to a pool manager. Initially all zeros, except `info`, `handler` and `arena`. */
struct pool_manager {
    struct info info;
    struct stream_handler handler; /* its functions call those below until there is a welcome */
    struct stream_hub *hub;
    struct link link;
    bool opened;                     /* both ends of the connection have proved the key */
    int closed;                      /* why there is no connection, -errno; 0: there may be one */
    struct credentials *credentials; /* of MUNGE, while joining, when the info requires them */
    struct credential credential;    /* of the last join */
    struct vamp_decode_arena arena;  /* of messages */
    const Mstro__Wire__Welcome *welcome; /* in the arena, as long as that is not used again */
    bool answered;                       /* by a welcome, be it a refusal */
    /* From the welcome. */
    uint64_t app_id;
    int64_t heartbeat_ns, silence_ns;
};

/* Opens the hub and joins as `member`. On failure, with text, the caller still closes what is open:
 * hub, arena and credentials. */
mstro_status pool_manager_join(struct pool_manager *pm, const struct port_member *member,
                               uint32_t deadline_ms, struct vamp_err *err);
/* A message that came in before the welcome. */
void pool_manager_hear(struct pool_manager *pm, const uint8_t *bytes, size_t length);
/* The connection is over; later sends fail. */
void pool_manager_closed(struct pool_manager *pm, int status);
