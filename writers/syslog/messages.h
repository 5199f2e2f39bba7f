/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The syslog format: alarms, anomalies and values of a bucket as messages for the system log, each
 * containing one JSON object. messages.c builds the objects; writer.c is the format and prepends
 * the header that the log daemon expects. docs/exporters.md describes the messages.
 */
#pragma once

#include "vampire/core/json_emit.h"
#include "writers/format/sent_alarms.h"
#include "writers/format/text.h"
#include "writers/writer.h"

/* Maximum length of a message, header included; by default rsyslog truncates at 8 KiB. */
#define SYSLOG_MESSAGE_BYTES ((size_t)8000)
#define SYSLOG_PREFIX_BYTES ((size_t)512)
#define SYSLOG_OBJECT_BYTES (SYSLOG_MESSAGE_BYTES - SYSLOG_PREFIX_BYTES)

struct syslog_message {
    size_t begin, bytes; /* position of the object in the text */
    const char *type;    /* "bucket", "alert", "alarm", "end" */
    bool is_line;        /* a line of plain text, because an object would be too long */
    unsigned severity;   /* as in syslog(3) */
};
/* Messages to be sent. Zero-initialized: empty. */
struct syslog_messages {
    struct vamp_text text;
    struct syslog_message *items; /* malloc'ed, `count` of `capacity` */
    unsigned count, capacity;
    bool failed;       /* out of memory */
    uint64_t left_out; /* objects and values longer than a message, since the start of the run */
    struct vamp_json line;  /* the object under construction */
    struct vamp_json value; /* values of a bucket, one per line */
};
void syslog_messages_done(struct syslog_messages *messages); /* frees the messages */
void syslog_messages_clear(struct syslog_messages *messages);
/* Adds messages only for the changes that the options select. */
void syslog_messages_alarms(struct syslog_messages *messages, const struct vamp_run *run,
                            const struct vamp_bucket *bucket, const struct vamp_sent_alarms *sent);
void syslog_messages_bucket(struct syslog_messages *messages, const struct vamp_run *run,
                            const struct vamp_delivery *delivery);
void syslog_messages_end(struct syslog_messages *messages, const struct vamp_run *run,
                         const struct vamp_coverage *coverage, const struct vamp_ending *ending);
