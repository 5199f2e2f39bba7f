/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection at a time, by libnats, to one server after the other. The library does not connect
 * again by itself: what it had sent would be unknown, and what a subscription misses would be, too.
 * One thread at a time.
 */
#pragma once

#include <nats/nats.h>

#include "writers/format/attempts.h"
#include "writers/nats/server.h"

/* How long a call may take, but for a connection that is being made or a write that blocks. */
#define NATS_PATIENCE_NS VAMP_ATTEMPT_NS

/* What a connection is for. Borrowed. */
struct nats_purpose {
    const struct vamp_nats_server *server;
    const char *what;       /* for messages: "publish at" */
    const char *meanwhile;  /* and what happens while there is no connection */
    int64_t write_ns;       /* after which a write that blocks ends the connection */
    uint64_t message_bytes; /* that a server has to take; 0: any */
};

struct nats_connecting;

struct nats_connection {
    struct nats_purpose purpose;
    natsOptions *library;
    natsConnection *link;               /* NULL: not connected */
    size_t server;                      /* of the present connection, or of the next one */
    struct vamp_attempts attempts;      /* the user says when it works */
    struct nats_connecting *connecting; /* NULL: no attempt is under way */
};

/* Connects to nothing yet. 0; -ENOMEM, or -errno of a file that cannot be read. Always to be
 * followed by nats_connection_done. */
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
/* Waits until the server has taken, or refused, all that was sent before: it answers only then. */
natsStatus nats_connection_confirm(const struct nats_connection *connection);
const char *nats_connection_address(const struct nats_connection *connection);
