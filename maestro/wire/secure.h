/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of an authenticated connection: TLS 1.3 (OpenSSL) with an external pre-shared key and no
 * certificates. A peer without the key fails in the handshake; all bytes after it are encrypted,
 * and their order and integrity are verified.
 *
 * The socket belongs to the caller, who reads it and passes the bytes to secure_feed; writes go
 * directly to the socket. Not bound to a thread: each object must be used by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "vampire/core/err.h"

#define SECURE_KEY_BYTES 32

struct secure_key {
    uint8_t bytes[SECURE_KEY_BYTES];
};

/* The key of workflows that any process may join; not a secret. */
extern const struct secure_key secure_open_key;
/* Returns random bytes from the kernel. 0 or -errno. */
VAMP_MUST_CHECK int secure_random(void *bytes, size_t length, struct vamp_err *err);

/* Settings shared by connections. */
struct secure_terms;
/* Returns 0, or -ENOSYS if OpenSSL cannot be initialised; takes about a millisecond. */
VAMP_MUST_CHECK int secure_terms_open(struct secure_terms **ret_terms, struct vamp_err *err);
/* NULL is fine. All its connections must have been closed. */
void secure_terms_close(struct secure_terms *terms);

struct secure;
/* `accepts`: this end is the server. `key` is borrowed. Returns 0 or -ENOMEM. */
VAMP_MUST_CHECK int secure_open(struct secure_terms *terms, const struct secure_key *key,
                                int socket, bool accepts, struct secure **ret_secure);
/* NULL is fine. The socket stays open. */
void secure_close(struct secure *secure);
/* Passes on bytes received from the socket. They are borrowed until secure_handshake or secure_read
 * returns -EAGAIN, which means that all of them have been consumed. */
void secure_feed(struct secure *secure, const uint8_t *bytes, size_t length);
/* Continues the handshake. Returns 0: both ends have the key; -EAGAIN: must receive or send bytes;
 * -EKEYREJECTED: the keys differ, or the other end does not use TLS 1.3; or another -errno of the
 * socket. */
VAMP_MUST_CHECK int secure_handshake(struct secure *secure);
/* Returns the number of bytes read, at most one record (16 KiB); -EAGAIN: none available;
 * -ECONNRESET: end of the connection; -EBADMSG: bytes were modified in transit. */
VAMP_MUST_CHECK ssize_t secure_read(struct secure *secure, uint8_t *bytes, size_t size);
/* Returns the number of bytes accepted; -EAGAIN: none now, and the next call must begin with the
 * same bytes and be at least as long; or another -errno. */
VAMP_MUST_CHECK ssize_t secure_write(struct secure *secure, const uint8_t *bytes, size_t length);

/* 32 bytes known only to the two ends of this connection (RFC 8446, 7.5); available after the
 * handshake. */
struct secure_binding {
    uint8_t bytes[32];
};
VAMP_MUST_CHECK int secure_bind(struct secure *secure, struct secure_binding *ret_binding);
