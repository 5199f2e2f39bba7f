/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merges several buckets into one, which has its own schema. Series are found by their labels and
 * numbered in order of appearance; values are merged by the rules of enum vamp_merge. Used by the
 * collector and by outputs with fewer metrics, labels or buckets (writers/output/resolution.h).
 * Counters and histograms can be added in any order. Gauges are merged in three steps: values of
 * one bucket with the same series, then the buckets of a run over time, then the runs.
 *
 * Memory is reserved for the maximum number of series; pages that are not used occupy no memory.
 * Memory of histograms grows with the bins that have values and is kept for reuse. One thread at a
 * time.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/stats/bucket/rows.h"

/* The series of a label set. The number of a series never changes. */
struct vamp_merged_series {
    uint32_t count;
    struct vamp_series *series; /* max_series of the label set */
    const struct vamp_series **places;
    uint32_t *index, mask; /* series by hash of their labels; 0: free */
};

struct vamp_merged_gauge {
    struct vamp_gauge_value total; /* over all ended runs */
    struct vamp_gauge_value run;   /* over the ended buckets of the current run */
    struct vamp_gauge_value bucket;
    unsigned buckets; /* number of buckets in `run` and in `total` */
    bool in_total, in_run, in_bucket;
};

struct vamp_merged_histogram {
    struct vamp_bucket_histogram *values; /* malloc'ed; NULL: not used yet */
    uint32_t room;                        /* capacity in bins */
    uint32_t reserved;                    /* number of bins that are reserved */
};

/* Values of one metric, indexed by series; the arrays of other kinds are NULL. */
struct vamp_merged_values {
    struct vamp_counter_value *counters;
    struct vamp_merged_gauge *gauges;
    struct vamp_gauge_value *shown_gauges;
    uint32_t *in_bucket, *in_run; /* series with a value in the bucket and in the run */
    uint32_t in_bucket_count, in_run_count;
    struct vamp_merged_histogram *histograms;
    struct vamp_histogram_value *shown_histograms;
};

struct vamp_merged {
    struct vamp_schema schema;
    struct vamp_label_set label_sets[VAMP_METRICS_MAX];
    struct vamp_schema_metric metrics[VAMP_METRICS_MAX];
    struct vamp_merged_series sets[VAMP_METRICS_MAX]; /* indexed by label set */
    struct vamp_merged_values values[VAMP_METRICS_MAX];
    /* The result, in the representation of a bucket. */
    unsigned series_count[VAMP_METRICS_MAX];
    const struct vamp_series *const *series[VAMP_METRICS_MAX];
    struct vamp_metric_values shown[VAMP_METRICS_MAX];
};

/* ---- creation: begin, add each metric, then vamp_merged_create */

/* Begins a schema without metrics; everything but the metrics is copied from `like`. `merged` must
 * not be moved afterwards. */
void vamp_merged_begin(struct vamp_merged *merged, const struct vamp_schema *like);
/* Adds a metric with these labels (bits) and returns its index in the schema. The caller sets
 * `max_series` of new label sets. */
unsigned vamp_merged_metric(struct vamp_merged *merged, enum vamp_metric_id id, uint32_t labels);
/* As vamp_merged_metric, but with a separate label set. */
unsigned vamp_merged_lone_metric(struct vamp_merged *merged, enum vamp_metric_id id,
                                 uint32_t labels);
/* Begins with all metrics and label sets of `like` and the same numbers of series. Instead of
 * vamp_merged_place, the caller calls vamp_merged_number_as for each bucket before it adds values.
 */
void vamp_merged_begin_same(struct vamp_merged *merged, const struct vamp_schema *like);
void vamp_merged_number_as(struct vamp_merged *merged, const struct vamp_bucket *bucket);
/* Allocates the memory. Returns 0 or -ENOMEM. vamp_merged_done may be called in either case, and on
 * a zeroed struct. */
VAMP_MUST_CHECK int vamp_merged_create(struct vamp_merged *merged);
void vamp_merged_done(struct vamp_merged *merged);

/* ---- adding values */

/* Returns the number of the series with the labels of `wanted` in this label set; if there is none,
 * a copy of `wanted` is added. Returns 0 at the limit: the series `(other)`, which the caller must
 * have added first. */
uint32_t vamp_merged_place(struct vamp_merged *merged, unsigned set,
                           const struct vamp_series *wanted);
/* Removes the newest series of the label set until `count` are left. The removed series must not
 * have values. */
void vamp_merged_unplace(struct vamp_merged *merged, unsigned set, uint32_t count);
/* Reserves memory for this number of bins, in addition to earlier reservations. Returns 0 or
 * -ENOMEM. */
VAMP_MUST_CHECK int vamp_merged_reserve(struct vamp_merged *merged, unsigned metric,
                                        uint32_t series, uint32_t bins);
void vamp_merged_counter(struct vamp_merged *merged, unsigned metric, uint32_t series,
                         const struct vamp_counter_value *value);
void vamp_merged_gauge(struct vamp_merged *merged, unsigned metric, uint32_t series,
                       const struct vamp_gauge_value *value);
/* Adds a histogram. Its bins must have been reserved. */
void vamp_merged_histogram(struct vamp_merged *merged, unsigned metric, uint32_t series,
                           const struct vamp_bucket_histogram *from);
/* End a bucket of the current run, and the current run. */
void vamp_merged_end_bucket(struct vamp_merged *merged);
void vamp_merged_end_run(struct vamp_merged *merged);
/* Returns the weight of several buckets in millionths: `weighted` events represented by `sampled`
 * events. `sampled` must not be 0. */
int64_t vamp_merged_weight(uint64_t weighted, uint64_t sampled);

/* ---- results */

/* Sets series and values of `bucket`; they are valid until the next change of `merged`. A gauge
 * without a value is VAMP_GAUGE_NONE, or 0 if the metric does not allow that. */
void vamp_merged_show(struct vamp_merged *merged, struct vamp_bucket *bucket);
/* Copies values and gaps of such a bucket into one block, which has one reference. `bucket` must
 * have no other lists. Returns NULL if out of memory. */
const struct vamp_bucket *vamp_merged_copy(const struct vamp_bucket *bucket);
/* Clears the values for the next bucket. Counters keep their totals and, with `keep_counts`, their
 * deltas. */
void vamp_merged_clear(struct vamp_merged *merged, bool keep_counts);
