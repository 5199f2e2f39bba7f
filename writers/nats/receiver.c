/* SPDX-License-Identifier: BSD-3-Clause */
/* The subscriber of vampire-collect: its functions (subscriber.h) call those of subscriber.c in the
 * connection process. */
#include <errno.h>
#include <stdlib.h>

#include "version.h"
#include "writers/nats/process.h"

/* Additional time for a reply, since `next` may connect. */
#define CONNECT_NS (INT64_C(2000000000))

struct receiver {
    struct nats_process process;
    char *message; /* frame of the present message, malloc'ed */
    unsigned
        process_of; /* process that has the present message, as its number of starts; 0: none */
    bool plain;     /* no consumer: messages lost with a process are not sent again */
    unsigned connections; /* totals of earlier processes */
    uint64_t lost;
    struct vamp_nats_subscriber_state before; /* of the running process, before the present call */
};

/* Calls the process. If the process exited, adds its counters to the totals. Without a consumer,
 * the messages that were queued in it are lost, too. */
static int call(struct receiver *self, enum nats_ask ask, const struct vamp_text *request,
                int64_t timeout_ns, struct vamp_err *err)
{
    self->before = self->process.state;
    const unsigned starts = self->process.starts;
    const bool ran = self->process.pid != 0;
    const int code = nats_process_call(&self->process, ask, request, timeout_ns, err);
    if (ran && (self->process.pid == 0 || self->process.starts != starts)) {
        self->connections += self->before.connections;
        self->lost += self->before.lost;
        if (self->plain) {
            self->lost += self->before.waiting;
        }
        self->process.state = (struct vamp_nats_subscriber_state){.connected = false};
    }
    return code;
}

/* Reads the message from the reply, which it keeps until the next message. */
static int read_message(struct receiver *self, struct vamp_nats_received *ret_received,
                        struct vamp_err *err)
{
    struct nats_rest *rest = &self->process.rest;
    ret_received->subject = nats_get_text(rest);
    ret_received->is_request = nats_get_number(rest) != 0;
    ret_received->published_ns = (int64_t)nats_get_number(rest);
    ret_received->more = nats_get_number(rest) != 0;
    ret_received->data = nats_get_bytes(rest, &ret_received->bytes);
    ret_received->message = NULL;
    if (rest->invalid || ret_received->subject == NULL) {
        return vamp_err_set(err, -EAGAIN, "the process of the connection sent an invalid message");
    }
    free(self->message);
    self->message = self->process.reply;
    self->process.reply = NULL;
    self->process_of = self->process.starts;
    return 1;
}

static int receiver_next(void *context, int64_t timeout_ns, struct vamp_nats_received *ret_received,
                         struct vamp_err *err)
{
    struct receiver *self = context;
    struct vamp_text request = {.bytes = NULL};
    nats_put_number(&request, (uint64_t)timeout_ns);
    int code = -EAGAIN;
    if (request.failed) {
        (void)vamp_err_set(err, code, "no memory for a request");
    } else {
        code = call(self, NATS_ASK_NEXT, &request, timeout_ns + CONNECT_NS, err);
    }
    vamp_text_done(&request);
    if (code >= 0) {
        vamp_attempts_succeeded(&self->process.attempts);
    }
    return code > 0 ? read_message(self, ret_received, err) : code;
}

/* The process acknowledges and frees the message when it is asked for the next one. */
static void receiver_done(void *context, const struct vamp_nats_received *received)
{
    (void)context, (void)received;
}

static int receiver_answer(void *context, const struct vamp_nats_received *received,
                           const char *text)
{
    struct receiver *self = context;
    struct vamp_text request = {.bytes = NULL};
    int code = -EIO;
    (void)received;
    nats_put_text(&request, text);
    if (request.failed) {
        code = -ENOMEM;
    } else if (self->process.pid != 0 && self->process_of == self->process.starts) {
        code =
            call(self, NATS_ASK_ANSWER, &request, NATS_SUBSCRIBER_WRITE_NS + NATS_SILENT_NS, NULL);
    }
    vamp_text_done(&request);
    return code == 0 || code == -EMSGSIZE || code == -ENOMEM ? code : -EIO;
}

static void receiver_state(void *context, struct vamp_nats_subscriber_state *ret_state)
{
    struct receiver *self = context;
    if (self->process.configured && !self->process.awaiting) {
        (void)call(self, NATS_ASK_STATE, NULL, NATS_CALL_NS, NULL);
    }
    *ret_state = self->process.state;
    ret_state->address = self->process.address;
    ret_state->connections += self->connections;
    ret_state->lost += self->lost;
}

static void receiver_free(void *context)
{
    struct receiver *self = context;
    if (self == NULL) {
        return;
    }
    nats_process_done(&self->process);
    free(self->message);
    free(self);
}

static int receiver_create(const struct vamp_nats_subscription *what, void **ret_self,
                           struct vamp_err *err)
{
    struct receiver *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare a subscription");
    }
    self->plain = what->consumer == NULL;
    self->process.what = NATS_SUBSCRIBE_WHAT;
    self->process.meanwhile = nats_meanwhile(what);
    self->process.role = NATS_ASK_SUBSCRIBER;
    self->process.silent_ns = NATS_SUBSCRIBER_WRITE_NS + NATS_SILENT_NS;
    self->process.server = what->server;
    nats_put_text(&self->process.options, what->subject);
    nats_put_text(&self->process.options, what->consumer);
    nats_put_text(&self->process.options, what->requests);
    nats_put_number(&self->process.options, what->queue_bytes);
    const int code = nats_process_start(&self->process, err);
    if (code != 0) {
        receiver_free(self);
        return code;
    }
    *ret_self = self;
    return 0;
}

static const struct vamp_nats_subscriber_ops functions = {
    .create = receiver_create,
    .next = receiver_next,
    .done = receiver_done,
    .answer = receiver_answer,
    .state = receiver_state,
    .free = receiver_free,
};

const struct vamp_nats_subscriber_plug_in vamp_nats_subscriber_plug_in = {VAMP_VERSION, &functions};
