/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the series of the statistics to those of one output. A route leads from one of their label
 * sets to one of the output's: the one of the labels that are kept. Series that then have the same
 * labels are one. Series 0, `(other)`, always stays: what is in it is not known. The output's
 * series are numbered in the order in which they appear and never change. Patterns choose series by
 * their labels before any is dropped.
 */
#ifndef VAMP_WRITERS_OUTPUT_RESOLUTION_SERIES_H
#define VAMP_WRITERS_OUTPUT_RESOLUTION_SERIES_H

#include "vampire/core/err.h"
#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/bucket/merged_series.h"

#define VAMP_SERIES_LEFT_OUT UINT32_MAX

struct vamp_series_route {
    unsigned from, to;              /* label sets of the statistics and of the output */
    uint8_t kept[VAMP_LABELS_MAX];  /* places in the former of the latter's labels */
    bool of_model[VAMP_LABELS_MAX]; /* the model of the component there */
    uint32_t known;                 /* series of the statistics that were looked at */
    uint32_t *number;               /* of these in the output, or VAMP_SERIES_LEFT_OUT */
};

/* 0 or -ENOMEM; vamp_series_route_done is right after either. */
VAMP_MUST_CHECK int vamp_series_route_init(struct vamp_series_route *route, unsigned from,
                                           const struct vamp_label_set *from_labels, unsigned to,
                                           const struct vamp_label_set *to_labels);
void vamp_series_route_done(struct vamp_series_route *route);
/* Looks at the series that are new in this bucket. `set` is the route's target, `scratch` has
 * VAMP_SERIES_SCRATCH_BYTES. */
void vamp_series_route_learn(struct vamp_series_route *route, struct vamp_merged_series *set,
                             const struct vamp_strings *patterns, const struct vamp_bucket *bucket,
                             char *scratch);

#endif
