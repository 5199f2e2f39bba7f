/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of an authenticated connection: TLS 1.3 of OpenSSL with a shared secret of both ends as
 * external pre-shared key, no certificates. A peer without the key fails in the handshake; all
 * bytes after it are encrypted, and their order and integrity are verified.
 *
 * The socket belongs to the caller, who reads it and passes the bytes on (secure_feed); writes go
 * to the socket directly. No thread rule: every object belongs to its caller.
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

/* The key of workflows that anyone may join: it is not a secret. */
extern const struct secure_key secure_open_key;
/* Random bytes of the kernel. 0 or -errno. */
VAMP_MUST_CHECK int secure_random(void *bytes, size_t length, struct vamp_err *err);

/* Settings shared by connections. */
struct secure_terms;
/* 0, or -ENOSYS when OpenSSL cannot be set up; takes a millisecond. */
VAMP_MUST_CHECK int secure_terms_open(struct secure_terms **ret_terms, struct vamp_err *err);
/* NULL is fine. All its connections must be closed before. */
void secure_terms_close(struct secure_terms *terms);

struct secure;
/* `accepts`: this end is the server. `key` is borrowed. 0 or -ENOMEM. */
VAMP_MUST_CHECK int secure_open(struct secure_terms *terms, const struct secure_key *key,
                                int socket, bool accepts, struct secure **ret_secure);
/* NULL is fine. The socket stays open. */
void secure_close(struct secure *secure);
/* Bytes received from the socket; borrowed until secure_handshake or secure_read returns -EAGAIN,
 * when all of them have been consumed. */
void secure_feed(struct secure *secure, const uint8_t *bytes, size_t length);
/* 0: both ends have the key; -EAGAIN: bytes must be received, or sent; -EKEYREJECTED: the keys
 * differ, or the other end does not use TLS 1.3; another -errno of the socket. */
VAMP_MUST_CHECK int secure_handshake(struct secure *secure);
/* Bytes read, at most a record (16 KiB); -EAGAIN: none; -ECONNRESET: the end; -EBADMSG: bytes were
 * changed on the way. */
VAMP_MUST_CHECK ssize_t secure_read(struct secure *secure, uint8_t *bytes, size_t size);
/* Bytes accepted; -EAGAIN: none now, and the next call must begin with the same bytes, at least as
 * many of them; another -errno. */
VAMP_MUST_CHECK ssize_t secure_write(struct secure *secure, const uint8_t *bytes, size_t length);

/* 32 bytes that only the two ends of this connection know (RFC 8446, 7.5), after the handshake. */
struct secure_binding {
    uint8_t bytes[32];
};
VAMP_MUST_CHECK int secure_bind(struct secure *secure, struct secure_binding *ret_binding);
