/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nats format: encodes the messages of a bucket, which the connection process publishes. No
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
#include "writers/nats/messages.h"
#include "writers/nats/process.h"

#define ID_BYTES 128
/* Time limit for the message that ends a run. */
#define ENDING_NS VAMP_NS_PER_SECOND

struct nats {
    const struct nats_options *options;
    const struct vamp_run *run;
    struct nats_process process;
    unsigned handed_to; /* process that has the messages, as its number of starts; 0: none */
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

/* Publishes the messages, or continues a pending publication; call it with the same messages until
 * the result is not -EAGAIN. Returns what nats_publisher_publish in the process returns. A process
 * that was started again receives the messages again, with the same ids. */
static int publish(struct nats *self, const char *id, struct vamp_err *err)
{
    struct nats_process *process = &self->process;
    const struct nats_messages *messages = &self->messages;
    struct vamp_text request = {.bytes = NULL};
    enum nats_ask ask = NATS_ASK_RESUME;
    const bool has_them = process->pid != 0 && self->handed_to == process->starts;
    if (!has_them) {
        ask = NATS_ASK_PUBLISH;
        nats_put_text(&request, id);
        nats_put_bytes(&request, messages->ends, messages->count * sizeof messages->ends[0]);
        nats_put_bytes(&request, messages->text.bytes, messages->text.used);
    }
    int code = -EAGAIN;
    if (request.failed) {
        (void)vamp_err_set(err, code, "no memory for the messages of a bucket");
    } else {
        code = nats_process_call(process, ask, &request, NATS_CALL_NS, err);
    }
    vamp_text_done(&request);
    self->handed_to = 0;
    if (code == -EAGAIN && process->configured) {
        self->handed_to = process->starts;
    }
    if (code == 0) {
        vamp_attempts_succeeded(&process->attempts);
    }
    return code;
}

/* ---- the format */

static void nats_free(struct nats *self)
{
    nats_process_done(&self->process);
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
    self->process = (struct nats_process){
        .what = NATS_PUBLISH_WHAT,
        .meanwhile = VAMP_BUCKETS_WAIT,
        .role = NATS_ASK_PUBLISHER,
        .silent_ns = self->options->timeout_ns + NATS_SILENT_NS,
        .server = &self->options->server,
    };
    int code = 0;
    if (self->subject == NULL || self->encoder == NULL) {
        code = vamp_err_set_errno(err, ENOMEM, "prepare messages");
    } else {
        nats_put_text(&self->process.options, self->subject);
        nats_put_number(&self->process.options, self->options->jetstream);
        nats_put_number(&self->process.options, self->options->message_bytes);
        nats_put_number(&self->process.options, (uint64_t)self->options->timeout_ns);
        code = nats_process_start(&self->process, err);
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
    return ((const struct nats *)self)->process.address;
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
