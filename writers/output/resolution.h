/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The resolution of one output: the metrics and series it receives, the labels they keep, and the
 * width of its buckets. Each value of a bucket of the statistics is merged, by the rule of its
 * metric (vampire/stats/bucket/metric.h), into a series of the output's current bucket. The result
 * is an ordinary bucket with its own schema; the output's format sees nothing else.
 *
 * Memory: one bucket, reused in place; histograms grow with the number of bins in use.
 *
 * One thread at a time: the creator, then the output's thread.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/bucket.h"

/* The selection. The pointers outlive the resolution. */
struct vamp_resolution_choice {
    const struct vamp_strings *metrics; /* glob patterns of names; none: all */
    const struct vamp_strings *series;  /* "LABEL=PATTERN"; none: all */
    const struct vamp_sets *by;         /* bits of enum vamp_label, by metric: labels to keep */
    const struct vamp_sets *without;    /* likewise: labels to drop */
    int64_t bucket_ns;                  /* a multiple of the statistics' bucket; 0: the same */
    uint64_t budget;                    /* lines at most; 0: any */
    /* As in struct vamp_writer_ops; NULL: each series is one line. */
    unsigned (*lines)(const void *format_options, const struct vamp_metric *metric,
                      const struct vamp_bins *bins);
    const void *format_options;
};

/* Whether the choice keeps everything as it is, so that no resolution is needed. */
bool vamp_resolution_is_whole(const struct vamp_resolution_choice *choice,
                              const struct vamp_schema *schema);
/* Whether one of the patterns matches the metric's name (fnmatch). */
bool vamp_resolution_wants(const struct vamp_strings *patterns, const char *metric);
/* Which of `labels` the metric keeps. If several entries match, the exact name has precedence, then
 * the first. */
uint32_t vamp_resolution_labels(const struct vamp_sets *by, const struct vamp_sets *without,
                                const char *metric, uint32_t labels);

struct vamp_resolution;

/* `schema` outlives the resolution. 0, -ENOMEM, or -EINVAL: the budget is below one line for each
 * metric and its kind. */
VAMP_MUST_CHECK int vamp_resolution_create(const struct vamp_resolution_choice *choice,
                                           const struct vamp_schema *schema,
                                           struct vamp_resolution **ret_resolution,
                                           struct vamp_err *err);
/* NULL is fine. */
void vamp_resolution_free(struct vamp_resolution *resolution);
/* Lives as long as the resolution. */
const struct vamp_schema *vamp_resolution_schema(const struct vamp_resolution *resolution);

/* Whether the bucket belongs to the output's current bucket; true if there is none. */
bool vamp_resolution_fits(const struct vamp_resolution *resolution,
                          const struct vamp_bucket *bucket);
/* Adds a bucket that fits, without its gaps and component rows, which a delivery has (writer.h). 0;
 * -ENOMEM: nothing was added. */
VAMP_MUST_CHECK int vamp_resolution_add(struct vamp_resolution *resolution,
                                        const struct vamp_bucket *bucket, struct vamp_err *err);
/* Whether the current bucket has its full width, so that no later one fits. */
bool vamp_resolution_is_complete(const struct vamp_resolution *resolution);
/* The current bucket, complete or not; NULL: nothing was added. Valid until the next call of
 * vamp_resolution_add or _clear; it is not reference-counted. */
const struct vamp_bucket *vamp_resolution_bucket(struct vamp_resolution *resolution);
/* A text if labels were merged for the budget since the last call; false: none were. */
bool vamp_resolution_remark(struct vamp_resolution *resolution,
                            char text[static VAMP_ERR_TEXT_BYTES]);
/* Empties it for the next bucket. */
void vamp_resolution_clear(struct vamp_resolution *resolution);
