/* SPDX-License-Identifier: BSD-3-Clause */
/* The influx format: no target is opened, so that a run can begin while the server is down. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "version.h"
#include "writers/influx/internal.h"

struct influx {
    const struct influx_options *options;
    const struct vamp_run *run;
    struct influx_request *request;     /* NULL: datagrams */
    struct influx_datagrams *datagrams; /* NULL: requests */
    char *path;                         /* the address, and what is not known about it */
    struct vamp_text text;              /* the lines of the bucket that is being sent */
    bool pending;                       /* there is one */
    uint64_t cut;
    bool cut_reported;
};

static void influx_free(struct influx *self)
{
    influx_request_free(self->request);
    influx_datagrams_free(self->datagrams);
    free(self->path);
    vamp_text_done(&self->text);
    free(self);
}

static int prepare(struct influx *self, struct vamp_err *err)
{
    const char *url = self->options->url;
    const bool udp = strncmp(url, INFLUX_UDP, strlen(INFLUX_UDP)) == 0;
    if (asprintf(&self->path, "%s%s", url, udp ? " (sent; UDP confirms nothing)" : "") < 0) {
        self->path = NULL;
        return vamp_err_set_errno(err, ENOMEM, "prepare the address");
    }
    if (!udp) {
        return influx_request_create(self->options, &self->request, err);
    }
    self->datagrams = influx_datagrams_create(self->options);
    return self->datagrams != NULL ? 0 : vamp_err_set_errno(err, ENOMEM, "prepare datagrams");
}

static int influx_open(const void *options, const struct vamp_writer_target *target,
                       void **ret_self, struct vamp_err *err)
{
    struct influx *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare lines");
    }
    self->options = options;
    self->run = target->run;
    const int code = prepare(self, err);
    if (code != 0) {
        influx_free(self);
        return code;
    }
    *ret_self = self;
    return 0;
}

static int influx_write(void *context, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    struct influx *self = context;
    if (!self->pending) {
        self->text.used = 0;
        self->text.failed = false;
        const uint64_t cut =
            influx_lines(&self->text, self->run, self->options->labels, delivery->bucket);
        if (self->text.failed) {
            return vamp_err_set(err, -EAGAIN, "no memory for the lines of a bucket");
        }
        self->cut += cut;
        self->pending = true;
    }
    if (self->text.used == 0) {
        self->pending = false;
        return 0; /* nothing happened in this bucket */
    }
    const int code = self->datagrams != NULL
                         ? influx_datagrams_send(self->datagrams, &self->text, err)
                         : influx_request_send(self->request, &self->text, err);
    self->pending = code == -EAGAIN;
    return code;
}

static const char *influx_path(const void *self)
{
    return ((const struct influx *)self)->path;
}

static bool influx_remark(void *context, char text[static VAMP_ERR_TEXT_BYTES])
{
    struct influx *self = context;
    if (self->cut == 0 || self->cut_reported) {
        return false;
    }
    self->cut_reported = true;
    (void)snprintf(text, VAMP_ERR_TEXT_BYTES,
                   "values are written as 2^63 - 1, %" PRIu64
                   " by now: InfluxDB knows no larger integers",
                   self->cut);
    return true;
}

static int influx_close(void *self, const struct vamp_ending *ending, struct vamp_err *err)
{
    (void)ending;
    (void)err;
    if (self != NULL) {
        influx_free(self);
    }
    return 0;
}

static const struct vamp_writer_ops functions = {
    .name = "influx",
    .element = VAMP_ELEMENT_BUCKET,
    .open = influx_open,
    .write_bucket = influx_write,
    .path = influx_path,
    .remark = influx_remark,
    .close = influx_close,
};

const struct vamp_writer_plug_in vamp_writer_plug_in = {VAMP_VERSION, &functions};
