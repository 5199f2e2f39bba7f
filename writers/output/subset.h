/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of each bucket that one output selects: some of the metrics that are computed, and some
 * of their series. It has a schema of its own for the output's format, and makes from each bucket
 * one that contains only these. The smaller bucket holds the large one; values are copied only
 * where series are left out. The smaller ones are made at creation and used again, as many as the
 * output's queue can hold; the memory for copies only grows.
 *
 * Created, used and freed by the submitting thread; any thread releases a bucket.
 */
#ifndef VAMP_WRITERS_OUTPUT_SUBSET_H
#define VAMP_WRITERS_OUTPUT_SUBSET_H

#include "vampire/core/err.h"
#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/bucket.h"

struct vamp_subset;

/* Whether one of the patterns is the metric's name or fits it (fnmatch). */
bool vamp_subset_wants(const struct vamp_strings *patterns, const char *metric);
/* What it holds: patterns of metrics' names and of series ("component=IFS*"); without any, all. */
struct vamp_subset_choice {
    const struct vamp_strings *metrics, *series;
};

/* `schema` and the patterns outlive the subset. `buckets`: how many may be held at the same time. 0
 * or -ENOMEM. */
VAMP_MUST_CHECK int vamp_subset_create(const struct vamp_subset_choice *choice,
                                       const struct vamp_schema *schema, unsigned buckets,
                                       struct vamp_subset **ret_subset, struct vamp_err *err);
/* No bucket may be held any more. NULL is fine. */
void vamp_subset_free(struct vamp_subset *subset);
/* Lives as long as the subset. */
const struct vamp_schema *vamp_subset_schema(const struct vamp_subset *subset);
/* A holder of the smaller bucket, which holds the large one. NULL: more than `buckets` are held, or
 * no memory. */
const struct vamp_bucket *vamp_subset_bucket(struct vamp_subset *subset,
                                             const struct vamp_bucket *bucket);

#endif
