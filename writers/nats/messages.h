/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nats format: each bucket as messages of telemetry.proto. messages.c makes them, writer.c
 * publishes them by connection.c. subscriber.c receives them for vampire-collect (subscriber.h).
 * table.c is in the programs; all others are in the shared object nats.so. What is published is
 * described in docs/exporters.md.
 */
#pragma once

#include "writers/format/text.h"
#include "writers/nats/server.h"
#include "writers/writer.h"

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
/* Replaces `messages` by one for each change that is sent, a line of JSON. */
void nats_encode_alarms(const struct vamp_sent_alarms *sent, const struct vamp_run *run,
                        const struct vamp_bucket *bucket, struct nats_messages *messages);
/* Replaces `messages` by the one that ends the run. */
void nats_encode_ending(struct nats_encoder *encoder, const struct vamp_ending *ending,
                        struct nats_messages *messages);
