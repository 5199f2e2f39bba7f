/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of a bucket: one for each value, which is a metric, a series of it, and a counter, a
 * gauge or a histogram. Metrics come in the order of the schema, the series of each ascending. All
 * formats walk a bucket this way:
 *
 *     struct vamp_rows rows = vamp_rows(bucket, VAMP_ROWS_IDLE);
 *     while (vamp_rows_next(&rows)) {
 *         write(&rows.row);
 *     }
 *
 * A walk allocates nothing, needs no end, and belongs to one thread. A row is valid as long as the
 * bucket.
 */
#pragma once

#include "vampire/stats/bucket/bucket.h"

struct vamp_row {
    unsigned place; /* of the metric in the schema */
    const struct vamp_schema_metric *entry;
    const struct vamp_metric *metric; /* its kind says which of the values there is */
    const struct vamp_label_set *set;
    unsigned number; /* of the series in its label set */
    const struct vamp_series *series;
    union {
        const struct vamp_counter_value *counter;
        const struct vamp_gauge_value *gauge;
        const struct vamp_bucket_histogram *histogram;
    };
};

/* Rows that a walk leaves out. Of histograms a bucket has only those that recorded something. */
enum vamp_rows_without {
    VAMP_ROWS_IDLE_COUNTERS = 1, /* that did not change in the bucket */
    VAMP_ROWS_ABSENT_GAUGES = 2, /* of which there was nothing to measure at any time in it */
    VAMP_ROWS_IDLE = 3,          /* both */
};

struct vamp_rows {
    const struct vamp_bucket *bucket;
    unsigned without;     /* enum vamp_rows_without */
    unsigned metric, end; /* the present one and the one after the last, in the schema */
    unsigned next;        /* index of its values */
    struct vamp_row row;
};

/* All metrics, or one by its place in the schema. */
struct vamp_rows vamp_rows(const struct vamp_bucket *bucket, unsigned without);
struct vamp_rows vamp_rows_of(const struct vamp_bucket *bucket, unsigned metric, unsigned without);
/* False: there is no further row. */
bool vamp_rows_next(struct vamp_rows *rows);
/* The row of a metric that a walk without leaving anything out comes to after `at` others; there is
 * one. */
struct vamp_row vamp_row_at(const struct vamp_bucket *bucket, unsigned metric, unsigned at);
