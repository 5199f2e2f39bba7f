/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proof that a component knows the pool manager's key, and that it is the pool manager that
 * answers.
 *
 * The key is in the info text and never on the wire. The pool manager publishes a challenge of
 * random bytes in memory that components read remotely before they join; a join contains the keyed
 * hash of its content, of the sender's session and of that challenge. So the pool manager keeps
 * nothing for an unproven sender and sends nothing to it. The keyed hash is HMAC-SHA-512/256 of
 * libsodium (crypto_auth), compared in constant time. docs/pool-protocol.md has the exchange.
 *
 * No thread rule: every object belongs to its caller.
 */
#ifndef MAESTRO_WIRE_AUTH_H
#define MAESTRO_WIRE_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "pool.pb-c.h"
#include "vampire/core/err.h"

#define AUTH_KEY_BYTES 32
#define AUTH_CHALLENGE_BYTES 16
#define AUTH_PROOF_BYTES 32

struct auth_key {
    uint8_t bytes[AUTH_KEY_BYTES];
};
struct auth_challenge {
    uint8_t bytes[AUTH_CHALLENGE_BYTES];
};
struct auth_proof {
    uint8_t bytes[AUTH_PROOF_BYTES];
};

/* Must have succeeded once in the process before any other function here; any thread, repeatable.
 * 0, or -ENOSYS when the library cannot be set up. */
VAMP_MUST_CHECK int auth_init(struct vamp_err *err);
void auth_make_key(struct auth_key *ret_key);
void auth_make_challenge(struct auth_challenge *ret_challenge);

/* The proof of a join that `session` sends; the join's own proof and credential are not read. */
void auth_prove_join(const struct auth_key *key, const struct auth_challenge *challenge,
                     uint64_t session, const Mstro__Wire__Join *join, struct auth_proof *ret_proof);
/* Whether the join contains that proof. */
bool auth_join_is_proven(const struct auth_key *key, const struct auth_challenge *challenge,
                         uint64_t session, const Mstro__Wire__Join *join);
/* The proof of the pool manager's answer to `session`; the welcome's own proof is not read. */
void auth_prove_welcome(const struct auth_key *key, uint64_t session,
                        const Mstro__Wire__Welcome *welcome, struct auth_proof *ret_proof);
bool auth_welcome_is_proven(const struct auth_key *key, uint64_t session,
                            const Mstro__Wire__Welcome *welcome);

#endif
