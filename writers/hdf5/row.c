/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The row of a dimension whose variables have check values (check.c), in file format. Writing a
 * variable updates the row, so this module is below dataset.c.
 */
#include "writers/hdf5/row.h"

#include <assert.h>
#include <string.h>

#include "vampire/core/utf8.h"
#include "writers/hdf5/file.h"

size_t hdf5_type_bytes(enum hdf5_type type)
{
    static const size_t bytes[] = {
        [HDF5_U64] = 8, [HDF5_I64] = 8, [HDF5_U32] = 4,
        [HDF5_U16] = 2, [HDF5_U8] = 1,  [HDF5_CHAR] = 1,
    };
    return bytes[type];
}

size_t hdf5_row_numbers(const struct hdf5_file *file, const struct hdf5_dataset *dataset)
{
    return dataset->rank > 1 ? (size_t)file->dimensions[dataset->dimensions[1]].size : 1;
}

void hdf5_row_store(unsigned char *to, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (unsigned char)(number >> 8 * i);
    }
}

unsigned char *hdf5_row_place(const struct hdf5_file *file, const struct hdf5_dataset *dataset,
                              unsigned row)
{
    const struct hdf5_dimension *dimension = &file->dimensions[dataset->dimensions[0]];
    assert(dataset->checked && row <= dimension->row_count);
    return dimension->rows + row * dimension->row_bytes + dataset->place;
}

static unsigned char *place_of(const struct hdf5_file *file, unsigned index)
{
    const struct hdf5_dataset *dataset = &file->datasets[index];
    const struct hdf5_dimension *dimension = &file->dimensions[dataset->dimensions[0]];
    assert(dimension->row < dimension->row_count);
    return hdf5_row_place(file, dataset, dimension->row);
}

void hdf5_check_text(const struct hdf5_file *file, unsigned index, const char *text)
{
    const size_t length = hdf5_row_numbers(file, &file->datasets[index]);
    (void)vamp_utf8_copy((char *)place_of(file, index), length, text);
}

void hdf5_check_number(const struct hdf5_file *file, unsigned index, size_t at, uint64_t number)
{
    const size_t bytes = hdf5_type_bytes(file->datasets[index].type);
    hdf5_row_store(place_of(file, index) + at * bytes, number, bytes);
}

uint64_t hdf5_check_sum(struct hdf5_file *file, unsigned number)
{
    struct hdf5_dimension *dimension = &file->dimensions[number];
    const unsigned char *row = dimension->rows + dimension->row++ * dimension->row_bytes;
    const uint64_t sum = libdeflate_crc32(0, row, dimension->row_bytes);
    if (number != HDF5_TIME) {
        hdf5_rows_clear(dimension);
    }
    return sum;
}

void hdf5_rows_clear(struct hdf5_dimension *dimension)
{
    const size_t bytes = dimension->row_bytes;
    for (unsigned row = 0; row < dimension->row_count; row++) {
        memcpy(dimension->rows + row * bytes, dimension->rows + dimension->row_count * bytes,
               bytes);
    }
    dimension->row = 0;
}
