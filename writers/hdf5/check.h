/* SPDX-License-Identifier: BSD-3-Clause */
/* Check values for uncompressed data and for the end of the file. */
#pragma once

#include "writers/hdf5/dataset.h"

#define HDF5_TEXT_BYTES 256 /* maximum length of a text */

/* Values of how_ended. */
enum hdf5_ending { HDF5_OPEN = 0, HDF5_ROTATED = 1, HDF5_ENDED = 2 };

/* Creates the check values of the uncompressed datasets that exist along an unlimited dimension. */
void hdf5_check_create(struct hdf5_file *file, unsigned dimension, const char *name,
                       enum hdf5_type type);
/* Writes how the file and the run ended, and the check value of these fields. */
void hdf5_end_write(struct hdf5_file *file, enum hdf5_ending how, int64_t time_ns,
                    const char *reason);
