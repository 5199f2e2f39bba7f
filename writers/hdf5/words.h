/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels with a closed list of values, and the cells of the overview that result from them. */
#pragma once

#include <stdbool.h>

#include "writers/writer.h"

struct hdf5_file;

#define HDF5_WORDS_MAX 64 /* maximum number of words of a label, including "(other)" */

struct hdf5_words {
    unsigned dimension; /* 0: no metric has this label */
    unsigned slots;     /* capacity; word 0 is "(other)" */
    unsigned named;     /* number of words in the file; grows for the label `output` */
    unsigned text;      /* dataset */
    const char *words[HDF5_WORDS_MAX]; /* `named` of them, valid during the run */
};

/* The dimension with the length of a label's texts. */
unsigned hdf5_words_length(enum vamp_label label);
/* Whether losses with this reason (enum vamp_loss) cannot be observed, so that the file has no
 * counts of them. */
bool hdf5_is_unseen(const struct hdf5_file *file, unsigned place);
/* Creates the words of every closed label that at least one metric has. */
void hdf5_words_create(struct hdf5_file *file);
/* Assigns each new series of the bucket to its cell of the overview, and adds the names of new
 * outputs. */
void hdf5_words_place(struct hdf5_file *file, const struct vamp_bucket *bucket);
