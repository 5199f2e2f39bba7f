/* SPDX-License-Identifier: BSD-3-Clause */
/* The datasets of one metric, in the overview and in the group of its label set. */
#pragma once

#include "writers/writer.h"

struct hdf5_file;

/* The datasets of a metric are created in the order of these enumerations; first those of the
 * overview. */
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

/* Where the sums of a metric's series are. */
enum hdf5_place {
    HDF5_PLACE_OVERVIEW,
    HDF5_PLACE_TABLE, /* of vampire's own metrics */
    HDF5_PLACE_ROWS,  /* nowhere: the metric has rows only */
};

struct hdf5_metric {
    enum hdf5_place place;
    bool has_rows;           /* in the group of its set: the overview does not show it completely */
    unsigned overview, rows; /* the first datasets; in a table the first column */
    unsigned entry;          /* dimension of a histogram's entries */
    unsigned entry_chunk;
    unsigned entry_slot; /* (struct hdf5_file) */
    /* For a gauge with rows: the newest value of each series in the file. */
    struct vamp_gauge_value *shown;
    unsigned shown_count;
    int64_t shown_ns; /* the end of that bucket */
};

/* Creates the datasets of the schema's metric `number`. */
void hdf5_metric_create_overview(struct hdf5_file *file, unsigned number);
void hdf5_metric_create_rows(struct hdf5_file *file, unsigned number);
/* Appends the names of the labels to the text: all, or those whose values are a closed list. */
void hdf5_label_list(const struct vamp_label_set *set, bool all, const char *separator, char *text,
                     size_t bytes);
