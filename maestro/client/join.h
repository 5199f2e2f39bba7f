/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a component comes to be a member of a pool in another process: from the text of
 * MSTRO_POOL_MANAGER_INFO to the pool manager's welcome. One thread.
 */
#ifndef MAESTRO_CLIENT_JOIN_H
#define MAESTRO_CLIENT_JOIN_H

#include "maestro/client/port.h"
#include "maestro/wire/credential.h"
#include "maestro/wire/fabric.h"
#include "maestro/wire/frame.h"
#include "maestro/wire/info.h"
#include "maestro/wire/link.h"
#include "vampire/core/clock.h"
#include "vampire/core/protobuf/arena.h"

/* The way to a pool manager. All zeros to begin with, but for `info` and `arena`. */
struct pool_manager {
    struct info info;
    struct fabric *fabric;
    struct link link;
    struct { /* read from the pool manager before each join, when the info has a key */
        struct auth_challenge value;
        bool pending;            /* a read is under way */
        struct auth_proof proof; /* of the last join */
    } challenge;
    struct credentials *credentials; /* of MUNGE, while joining, when the info asks for them */
    struct credential credential;    /* of the last join */
    struct vamp_decode_arena arena;  /* of messages */
    uint64_t received_sequence;
    bool answered; /* by a welcome, be it a refusal */
    /* What the welcome says. */
    uint64_t app_id;
    int64_t heartbeat_ns, silence_ns;
};

/* Opens the fabric and joins as `member`. On failure, with text, the caller still closes what is
 * open: fabric, link, arena and credentials. */
mstro_status pool_manager_join(struct pool_manager *pm, const struct port_member *member,
                               uint32_t deadline_ms, struct vamp_err *err);

#endif
