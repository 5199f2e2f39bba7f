/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values of one metric in the bucket that an output makes: those of the statistics' buckets,
 * added by the metric's merge rule to the series to which a route leads. Cleared and used again for
 * each bucket.
 */
#ifndef VAMP_WRITERS_OUTPUT_RESOLUTION_VALUES_H
#define VAMP_WRITERS_OUTPUT_RESOLUTION_VALUES_H

#include "vampire/core/err.h"
#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/bucket/merge.h"

struct vamp_kept_values {
    enum vamp_metric_id id;
    unsigned from;       /* the metric's place in the statistics' schema */
    unsigned route;      /* from the statistics' series to the output's */
    unsigned max_series; /* of the output's label set */
    /* By series; those of other kinds are NULL. */
    struct vamp_counter_value *counters;
    struct vamp_gauge_value *gauges;
    struct vamp_gauge_value *newest; /* of the bucket that is being added */
    bool *has_newest, *has_gauge;
    struct vamp_kept_histogram *histograms;
    struct vamp_histogram_value *list; /* those that have values, ascending */
};

/* Fills what depends on `id` and `max_series`, which are set. 0 or -ENOMEM; vamp_kept_values_done
 * is right after either. */
VAMP_MUST_CHECK int vamp_kept_values_init(struct vamp_kept_values *values);
void vamp_kept_values_done(struct vamp_kept_values *values);

/* Makes sure that vamp_kept_values_add needs no memory. `number` leads to the output's series; some
 * are VAMP_SERIES_LEFT_OUT. `bin_count`: bins that there are. 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_kept_values_reserve(struct vamp_kept_values *values,
                                             const struct vamp_metric_values *from,
                                             const uint32_t *number, unsigned bin_count);
/* `count`: series of the output's label set so far. */
void vamp_kept_values_add(struct vamp_kept_values *values, const struct vamp_metric_values *from,
                          const uint32_t *number, unsigned count);
/* What was added since vamp_kept_values_clear; borrowed. */
struct vamp_metric_values vamp_kept_values_show(struct vamp_kept_values *values, unsigned count);
void vamp_kept_values_clear(struct vamp_kept_values *values, unsigned count);

#endif
