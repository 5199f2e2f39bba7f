/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of a connection on which nobody is understood before he is known: TLS 1.3 of OpenSSL with
 * a secret of both ends as external pre-shared key, no certificates. Whoever does not know the key
 * ends in the handshake; every byte after it is encrypted, and its order and integrity are proven.
 *
 * The socket belongs to the caller, who reads it and hands over what came (secure_feed); writing
 * goes to the socket directly. No thread rule: every object belongs to its caller.
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

/* The key where anyone may come: it is no secret. */
extern const struct secure_key secure_open_key;
/* Random bytes of the kernel. 0 or -errno. */
VAMP_MUST_CHECK int secure_random(void *bytes, size_t length, struct vamp_err *err);

/* What connections have in common. */
struct secure_terms;
/* 0, or -ENOSYS when OpenSSL cannot be set up; takes a millisecond. */
VAMP_MUST_CHECK int secure_terms_open(struct secure_terms **ret_terms, struct vamp_err *err);
/* NULL is fine. After all its connections. */
void secure_terms_close(struct secure_terms *terms);

struct secure;
/* `accepts`: this end was called. `key` stays where it is. 0 or -ENOMEM. */
VAMP_MUST_CHECK int secure_open(struct secure_terms *terms, const struct secure_key *key,
                                int socket, bool accepts, struct secure **ret_secure);
/* NULL is fine. The socket stays open. */
void secure_close(struct secure *secure);
/* What has come from the socket; stays where it is until secure_handshake or secure_read says
 * -EAGAIN, by which all of it has been taken. */
void secure_feed(struct secure *secure, const uint8_t *bytes, size_t length);
/* 0: both ends know the key; -EAGAIN: more has to come, or to be sent; -EKEYREJECTED: they do not
 * have the same key, or the other end does not speak TLS 1.3; another -errno of the socket. */
VAMP_MUST_CHECK int secure_handshake(struct secure *secure);
/* Bytes read, at most a record (16 KiB); -EAGAIN: none; -ECONNRESET: the end; -EBADMSG: something
 * was changed on its way. */
VAMP_MUST_CHECK ssize_t secure_read(struct secure *secure, uint8_t *bytes, size_t size);
/* Bytes taken; -EAGAIN: none now, and the next call begins with the same bytes, at least as many of
 * them; another -errno. */
VAMP_MUST_CHECK ssize_t secure_write(struct secure *secure, const uint8_t *bytes, size_t length);

/* 32 bytes that only the two ends of this connection know (RFC 8446, 7.5), after the handshake. */
struct secure_binding {
    uint8_t bytes[32];
};
VAMP_MUST_CHECK int secure_bind(struct secure *secure, struct secure_binding *ret_binding);
