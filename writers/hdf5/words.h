/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels whose values are a closed list, and the cells of the overview that they make. */
#pragma once

#include <stdbool.h>

#include "writers/writer.h"

struct hdf5_file;

#define HDF5_WORDS_MAX 64 /* words of a label, (other) included */

struct hdf5_words {
    unsigned dimension;                /* 0: no metric has this label */
    unsigned slots;                    /* word 0 is "(other)" */
    unsigned named;                    /* words in the file; grows for the label `output` */
    unsigned text;                     /* dataset */
    const char *words[HDF5_WORDS_MAX]; /* `named` of them, valid during the run */
};

/* The dimension of the texts of a label. */
unsigned hdf5_words_length(enum vamp_label label);
/* Whether losses at this place (enum vamp_loss) cannot be observed: the file has no numbers of
 * them. */
bool hdf5_is_unseen(const struct hdf5_file *file, unsigned place);
/* Creates the words of every closed label that a metric has. */
void hdf5_words_create(struct hdf5_file *file);
/* Assigns each new series of the bucket to its cell of the overview, and names new outputs. */
void hdf5_words_place(struct hdf5_file *file, const struct vamp_bucket *bucket);
