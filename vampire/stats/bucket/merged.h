/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bucket that is made of others: its schema, its series, which are found by their labels and
 * numbered in the order in which they appear, and its values, which add by the rules of enum
 * vamp_merge. Outputs of fewer metrics, labels or buckets (writers/output/resolution.h) and the
 * collector of many runs make theirs here. Counters and histograms add, whatever the order. Of a
 * gauge, values of one bucket with the same series are joined first, then the buckets of a run in
 * time, then the runs.
 *
 * Memory is taken for all series that there may be, but pages that no series ever touches cost
 * nothing; that of histograms grows with the bins that hold values and is kept. One thread at a
 * time.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/stats/bucket/rows.h"

/* The series of a label set. Numbers never change. */
struct vamp_merged_series {
    uint32_t count;
    struct vamp_series *series; /* max_series of the label set */
    const struct vamp_series **places;
    uint32_t *index, mask; /* by hash of the labels; 0: free */
};

struct vamp_merged_gauge {
    struct vamp_gauge_value total; /* of all runs that ended */
    struct vamp_gauge_value run;   /* of the present run's buckets that ended */
    struct vamp_gauge_value bucket;
    unsigned buckets; /* that are in `run` and `total` */
    bool in_total, in_run, in_bucket;
};

struct vamp_merged_histogram {
    struct vamp_bucket_histogram *values; /* malloc'ed; NULL: none was ever needed */
    uint32_t room;                        /* bins that it can hold */
    uint32_t reserved;                    /* bins that may come */
};

/* Of one metric, by series; arrays of the other kinds are NULL. */
struct vamp_merged_values {
    struct vamp_counter_value *counters;
    struct vamp_merged_gauge *gauges;
    struct vamp_gauge_value *shown_gauges;
    uint32_t *in_bucket, *in_run; /* series with a value at one of these steps */
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
    /* As a bucket has them. */
    unsigned series_count[VAMP_METRICS_MAX];
    const struct vamp_series *const *series[VAMP_METRICS_MAX];
    struct vamp_metric_values shown[VAMP_METRICS_MAX];
};

/* ---- make one: begin, each metric, then vamp_merged_create */

/* Without metrics yet; all else of the schema is that of `like`. It stays where it is. */
void vamp_merged_begin(struct vamp_merged *merged, const struct vamp_schema *like);
/* One more metric with these labels (bits); its place in the schema. A label set that is new has no
 * room for series: the caller sets its `max_series`. */
unsigned vamp_merged_metric(struct vamp_merged *merged, enum vamp_metric_id id, uint32_t labels);
/* The same with a label set of its own. */
unsigned vamp_merged_lone_metric(struct vamp_merged *merged, enum vamp_metric_id id,
                                 uint32_t labels);
/* Or all metrics and label sets of `like`, whose series have their numbers: instead of
 * vamp_merged_place, before values are added, vamp_merged_number_as a bucket of that schema. */
void vamp_merged_begin_same(struct vamp_merged *merged, const struct vamp_schema *like);
void vamp_merged_number_as(struct vamp_merged *merged, const struct vamp_bucket *bucket);
/* 0 or -ENOMEM; vamp_merged_done is right after either, and of zeroes. */
VAMP_MUST_CHECK int vamp_merged_create(struct vamp_merged *merged);
void vamp_merged_done(struct vamp_merged *merged);

/* ---- add values */

/* The number of the series of this label set with the labels of `wanted`. Where there is none, it
 * is the next one, a copy of `wanted` with an id; without room for it, it is 0, the series
 * `(other)`, which the caller has placed first. */
uint32_t vamp_merged_place(struct vamp_merged *merged, unsigned set,
                           const struct vamp_series *wanted);
/* Takes the newest series of the label set back, until there are `count`. None of them had values.
 */
void vamp_merged_unplace(struct vamp_merged *merged, unsigned set, uint32_t count);
/* Makes sure that vamp_merged_histogram has memory for these bins as well as for those that were
 * reserved before. 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_merged_reserve(struct vamp_merged *merged, unsigned metric,
                                        uint32_t series, uint32_t bins);
void vamp_merged_counter(struct vamp_merged *merged, unsigned metric, uint32_t series,
                         const struct vamp_counter_value *value);
void vamp_merged_gauge(struct vamp_merged *merged, unsigned metric, uint32_t series,
                       const struct vamp_gauge_value *value);
/* Its bins were reserved. */
void vamp_merged_histogram(struct vamp_merged *merged, unsigned metric, uint32_t series,
                           const struct vamp_bucket_histogram *from);
/* What was added since the last call was one bucket of the present run, or all of its buckets. */
void vamp_merged_end_bucket(struct vamp_merged *merged);
void vamp_merged_end_run(struct vamp_merged *merged);
/* Millionths: the weight of several buckets is what all their sampled events stand for, by their
 * number, which is above 0. */
int64_t vamp_merged_weight(uint64_t weighted, uint64_t sampled);

/* ---- take the bucket */

/* Sets series and values of `bucket`, which are valid until the next change. A gauge without a
 * value is VAMP_GAUGE_NONE, or 0 where that cannot be. */
void vamp_merged_show(struct vamp_merged *merged, struct vamp_bucket *bucket);
/* A copy of such a bucket in one piece of memory, with one holder. It has the values and the gaps;
 * there are no other lists. NULL: no memory. */
const struct vamp_bucket *vamp_merged_copy(const struct vamp_bucket *bucket);
/* Empties the values for the next bucket. Counters keep their totals and, with `keep_counts`, what
 * they added. */
void vamp_merged_clear(struct vamp_merged *merged, bool keep_counts);
