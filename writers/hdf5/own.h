/* SPDX-License-Identifier: BSD-3-Clause */
/* vampire's own metrics: two tables in a separate group. */
#pragma once

#include "writers/writer.h"

struct hdf5_file;

#define HDF5_OWN_GROUP "vampire"
#define HDF5_OWN_COLUMNS_MAX 128 /* maximum number of columns of a table */

/* A table with a column for each cell of each metric. */
struct hdf5_table {
    const char *name;
    unsigned dimension, columns;
    unsigned first; /* dataset */
};

/* Decides where each metric is stored. hdf5_words_create must have been called. */
void hdf5_own_place(struct hdf5_file *file);
void hdf5_own_create(struct hdf5_file *file);
void hdf5_own_write(struct hdf5_file *file, const struct vamp_bucket *bucket);
void hdf5_own_restart(struct hdf5_file *file, const struct vamp_bucket *bucket);
