/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In the connection process: what serve.c calls with libnats. One thread.
 */
#pragma once

#include "writers/nats/connection.h"
#include "writers/nats/messages.h"
#include "writers/nats/process.h"
#include "writers/nats/subscriber.h"

/* ---- publisher.c: publishes messages, using one connection at a time. Messages not confirmed
 * before a connection was closed are sent again on the next one, with the same ids. */

/* Zero-initialized, except for what is borrowed. */
struct nats_publisher {
    const struct nats_options *options; /* only the server, `jetstream`, `message_bytes` and
                                           `timeout_ns` are set */
    const char *subject;
    struct nats_connection connection;
    jsCtx *stream;    /* for the current connection, with JetStream */
    unsigned sent;    /* number of messages sent; with JetStream: stored by the stream */
    int64_t since_ns; /* time of sending the newest of them; monotonic */
};

/* Does not connect yet. Returns 0, -ENOMEM, or -errno of a file that cannot be read. */
VAMP_MUST_CHECK int nats_publisher_init(struct nats_publisher *publisher, struct vamp_err *err);
/* Publishes the messages, or continues a pending publication; call it with the same messages until
 * the result is not -EAGAIN. The id of message i is ID.i, from 1. Returns 0 when a server has all
 * messages; -EAGAIN if not yet, with the reason unless a server may still answer; -EBADMSG if the
 * server rejects these messages. */
VAMP_MUST_CHECK int nats_publisher_publish(struct nats_publisher *publisher, const char *id,
                                           const struct nats_messages *messages,
                                           struct vamp_err *err);
void nats_publisher_done(struct nats_publisher *publisher);

/* ---- subscriber.c */

extern const struct vamp_nats_subscriber_ops nats_subscriber_functions;
