/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of level `cdo`: a row for each CDO whose record ended. A bucket's rows are written as
 * one block for each column.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/utf8.h"
#include "writers/hdf5/internal.h"

#define UNIT_TIME "nanoseconds since 1970-01-01T00:00:00Z"

static const char *const number_about[HDF5_CDO_NUMBERS][3] = {
    {"cdo_size_bytes", "size of the CDO; only where cdo_size_known is 1", "byte"},
    {"cdo_size_known", "1: an event reported the size of the CDO", "1"},
    {"cdo_demands", "demands for the CDO", "1"},
    {"cdo_consumers", "completed transports of the CDO", "1"},
};

static const char *const time_about[VAMP_CDO_TIME_COUNT] = {
    "when it was first declared; missing: not seen",
    "when it was sealed; missing: not seen",
    "when it was first offered; missing: not seen",
    "when it was first demanded; missing: not seen",
    "when a transport of it was last completed; missing: not seen",
    "when it was last withdrawn; missing: not seen",
    "when a handle on it was last disposed of; missing: not seen",
};

static const char *const text_about[HDF5_CDO_TEXTS][2] = {
    {"cdo_name", "name of the CDO"},
    {"cdo_producer", "name of the component that made it"},
    {"cdo_id", "id of the CDO, 32 hexadecimal digits"},
    {"cdo_end", "why its record ended: disposed, left, evicted or run"},
};

static int create_column(struct hdf5_file *file, const struct hdf5_spec *spec, bool is_first,
                         struct vamp_err *err)
{
    unsigned index = 0;
    int code = hdf5_dataset_create(file, spec, &index, err);
    file->cdos_first = is_first ? index : file->cdos_first;
    return code;
}

int hdf5_cdo_create(struct hdf5_file *file, struct vamp_err *err)
{
    const unsigned table = file->dimension_count++;
    file->cdo_length = file->dimension_count++;
    int code = hdf5_dimension_create(file, table, "cdo", 0, true, err);
    if (code == 0) {
        code = hdf5_dimension_create(file, file->cdo_length, "cdo_text_length", VAMP_CDO_NAME_BYTES,
                                     false, err);
    }
    for (unsigned i = 0; code == 0 && i < HDF5_CDO_NUMBERS; i++) {
        const struct hdf5_spec spec = {
            .name = number_about[i][0],
            .type = HDF5_U64,
            .rank = 1,
            .dimensions = {table},
            .units = number_about[i][2],
            .long_name = number_about[i][1],
        };
        code = create_column(file, &spec, i == 0, err);
    }
    for (unsigned i = 0; code == 0 && i < VAMP_CDO_TIME_COUNT; i++) {
        char name[HDF5_NAME_BYTES];
        (void)snprintf(name, sizeof name, "cdo_%s", vamp_cdo_time_name(i));
        const struct hdf5_spec spec = {
            .name = name,
            .type = HDF5_I64,
            .rank = 1,
            .dimensions = {table},
            .fill_value = HDF5_TIME_MISSING,
            .units = UNIT_TIME,
            .long_name = time_about[i],
        };
        code = create_column(file, &spec, false, err);
    }
    for (unsigned i = 0; code == 0 && i < HDF5_CDO_TEXTS; i++) {
        const struct hdf5_spec spec = {
            .name = text_about[i][0],
            .type = HDF5_CHAR,
            .rank = 2,
            .dimensions = {table, file->cdo_length},
            .chunk_rows = HDF5_TEXT_CHUNK_ROWS,
            .long_name = text_about[i][1],
        };
        code = create_column(file, &spec, false, err);
    }
    return code;
}

static uint64_t number_of(const struct vamp_cdo_row *row, unsigned column)
{
    const uint64_t numbers[HDF5_CDO_NUMBERS] = {row->size_bytes, row->size_known, row->demands,
                                                row->consumers};
    return column < HDF5_CDO_NUMBERS ? numbers[column]
                                     : (uint64_t)row->times_ns[column - HDF5_CDO_NUMBERS];
}

static void text_of(const struct vamp_cdo_row *row, unsigned column,
                    char text[static VAMP_CDO_NAME_BYTES])
{
    switch (column) {
    case 0:
        (void)vamp_utf8_copy(text, VAMP_CDO_NAME_BYTES, row->name);
        return;
    case 1:
        (void)vamp_utf8_copy(text, VAMP_CDO_NAME_BYTES, row->producer);
        return;
    case 2:
        if (row->id_known) {
            (void)snprintf(text, VAMP_CDO_NAME_BYTES, "%016" PRIx64 "%016" PRIx64, row->id.high,
                           row->id.low);
        }
        return;
    default:
        (void)snprintf(text, VAMP_CDO_NAME_BYTES, "%s", vamp_cdo_end_name(row->end));
        return;
    }
}

static int write_numbers(struct hdf5_file *file, const struct vamp_bucket *bucket, uint64_t *values,
                         struct vamp_err *err)
{
    const hsize_t start = file->dimensions[file->cdo_length - 1].size, count = bucket->cdo_count;
    int code = 0;
    for (unsigned c = 0; code == 0 && c < HDF5_CDO_NUMBERS + VAMP_CDO_TIME_COUNT; c++) {
        for (unsigned i = 0; i < bucket->cdo_count; i++) {
            values[i] = number_of(&bucket->cdos[i], c);
        }
        code = hdf5_dataset_put(file, file->cdos_first + c, &start, &count, values, err);
    }
    return code;
}

static int write_texts(struct hdf5_file *file, const struct vamp_bucket *bucket, char *texts,
                       struct vamp_err *err)
{
    const unsigned first = file->cdos_first + HDF5_CDO_NUMBERS + VAMP_CDO_TIME_COUNT;
    const hsize_t start[] = {file->dimensions[file->cdo_length - 1].size, 0};
    const hsize_t count[] = {bucket->cdo_count, VAMP_CDO_NAME_BYTES};
    int code = 0;
    for (unsigned c = 0; code == 0 && c < HDF5_CDO_TEXTS; c++) {
        memset(texts, 0, (size_t)bucket->cdo_count * VAMP_CDO_NAME_BYTES);
        for (unsigned i = 0; i < bucket->cdo_count; i++) {
            text_of(&bucket->cdos[i], c, texts + (size_t)i * VAMP_CDO_NAME_BYTES);
        }
        code = hdf5_dataset_put(file, first + c, start, count, texts, err);
    }
    return code;
}

int hdf5_cdo_write(struct hdf5_file *file, const struct vamp_bucket *bucket, struct vamp_err *err)
{
    if (bucket->cdo_count == 0 || file->cdo_length == 0) {
        return 0;
    }
    void *block = malloc((size_t)bucket->cdo_count * VAMP_CDO_NAME_BYTES);
    if (block == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "write the CDOs of a bucket to %s", file->path);
    }
    int code = write_numbers(file, bucket, block, err);
    code = code != 0 ? code : write_texts(file, bucket, block, err);
    free(block);
    file->dimensions[file->cdo_length - 1].next += bucket->cdo_count;
    return code;
}
