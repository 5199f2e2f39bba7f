/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The series of one label set where buckets are merged: found by their labels, numbered in the
 * order in which they appear. Numbers never change. One thread at a time.
 */
#ifndef VAMP_STATS_BUCKET_MERGED_SERIES_H
#define VAMP_STATS_BUCKET_MERGED_SERIES_H

#include "vampire/core/err.h"
#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/bucket.h"

struct vamp_merged_series {
    const struct vamp_label_set *labels;
    uint32_t count;
    struct vamp_series *series; /* labels->max_series of them */
    const struct vamp_series **places;
    uint32_t *index, mask; /* by hash of the labels; 0: free */
};

/* `labels` stays where it is. 0 or -ENOMEM; vamp_merged_series_done is right after either. */
VAMP_MUST_CHECK int vamp_merged_series_init(struct vamp_merged_series *set,
                                            const struct vamp_label_set *labels);
void vamp_merged_series_done(struct vamp_merged_series *set);
/* The number of the series with the labels of `wanted`. Where there is none, it is the next one, a
 * copy of `wanted`, and `*ret_new` is set; without room for it, it is 0, the series `(other)`,
 * which the caller has placed first. */
uint32_t vamp_merged_series_place(struct vamp_merged_series *set, const struct vamp_series *wanted,
                                  bool *ret_new);

/* Splits "LABEL=PATTERN". False: there is no such label, or no "=". `*ret_pattern` points into the
 * text. */
bool vamp_series_pattern(const char *text, enum vamp_label *ret_label, const char **ret_pattern);
/* Whether the patterns ("component=IFS*", fnmatch) choose the series. Those of one label are
 * alternatives; of different labels all must hold. A label set without the label is not concerned.
 */
bool vamp_series_is_wanted(const struct vamp_strings *patterns, const struct vamp_label_set *set,
                           const struct vamp_series *series);

#endif
