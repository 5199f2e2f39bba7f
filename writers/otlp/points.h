/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The otlp format: sends each bucket as requests of the OTLP metrics service, by HTTP. points.c
 * keeps the totals since the start of the run and encodes the requests, writer.c sends them.
 * table.c is linked into the program; the other files are in the shared object otlp.so.
 * docs/exporters.md describes the points, otlp.proto their encoding.
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
    unsigned bounds;     /* for explicit bounds: log2 of their number per doubling */
};
/* Environment variable with the secret, used if there is no secret file. */
#define OTLP_SECRET_VARIABLE "VAMPIRE_OTLP_SECRET"

struct otlp_points;

/* The schema in `target` must outlive the result. Returns 0 or -ENOMEM. */
VAMP_MUST_CHECK int otlp_points_create(const struct otlp_options *options,
                                       const struct vamp_writer_target *target,
                                       struct otlp_points **ret_points, struct vamp_err *err);
void otlp_points_free(struct otlp_points *points); /* NULL is allowed */
/* Adds the values of a bucket, which must remain valid until its last request has been built.
 * Returns 0, or -ENOMEM: nothing was added. */
VAMP_MUST_CHECK int otlp_points_add(struct otlp_points *points,
                                    const struct vamp_delivery *delivery, struct vamp_err *err);
/* Replaces the text by the next request of the bucket. Returns false if there are no more. If
 * `failed` of the text is set, memory ran out and the call can be repeated for the same request. */
bool otlp_points_next(struct otlp_points *points, struct vamp_text *text);
/* Must be called when the server has accepted all requests of the bucket (`taken`) or rejected the
 * newest one. After a rejection, a later bucket starts the series that are new in this one. */
void otlp_points_end(struct otlp_points *points, bool taken);
