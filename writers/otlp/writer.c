/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The otlp format. Opening the output opens no connection, so that a run can start while the server
 * is down. A bucket is sent as one or more requests, in order. A request that is repeated because
 * its answer was late has the same times and values, so that it changes nothing on the server.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "otlp.pb-c.h"
#include "vampire/core/worker.h"
#include "version.h"
#include "writers/format/attempts.h"
#include "writers/format/bounds.h"
#include "writers/format/gzip.h"
#include "writers/http/http.h"
#include "writers/otlp/points.h"

struct otlp {
    const struct otlp_options *options;
    struct otlp_points *points;
    struct http *http;
    struct libdeflate_compressor *compressor;
    struct vamp_text request;
    struct vamp_text packed;     /* the request compressed by gzip; empty: not compressed yet */
    bool added;                  /* the bucket being sent was added to the points */
    bool made;                   /* the next request has been built */
    uint64_t rejected;           /* number of points that the server rejected */
    char said[HTTP_SHOWN_BYTES]; /* the first message in an answer to an accepted request */
    bool reported;
};

/* Adds the points that the server rejected, although it accepted the request, to `rejected`, and
 * keeps the first message. */
static void add_partial_success(struct otlp *self, int64_t rejected, const char *message)
{
    if (rejected > 0) {
        self->rejected += (uint64_t)rejected;
    }
    if (self->said[0] == '\0') {
        http_show((const unsigned char *)message, strlen(message), self->said);
    }
}

/* Some servers answer protobuf requests in JSON, where 64-bit integers are strings. Returns 0 or
 * -EBADMSG. */
static int read_json(struct otlp *self, const unsigned char *bytes, size_t count)
{
    json_t *answer = json_loadb((const char *)bytes, count, 0, NULL);
    const json_t *partial = json_object_get(answer, "partialSuccess");
    const json_t *rejected = json_object_get(partial, "rejectedDataPoints");
    int64_t number = json_integer_value(rejected);
    const bool is_object = json_is_object(answer);
    if (json_is_string(rejected)) {
        number = strtoll(json_string_value(rejected), NULL, 10);
    }
    if (partial != NULL) {
        add_partial_success(
            self, number,
            vamp_text_or(json_string_value(json_object_get(partial, "errorMessage")), ""));
    }
    json_decref(answer);
    return is_object ? 0 : -EBADMSG;
}

/* Reads an ExportMetricsServiceResponse. All its fields are optional, so an empty body is one. */
static int read_answer(void *context, const char *type, const unsigned char *bytes, size_t count)
{
    struct otlp *self = context;
    if (count > 0 && strncasecmp(type, "application/json", strlen("application/json")) == 0) {
        return read_json(self, bytes, count);
    }
    /* Some servers send no type with an empty body. */
    if (type[0] != '\0' && strncasecmp(type, "application/", strlen("application/")) != 0) {
        return -EBADMSG;
    }
    Vampire__Otlp__ExportMetricsServiceResponse *response =
        vampire__otlp__export_metrics_service_response__unpack(NULL, count, bytes);
    if (response == NULL) {
        return -EBADMSG;
    }
    if (response->partial_success != NULL) {
        add_partial_success(self, response->partial_success->rejected_data_points,
                            response->partial_success->error_message);
    }
    vampire__otlp__export_metrics_service_response__free_unpacked(response, NULL);
    return 0;
}

static int otlp_close(void *context, const struct vamp_ending *ending, struct vamp_err *err)
{
    struct otlp *self = context;
    (void)ending, (void)err;
    http_free(self->http);
    otlp_points_free(self->points);
    libdeflate_free_compressor(self->compressor);
    vamp_text_done(&self->request);
    vamp_text_done(&self->packed);
    free(self);
    return 0;
}

static int otlp_open(const void *context, const struct vamp_writer_target *target, void **ret_self,
                     struct vamp_err *err)
{
    static const char *const headers[] = {"Content-Type: application/x-protobuf",
                                          "Content-Encoding: gzip",
                                          "User-Agent: vampire/" VAMP_VERSION, NULL};
    const struct otlp_options *options = context;
    struct otlp *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare requests");
    }
    const struct http_server server = {
        .url = options->endpoint,
        .path = "",
        .headers = headers,
        .token = "Bearer",
        .variable = OTLP_SECRET_VARIABLE,
        .options = &options->push,
        .success = 200,
        .read_answer = read_answer,
        .context = self,
    };
    self->options = options;
    self->compressor = libdeflate_alloc_compressor(VAMP_GZIP_LEVEL);
    int code = 0;
    if (self->compressor == NULL) {
        code = vamp_err_set_errno(err, ENOMEM, "prepare requests");
    } else {
        code = otlp_points_create(options, target, &self->points, err);
    }
    if (code == 0) {
        code = http_create(&server, &self->http, err);
    }
    if (code != 0) {
        (void)otlp_close(self, NULL, NULL);
        return code;
    }
    *ret_self = self;
    return 0;
}

/* Builds and compresses the next request of the bucket, unless that was done before. Returns 0,
 * with `*ret_done` set if there are no more requests, or -EAGAIN if out of memory. */
static int prepare(struct otlp *self, bool *ret_done, struct vamp_err *err)
{
    *ret_done = !self->made && !otlp_points_next(self->points, &self->request);
    if (*ret_done) {
        return 0;
    }
    self->made = !self->request.failed;
    bool is_packed = self->made && self->packed.used > 0;
    if (self->made && !is_packed) {
        is_packed = vamp_gzip(self->compressor, &self->request, &self->packed);
    }
    if (is_packed) {
        return 0;
    }
    return vamp_err_set(err, -EAGAIN, "no memory for the points of a bucket");
}

/* Sends requests until none is left, one fails, or the time is over. */
static int otlp_write(void *context, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    struct otlp *self = context;
    int code = 0;
    if (!self->added) {
        code = otlp_points_add(self->points, delivery, err);
    }
    if (code != 0) {
        return -EAGAIN; /* out of memory */
    }
    self->added = true;
    const int64_t until_ns = vamp_worker_now_ns() + VAMP_ATTEMPT_NS;
    bool done = false;
    while (code == 0) {
        code = prepare(self, &done, err);
        if (code != 0 || done) {
            break;
        }
        code = http_post(self->http, self->packed.bytes, self->packed.used, err);
        if (code != -EAGAIN) {
            self->made = false;
            self->packed.used = 0;
        }
        if (code == 0 && vamp_worker_now_ns() >= until_ns) {
            code = -EAGAIN;
        }
    }
    self->added = code == -EAGAIN;
    if (!self->added) {
        /* The bucket was accepted or rejected. The remaining requests of a rejected bucket are
         * dropped. */
        otlp_points_end(self->points, code == 0);
    }
    return code;
}

static const char *otlp_path(const void *self)
{
    return ((const struct otlp *)self)->options->endpoint;
}

static bool otlp_remark(void *context, char text[static VAMP_ERR_TEXT_BYTES])
{
    struct otlp *self = context;
    if ((self->rejected == 0 && self->said[0] == '\0') || self->reported) {
        return false;
    }
    self->reported = true;
    (void)snprintf(text, VAMP_ERR_TEXT_BYTES,
                   "%.200s accepted a bucket but rejected %" PRIu64 " of its points: %s",
                   self->options->endpoint, self->rejected, self->said);
    return true;
}

static uint64_t otlp_left_out(void *self, const char **ret_what)
{
    *ret_what = "points that the server rejected";
    return ((const struct otlp *)self)->rejected;
}

/* Returns the number of series in the database: each bound is a series. */
static unsigned otlp_lines(const void *context, const struct vamp_metric *metric,
                           const struct vamp_bins *bins)
{
    const struct otlp_options *options = context;
    if (metric->kind != VAMP_HISTOGRAM || options->histograms == OTLP_EXPONENTIAL) {
        return 1;
    }
    return vamp_bounds_count(metric, bins, options->bounds) + 3;
}

static const struct vamp_writer_ops functions = {
    .name = "otlp",
    .element = VAMP_ELEMENT_BUCKET,
    .open = otlp_open,
    .write_bucket = otlp_write,
    .left_out = otlp_left_out,
    .lines = otlp_lines,
    .path = otlp_path,
    .remark = otlp_remark,
    .close = otlp_close,
};

const struct vamp_writer_plug_in vamp_writer_plug_in = {VAMP_VERSION, &functions,
                                                        vamp_metrics_share};
