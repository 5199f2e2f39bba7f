/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of a dimension whose variables have check values (check.h), in the form of the file. Writing
 * to a dataset updates them, so this module is below dataset.c.
 */
#pragma once

#include "writers/hdf5/scale.h"

/* The size of a number in the file. */
size_t hdf5_type_bytes(enum hdf5_type type);
/* How many numbers a row of the dataset has. */
size_t hdf5_row_numbers(const struct hdf5_file *file, const struct hdf5_dataset *dataset);
/* Stores a number in `bytes` bytes as the file has it. */
void hdf5_row_store(unsigned char *to, uint64_t number, size_t bytes);
/* Stores a text, or the number at index `at`, in the current row of the dataset's dimension. For
 * datasets along time and restarts, writing does it. */
void hdf5_check_text(const struct hdf5_file *file, unsigned index, const char *text);
void hdf5_check_number(const struct hdf5_file *file, unsigned index, size_t at, uint64_t number);
/* The check value of the current row, which is complete. Then the next row begins, with fill values
 * only. */
uint64_t hdf5_check_sum(struct hdf5_file *file, unsigned dimension);
/* The dataset's bytes in row `row`; row number row_count has the fill values. */
unsigned char *hdf5_row_place(const struct hdf5_file *file, const struct hdf5_dataset *dataset,
                              unsigned row);
/* Resets all rows to the fill values, after a flush. */
void hdf5_rows_clear(struct hdf5_dimension *dimension);
