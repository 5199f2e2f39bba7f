/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The otlp format: each bucket as requests of OTLP's metrics service, by HTTP. points.c keeps the
 * totals since the run began and encodes the requests, writer.c sends them. table.c is part of the
 * program; the others are in the shared object otlp.so. The points are described in
 * docs/exporters.md, their encoding in otlp.proto.
 */
#pragma once

#include "writers/format/push.h"
#include "writers/format/text.h"
#include "writers/writer.h"

enum otlp_histograms { OTLP_EXPLICIT, OTLP_EXPONENTIAL };

struct otlp_options {
    char *endpoint;
    struct vamp_push_options push;
    uint64_t labels;     /* bit per enum vamp_run_label */
    unsigned histograms; /* enum otlp_histograms */
    unsigned bounds;     /* explicit ones: 2 to the power of it in each doubling */
};
/* The environment variable of the secret, if there is no file. */
#define OTLP_SECRET_VARIABLE "VAMPIRE_OTLP_SECRET"

struct otlp_points;

/* The schema of `target` outlives it. 0 or -ENOMEM. */
VAMP_MUST_CHECK int otlp_points_create(const struct otlp_options *options,
                                       const struct vamp_writer_target *target,
                                       struct otlp_points **ret_points, struct vamp_err *err);
void otlp_points_free(struct otlp_points *points); /* NULL is fine */
/* Adds the values of a bucket, which must remain valid until its last request is made. 0 or
 * -ENOMEM: nothing was added. */
VAMP_MUST_CHECK int otlp_points_add(struct otlp_points *points,
                                    const struct vamp_delivery *delivery, struct vamp_err *err);
/* Replaces the text by the next request of the bucket; `failed` of the text: out of memory, and the
 * same request can be made again. False: there was none left. */
bool otlp_points_next(struct otlp_points *points, struct vamp_text *text);
/* The server has accepted all requests of the bucket (`taken`), or refused the newest one: then a
 * later bucket begins the series that are new in this one. */
void otlp_points_end(struct otlp_points *points, bool taken);
