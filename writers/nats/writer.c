/* SPDX-License-Identifier: BSD-3-Clause */
/* The nats format: nothing is opened before the first bucket, so that a run can begin while the
 * server is down. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "version.h"
#include "writers/nats/internal.h"

#define ID_BYTES 96
/* How long the message that ends a run may take. */
#define ENDING_NS VAMP_NS_PER_SECOND
#define TOKEN_BYTES 128 /* of a subject; a longer name of a workflow is cut */

struct nats {
    const struct nats_options *options;
    const struct vamp_run *run;
    struct nats_publisher *publisher;
    struct nats_encoder *encoder;
    struct nats_messages messages; /* of the bucket that is being published */
    bool pending;                  /* there is one */
    char *subject;
};

static void nats_free(struct nats *self)
{
    nats_publisher_free(self->publisher);
    nats_encoder_free(self->encoder);
    nats_messages_done(&self->messages);
    free(self->subject);
    free(self);
}

char *nats_subject(const char *prefix, const struct vamp_run *run)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char token[TOKEN_BYTES], *subject = NULL;
    (void)snprintf(token, sizeof token, "%s", run->workflow[0] != '\0' ? run->workflow : "_");
    for (char *at = token; *at != '\0'; at++) {
        *at = strchr(allowed, *at) != NULL ? *at : '_';
    }
    return asprintf(&subject, "%s.%s.%s", prefix, token, run->id) < 0 ? NULL : subject;
}

static int nats_open(const void *options, const struct vamp_writer_target *target, void **ret_self,
                     struct vamp_err *err)
{
    struct nats *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare a connection");
    }
    self->options = options;
    self->run = target->run;
    self->subject = nats_subject(self->options->prefix, target->run);
    self->encoder = nats_encoder_create(target->run, target->schema, self->options->message_bytes);
    int code = self->subject == NULL || self->encoder == NULL
                   ? vamp_err_set_errno(err, ENOMEM, "prepare messages")
                   : 0;
    if (code == 0) {
        code = nats_publisher_create(self->options, &self->publisher, err);
    }
    if (code != 0) {
        nats_free(self);
        return code;
    }
    *ret_self = self;
    return 0;
}

static int nats_write(void *context, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    struct nats *self = context;
    if (!self->pending) {
        nats_encode_bucket(self->encoder, delivery, &self->messages);
        if (self->messages.text.failed) {
            return vamp_err_set(err, -EAGAIN, "no memory for the messages of a bucket");
        }
        self->pending = true;
    }
    char id[ID_BYTES];
    (void)snprintf(id, sizeof id, "%s.%" PRIu64, self->run->id, delivery->bucket->number);
    const int code =
        nats_publisher_publish(self->publisher, self->subject, id, &self->messages, err);
    self->pending = code == -EAGAIN;
    return code;
}

static const char *nats_path(const void *self)
{
    return nats_publisher_address(((const struct nats *)self)->publisher);
}

/* The account does not count this message: a reader that misses it sees no more buckets. */
static void publish_ending(struct nats *self, const struct vamp_ending *ending)
{
    const int64_t until_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + ENDING_NS;
    char id[ID_BYTES];
    (void)snprintf(id, sizeof id, "%s.end", self->run->id);
    nats_encode_ending(self->encoder, ending, &self->messages);
    int code = self->messages.text.failed ? 0 : -EAGAIN;
    while (code == -EAGAIN && vamp_clock_monotonic_ns(&vamp_clock_system) < until_ns) {
        struct vamp_err err = {.code = 0};
        code = nats_publisher_publish(self->publisher, self->subject, id, &self->messages, &err);
    }
}

static int nats_close(void *context, const struct vamp_ending *ending, struct vamp_err *err)
{
    struct nats *self = context;
    (void)err;
    if (self == NULL) {
        return 0;
    }
    if (ending != NULL && ending->completed && !self->pending) {
        publish_ending(self, ending);
    }
    nats_free(self);
    return 0;
}

static const struct vamp_writer_ops functions = {
    .name = "nats",
    .element = VAMP_ELEMENT_BUCKET,
    .open = nats_open,
    .write_bucket = nats_write,
    .path = nats_path,
    .close = nats_close,
};

const struct vamp_writer_plug_in vamp_writer_plug_in = {VAMP_VERSION, &functions};
