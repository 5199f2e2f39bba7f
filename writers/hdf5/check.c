/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Check values. HDF5 has checksums for metadata, zlib has one in each compressed chunk, and
 * variables of fixed length use HDF5's Fletcher32. An uncompressed variable that grows by one
 * number at a time cannot have a checksum per chunk: a reader of a live file would find it
 * outdated, and a kill could leave it half written. Each dimension with such variables therefore
 * has an additional variable with the CRC-32 of each row across all of them. The row is collected
 * in memory as it is written.
 */
#include "writers/hdf5/check.h"

#include <stdlib.h>
#include <string.h>

#include "vampire/core/utf8.h"
#include "writers/format/text.h"
#include "writers/hdf5/attribute.h"
#include "writers/hdf5/error.h"
#include "writers/hdf5/file.h"
#include "writers/hdf5/row.h"

/* Assigns every uncompressed variable along the dimension its offset in the row, marks it as
 * checked, and appends its name to `names`. Returns the size of a row in bytes. */
static size_t lay_out(struct hdf5_file *file, unsigned dimension, struct vamp_text *names)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < file->dataset_count; i++) {
        struct hdf5_dataset *dataset = &file->datasets[i];
        if (dataset->rank == 0 || dataset->packed || dataset->dimensions[0] != dimension) {
            continue;
        }
        const char *slash = strrchr(dataset->name, '/');
        if (bytes > 0) {
            vamp_text_word(names, " ");
        }
        vamp_text_word(names, slash != NULL ? slash + 1 : dataset->name);
        dataset->checked = true;
        dataset->place = bytes;
        bytes += hdf5_type_bytes(dataset->type) * hdf5_row_numbers(file, dataset);
    }
    vamp_text_add(names, "", 1);
    return bytes;
}

void hdf5_check_create(struct hdf5_file *file, unsigned number, const char *name,
                       enum hdf5_type type)
{
    struct hdf5_dimension *dimension = &file->dimensions[number];
    struct vamp_text names = {.bytes = NULL};
    if (file->code != 0) {
        return;
    }
    dimension->row_bytes = lay_out(file, number, &names);
    const bool is_time = number == HDF5_TIME;
    dimension->row_count = is_time ? VAMP_UNFLUSHED_MAX : 1;
    dimension->rows = malloc((dimension->row_count + 1) * dimension->row_bytes + 1);
    if (dimension->rows == NULL || names.failed) {
        hdf5_no_memory(file, "prepare the file");
        vamp_text_done(&names);
        return;
    }
    /* The row of fill values, which begins every row. */
    for (unsigned i = 0; i < file->dataset_count; i++) {
        const struct hdf5_dataset *dataset = &file->datasets[i];
        const size_t bytes = hdf5_type_bytes(dataset->type);
        if (!dataset->checked || dataset->dimensions[0] != number) {
            continue;
        }
        for (size_t n = 0; n < hdf5_row_numbers(file, dataset); n++) {
            hdf5_row_store(hdf5_row_place(file, dataset, dimension->row_count) + n * bytes,
                           dataset->fill, bytes);
        }
    }
    hdf5_rows_clear(dimension);
    /* The dataset of the check values, which lists its variables. */
    unsigned chunk_rows = 0;
    if (!is_time) {
        chunk_rows = type == HDF5_U32 ? HDF5_SERIES_CHUNK_ROWS : HDF5_TEXT_CHUNK_ROWS;
    }
    dimension->check = hdf5_dataset_create(
        file, &(struct hdf5_spec){.name = name,
                                  .type = type,
                                  .rank = 1,
                                  .dimensions = {number},
                                  .chunk_rows = chunk_rows,
                                  .units = "1",
                                  .long_name = "CRC-32 of the row of the variables"});
    hdf5_attribute_text(file, file->datasets[dimension->check].id, "variables", names.bytes);
    vamp_text_done(&names);
}

void hdf5_end_write(struct hdf5_file *file, enum hdf5_ending how, int64_t time_ns,
                    const char *reason)
{
    const hsize_t start = 0, length = HDF5_TEXT_BYTES;
    unsigned char row[1 + sizeof time_ns + HDF5_TEXT_BYTES] = {(unsigned char)how};
    char *text = (char *)row + 1 + sizeof time_ns;
    hdf5_row_store(row + 1, (uint64_t)time_ns, sizeof time_ns);
    (void)vamp_utf8_copy(text, HDF5_TEXT_BYTES, reason);
    const uint64_t sum = libdeflate_crc32(0, row, sizeof row);
    hdf5_dataset_put(file, file->how_ended, &start, &length, row);
    hdf5_dataset_put(file, file->ended, &start, &length, &time_ns);
    hdf5_dataset_put(file, file->end_reason, &start, &length, text);
    hdf5_dataset_put(file, file->end_check, &start, &length, &sum);
}
