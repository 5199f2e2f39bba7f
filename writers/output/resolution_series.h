/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the series of the statistics to those of one output. A route leads from one of their label
 * sets to one of the output's: the one of the labels that are kept. Series that then have the same
 * labels are one. Series 0, `(other)`, always stays: what is in it is not known. The output's
 * series are numbered in the order in which they appear and never change.
 *
 * Patterns choose series by their labels, before any is dropped: "component=IFS*". Patterns of one
 * label are alternatives; of different labels all must hold. A label set without the label is not
 * concerned.
 */
#ifndef VAMP_WRITERS_OUTPUT_RESOLUTION_SERIES_H
#define VAMP_WRITERS_OUTPUT_RESOLUTION_SERIES_H

#include "vampire/core/err.h"
#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/bucket.h"

#define VAMP_SERIES_LEFT_OUT UINT32_MAX

/* The series of one of the output's label sets. */
struct vamp_kept_set {
    const struct vamp_label_set *labels; /* the output's */
    uint32_t count;
    struct vamp_series *series; /* labels->max_series of them */
    const struct vamp_series **places;
    uint32_t *index, mask; /* by hash of the labels; 0: free */
};

struct vamp_series_route {
    unsigned from, to;             /* label sets of the statistics and of the output */
    uint8_t kept[VAMP_LABELS_MAX]; /* places in the former of the latter's labels */
    uint32_t known;                /* series of the statistics that were looked at */
    uint32_t *number;              /* of these in the output, or VAMP_SERIES_LEFT_OUT */
};

/* Splits "LABEL=PATTERN". False: there is no such label, or no "=". `*ret_pattern` points into the
 * text. */
bool vamp_series_pattern(const char *text, enum vamp_label *ret_label, const char **ret_pattern);

/* `labels` stays where it is. 0 or -ENOMEM; vamp_kept_set_done is right after either. */
VAMP_MUST_CHECK int vamp_kept_set_init(struct vamp_kept_set *set,
                                       const struct vamp_label_set *labels);
void vamp_kept_set_done(struct vamp_kept_set *set);
/* 0 or -ENOMEM; vamp_series_route_done is right after either. */
VAMP_MUST_CHECK int vamp_series_route_init(struct vamp_series_route *route, unsigned from,
                                           const struct vamp_label_set *from_labels, unsigned to,
                                           const struct vamp_label_set *to_labels);
void vamp_series_route_done(struct vamp_series_route *route);
/* Looks at the series that are new in this bucket. `set` is the route's target, `scratch` has
 * VAMP_SERIES_SCRATCH_BYTES. */
void vamp_series_route_learn(struct vamp_series_route *route, struct vamp_kept_set *set,
                             const struct vamp_strings *patterns, const struct vamp_bucket *bucket,
                             char *scratch);

#endif
