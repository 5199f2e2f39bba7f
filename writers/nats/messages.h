/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nats format: publishes each bucket as messages of telemetry.proto. messages.c builds them,
 * writer.c publishes them through connection.c. subscriber.c receives them for vampire-collect
 * (subscriber.h). table.c is linked into the programs; the other files are in the shared object
 * nats.so. docs/exporters.md describes the messages.
 */
#pragma once

#include "writers/format/text.h"
#include "writers/nats/server.h"
#include "writers/writer.h"

/* ---- writer.c. Returns PREFIX.WORKFLOW.RUN. In the workflow's name, all characters except
 * letters, digits, '-' and '_' are replaced by '_', since dots, blanks and wildcards have a meaning
 * in subjects. malloc'ed; NULL if out of memory. */
char *nats_subject(const char *prefix, const struct vamp_run *run);

/* ---- messages.c */

/* A sequence of messages. */
struct nats_messages {
    struct vamp_text text; /* `failed`: out of memory; all other contents are invalid */
    size_t *ends;          /* malloc'ed: the end of each message in `text` */
    unsigned count, capacity;
};
void nats_messages_done(struct nats_messages *messages);

struct nats_encoder;
/* No message is longer than `message_bytes`, at least NATS_MESSAGE_BYTES_MIN. Run and schema must
 * outlive the result. NULL if out of memory. */
struct nats_encoder *nats_encoder_create(const struct vamp_run *run,
                                         const struct vamp_schema *schema, size_t message_bytes);
void nats_encoder_free(struct nats_encoder *encoder); /* NULL is allowed */
/* Replaces `messages` by the messages of a bucket. */
void nats_encode_bucket(struct nats_encoder *encoder, const struct vamp_delivery *delivery,
                        struct nats_messages *messages);
/* Replaces `messages` by one message, a line of JSON, for each selected change of an alarm. */
void nats_encode_alarms(const struct vamp_sent_alarms *sent, const struct vamp_run *run,
                        const struct vamp_bucket *bucket, struct nats_messages *messages);
/* Replaces `messages` by the message that ends the run. */
void nats_encode_ending(struct nats_encoder *encoder, const struct vamp_ending *ending,
                        struct nats_messages *messages);
