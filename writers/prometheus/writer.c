/* SPDX-License-Identifier: BSD-3-Clause */
/* The prometheus format: a page instead of a target, the same for all segments of a run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vampire/core/clock.h"
#include "version.h"
#include "writers/prometheus/internal.h"

#define PAUSE_NS 50000000

struct prometheus {
    const struct prometheus_options *options;
    const atomic_int *stop;
    struct page *page;
    struct server *server; /* NULL: the address is still the instance's before */
    char path[VAMP_LISTENER_NAME_BYTES];
    bool announced;    /* the address was reported */
    uint64_t left_out; /* as last reported */
};

static int start(struct prometheus *self, struct vamp_err *err)
{
    struct vamp_listener listener;
    int code = vamp_listener_open(self->options->listen, VAMP_ACCESS_PRIVATE, &listener, err);
    if (code != 0) {
        return code;
    }
    (void)snprintf(self->path, sizeof self->path, "http://%.140s/metrics",
                   listener.name + strlen("tcp:"));
    return server_start(self->page, listener.fd, &self->server, err);
}

static void prometheus_free(struct prometheus *self)
{
    server_stop(self->server);
    page_free(self->page);
    free(self);
}

static int prometheus_open(const void *options, const struct vamp_writer_target *target,
                           void **ret_self, struct vamp_err *err)
{
    struct prometheus *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the page");
    }
    self->options = options;
    self->stop = target->stop;
    (void)snprintf(self->path, sizeof self->path, "%s", self->options->listen);
    int code = page_create(options, target, &self->page, err);
    if (code == 0) {
        code = start(self, err);
        /* The output before a reload still has the address: it is taken over later. */
        code = code == -EADDRINUSE && target->segment > 1 ? 0 : code;
    }
    if (code != 0) {
        prometheus_free(self);
        return code;
    }
    *ret_self = self;
    return 0;
}

static int prometheus_write(void *context, const struct vamp_delivery *delivery,
                            struct vamp_err *err)
{
    struct prometheus *self = context;
    if (self->server == NULL) {
        const int code = start(self, err);
        if (code != 0 && code != -EADDRINUSE) {
            return -EAGAIN;
        }
    }
    /* Without memory the values of the bucket can be added later. */
    return page_add(self->page, delivery, err) == 0 ? 0 : -EAGAIN;
}

static const char *prometheus_path(const void *self)
{
    return ((const struct prometheus *)self)->path;
}

static bool prometheus_remark(void *context, char text[static VAMP_ERR_TEXT_BYTES])
{
    struct prometheus *self = context;
    if (self->server != NULL && !self->announced) {
        self->announced = true;
        (void)snprintf(text, VAMP_ERR_TEXT_BYTES, "the page is %s", self->path);
        return true;
    }
    const uint64_t left_out = page_left_out(self->page);
    if (left_out == 0 || self->left_out > 0) {
        return false;
    }
    self->left_out = left_out;
    (void)snprintf(text, VAMP_ERR_TEXT_BYTES,
                   "the page is full (\"page\"), so that series are left out, %" PRIu64
                   " by now; fewer labels (\"without\") or metrics make it shorter, and "
                   "vampire_page_series_left_out counts them",
                   left_out);
    return true;
}

static int64_t prometheus_linger_ns(const void *options)
{
    return ((const struct prometheus_options *)options)->linger_ns;
}

/* Until the time is over or a signal ends it. */
static void linger(const struct prometheus *self, int stop)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    const int64_t until = vamp_clock_monotonic_ns(&vamp_clock_system) + self->options->linger_ns;
    while (vamp_clock_monotonic_ns(&vamp_clock_system) < until &&
           (self->stop == NULL || atomic_load(self->stop) == stop)) {
        (void)nanosleep(&pause, NULL);
    }
}

static int prometheus_close(void *context, const struct vamp_ending *ending, struct vamp_err *err)
{
    struct prometheus *self = context;
    (void)err;
    if (self == NULL) {
        return 0;
    }
    if (ending != NULL && ending->completed) {
        page_end(self->page);
        linger(self, ending->stop);
    }
    prometheus_free(self);
    return 0;
}

static const struct vamp_writer_ops functions = {
    .name = "prometheus",
    .element = VAMP_ELEMENT_BUCKET,
    .open = prometheus_open,
    .write_bucket = prometheus_write,
    .path = prometheus_path,
    .remark = prometheus_remark,
    .linger_ns = prometheus_linger_ns,
    .close = prometheus_close,
};

const struct vamp_writer_plug_in vamp_writer_plug_in = {VAMP_VERSION, &functions};
