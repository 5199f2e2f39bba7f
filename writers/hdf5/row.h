/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of a dimension whose variables have check values (check.h), in file format. Writing to a
 * dataset updates them, so this module is below dataset.c.
 */
#pragma once

#include "writers/hdf5/scale.h"

/* Size of a number in the file. */
size_t hdf5_type_bytes(enum hdf5_type type);
/* Number of numbers in a row of the dataset. */
size_t hdf5_row_numbers(const struct hdf5_file *file, const struct hdf5_dataset *dataset);
/* Stores a number in file format, in `bytes` bytes. */
void hdf5_row_store(unsigned char *to, uint64_t number, size_t bytes);
/* Stores a text, or the number at index `at`, in the current row of the dataset's dimension. Not
 * needed for datasets along time and restarts, for which writing does it. */
void hdf5_check_text(const struct hdf5_file *file, unsigned index, const char *text);
void hdf5_check_number(const struct hdf5_file *file, unsigned index, size_t at, uint64_t number);
/* Returns the check value of the current row, which must be complete, and begins the next row, with
 * fill values only. */
uint64_t hdf5_check_sum(struct hdf5_file *file, unsigned dimension);
/* Returns the bytes of the dataset in row `row`; row number row_count contains the fill values. */
unsigned char *hdf5_row_place(const struct hdf5_file *file, const struct hdf5_dataset *dataset,
                              unsigned row);
/* Resets all rows to the fill values, after a flush. */
void hdf5_rows_clear(struct hdf5_dimension *dimension);
