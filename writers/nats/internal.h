/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nats format: each bucket as messages of telemetry.proto. messages.c makes them, publisher.c
 * publishes them by connection.c, writer.c is the format. subscriber.c receives them for
 * vampire-collect (subscriber.h). table.c is in the programs; all others are in the shared object
 * nats.so. What is published is described in docs/exporters.md.
 */
#ifndef VAMP_WRITERS_NATS_INTERNAL_H
#define VAMP_WRITERS_NATS_INTERNAL_H

#include "vampire/core/options/options.h"
#include "writers/format/text.h"
#include "writers/nats/server.h"
#include "writers/writer.h"

struct nats_options {
    struct vamp_nats_server server;
    char *prefix;
    bool jetstream;
    uint64_t message_bytes; /* of the longest message */
    int64_t timeout_ns;     /* of an answer of the server */
};
/* A message holds the head of a bucket and any one row: names, bins. */
#define NATS_MESSAGE_BYTES_MIN ((size_t)256 * 1024)

/* ---- writer.c. PREFIX.WORKFLOW.RUN; of the workflow's name all but letters, digits, '-' and '_'
 * becomes '_', since points, blanks and wildcards have a meaning in a subject. malloc'ed; NULL: no
 * memory. */
char *nats_subject(const char *prefix, const struct vamp_run *run);

/* ---- messages.c */

/* Messages, one after the other. */
struct nats_messages {
    struct vamp_text text; /* `failed`: there is no memory, and the rest is meaningless */
    size_t *ends;          /* malloc'ed: of each message, in `text` */
    unsigned count, capacity;
};
void nats_messages_done(struct nats_messages *messages);

struct nats_encoder;
/* No message will be longer than `message_bytes`, at least NATS_MESSAGE_BYTES_MIN. Run and schema
 * live longer than the result. NULL: no memory. */
struct nats_encoder *nats_encoder_create(const struct vamp_run *run,
                                         const struct vamp_schema *schema, size_t message_bytes);
void nats_encoder_free(struct nats_encoder *encoder); /* NULL is fine */
/* Replaces `messages` by those of a bucket. */
void nats_encode_bucket(struct nats_encoder *encoder, const struct vamp_delivery *delivery,
                        struct nats_messages *messages);
/* Replaces `messages` by the one that ends the run. */
void nats_encode_ending(struct nats_encoder *encoder, const struct vamp_ending *ending,
                        struct nats_messages *messages);

/* ---- publisher.c */

struct nats_publisher;
/* Connects to nothing yet. 0; -ENOMEM, or -errno of a file that cannot be read. */
VAMP_MUST_CHECK int nats_publisher_create(const struct nats_options *options,
                                          struct nats_publisher **ret_publisher,
                                          struct vamp_err *err);
/* Publishes the messages, or goes on with it: the caller repeats the call with the same messages
 * until the result is not -EAGAIN. The id of message i is ID.i, with i from 1. 0: a server has all;
 * -EAGAIN: not yet, with why in the text unless a server may still answer; -EBADMSG: the server
 * refuses these very messages. */
VAMP_MUST_CHECK int nats_publisher_publish(struct nats_publisher *publisher, const char *subject,
                                           const char *id, const struct nats_messages *messages,
                                           struct vamp_err *err);
/* The server's address, or the first one that will be tried. */
const char *nats_publisher_address(const struct nats_publisher *publisher);
void nats_publisher_free(struct nats_publisher *publisher); /* NULL is fine */

#endif
