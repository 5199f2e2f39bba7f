/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Credentials of MUNGE: proof of the user of a joining component, for sites that have MUNGE and a
 * pool manager that requires it (maestro-pool-manager --munge). The payload of a credential is a
 * secret of its connection (secure_bind), so it is valid there only; munged refuses to decode it
 * twice.
 *
 * libmunge is loaded when it is first needed, so that programs start without it and packages need
 * not depend on it. It connects to munged on this host through a local socket: the default one, or
 * the one in MSTRO_MUNGE_SOCKET. A call takes well below a millisecond if munged answers; whether a
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
/* Upper limit; credentials with 32 bytes of payload have about 200. */
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
 * munged does not answer; -EACCES: it refuses. Both with a text that explains what to do. */
VAMP_MUST_CHECK int credential_make(struct credentials *credentials,
                                    const struct secure_binding *binding,
                                    struct credential *ret_credential, struct vamp_err *err);
/* Whether these bytes are a credential for the connection with this binding, of this process's own
 * user. 0; -ECONNREFUSED: munged does not answer; -EACCES with the reason: they are not. */
VAMP_MUST_CHECK int credential_check(struct credentials *credentials,
                                     const struct secure_binding *binding, const uint8_t *bytes,
                                     size_t length, struct vamp_err *err);
