/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection to one of several NATS servers, by libnats; the servers are tried in turn. The
 * reconnection of the library is off, because it does not report which messages were sent and which
 * ones a subscription missed. One thread at a time.
 */
#pragma once

#include <nats/nats.h>

#include "writers/format/attempts.h"
#include "writers/nats/server.h"

/* Maximum duration of a call, except while connecting or in a blocking write. */
#define NATS_PATIENCE_NS VAMP_ATTEMPT_NS

/* The purpose of a connection. Borrowed. */
struct nats_purpose {
    const struct vamp_nats_server *server;
    const char *what;       /* for messages: "publish at" */
    const char *meanwhile;  /* for messages: the consequence of a missing connection */
    int64_t write_ns;       /* the connection is closed when a write blocks for this long */
    uint64_t message_bytes; /* message size that a server must accept; 0: any */
};

struct nats_connecting;

struct nats_connection {
    struct nats_purpose purpose;
    natsOptions *library;
    natsConnection *link;          /* NULL: not connected */
    size_t server;                 /* index of the current server, or of the next one to be tried */
    struct vamp_attempts attempts; /* success is recorded by the caller */
    struct nats_connecting *connecting; /* NULL: no attempt is pending */
};

/* Does not connect yet. Returns 0, -ENOMEM, or -errno of a file that cannot be read. Must be
 * followed by nats_connection_done in either case. */
VAMP_MUST_CHECK int nats_connection_init(struct nats_connection *connection,
                                         const struct nats_purpose *purpose, struct vamp_err *err);
/* A pending attempt is abandoned. */
void nats_connection_done(struct nats_connection *connection);
/* Connects unless connected; waits for the next attempt and for the server, at most
 * NATS_PATIENCE_NS each. Returns 0 when connected; -EAGAIN if not yet, with the reason, or with an
 * empty `err` while the server may still answer. */
VAMP_MUST_CHECK int nats_connection_open(struct nats_connection *connection, struct vamp_err *err);
/* Closes the connection; the next attempt uses the next server, after a pause. Returns -EAGAIN with
 * the reason: `text`, the last error reported by the server, or the meaning of the status. */
int nats_connection_fail(struct nats_connection *connection, const char *text,
                         struct vamp_err *err);
int nats_connection_fail_with(struct nats_connection *connection, natsStatus status,
                              struct vamp_err *err);
/* Waits until the server has accepted or rejected everything sent before, which its answer
 * confirms. */
natsStatus nats_connection_confirm(const struct nats_connection *connection);
const char *nats_connection_address(const struct nats_connection *connection);
