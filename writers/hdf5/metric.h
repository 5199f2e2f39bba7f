/* SPDX-License-Identifier: BSD-3-Clause */
/* The datasets of one metric, in the overview and in the group of its label set. */
#pragma once

#include "writers/writer.h"

struct hdf5_file;

/* The datasets of a metric are created in the order of these enumerations, the datasets of the
 * overview first. */
enum { HDF5_COUNTER_DELTA, HDF5_COUNTER_BEFORE, HDF5_COUNTER_DATASETS };
enum { HDF5_GAUGE_VALUE, HDF5_GAUGE_MIN, HDF5_GAUGE_MAX, HDF5_GAUGE_DATASETS };
enum {
    HDF5_OVERVIEW_BINS,
    HDF5_OVERVIEW_COUNT,
    HDF5_OVERVIEW_SUM,
    HDF5_OVERVIEW_MIN,
    HDF5_OVERVIEW_MAX,
    HDF5_OVERVIEW_DATASETS
};
enum {
    HDF5_ROWS_COUNT,
    HDF5_ROWS_SUM,
    HDF5_ROWS_MIN,
    HDF5_ROWS_MAX,
    HDF5_ROWS_ENTRIES,
    HDF5_ROWS_BIN,
    HDF5_ROWS_BIN_COUNT,
    HDF5_ROWS_DATASETS
};

/* Where the sums over a metric's series are stored. */
enum hdf5_place {
    HDF5_PLACE_OVERVIEW,
    HDF5_PLACE_TABLE, /* in one of the two tables of vampire's own metrics */
    HDF5_PLACE_ROWS,  /* nowhere: the metric has only rows */
};

struct hdf5_metric {
    enum hdf5_place place;
    /* In the group of its label set: the overview does not contain all its labels. */
    bool has_rows;
    /* The first dataset in the overview and in the group; in a table, the first column. */
    unsigned overview, rows;
    unsigned entry; /* dimension of a histogram's entries */
    unsigned entry_chunk;
    unsigned entry_slot; /* slot of `entry` (struct hdf5_file) */
    /* For a gauge with rows: the value of each series as last written to the file. */
    struct vamp_gauge_value *shown;
    unsigned shown_count;
    int64_t shown_ns; /* end of the bucket with these values */
};

/* Creates the datasets of the schema's metric `number`. */
void hdf5_metric_create_overview(struct hdf5_file *file, unsigned number);
void hdf5_metric_create_rows(struct hdf5_file *file, unsigned number);
/* Appends the names of the labels to the text: of all labels, or only of those with a closed list
 * of values. */
void hdf5_label_list(const struct vamp_label_set *set, bool all, const char *separator, char *text,
                     size_t bytes);
