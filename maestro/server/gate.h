/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a component has to know or to be to join: the pool manager's key, which its connection
 * proves (maestro/wire/secure.h), and, where the site wants it, a credential of MUNGE. Under the
 * lock of the server.
 */
#pragma once

#include <stdbool.h>

#include "maestro/server/server.h"
#include "maestro/wire/credential.h"
#include "maestro/wire/stream.h"
#include "vampire/core/err.h"

struct gate {
    bool open;                       /* any component may join: the key is no secret */
    struct credentials *credentials; /* of MUNGE, which every join needs; NULL: none does */
    struct secure_key key;
};

/* Obeys `open` and `munge`. 0 or -errno, also when munged does not answer; gate_done is fine either
 * way. */
VAMP_MUST_CHECK int gate_init(struct gate *gate, const struct server_options *options,
                              struct vamp_err *err);
/* A zeroed gate is fine. */
void gate_done(struct gate *gate);
/* Whether the join has the credential that it needs. 0 or -errno, with a text for its sender. */
VAMP_MUST_CHECK int gate_check_credential(const struct gate *gate, struct stream *stream,
                                          const Mstro__Wire__Join *join, struct vamp_err *err);
