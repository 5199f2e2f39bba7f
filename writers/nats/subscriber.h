/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives NATS messages for vampire-collect: a subscription with or without a JetStream consumer,
 * and requests that are answered. It reconnects during calls of `next`. The functions are in the
 * shared object nats.so and are called by one thread.
 *
 * Messages wait in a queue limited in bytes. When it is full, a plain subscription drops and counts
 * the newest messages; a consumer leaves them in the stream.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "writers/nats/server.h"

/* Must outlive the subscriber. */
struct vamp_nats_subscription {
    const struct vamp_nats_server *server;
    const char *subject;
    const char *consumer; /* durable consumer of the stream that stores the subject; NULL: plain
                             subscription */
    const char *requests; /* subject of requests; NULL: none */
    uint64_t queue_bytes;
};

struct vamp_nats_received {
    const char *subject;
    const void *data;
    size_t bytes;
    bool is_request;
    /* With a consumer: when the stream stored the message (UTC), and whether it has more messages
     * to deliver. Without: 0 and false. */
    int64_t published_ns;
    bool more;
    void *message; /* private */
};

struct vamp_nats_subscriber_state {
    const char *address;  /* address of the connected server, or of the next one to be tried */
    unsigned connections; /* number of successful connections, subscription included */
    uint64_t lost;        /* messages dropped because the queue was full */
    uint64_t waiting;     /* messages in the queue */
    bool connected;
};

struct vamp_nats_subscriber_ops {
    /* Does not connect yet. Returns 0, -ENOMEM, or -errno of a file that cannot be read. */
    int (*create)(const struct vamp_nats_subscription *subscription, void **ret_self,
                  struct vamp_err *err);
    /* Waits up to `timeout_ns` for the next message; connects if necessary, which may take 1.5 s.
     * Returns 1 and the message, which must be passed to `done`; 0 if no message came; -EAGAIN with
     * the reason if there is no connection. */
    int (*next)(void *self, int64_t timeout_ns, struct vamp_nats_received *ret_received,
                struct vamp_err *err);
    /* Acknowledges and frees a message. */
    void (*done)(void *self, const struct vamp_nats_received *received);
    /* Answers a request. Returns 0, -EMSGSIZE if the answer exceeds the server's message size, or
     * -EIO. */
    int (*answer)(void *self, const struct vamp_nats_received *received, const char *text);
    void (*state)(void *self, struct vamp_nats_subscriber_state *ret_state);
    /* Waiting messages are not acknowledged. NULL is allowed. */
    void (*free)(void *self);
};

/* The symbol vamp_nats_subscriber_plug_in of nats.so. */
struct vamp_nats_subscriber_plug_in {
    const char *version; /* VAMP_VERSION of the build */
    const struct vamp_nats_subscriber_ops *functions;
};
