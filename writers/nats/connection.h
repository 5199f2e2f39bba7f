/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection at a time, by libnats, trying one server after the other. The library's own
 * reconnection is off: it would be unknown which messages were sent, and which a subscription
 * missed. One thread at a time.
 */
#pragma once

#include <nats/nats.h>

#include "writers/format/attempts.h"
#include "writers/nats/server.h"

/* How long a call may take, except while connecting or in a write that blocks. */
#define NATS_PATIENCE_NS VAMP_ATTEMPT_NS

/* The purpose of a connection. Borrowed. */
struct nats_purpose {
    const struct vamp_nats_server *server;
    const char *what;       /* for messages: "publish at" */
    const char *meanwhile;  /* for messages: what happens while there is no connection */
    int64_t write_ns;       /* a write that blocks this long ends the connection */
    uint64_t message_bytes; /* size that a server must accept; 0: any */
};

struct nats_connecting;

struct nats_connection {
    struct nats_purpose purpose;
    natsOptions *library;
    natsConnection *link;               /* NULL: not connected */
    size_t server;                      /* of the current connection, or of the next one */
    struct vamp_attempts attempts;      /* the caller reports success */
    struct nats_connecting *connecting; /* NULL: no attempt is under way */
};

/* Does not connect yet. 0; -ENOMEM, or -errno of a file that cannot be read. Must be followed by
 * nats_connection_done in any case. */
VAMP_MUST_CHECK int nats_connection_init(struct nats_connection *connection,
                                         const struct nats_purpose *purpose, struct vamp_err *err);
/* An attempt that is under way is left behind. */
void nats_connection_done(struct nats_connection *connection);
/* Connects, unless there is a connection; waits for the next attempt, or for the server, for
 * NATS_PATIENCE_NS at most each. 0: there is one; -EAGAIN: not yet, with why, or with nothing in
 * `err` while the server may still answer. */
VAMP_MUST_CHECK int nats_connection_open(struct nats_connection *connection, struct vamp_err *err);
/* Closes it; the next attempt is at the next server, after a pause. -EAGAIN with why: `text`, or
 * what the server said last, or what the status means. */
int nats_connection_fail(struct nats_connection *connection, const char *text,
                         struct vamp_err *err);
int nats_connection_fail_with(struct nats_connection *connection, natsStatus status,
                              struct vamp_err *err);
/* Waits until the server has accepted or refused everything sent before: it answers only then. */
natsStatus nats_connection_confirm(const struct nats_connection *connection);
const char *nats_connection_address(const struct nats_connection *connection);
