/* SPDX-License-Identifier: BSD-3-Clause */
/* The dimensions of a file. Each is a dimension scale of HDF5. */
#pragma once

#include "writers/hdf5/dataset.h"

/* Dimensions that every file has; those of words and groups follow. */
enum hdf5_dimension_number {
    HDF5_TIME,
    HDF5_RESTART, /* totals of all counters */
    HDF5_BIN,
    HDF5_NAME_LENGTH, /* bytes of component names */
    HDF5_WORD_LENGTH, /* bytes of words that vampire or its configuration chose */
    HDF5_TEXT_LENGTH, /* bytes of a sentence */
    HDF5_NAME,        /* values of labels with an open list */
    HDF5_GAP,
    HDF5_OUTPUT,
    HDF5_COMPONENT,
    HDF5_UNKNOWN,
    HDF5_FIRST_OTHER,
};

struct hdf5_dimension {
    char name[HDF5_NAME_BYTES]; /* in a group: GROUP/NAME */
    hsize_t size;               /* slots; if unlimited: rows of the buckets written */
    hsize_t next;               /* if unlimited: `size` with the bucket being written */
    bool unlimited;
    hobj_ref_t scale;
    unsigned longest; /* the only dataset in the scale's list; 0: the list has all datasets */
    /* For dimensions with check values (check.h): their dataset; a buffer of rows in the form of
     * the file, the last of them a row of fill values; and the row being filled. The rows of `time`
     * stay there until they are flushed. */
    unsigned check;
    unsigned char *rows;
    size_t row_bytes;
    unsigned row, row_count;
};

/* Names dimension number `dimension` and creates its scale; size 0: unlimited. */
void hdf5_dimension_create(struct hdf5_file *file, unsigned dimension, const char *name,
                           hsize_t size);
/* Creates the next dimension with the texts of its values as its scale, so that readers can select
 * by them. Returns the dataset of the texts. */
unsigned hdf5_words_dimension_create(struct hdf5_file *file, const char *name, const char *about,
                                     hsize_t size, unsigned length_dimension);
/* Writes the scales' lists of the datasets along unlimited dimensions. */
void hdf5_scales_finish(struct hdf5_file *file);
