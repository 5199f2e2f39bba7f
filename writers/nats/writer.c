/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nats format: publishes the messages of a bucket, using one connection at a time. Messages not
 * confirmed before a connection was closed are sent again on the next one, with the same ids. No
 * connection is opened before the first bucket, so that a run can start while the server is down.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "vampire/core/worker.h"
#include "version.h"
#include "writers/nats/connection.h"
#include "writers/nats/messages.h"

#define ID_BYTES 128
/* Time limit for the message that ends a run. */
#define ENDING_NS VAMP_NS_PER_SECOND

struct nats {
    const struct nats_options *options;
    const struct vamp_run *run;
    struct nats_connection connection;
    jsCtx *stream;    /* for the current connection, with JetStream */
    unsigned sent;    /* number of messages sent; with JetStream: stored by the stream */
    int64_t since_ns; /* time of sending the newest of them; monotonic */
    struct nats_encoder *encoder;
    struct nats_messages messages; /* messages of the bucket being published */
    bool pending;                  /* a bucket is being published */
    char *subject;
};

static bool sends_alarms(const struct nats *self)
{
    return self->options->alarms.send == VAMP_SEND_ALARMS;
}

/* ---- publishing */

/* Releases the context of the stream before the connection is closed. Without a stream, all
 * messages of the bucket will be sent again. */
static void forget_link(struct nats *self)
{
    jsCtx_Destroy(self->stream);
    self->stream = NULL;
    if (!self->options->jetstream) {
        self->sent = 0;
    }
}

/* Closes the connection after an error of the library, and records the failure. Returns -EAGAIN. */
static int fail_with(struct nats *self, natsStatus status, struct vamp_err *err)
{
    forget_link(self);
    return nats_connection_fail_with(&self->connection, status, err);
}

/* Connects, unless connected. Returns 0 or -EAGAIN. */
static int open_link(struct nats *self, struct vamp_err *err)
{
    if (self->connection.link != NULL) {
        return 0;
    }
    const int code = nats_connection_open(&self->connection, err);
    if (code != 0) {
        return code;
    }
    self->since_ns = vamp_worker_now_ns();
    if (!self->options->jetstream) {
        return 0;
    }
    const natsStatus status = natsConnection_JetStream(&self->stream, self->connection.link, NULL);
    if (status != NATS_OK) {
        return fail_with(self, status, err);
    }
    return 0;
}

/* Sends the next message; with a stream, waits for its acknowledgement. The id of message i is
 * ID.i, from 1. */
static natsStatus send_next(struct nats *self, const char *id, jsErrCode *refusal)
{
    const struct nats_messages *messages = &self->messages;
    const unsigned number = self->sent;
    size_t begin = number > 0 ? messages->ends[number - 1] : 0;
    char whole_id[ID_BYTES];
    (void)snprintf(whole_id, sizeof whole_id, "%s.%u", id, number + 1);
    natsMsg *message = NULL;
    natsStatus status = natsMsg_Create(&message, self->subject, NULL, messages->text.bytes + begin,
                                       (int)(messages->ends[number] - begin));
    if (status == NATS_OK) {
        status = natsMsgHeader_Set(message, "Nats-Msg-Id", whole_id);
    }
    if (status == NATS_OK && self->stream != NULL) {
        jsPubOptions options = {.MaxWait = NATS_PATIENCE_NS / 1000000};
        status = js_PublishMsg(NULL, self->stream, message, &options, refusal);
    } else if (status == NATS_OK) {
        status = natsConnection_PublishMsg(self->connection.link, message);
    }
    natsMsg_Destroy(message);
    self->sent += status == NATS_OK;
    return status;
}

/* Evaluates a publication: 0, -EAGAIN, or -EBADMSG: the stream rejects the messages. */
static int conclude(struct nats *self, natsStatus status, jsErrCode refusal, struct vamp_err *err)
{
    if (status == NATS_OK) {
        self->sent = 0;
        vamp_attempts_succeeded(&self->connection.attempts);
        return 0;
    }
    /* A server that did not answer may still do so. */
    if (status == NATS_TIMEOUT &&
        vamp_worker_now_ns() - self->since_ns < self->options->timeout_ns) {
        return -EAGAIN;
    }
    if (refusal == JSStreamMessageExceedsMaximumErr) {
        self->sent = 0;
        return vamp_err_set(err, -EBADMSG,
                            "the stream at %.200s refuses a bucket: its max_msg_size is below "
                            "\"message\"",
                            nats_connection_address(&self->connection));
    }
    if (status == NATS_NO_RESPONDERS) {
        char text[300];
        (void)snprintf(text, sizeof text, "no JetStream stream stores %.200s", self->subject);
        forget_link(self);
        return nats_connection_fail(&self->connection, text, err);
    }
    return fail_with(self, status, err);
}

/* Publishes the messages, or continues a pending publication; call it with the same messages until
 * the result is not -EAGAIN. Returns 0 when a server has all messages; -EAGAIN if not yet, with the
 * reason unless a server may still answer; -EBADMSG if the server rejects these messages. */
static int publish(struct nats *self, const char *id, struct vamp_err *err)
{
    const int code = open_link(self, err);
    if (code != 0) {
        return code;
    }
    const int64_t until_ns = vamp_worker_now_ns() + NATS_PATIENCE_NS;
    natsStatus status = NATS_OK;
    jsErrCode refusal = 0;
    while (status == NATS_OK && self->sent < self->messages.count) {
        if (vamp_worker_now_ns() > until_ns) {
            return -EAGAIN;
        }
        status = send_next(self, id, &refusal);
        if (status == NATS_OK) {
            self->since_ns = vamp_worker_now_ns();
        }
    }
    if (status == NATS_OK && self->stream == NULL) {
        status = nats_connection_confirm(&self->connection);
    }
    return conclude(self, status, refusal, err);
}

/* ---- the format */

static void nats_free(struct nats *self)
{
    forget_link(self);
    nats_connection_done(&self->connection);
    nats_encoder_free(self->encoder);
    nats_messages_done(&self->messages);
    free(self->subject);
    free(self);
}

char *nats_subject(const char *prefix, const struct vamp_run *run)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char token[VAMP_SUBJECT_NAME_BYTES + 1], *subject = NULL;
    (void)snprintf(token, sizeof token, "%s", run->workflow[0] != '\0' ? run->workflow : "_");
    for (char *at = token; *at != '\0'; at++) {
        if (strchr(allowed, *at) == NULL) {
            *at = '_';
        }
    }
    if (asprintf(&subject, "%s.%s.%s", prefix, token, run->id) < 0) {
        return NULL;
    }
    return subject;
}

/* Returns the subject of the messages; changes of alarms are not Protocol Buffers, so they have a
 * separate subject. */
static char *subject_of(const struct nats_options *options, const struct vamp_run *run)
{
    char *prefix = NULL;
    const bool alarms = options->alarms.send == VAMP_SEND_ALARMS;
    if (asprintf(&prefix, "%s%s", options->prefix, alarms ? "-alarms" : "") < 0) {
        return NULL;
    }
    char *subject = nats_subject(prefix, run);
    free(prefix);
    return subject;
}

/* The format's function `open` (writer.h). Opens no connection. */
static int nats_open(const void *options, const struct vamp_writer_target *target, void **ret_self,
                     struct vamp_err *err)
{
    struct nats *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare a connection");
    }
    self->options = options;
    self->run = target->run;
    self->subject = subject_of(self->options, target->run);
    self->encoder = nats_encoder_create(target->run, target->schema, self->options->message_bytes);
    const struct nats_purpose purpose = {
        .server = &self->options->server,
        .what = "publish at",
        .meanwhile = VAMP_BUCKETS_WAIT,
        .write_ns = self->options->timeout_ns,
        .message_bytes = self->options->message_bytes,
    };
    int code = 0;
    if (self->subject == NULL || self->encoder == NULL) {
        code = vamp_err_set_errno(err, ENOMEM, "prepare messages");
    } else {
        code = nats_connection_init(&self->connection, &purpose, err);
    }
    if (code != 0) {
        nats_free(self);
        return code;
    }
    *ret_self = self;
    return 0;
}

/* Encodes the messages of the bucket, unless an earlier call did, and publishes them. */
static int nats_write(void *context, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    struct nats *self = context;
    if (!self->pending) {
        if (sends_alarms(self)) {
            nats_encode_alarms(&self->options->alarms, self->run, delivery->bucket,
                               &self->messages);
        } else {
            nats_encode_bucket(self->encoder, delivery, &self->messages);
        }
        if (self->messages.text.failed) {
            return vamp_err_set(err, -EAGAIN, "no memory for the messages of a bucket");
        }
        self->pending = true;
    }
    char id[ID_BYTES];
    (void)snprintf(id, sizeof id, "%s%s.%" PRIu64, self->run->id,
                   sends_alarms(self) ? ".alarms" : "", delivery->bucket->number);
    const int code = publish(self, id, err);
    self->pending = code == -EAGAIN;
    return code;
}

/* Returns the address of the connected server, or of the next one to be tried. */
static const char *nats_path(const void *self)
{
    return nats_connection_address(&((const struct nats *)self)->connection);
}

/* Publishes the message that ends a run. It is not counted in the accounting: a reader that misses
 * it only sees that no more buckets arrive. */
static void publish_ending(struct nats *self, const struct vamp_ending *ending)
{
    const int64_t until_ns = vamp_worker_now_ns() + ENDING_NS;
    char id[ID_BYTES];
    (void)snprintf(id, sizeof id, "%s.end", self->run->id);
    nats_encode_ending(self->encoder, ending, &self->messages);
    int code = -EAGAIN;
    if (self->messages.text.failed) {
        return;
    }
    while (code == -EAGAIN && vamp_worker_now_ns() < until_ns) {
        struct vamp_err err = {.code = 0};
        code = publish(self, id, &err);
    }
}

static int nats_close(void *context, const struct vamp_ending *ending, struct vamp_err *err)
{
    struct nats *self = context;
    (void)err;
    if (ending != NULL && ending->completed && !self->pending && !sends_alarms(self)) {
        publish_ending(self, ending);
    }
    nats_free(self);
    return 0;
}

static const struct vamp_writer_ops functions = {
    .name = "nats",
    .element = VAMP_ELEMENT_BUCKET,
    .alarms_at = offsetof(struct nats_options, alarms),
    .open = nats_open,
    .write_bucket = nats_write,
    .path = nats_path,
    .close = nats_close,
};

const struct vamp_writer_plug_in vamp_writer_plug_in = {VAMP_VERSION, &functions,
                                                        vamp_metrics_share};
