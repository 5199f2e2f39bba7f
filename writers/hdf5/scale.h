/* SPDX-License-Identifier: BSD-3-Clause */
/* The dimensions of a file. Each is an HDF5 dimension scale. */
#pragma once

#include "writers/hdf5/dataset.h"

/* Dimensions of every file; those of words and groups follow. */
enum hdf5_dimension_number {
    HDF5_TIME,
    HDF5_RESTART, /* rows with the totals of all counters */
    HDF5_BIN,
    HDF5_NAME_LENGTH, /* bytes of component names */
    HDF5_WORD_LENGTH, /* bytes of words defined by vampire or its configuration */
    HDF5_TEXT_LENGTH, /* bytes of a text such as an end reason */
    HDF5_NAME,        /* values of labels without a closed list */
    HDF5_GAP,
    HDF5_OUTPUT,
    HDF5_COMPONENT,
    HDF5_UNKNOWN,
    HDF5_FIRST_OTHER,
};

struct hdf5_dimension {
    char name[HDF5_NAME_BYTES]; /* in a group: GROUP/NAME */
    hsize_t size; /* if fixed: its size; if unlimited: the rows of the buckets written */
    hsize_t next; /* if unlimited: `size` including the bucket being written */
    bool unlimited;
    hobj_ref_t scale;
    unsigned longest; /* the only dataset in the scale's list; 0: the list contains all datasets */
    /* For dimensions with check values (check.h). Rows of `time` are buffered until a flush. */
    unsigned check;      /* dataset of the check values */
    unsigned char *rows; /* `row_count` rows in file format, then a row of fill values */
    size_t row_bytes;    /* size of a row */
    unsigned row;        /* index of the row being filled */
    unsigned row_count;  /* capacity of the buffer */
};

/* Sets the name of dimension number `dimension` and creates its scale; size 0: unlimited. */
void hdf5_dimension_create(struct hdf5_file *file, unsigned dimension, const char *name,
                           hsize_t size);
/* Creates the next dimension with the texts of its values as its scale, so that readers can select
 * values by text. Returns the dataset of the texts. */
unsigned hdf5_words_dimension_create(struct hdf5_file *file, const char *name, const char *about,
                                     hsize_t size, unsigned length_dimension);
/* Writes the lists in the scales, which name the datasets along unlimited dimensions. */
void hdf5_scales_finish(struct hdf5_file *file);
