/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Publishes messages on a connection at a time. What was not confirmed when a connection ended is
 * sent again on the next one, with the same ids.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "vampire/core/clock.h"
#include "writers/nats/internal.h"
#include "writers/nats/link.h"

#define ID_BYTES 128

struct nats_publisher {
    const struct nats_options *options;
    struct nats_connection connection;
    jsCtx *stream;    /* of the present link, with JetStream */
    unsigned sent;    /* messages that were sent; with JetStream: that the stream has */
    int64_t since_ns; /* when the newest of them was sent; monotonic */
};

static int64_t now_ns(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

int nats_publisher_create(const struct nats_options *options, struct nats_publisher **ret_publisher,
                          struct vamp_err *err)
{
    struct nats_publisher *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare a connection");
    }
    self->options = options;
    const int code = nats_connection_init(&self->connection,
                                          &(struct nats_purpose){
                                              .server = &options->server,
                                              .what = "publish at",
                                              .meanwhile = VAMP_BUCKETS_WAIT,
                                              .write_ns = options->timeout_ns,
                                              .message_bytes = options->message_bytes,
                                          },
                                          err);
    if (code != 0) {
        nats_publisher_free(self);
        return code;
    }
    *ret_publisher = self;
    return 0;
}

void nats_publisher_free(struct nats_publisher *self)
{
    if (self != NULL) {
        jsCtx_Destroy(self->stream);
        nats_connection_done(&self->connection);
        free(self);
    }
}

const char *nats_publisher_address(const struct nats_publisher *self)
{
    return nats_connection_address(&self->connection);
}

/* What a plain connection has not confirmed will be sent again; a stream keeps what it has. */
static void forget_link(struct nats_publisher *self)
{
    jsCtx_Destroy(self->stream);
    self->stream = NULL;
    self->sent = self->options->jetstream ? self->sent : 0;
}

static int fail(struct nats_publisher *self, const char *text, struct vamp_err *err)
{
    forget_link(self);
    return nats_connection_fail(&self->connection, text, err);
}

static int fail_with(struct nats_publisher *self, natsStatus status, struct vamp_err *err)
{
    forget_link(self);
    return nats_connection_fail_with(&self->connection, status, err);
}

static int open_link(struct nats_publisher *self, struct vamp_err *err)
{
    if (self->connection.link != NULL) {
        return 0;
    }
    const int code = nats_connection_open(&self->connection, err);
    if (code != 0) {
        return code;
    }
    self->since_ns = now_ns();
    if (!self->options->jetstream) {
        return 0;
    }
    const natsStatus status = natsConnection_JetStream(&self->stream, self->connection.link, NULL);
    return status == NATS_OK ? 0 : fail_with(self, status, err);
}

static natsStatus make_message(const struct nats_messages *messages, unsigned number,
                               const char *subject, const char *id, natsMsg **ret_message)
{
    char whole_id[ID_BYTES];
    const size_t begin = number > 0 ? messages->ends[number - 1] : 0;
    (void)snprintf(whole_id, sizeof whole_id, "%s.%u", id, number + 1);
    natsStatus status = natsMsg_Create(ret_message, subject, NULL, messages->text.bytes + begin,
                                       (int)(messages->ends[number] - begin));
    if (status == NATS_OK) {
        status = natsMsgHeader_Set(*ret_message, "Nats-Msg-Id", whole_id);
    }
    return status;
}

/* Sends the next message; to a stream: until it has it. */
static natsStatus send_next(struct nats_publisher *self, const char *subject, const char *id,
                            const struct nats_messages *messages, jsErrCode *refusal)
{
    natsMsg *message = NULL;
    natsStatus status = make_message(messages, self->sent, subject, id, &message);
    if (status == NATS_OK && self->stream != NULL) {
        jsPubOptions options = {.MaxWait = NATS_PATIENCE_NS / 1000000};
        status = js_PublishMsg(NULL, self->stream, message, &options, refusal);
    } else if (status == NATS_OK) {
        status = natsConnection_PublishMsg(self->connection.link, message);
    }
    natsMsg_Destroy(message);
    self->sent += status == NATS_OK ? 1 : 0;
    return status;
}

/* A server that did not answer may still do so, until `timeout`. */
static int wait_or_fail(struct nats_publisher *self, struct vamp_err *err)
{
    if (now_ns() - self->since_ns < self->options->timeout_ns) {
        return -EAGAIN;
    }
    return fail_with(self, NATS_TIMEOUT, err);
}

static int conclude(struct nats_publisher *self, natsStatus status, jsErrCode refusal,
                    const char *subject, struct vamp_err *err)
{
    if (status == NATS_OK) {
        self->sent = 0;
        nats_connection_works(&self->connection);
        return 0;
    }
    if (status == NATS_TIMEOUT) {
        return wait_or_fail(self, err);
    }
    if (refusal == JSStreamMessageExceedsMaximumErr) {
        self->sent = 0;
        return vamp_err_set(err, -EBADMSG,
                            "the stream at %.200s refuses a bucket: its max_msg_size is below "
                            "\"message\"",
                            nats_publisher_address(self));
    }
    if (status == NATS_NO_RESPONDERS) {
        char text[300];
        (void)snprintf(text, sizeof text, "no stream of JetStream takes %.200s", subject);
        return fail(self, text, err);
    }
    return fail_with(self, status, err);
}

/* A server answers after it has taken, or refused, all that was sent before. */
static natsStatus confirm(struct nats_publisher *self)
{
    natsStatus status =
        natsConnection_FlushTimeout(self->connection.link, NATS_PATIENCE_NS / 1000000);
    if (status == NATS_OK) {
        const char *said = NULL;
        status = natsConnection_GetLastError(self->connection.link, &said);
    }
    return status;
}

int nats_publisher_publish(struct nats_publisher *self, const char *subject, const char *id,
                           const struct nats_messages *messages, struct vamp_err *err)
{
    const int code = open_link(self, err);
    if (code != 0) {
        return code;
    }
    const int64_t until_ns = now_ns() + NATS_PATIENCE_NS;
    natsStatus status = NATS_OK;
    jsErrCode refusal = 0;
    while (status == NATS_OK && self->sent < messages->count) {
        if (now_ns() > until_ns) {
            return -EAGAIN;
        }
        status = send_next(self, subject, id, messages, &refusal);
        self->since_ns = status == NATS_OK ? now_ns() : self->since_ns;
    }
    if (status == NATS_OK && self->stream == NULL) {
        status = confirm(self);
    }
    return conclude(self, status, refusal, subject, err);
}
