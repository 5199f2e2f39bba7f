/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives messages by NATS, for vampire-collect: a subscription, with or without a consumer of
 * JetStream, and requests that are answered. It reconnects during calls of `next`. The functions
 * are in the shared object nats.so; one thread calls them.
 *
 * Messages wait in a queue limited in bytes. When it is full, a plain subscription loses and counts
 * the newest; a consumer leaves them in the stream.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "writers/nats/server.h"

/* Outlives the subscriber. */
struct vamp_nats_subscription {
    const struct vamp_nats_server *server;
    const char *subject;
    const char *consumer; /* durable, of the stream that takes the subject; NULL: plain */
    const char *requests; /* subject of requests; NULL: none */
    uint64_t queue_bytes;
};

struct vamp_nats_received {
    const char *subject;
    const void *data;
    size_t bytes;
    bool is_request;
    /* With a consumer: when the stream stored the message, UTC, and whether it has more to deliver.
     * Else 0 and false. */
    int64_t published_ns;
    bool more;
    void *message; /* private */
};

struct vamp_nats_subscriber_state {
    const char *address;  /* of the server, or of the next one that will be tried */
    unsigned connections; /* how often it has connected and subscribed */
    uint64_t lost;        /* messages that found no room in the queue */
    uint64_t waiting;     /* in the queue */
    bool connected;
};

struct vamp_nats_subscriber_ops {
    /* Does not connect yet. 0; -ENOMEM, or -errno of a file that cannot be read. */
    int (*create)(const struct vamp_nats_subscription *subscription, void **ret_self,
                  struct vamp_err *err);
    /* The next message within `timeout_ns`; connects, which may take 1.5 s, if need be. 1 and the
     * message, to be followed by `done`; 0: none came; -EAGAIN: there is no connection, with why.
     */
    int (*next)(void *self, int64_t timeout_ns, struct vamp_nats_received *ret_received,
                struct vamp_err *err);
    /* Acknowledges and frees a message. */
    void (*done)(void *self, const struct vamp_nats_received *received);
    /* Answers a request. 0; -EMSGSIZE: longer than the server's messages may be; -EIO. */
    int (*answer)(void *self, const struct vamp_nats_received *received, const char *text);
    void (*state)(void *self, struct vamp_nats_subscriber_state *ret_state);
    /* Messages that wait are not acknowledged. NULL is fine. */
    void (*free)(void *self);
};

/* The symbol vamp_nats_subscriber_plug_in of nats.so. */
struct vamp_nats_subscriber_plug_in {
    const char *version; /* VAMP_VERSION of the build */
    const struct vamp_nats_subscriber_ops *functions;
};
