/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * The rows of a bucket, one for each value: a metric, one of its series, and a counter, gauge or
 * histogram. Metrics are in the order of the schema, series ascending. All formats iterate over a
 * bucket this way:
 *
 *     struct vamp_rows rows = vamp_rows(bucket, VAMP_ROWS_IDLE);
 *     while (vamp_rows_next(&rows)) {
 *         write(&rows.row);
 *     }
 *
 *  * An iterator allocates nothing and is used by one thread. A row is valid as long as the bucket.
 */
#pragma once

#include "vampire/stats/bucket/bucket.h"

struct vamp_row {
    unsigned place; /* index of the metric in the schema */
    const struct vamp_schema_metric *entry;
    const struct vamp_metric *metric; /* its kind determines the member of the union */
    const struct vamp_label_set *set;
    unsigned number; /* number of the series in its label set */
    const struct vamp_series *series;
    uint64_t resolution_ns; /* vamp_bucket_resolution */
    union {
        const struct vamp_counter_value *counter;
        const struct vamp_gauge_value *gauge;
        const struct vamp_bucket_histogram *histogram;
    };
};

/* Numbers by which formats describe a histogram, in their order: "sum", "min", "max", "p50", "p90",
 * "p99", "p999". Returns NULL from VAMP_ROW_NUMBERS on. */
#define VAMP_ROW_NUMBERS 7
const char *vamp_row_number(const struct vamp_row *row, const struct vamp_bins *bins,
                            unsigned number, struct vamp_range *ret_range);

/* Rows to skip. Histograms without values are never in a bucket. */
enum vamp_rows_without {
    VAMP_ROWS_IDLE_COUNTERS = 1, /* counters that did not change in the bucket */
    VAMP_ROWS_ABSENT_GAUGES = 2, /* gauges without a value throughout the bucket */
    VAMP_ROWS_IDLE = 3,          /* both */
};

struct vamp_rows {
    const struct vamp_bucket *bucket;
    unsigned without;     /* enum vamp_rows_without */
    unsigned metric, end; /* current index and end index in the schema */
    unsigned next;        /* index of the next value of the current metric */
    struct vamp_row row;
};

/* Return an iterator over all metrics, or over one metric given by its index in the schema. */
struct vamp_rows vamp_rows(const struct vamp_bucket *bucket, unsigned without);
struct vamp_rows vamp_rows_of(const struct vamp_bucket *bucket, unsigned metric, unsigned without);
/* Advances to the next row. Returns false at the end. */
bool vamp_rows_next(struct vamp_rows *rows);
/* Returns the row of the value at index `at` of a metric; the value must exist. */
struct vamp_row vamp_row_at(const struct vamp_bucket *bucket, unsigned metric, unsigned at);
