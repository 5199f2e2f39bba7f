/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/server/internal.h"

#include <errno.h>

/* Creates a credential at the start, to check that munged works. */
static int init_munge(struct gate *gate, struct vamp_err *err)
{
    const struct secure_binding none = {{0}};
    struct credential own;
    int result = credentials_open(&gate->credentials, err);
    if (result == 0) {
        result = credential_make(gate->credentials, &none, &own, err);
    }
    if (result == 0) {
        result =
            credential_check(gate->credentials, &none, (const uint8_t *)own.text, own.length, err);
    }
    return result;
}

int gate_init(struct gate *gate, const struct server_options *options, struct vamp_err *err)
{
    gate->open = options->open;
    if (options->open && options->munge) {
        return vamp_err_set(err, -EINVAL,
                            "a pool manager that any component may join (--open) cannot require "
                            "MUNGE credentials (--munge)");
    }
    if (options->open) {
        gate->key = secure_open_key;
        return 0;
    }
    int result = 0;
    if (options->munge) {
        result = init_munge(gate, err);
    }
    if (result == 0) {
        result = secure_random(&gate->key, sizeof gate->key, err);
    }
    return result;
}

void gate_done(struct gate *gate)
{
    credentials_close(gate->credentials);
    *gate = (struct gate){0};
}

int gate_check_credential(const struct gate *gate, struct stream *stream,
                          const Mstro__Wire__Join *join, struct vamp_err *err)
{
    struct secure_binding binding;
    if (gate->credentials == NULL) {
        return 0;
    }
    if (stream_bind(stream, &binding) != 0) {
        return vamp_err_set(err, -EPROTO, "the connection has no binding for a credential");
    }
    return credential_check(gate->credentials, &binding, join->credential.data,
                            join->credential.len, err);
}
