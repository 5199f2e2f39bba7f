/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The resolution of one output: the metrics and series it receives, the labels they keep, and the
 * width of its buckets. Each value of a bucket of the statistics is merged, by the rule of its
 * metric (vampire/stats/bucket/metric.h), into a series of the output's current bucket. The
 * output's format receives the result as an ordinary bucket with its own schema.
 *
 * Memory: one bucket, reused in place; histograms grow with the number of bins in use.
 *
 * One thread at a time: the creator, then the output's thread.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/bucket.h"

/* The selection. Its pointers must outlive the resolution. */
struct vamp_resolution_choice {
    const struct vamp_strings *metrics; /* glob patterns of metric names; empty: all */
    const struct vamp_strings *series;  /* "LABEL=PATTERN"; empty: all */
    const struct vamp_sets *by;         /* bits of enum vamp_label, by metric: labels to keep */
    const struct vamp_sets *without;    /* likewise: labels to drop */
    int64_t bucket_ns; /* a multiple of the statistics' bucket width; 0: the same width */
    uint64_t budget;   /* maximum number of lines; 0: unlimited */
    /* As in struct vamp_writer_ops; NULL: each series is one line. */
    unsigned (*lines)(const void *format_options, const struct vamp_metric *metric,
                      const struct vamp_bins *bins);
    const void *format_options;
};

/* Whether the choice keeps all values unchanged, so that no resolution is needed. */
bool vamp_resolution_is_whole(const struct vamp_resolution_choice *choice,
                              const struct vamp_schema *schema);
/* Whether one of the patterns matches the metric's name (fnmatch). */
bool vamp_resolution_wants(const struct vamp_strings *patterns, const char *metric);
/* Which of `labels` the metric keeps. If several entries match, an exact name takes precedence,
 * then the first entry. */
uint32_t vamp_resolution_labels(const struct vamp_sets *by, const struct vamp_sets *without,
                                const char *metric, uint32_t labels);

struct vamp_resolution;

/* `schema` must outlive the resolution. Returns 0, -ENOMEM, or -EINVAL if the budget is less than
 * the lines of all metrics without labels. */
VAMP_MUST_CHECK int vamp_resolution_create(const struct vamp_resolution_choice *choice,
                                           const struct vamp_schema *schema,
                                           struct vamp_resolution **ret_resolution,
                                           struct vamp_err *err);
/* NULL is allowed. */
void vamp_resolution_free(struct vamp_resolution *resolution);
/* Valid as long as the resolution. */
const struct vamp_schema *vamp_resolution_schema(const struct vamp_resolution *resolution);

/* Whether the bucket falls into the output's current bucket; true if there is none. */
bool vamp_resolution_fits(const struct vamp_resolution *resolution,
                          const struct vamp_bucket *bucket);
/* Adds a bucket for which vamp_resolution_fits is true, without its gaps and component rows, which
 * the delivery has (writer.h). Returns 0, or -ENOMEM: nothing was added. */
VAMP_MUST_CHECK int vamp_resolution_add(struct vamp_resolution *resolution,
                                        const struct vamp_bucket *bucket, struct vamp_err *err);
/* Whether the current bucket has its full width, so that no later bucket falls into it. */
bool vamp_resolution_is_complete(const struct vamp_resolution *resolution);
/* The current bucket, complete or not; NULL if nothing was added. Valid until the next call of
 * vamp_resolution_add or _clear; not reference-counted. */
const struct vamp_bucket *vamp_resolution_bucket(struct vamp_resolution *resolution);
/* Writes a message if labels were merged to stay within the budget since the last call; returns
 * false if none were. */
bool vamp_resolution_remark(struct vamp_resolution *resolution,
                            char text[static VAMP_ERR_TEXT_BYTES]);
/* Empties the current bucket. */
void vamp_resolution_clear(struct vamp_resolution *resolution);
