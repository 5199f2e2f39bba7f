/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The syslog format: alarms, anomalies and values of a bucket as messages for the system's log,
 * each with one JSON object. messages.c makes the objects; writer.c is the format, and adds what
 * the reader of the socket expects before them. docs/exporters.md describes the messages.
 */
#pragma once

#include "vampire/core/json_emit.h"
#include "writers/format/sent_alarms.h"
#include "writers/format/text.h"
#include "writers/writer.h"

/* A message with everything before it; rsyslog cuts at 8 KiB unless told otherwise. */
#define SYSLOG_MESSAGE_BYTES ((size_t)8000)
#define SYSLOG_PREFIX_BYTES ((size_t)512)
#define SYSLOG_OBJECT_BYTES (SYSLOG_MESSAGE_BYTES - SYSLOG_PREFIX_BYTES)

struct syslog_message {
    size_t begin, bytes; /* of the object in the text */
    const char *type;    /* "bucket", "alert", "alarm", "end" */
    bool is_line;        /* for people: an object would be too long */
    unsigned severity;   /* as in syslog(3) */
};
/* What is to be sent; empty: zeroes. */
struct syslog_messages {
    struct vamp_text text;
    struct syslog_message *items; /* malloc'ed, `count` of `capacity` */
    unsigned count, capacity;
    bool failed;            /* no memory */
    uint64_t left_out;      /* objects and values longer than a message, since the beginning */
    struct vamp_json line;  /* an object that is being made */
    struct vamp_json value; /* the values of a bucket, a line each */
};
void syslog_messages_done(struct syslog_messages *messages); /* frees */
void syslog_messages_clear(struct syslog_messages *messages);
/* Only messages of the changes that are sent. */
void syslog_messages_alarms(struct syslog_messages *messages, const struct vamp_run *run,
                            const struct vamp_bucket *bucket, const struct vamp_sent_alarms *sent);
void syslog_messages_bucket(struct syslog_messages *messages, const struct vamp_run *run,
                            const struct vamp_delivery *delivery);
void syslog_messages_end(struct syslog_messages *messages, const struct vamp_run *run,
                         const struct vamp_coverage *coverage, const struct vamp_ending *ending);
