/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The resolution of one output: which metrics it receives, which of their series, which labels
 * these keep, and how long its buckets are. A bucket of the statistics goes through all of it in
 * one step: each value is added, by the merge rule of its metric (vampire/stats/bucket/metric.h),
 * to the series and the bucket to which it belongs here. What leaves is an ordinary bucket with a
 * schema of its own, which is all that the output's format sees.
 *
 * Memory is that of one bucket, which is made again in place: a histogram's grows with the bins
 * that hold values.
 *
 * One thread at a time: the creator, then the output's thread.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/bucket.h"

/* What it keeps. The pointers outlive the resolution. */
struct vamp_resolution_choice {
    const struct vamp_strings *metrics; /* glob patterns of names; none: all */
    const struct vamp_strings *series;  /* "LABEL=PATTERN"; none: all */
    const struct vamp_sets *by;         /* bits of enum vamp_label, by metric: labels to keep */
    const struct vamp_sets *without;    /* likewise: labels to drop */
    int64_t bucket_ns;                  /* a multiple of the statistics' bucket; 0: that itself */
    uint64_t budget;                    /* lines at most; 0: any */
    /* As in struct vamp_writer_ops; NULL: each series is one line. */
    unsigned (*lines)(const void *format_options, const struct vamp_metric *metric,
                      const struct vamp_bins *bins);
    const void *format_options;
};

/* Whether the choice keeps everything as it is, so that no resolution is needed. */
bool vamp_resolution_is_whole(const struct vamp_resolution_choice *choice,
                              const struct vamp_schema *schema);
/* Whether one of the patterns is the metric's name or fits it (fnmatch). */
bool vamp_resolution_wants(const struct vamp_strings *patterns, const char *metric);
/* Which of `labels` the metric keeps. Of several entries that fit its name, the one that is the
 * name counts, else the first. */
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

/* Whether the bucket belongs to the one that is being made; true when there is none. */
bool vamp_resolution_fits(const struct vamp_resolution *resolution,
                          const struct vamp_bucket *bucket);
/* Adds a bucket that fits. Not its gaps and component rows, which a delivery has (writer.h). 0;
 * -ENOMEM: nothing of it was added. */
VAMP_MUST_CHECK int vamp_resolution_add(struct vamp_resolution *resolution,
                                        const struct vamp_bucket *bucket, struct vamp_err *err);
/* Whether its time is over, so that no later bucket fits. */
bool vamp_resolution_is_complete(const struct vamp_resolution *resolution);
/* The bucket as it is now, complete or not; NULL: nothing was added. Valid until the next call of
 * vamp_resolution_add or _clear; it has no holders. */
const struct vamp_bucket *vamp_resolution_bucket(struct vamp_resolution *resolution);
/* That labels were merged to stay within the budget, since the last call; false: none. */
bool vamp_resolution_remark(struct vamp_resolution *resolution,
                            char text[static VAMP_ERR_TEXT_BYTES]);
/* Empties it for the next bucket. */
void vamp_resolution_clear(struct vamp_resolution *resolution);
