/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which joins the pool manager accepts: those that prove the key (maestro/wire/auth.h) with
 * a current challenge, once. The gate records a join by its sender's session for as long as its
 * challenge is accepted, so a copy of it, sent again after its component has left, is refused. A
 * new challenge is published after GATE_JOINS_MAX joins; the one before it is still accepted, so at
 * most 2 * GATE_JOINS_MAX sessions are kept, in 512 KiB. Under the lock of the server.
 */
#ifndef MAESTRO_SERVER_GATE_H
#define MAESTRO_SERVER_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "maestro/server/server.h"
#include "maestro/wire/auth.h"
#include "maestro/wire/credential.h"
#include "maestro/wire/fabric.h"
#include "vampire/core/err.h"

#define GATE_JOINS_MAX 16384U
#define GATE_SLOTS (2 * GATE_JOINS_MAX) /* half of them stay empty, so that a search ends soon */

struct gate_sessions {
    uint32_t count;
    uint64_t slots[GATE_SLOTS]; /* 0: empty */
};

struct gate {
    bool open;                       /* any component may join; nothing else here is set */
    struct credentials *credentials; /* of MUNGE, which every join needs; NULL: none does */
    struct auth_key key;
    struct auth_challenge current, previous; /* components read `current` where it stands */
    struct fabric_memory memory;             /* of `current` */
    struct gate_sessions *of_current, *of_previous;
};

/* Obeys `open` and `munge`: makes a key and publishes a challenge. `gate` must not move from then
 * on. 0 or -errno, also when munged does not answer; gate_done is fine either way. */
VAMP_MUST_CHECK int gate_init(struct gate *gate, struct fabric *fabric,
                              const struct server_options *options, struct vamp_err *err);
/* A zeroed gate is fine. */
void gate_done(struct gate *gate, struct fabric *fabric);

/* False: a join without a valid proof, or a copy of a join that was answered before. */
bool gate_lets_in(const struct gate *gate, uint64_t session, const Mstro__Wire__Join *join);
/* Whether the join, which has been let in, has the credential that it needs. 0 or -errno, with a
 * text for its sender. */
VAMP_MUST_CHECK int gate_check_credential(const struct gate *gate, const Mstro__Wire__Join *join,
                                          struct vamp_err *err);
/* The join of this session has been answered: a copy of it is refused from now on. Not for a
 * session that is already recorded. */
void gate_remember(struct gate *gate, uint64_t session);

#endif
