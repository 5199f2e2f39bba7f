/* SPDX-License-Identifier: BSD-3-Clause */
/* Element types, attributes and groups. */
#pragma once

#include "writers/hdf5/dataset.h"

/* The HDF5 type of numbers in the file (little endian) and in memory (native). */
hid_t hdf5_file_type(enum hdf5_type type);
hid_t hdf5_memory_type(enum hdf5_type type);

/* Writes an attribute of the object `id`: any value; a text of fixed length, with invalid UTF-8
 * replaced; or `count` numbers in the native form of the type (0: one scalar). The attribute is
 * closed on every path, because an open one prevents the start of SWMR. */
void hdf5_attribute_write(struct hdf5_file *file, hid_t id, const char *name, hid_t in_file,
                          hid_t in_memory, hid_t space, const void *value);
void hdf5_attribute_text(struct hdf5_file *file, hid_t id, const char *name, const char *text);
void hdf5_attribute_numbers(struct hdf5_file *file, hid_t id, const char *name, enum hdf5_type type,
                            const void *values, hsize_t count);
/* Creates a group with one attribute. */
void hdf5_group_create(struct hdf5_file *file, const char *name, const char *attribute,
                       const char *text);
