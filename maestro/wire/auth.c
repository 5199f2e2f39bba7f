/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/wire/auth.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

static_assert(AUTH_KEY_BYTES == crypto_auth_hmacsha512256_KEYBYTES, "the library's key");
static_assert(AUTH_PROOF_BYTES == crypto_auth_hmacsha512256_BYTES, "the library's hash");

int auth_init(struct vamp_err *err)
{
    return sodium_init() >= 0 ? 0 : vamp_err_set(err, -ENOSYS, "libsodium cannot be set up");
}

void auth_make_key(struct auth_key *ret_key)
{
    randombytes_buf(ret_key->bytes, sizeof ret_key->bytes);
}

void auth_make_challenge(struct auth_challenge *ret_challenge)
{
    randombytes_buf(ret_challenge->bytes, sizeof ret_challenge->bytes);
}

/* ---- what is hashed: each part with its length before it, so that no two messages hash alike */

static void add_number(crypto_auth_hmacsha512256_state *state, uint64_t number)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(number >> (8 * i));
    }
    (void)crypto_auth_hmacsha512256_update(state, bytes, sizeof bytes);
}

static void add_bytes(crypto_auth_hmacsha512256_state *state, const void *bytes, size_t length)
{
    add_number(state, length);
    if (length > 0) {
        (void)crypto_auth_hmacsha512256_update(state, bytes, length);
    }
}

/* `purpose`: a proof made for one kind of message is not valid for another. */
static void begin(crypto_auth_hmacsha512256_state *state, const struct auth_key *key,
                  const char *purpose, uint64_t session)
{
    (void)crypto_auth_hmacsha512256_init(state, key->bytes, sizeof key->bytes);
    add_bytes(state, purpose, strlen(purpose));
    add_number(state, session);
}

void auth_prove_join(const struct auth_key *key, const struct auth_challenge *challenge,
                     uint64_t session, const Mstro__Wire__Join *join, struct auth_proof *ret_proof)
{
    crypto_auth_hmacsha512256_state state;
    begin(&state, key, "join", session);
    add_bytes(&state, challenge->bytes, sizeof challenge->bytes);
    add_bytes(&state, join->workflow, strlen(join->workflow));
    add_bytes(&state, join->component, strlen(join->component));
    add_number(&state, join->has_index ? 1 : 0);
    add_number(&state, join->index);
    add_bytes(&state, join->address.data, join->address.len);
    add_number(&state, join->pool_session);
    (void)crypto_auth_hmacsha512256_final(&state, ret_proof->bytes);
}

void auth_prove_welcome(const struct auth_key *key, uint64_t session,
                        const Mstro__Wire__Welcome *welcome, struct auth_proof *ret_proof)
{
    crypto_auth_hmacsha512256_state state;
    const char *text = welcome->text != NULL ? welcome->text : "";
    begin(&state, key, "welcome", session);
    add_number(&state, welcome->status);
    add_bytes(&state, text, strlen(text));
    add_number(&state, welcome->app_id);
    add_number(&state, welcome->heartbeat_ms);
    add_number(&state, welcome->silence_ms);
    (void)crypto_auth_hmacsha512256_final(&state, ret_proof->bytes);
}

/* ---- checking */

static bool same_proof(const struct auth_proof *right, protobuf_c_boolean has,
                       const ProtobufCBinaryData *given)
{
    return has && given->len == AUTH_PROOF_BYTES &&
           sodium_memcmp(right->bytes, given->data, AUTH_PROOF_BYTES) == 0;
}

bool auth_join_is_proven(const struct auth_key *key, const struct auth_challenge *challenge,
                         uint64_t session, const Mstro__Wire__Join *join)
{
    struct auth_proof right;
    auth_prove_join(key, challenge, session, join, &right);
    return same_proof(&right, join->has_proof, &join->proof);
}

bool auth_welcome_is_proven(const struct auth_key *key, uint64_t session,
                            const Mstro__Wire__Welcome *welcome)
{
    struct auth_proof right;
    auth_prove_welcome(key, session, welcome, &right);
    return same_proof(&right, welcome->has_proof, &welcome->proof);
}
