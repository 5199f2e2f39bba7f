/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Credentials of MUNGE: proof of the user who joins, where a site has MUNGE and the pool manager
 * asks for it (maestro-pool-manager --munge). The payload of a credential is what only the two ends
 * of its connection know (secure_bind), so it is valid there alone; munged refuses to decode one
 * twice.
 *
 * libmunge is loaded when it is first needed, so that programs start without it and packages need
 * not depend on it. It speaks to munged on this host through a local socket: its usual one, or the
 * one in MSTRO_MUNGE_SOCKET. A call takes well below a millisecond when munged answers; whether a
 * process listens there is checked first, because libmunge itself tries for seconds.
 *
 * No thread rule: every object belongs to its caller.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "maestro/wire/secure.h"
#include "vampire/core/err.h"

#define CREDENTIAL_ENV_SOCKET "MSTRO_MUNGE_SOCKET"
/* The longest; those of 32 bytes of payload have some 200. */
#define CREDENTIAL_BYTES 1024

struct credentials;

/* Text, terminated. */
struct credential {
    char text[CREDENTIAL_BYTES];
    size_t length;
};

/* Loads libmunge. 0; -ENOENT: it is not installed, or not usable; -ENOMEM. */
VAMP_MUST_CHECK int credentials_open(struct credentials **ret_credentials, struct vamp_err *err);
/* NULL is fine. */
void credentials_close(struct credentials *credentials);

/* A credential of this process's user for the connection with this binding. 0; -ECONNREFUSED:
 * munged does not answer; -EACCES: it gives none. Both with a text that explains what to do. */
VAMP_MUST_CHECK int credential_make(struct credentials *credentials,
                                    const struct secure_binding *binding,
                                    struct credential *ret_credential, struct vamp_err *err);
/* Whether these bytes are a credential for the connection with this binding, of this process's own
 * user. 0; -ECONNREFUSED: munged does not answer; -EACCES: they are not, with a text that says why.
 */
VAMP_MUST_CHECK int credential_check(struct credentials *credentials,
                                     const struct secure_binding *binding, const uint8_t *bytes,
                                     size_t length, struct vamp_err *err);
