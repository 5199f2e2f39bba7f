/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pick: the metrics that one output wants of those that are computed, and of these the series. It
 * has a schema of its own, which the output's writer sees, and makes of each bucket one that holds
 * only these. The smaller bucket holds the large one; values are copied only where series are left
 * out. The smaller ones are made at creation and used again, as many as the output's queue can
 * hold; what they copy into only grows.
 *
 * Made and freed by the worker thread, which also picks; any thread releases.
 */
#ifndef VAMP_WRITERS_PICK_H
#define VAMP_WRITERS_PICK_H

#include "vampire/core/err.h"
#include "vampire/core/opt.h"
#include "vampire/stats/bucket.h"

struct vamp_pick;

/* Whether one of the patterns is the metric's name or fits it (fnmatch). */
bool vamp_pick_wants(const struct vamp_strings *patterns, const char *metric);
/* What to pick: patterns of metrics' names and of series ("component=IFS*"); without any, all. */
struct vamp_pick_choice {
    const struct vamp_strings *metrics, *series;
};

/* `schema` and the patterns outlive the pick. `buckets`: how many may be held at the same time. 0
 * or -ENOMEM. */
VAMP_MUST_CHECK int vamp_pick_create(const struct vamp_pick_choice *choice,
                                     const struct vamp_schema *schema, unsigned buckets,
                                     struct vamp_pick **ret_pick, struct vamp_err *err);
/* No bucket may be held any more. NULL is fine. */
void vamp_pick_free(struct vamp_pick *pick);
/* Lives as long as the pick. */
const struct vamp_schema *vamp_pick_schema(const struct vamp_pick *pick);
/* A holder of the smaller bucket, which holds the large one. NULL: more are held than agreed, or
 * no memory. */
const struct vamp_bucket *vamp_pick_bucket(struct vamp_pick *pick,
                                           const struct vamp_bucket *bucket);

#endif
