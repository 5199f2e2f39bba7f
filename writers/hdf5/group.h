/* SPDX-License-Identifier: BSD-3-Clause */
/* Label sets. Each has cells in the overview and, unless the overview shows it completely, a group
 * with a row for each series that changed in a bucket. */
#pragma once

#include "writers/hdf5/dataset.h"

struct hdf5_set {
    unsigned closed[VAMP_LABELS_MAX]; /* positions of the closed labels in the set */
    unsigned closed_count;
    unsigned cells; /* in each variable of the overview: the product of the numbers of words */
    uint32_t *cell; /* by series, `known` of them */
    unsigned known, capacity;

    bool has_group;
    char group[HDF5_NAME_BYTES];
    unsigned series, row, before; /* dimensions */
    unsigned chunk_rows;
    unsigned label_number[VAMP_LABELS_MAX], label_count; /* datasets: number of a name or word */
    unsigned written;                                    /* series whose labels are in the file */
    unsigned due; /* series of the buckets written, of which the flush writes the labels */
    unsigned series_index, row_time;
    unsigned slot; /* of `row` (struct hdf5_file) */
    unsigned before_restart, before_series;
    /* In the bucket being written: series with a row, ascending. */
    uint32_t *changed;
    bool *is_changed;
    unsigned changed_count;
};

/* Creates all groups, and the table of the places of their rows. `first`: the first bucket of the
 * file, or NULL. */
void hdf5_groups_create(struct hdf5_file *file, const struct vamp_delivery *first);
/* Remembers the series of a bucket, of which hdf5_series_write writes the labels that are new. */
void hdf5_series_note(struct hdf5_file *file, const struct vamp_bucket *bucket);
void hdf5_series_write(struct hdf5_file *file);
void hdf5_names_done(struct hdf5_file *file);
