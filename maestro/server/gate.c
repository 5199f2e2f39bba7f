/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/server/gate.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- sessions whose joins were answered */

/* The slot that holds the session, or the empty one where it belongs. */
static uint64_t *slot_of(struct gate_sessions *sessions, uint64_t session)
{
    size_t at = (size_t)(session * UINT64_C(0x9E3779B97F4A7C15) >> 32) % GATE_SLOTS;
    assert(sessions->count < GATE_SLOTS);
    while (sessions->slots[at] != 0 && sessions->slots[at] != session) {
        at = (at + 1) % GATE_SLOTS;
    }
    return &sessions->slots[at];
}

/* ---- the gate */

/* A credential of its own shows at the start whether munged works. */
static int init_munge(struct gate *gate, struct vamp_err *err)
{
    struct auth_proof proof;
    struct credential own;
    memset(&proof, 0, sizeof proof);
    int result = credentials_open(&gate->credentials, err);
    if (result == 0) {
        result = credential_make(gate->credentials, &proof, &own, err);
    }
    if (result == 0) {
        result =
            credential_check(gate->credentials, &proof, (const uint8_t *)own.text, own.length, err);
    }
    return result;
}

int gate_init(struct gate *gate, struct fabric *fabric, const struct server_options *options,
              struct vamp_err *err)
{
    gate->open = options->open;
    if (options->open && options->munge) {
        return vamp_err_set(err, -EINVAL,
                            "a pool manager that any component may join (--open) cannot ask for "
                            "credentials of MUNGE (--munge)");
    }
    if (options->open) {
        return 0;
    }
    int result = auth_init(err);
    if (result == 0 && options->munge) {
        result = init_munge(gate, err);
    }
    if (result != 0) {
        return result;
    }
    gate->of_current = calloc(1, sizeof *gate->of_current);
    gate->of_previous = calloc(1, sizeof *gate->of_previous);
    if (gate->of_current == NULL || gate->of_previous == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "keep the sessions of joins");
    }
    auth_make_key(&gate->key);
    auth_make_challenge(&gate->current);
    auth_make_challenge(&gate->previous);
    return fabric_register(fabric, &gate->current, sizeof gate->current, &gate->memory, err);
}

void gate_done(struct gate *gate, struct fabric *fabric)
{
    fabric_unregister(fabric, &gate->memory);
    free(gate->of_current);
    free(gate->of_previous);
    credentials_close(gate->credentials);
    *gate = (struct gate){0};
}

bool gate_lets_in(const struct gate *gate, uint64_t session, const Mstro__Wire__Join *join)
{
    if (gate->open) {
        return true;
    }
    if (session == 0 || *slot_of(gate->of_current, session) == session ||
        *slot_of(gate->of_previous, session) == session) {
        return false;
    }
    /* A component may have read the challenge just before it changed. */
    return auth_join_is_proven(&gate->key, &gate->current, session, join) ||
           auth_join_is_proven(&gate->key, &gate->previous, session, join);
}

int gate_check_credential(const struct gate *gate, const Mstro__Wire__Join *join,
                          struct vamp_err *err)
{
    struct auth_proof proof;
    if (gate->credentials == NULL) {
        return 0;
    }
    memcpy(proof.bytes, join->proof.data, sizeof proof.bytes); /* let in: it has this length */
    return credential_check(gate->credentials, &proof, join->credential.data, join->credential.len,
                            err);
}

void gate_remember(struct gate *gate, uint64_t session)
{
    if (gate->open) {
        return;
    }
    if (gate->of_current->count == GATE_JOINS_MAX) {
        struct gate_sessions *oldest = gate->of_previous;
        gate->of_previous = gate->of_current;
        memset(oldest, 0, sizeof *oldest);
        gate->of_current = oldest;
        gate->previous = gate->current;
        auth_make_challenge(&gate->current); /* published where it stands */
    }
    assert(*slot_of(gate->of_current, session) == 0);
    *slot_of(gate->of_current, session) = session;
    gate->of_current->count++;
}
