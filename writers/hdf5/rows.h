/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a bucket in the groups of label sets. */
#pragma once

#include "writers/writer.h"

struct hdf5_file;

/* Finds the series that have a row in this bucket. hdf5_words_place must have been called. */
void hdf5_rows_plan(struct hdf5_file *file, const struct vamp_bucket *bucket, bool restart);
/* Whether the metric is an age: a gauge that increases with time even without events. */
bool hdf5_is_age(enum vamp_metric_id id);
/* Number of entries of a histogram metric in the bucket. */
uint64_t hdf5_rows_entries(const struct vamp_bucket *bucket, unsigned metric);
void hdf5_rows_write(struct hdf5_file *file, const struct vamp_bucket *bucket);
/* Writes the totals of counters before this bucket. Must be the last call for a bucket: it
 * overwrites the result of hdf5_rows_plan. */
void hdf5_rows_restart(struct hdf5_file *file, const struct vamp_bucket *bucket);
