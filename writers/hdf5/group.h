/* SPDX-License-Identifier: BSD-3-Clause */
/* Label sets. Each has cells in the overview. If the overview does not contain all its labels, it
 * also has a group, with a row for each series that changed in a bucket. */
#pragma once

#include "writers/hdf5/dataset.h"

struct hdf5_set {
    unsigned closed[VAMP_LABELS_MAX]; /* positions of the closed labels in the set */
    unsigned closed_count;
    /* cells of each variable in the overview: the product of the numbers of words of its closed
     * labels */
    unsigned cells;
    uint32_t *cell; /* by series, `known` of them: its cell */
    unsigned known, capacity;

    bool has_group;
    char group[HDF5_NAME_BYTES];
    unsigned series, row, before; /* dimensions */
    unsigned chunk_rows;
    /* Datasets; a label is the number of a name or word. */
    unsigned label_number[VAMP_LABELS_MAX], label_count;
    /* Number of series whose labels are in the file. */
    unsigned written;
    unsigned due; /* number of series in the buckets written; the next flush writes their labels */
    unsigned series_index, row_time;
    unsigned slot; /* slot of the dimension `row` (struct hdf5_file) */
    unsigned before_restart, before_series;
    /* The series that have a row in the current bucket, ascending. */
    uint32_t *changed;
    bool *is_changed;
    unsigned changed_count;
};

/* Creates all groups, and the table with the location of their rows. `first`: the first bucket of
 * the file, or NULL. */
void hdf5_groups_create(struct hdf5_file *file, const struct vamp_delivery *first);
/* Records the series of a bucket; hdf5_series_write then writes the labels of the new ones. */
void hdf5_series_note(struct hdf5_file *file, const struct vamp_bucket *bucket);
void hdf5_series_write(struct hdf5_file *file);
void hdf5_names_done(struct hdf5_file *file);
