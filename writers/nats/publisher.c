/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "vampire/core/worker.h"
#include "writers/nats/serve.h"

#define ID_BYTES 160

/* Releases the context of the stream before the connection is closed. Without a stream, all
 * messages of the bucket will be sent again. */
static void forget_link(struct nats_publisher *self)
{
    jsCtx_Destroy(self->stream);
    self->stream = NULL;
    if (!self->options->jetstream) {
        self->sent = 0;
    }
}

/* Closes the connection after an error of the library, and records the failure. Returns -EAGAIN. */
static int fail_with(struct nats_publisher *self, natsStatus status, struct vamp_err *err)
{
    forget_link(self);
    return nats_connection_fail_with(&self->connection, status, err);
}

/* Connects, unless connected. Returns 0 or -EAGAIN. */
static int open_link(struct nats_publisher *self, struct vamp_err *err)
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

/* Sends the next message; with a stream, waits for its acknowledgement. */
static natsStatus send_next(struct nats_publisher *self, const char *id,
                            const struct nats_messages *messages, jsErrCode *refusal)
{
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
static int conclude(struct nats_publisher *self, natsStatus status, jsErrCode refusal,
                    struct vamp_err *err)
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

int nats_publisher_publish(struct nats_publisher *self, const char *id,
                           const struct nats_messages *messages, struct vamp_err *err)
{
    const int code = open_link(self, err);
    if (code != 0) {
        return code;
    }
    const int64_t until_ns = vamp_worker_now_ns() + NATS_PATIENCE_NS;
    natsStatus status = NATS_OK;
    jsErrCode refusal = 0;
    while (status == NATS_OK && self->sent < messages->count) {
        if (vamp_worker_now_ns() > until_ns) {
            return -EAGAIN;
        }
        status = send_next(self, id, messages, &refusal);
        if (status == NATS_OK) {
            self->since_ns = vamp_worker_now_ns();
        }
    }
    if (status == NATS_OK && self->stream == NULL) {
        status = nats_connection_confirm(&self->connection);
    }
    return conclude(self, status, refusal, err);
}

int nats_publisher_init(struct nats_publisher *self, struct vamp_err *err)
{
    const struct nats_purpose purpose = {
        .server = &self->options->server,
        .what = NATS_PUBLISH_WHAT,
        .meanwhile = VAMP_BUCKETS_WAIT,
        .write_ns = self->options->timeout_ns,
        .message_bytes = self->options->message_bytes,
    };
    return nats_connection_init(&self->connection, &purpose, err);
}

void nats_publisher_done(struct nats_publisher *self)
{
    forget_link(self);
    nats_connection_done(&self->connection);
}
