/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MUNGE credentials: proof of the user of a joining component, for sites that have MUNGE and a pool
 * manager that requires it (maestro-pool-manager --munge). The payload of a credential is a secret
 * of its connection (secure_bind), so the credential is valid only there; munged refuses to decode
 * it twice.
 *
 * libmunge is loaded on first use, so that programs start without it and packages need not depend
 * on it. It connects to munged on this host through a local socket: the default one, or the one in
 * MSTRO_MUNGE_SOCKET. A call takes well below a millisecond if munged answers. libmunge retries for
 * several seconds if no process listens on the socket, so the functions below check that first.
 *
 * Not bound to a thread: each object must be used by one thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "maestro/wire/secure.h"
#include "vampire/core/err.h"

#define CREDENTIAL_ENV_SOCKET "MSTRO_MUNGE_SOCKET"
/* Upper limit; credentials with a payload of 32 bytes have about 200 bytes. */
#define CREDENTIAL_BYTES 1024

struct credentials;

/* A credential as text, NUL-terminated. */
struct credential {
    char text[CREDENTIAL_BYTES];
    size_t length;
};

/* Loads libmunge. Returns 0; -ENOENT: not installed, or not usable; -ENOMEM. */
VAMP_MUST_CHECK int credentials_open(struct credentials **ret_credentials, struct vamp_err *err);
/* Closes the library; `credentials` may be NULL. */
void credentials_close(struct credentials *credentials);

/* Creates a credential for this process's user and the connection with this binding. Returns 0;
 * -ECONNREFUSED: munged does not answer; -EACCES: munged refuses. Both set a text that suggests a
 * remedy. */
VAMP_MUST_CHECK int credential_make(struct credentials *credentials,
                                    const struct secure_binding *binding,
                                    struct credential *ret_credential, struct vamp_err *err);
/* Checks that the bytes are a credential for this process's own user and the connection with this
 * binding. Returns 0; -ECONNREFUSED: munged does not answer; -EACCES with the reason: not a valid
 * credential. */
VAMP_MUST_CHECK int credential_check(struct credentials *credentials,
                                     const struct secure_binding *binding, const uint8_t *bytes,
                                     size_t length, struct vamp_err *err);
