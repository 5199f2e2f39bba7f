/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Merges buckets into one: its schema, its series, which are found by their labels and numbered
 * in order of appearance, and its values, merged by the rules of enum vamp_merge. Used by outputs
 * with fewer metrics, labels or buckets (writers/output/resolution.h) and by the collector.
 * Counters and histograms add in any order. Gauges are merged in three steps: values of one bucket
 * with the same series, then the buckets of a run in time, then the runs.
 *
 * Memory is allocated for the maximum of series; untouched pages cost nothing. That of histograms
 * grows with the bins that have values and is kept. One thread at a time.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/stats/bucket/rows.h"

/* The series of a label set. Their numbers never change. */
struct vamp_merged_series {
    uint32_t count;
    struct vamp_series *series; /* max_series of the label set */
    const struct vamp_series **places;
    uint32_t *index, mask; /* by hash of the labels; 0: free */
};

struct vamp_merged_gauge {
    struct vamp_gauge_value total; /* of all ended runs */
    struct vamp_gauge_value run;   /* of the ended buckets of the present run */
    struct vamp_gauge_value bucket;
    unsigned buckets; /* in `run` and `total` */
    bool in_total, in_run, in_bucket;
};

struct vamp_merged_histogram {
    struct vamp_bucket_histogram *values; /* malloc'ed; NULL: not used yet */
    uint32_t room;                        /* capacity in bins */
    uint32_t reserved;                    /* bins that may be added */
};

/* Values of one metric, by series; arrays of other kinds are NULL. */
struct vamp_merged_values {
    struct vamp_counter_value *counters;
    struct vamp_merged_gauge *gauges;
    struct vamp_gauge_value *shown_gauges;
    uint32_t *in_bucket, *in_run; /* series with a value in the bucket, in the run */
    uint32_t in_bucket_count, in_run_count;
    struct vamp_merged_histogram *histograms;
    struct vamp_histogram_value *shown_histograms;
};

struct vamp_merged {
    struct vamp_schema schema;
    struct vamp_label_set label_sets[VAMP_METRICS_MAX];
    struct vamp_schema_metric metrics[VAMP_METRICS_MAX];
    struct vamp_merged_series sets[VAMP_METRICS_MAX]; /* by label set */
    struct vamp_merged_values values[VAMP_METRICS_MAX];
    /* In the form of a bucket. */
    unsigned series_count[VAMP_METRICS_MAX];
    const struct vamp_series *const *series[VAMP_METRICS_MAX];
    struct vamp_metric_values shown[VAMP_METRICS_MAX];
};

/* ---- creation: begin, add each metric, then vamp_merged_create */

/* Begins without metrics; the rest of the schema is copied from `like`. `merged` must not move. */
void vamp_merged_begin(struct vamp_merged *merged, const struct vamp_schema *like);
/* Adds a metric with these labels (bits) and returns its index in the schema. The caller sets
 * `max_series` of new label sets. */
unsigned vamp_merged_metric(struct vamp_merged *merged, enum vamp_metric_id id, uint32_t labels);
/* The same with a separate label set. */
unsigned vamp_merged_lone_metric(struct vamp_merged *merged, enum vamp_metric_id id,
                                 uint32_t labels);
/* Begins with all metrics and label sets of `like`, and the same numbers of series: instead of
 * vamp_merged_place, the caller uses vamp_merged_number_as for each bucket before adding values. */
void vamp_merged_begin_same(struct vamp_merged *merged, const struct vamp_schema *like);
void vamp_merged_number_as(struct vamp_merged *merged, const struct vamp_bucket *bucket);
/* 0 or -ENOMEM; vamp_merged_done may be called in either case, and on a zeroed struct. */
VAMP_MUST_CHECK int vamp_merged_create(struct vamp_merged *merged);
void vamp_merged_done(struct vamp_merged *merged);

/* ---- adding values */

/* The number of the series of this label set with the labels of `wanted`, of which a copy is added
 * if there is none; at the limit 0, the series `(other)`, which the caller has added first. */
uint32_t vamp_merged_place(struct vamp_merged *merged, unsigned set,
                           const struct vamp_series *wanted);
/* Removes the newest series of the label set until `count` are left. They must not have values. */
void vamp_merged_unplace(struct vamp_merged *merged, unsigned set, uint32_t count);
/* Reserves memory for this many bins, in addition to those reserved before. 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_merged_reserve(struct vamp_merged *merged, unsigned metric,
                                        uint32_t series, uint32_t bins);
void vamp_merged_counter(struct vamp_merged *merged, unsigned metric, uint32_t series,
                         const struct vamp_counter_value *value);
void vamp_merged_gauge(struct vamp_merged *merged, unsigned metric, uint32_t series,
                       const struct vamp_gauge_value *value);
/* Its bins must have been reserved. */
void vamp_merged_histogram(struct vamp_merged *merged, unsigned metric, uint32_t series,
                           const struct vamp_bucket_histogram *from);
/* Ends a bucket of the present run, and the run. */
void vamp_merged_end_bucket(struct vamp_merged *merged);
void vamp_merged_end_run(struct vamp_merged *merged);
/* The weight of several buckets in millionths: `weighted` events represented by `sampled`, not 0.
 */
int64_t vamp_merged_weight(uint64_t weighted, uint64_t sampled);

/* ---- results */

/* Sets series and values of `bucket`, valid until the next change. A gauge without a value is
 * VAMP_GAUGE_NONE, or 0 if the metric does not allow that. */
void vamp_merged_show(struct vamp_merged *merged, struct vamp_bucket *bucket);
/* A copy of such a bucket in one block, with one reference: values and gaps; `bucket` must have no
 * other lists. NULL: out of memory. */
const struct vamp_bucket *vamp_merged_copy(const struct vamp_bucket *bucket);
/* Clears the values for the next bucket. Counters keep their totals and, with `keep_counts`, their
 * deltas. */
void vamp_merged_clear(struct vamp_merged *merged, bool keep_counts);
