/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The otlp format: each bucket as requests of OTLP's metrics service, by HTTP. points.c keeps what
 * was counted since the run began and makes the requests, writer.c is the format and sends them.
 * table.c is in the program; the others are in the shared object otlp.so. What is written is
 * described in docs/exporters.md, its bytes in otlp.proto.
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
    unsigned bounds;     /* 2 to the power of it in each doubling, of explicit ones */
};
/* The secret's variable, where no file has it. */
#define OTLP_SECRET_VARIABLE "VAMPIRE_OTLP_SECRET"

struct otlp_points;

/* The schema of `target` outlives it. 0 or -ENOMEM. */
VAMP_MUST_CHECK int otlp_points_create(const struct otlp_options *options,
                                       const struct vamp_writer_target *target,
                                       struct otlp_points **ret_points, struct vamp_err *err);
void otlp_points_free(struct otlp_points *points); /* NULL is fine */
/* Adds the values of a bucket, which lives until the last request of it was made. 0 or -ENOMEM:
 * nothing was added. */
VAMP_MUST_CHECK int otlp_points_add(struct otlp_points *points,
                                    const struct vamp_delivery *delivery, struct vamp_err *err);
/* Makes the next request of the bucket that was added, in place of what the text has; `failed` of
 * the text: no memory, and the same request can be made again. False: there was none left. */
bool otlp_points_next(struct otlp_points *points, struct vamp_text *text);
/* The server has taken all requests of the bucket, or refuses the newest one: then a later bucket
 * begins the series that this one was to begin. */
void otlp_points_end(struct otlp_points *points, bool taken);
