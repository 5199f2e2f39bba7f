/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datasets, and writing of numbers and texts to them. Whole chunks are shuffled and compressed here
 * and passed to HDF5 in the form stored in the file. The file is the same as with HDF5's own
 * filters: the dataset names them, and every reader reverses them. HDF5 itself would allocate,
 * clear and free a compressor of 256 KiB for each chunk, which takes nine tenths of the time for a
 * row of a few hundred bytes.
 */
#include "writers/hdf5/dataset.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/event/components.h"
#include "vampire/core/utf8.h"
#include "vampire/core/values.h"
#include "writers/hdf5/attribute.h"
#include "writers/hdf5/error.h"
#include "writers/hdf5/file.h"
#include "writers/hdf5/row.h"

/* ---- creating datasets */

/* In a compressed dataset of several dimensions each row is a chunk; columns have many rows in a
 * chunk. */
static void choose_chunk(const struct hdf5_file *file, struct hdf5_dataset *dataset,
                         const struct hdf5_spec *spec)
{
    for (unsigned i = 0; i < dataset->rank; i++) {
        dataset->chunk[i] = VAMP_MAX(file->dimensions[dataset->dimensions[i]].size, 1);
    }
    if (spec->chunk_rows > 0) {
        dataset->chunk[0] = spec->chunk_rows;
    } else if (file->dimensions[dataset->dimensions[0]].unlimited) {
        dataset->chunk[0] = dataset->packed ? 1 : HDF5_COLUMN_CHUNK_ROWS;
    }
    if (spec->chunk_columns > 0 && spec->chunk_columns < dataset->chunk[1]) {
        dataset->chunk[1] = spec->chunk_columns;
    }
}

/* Up to this number, attributes stay in the object header. By default HDF5 moves more than 8 of
 * them to a tree and a heap, which takes 1.5 kB per dataset and half of the time to open the file.
 */
#define ATTRIBUTES_MAX 32

/* Returns whether the first dimension of the dataset is unlimited. */
static bool is_growing(const struct hdf5_file *file, const struct hdf5_dataset *dataset)
{
    return dataset->rank > 0 && file->dimensions[dataset->dimensions[0]].unlimited;
}

/* Sets the creation properties of a new dataset in the property list. Returns false on failure. */
static bool set_properties(hid_t list, const struct hdf5_dataset *dataset,
                           const struct hdf5_spec *spec, bool grows)
{
    const uint8_t byte = (uint8_t)spec->fill_value;
    const void *fill = &spec->fill_value;
    if (hdf5_type_bytes(dataset->type) == 1) {
        fill = &byte;
    }
    /* No creation times: equal buckets must give equal files. */
    if (list < 0 || H5Pset_obj_track_times(list, false) < 0 ||
        H5Pset_attr_creation_order(list, H5P_CRT_ORDER_TRACKED) < 0 ||
        H5Pset_attr_phase_change(list, ATTRIBUTES_MAX, 0) < 0 ||
        H5Pset_fill_time(list, H5D_FILL_TIME_ALLOC) < 0 ||
        H5Pset_fill_value(list, hdf5_memory_type(dataset->type), fill) < 0) {
        return false;
    }
    if (dataset->rank > 0 && H5Pset_chunk(list, (int)dataset->rank, dataset->chunk) < 0) {
        return false;
    }
    if (spec->early && H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) < 0) {
        return false;
    }
    if (dataset->packed &&
        (H5Pset_shuffle(list) < 0 || H5Pset_deflate(list, HDF5_DEFLATE_LEVEL) < 0)) {
        return false;
    }
    return dataset->rank == 0 || grows || H5Pset_fletcher32(list) >= 0;
}

/* Returns the creation properties of a dataset. They are cached, since consecutive datasets often
 * have equal ones: creating and releasing a list takes as long as creating a dataset. */
static hid_t choose_creation(struct hdf5_file *file, struct hdf5_dataset *dataset,
                             const struct hdf5_spec *spec)
{
    const bool grows = is_growing(file, dataset);
    struct hdf5_creation wanted = {
        .fill = spec->fill_value,
        .traits = (uint64_t)dataset->type << 32 | dataset->rank << 3 |
                  (unsigned)dataset->packed << 2 | (unsigned)spec->early << 1 | (unsigned)grows,
    };
    if (dataset->rank > 0) {
        choose_chunk(file, dataset, spec);
    }
    memcpy(wanted.chunk, dataset->chunk, sizeof wanted.chunk);
    for (unsigned i = 0; i < HDF5_CREATIONS && file->create[i] > 0; i++) {
        if (memcmp(&wanted, &file->creations[i], sizeof wanted) == 0) {
            return file->create[i];
        }
    }
    const unsigned place = file->creation_count++ % HDF5_CREATIONS;
    (void)H5Pclose(file->create[place]);
    file->creations[place] = wanted;
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    file->create[place] = list;
    if (!set_properties(list, dataset, spec, grows)) {
        hdf5_failed(file, "describe dataset \"%s\"", spec->name);
    }
    return list;
}

void hdf5_creations_drop(struct hdf5_file *file)
{
    (void)H5Tclose(file->text);
    (void)H5Tclose(file->list);
    (void)H5Sclose(file->scalar);
    file->text = file->list = file->scalar = 0;
    for (unsigned i = 0; i < HDF5_CREATIONS; i++) {
        (void)H5Pclose(file->create[i]);
        file->create[i] = 0;
    }
}

/* Returns the dataspace of a new dataset; unlimited dimensions have size 0. */
static hid_t dataset_space(const struct hdf5_file *file, const struct hdf5_dataset *dataset)
{
    if (dataset->rank == 0) {
        return H5Screate(H5S_SCALAR);
    }
    hsize_t size[HDF5_RANK_MAX], largest[HDF5_RANK_MAX];
    for (unsigned i = 0; i < dataset->rank; i++) {
        const struct hdf5_dimension *dimension = &file->dimensions[dataset->dimensions[i]];
        size[i] = dimension->size;
        largest[i] = dimension->size;
        if (dimension->unlimited) {
            size[i] = 0;
            largest[i] = H5S_UNLIMITED;
        }
    }
    return H5Screate_simple((int)dataset->rank, size, largest);
}

void hdf5_dataset_set_rows(struct hdf5_file *file, struct hdf5_dataset *dataset, hsize_t rows)
{
    hsize_t size[HDF5_RANK_MAX];
    for (unsigned i = 0; i < dataset->rank; i++) {
        size[i] = file->dimensions[dataset->dimensions[i]].size;
    }
    size[0] = rows;
    if (H5Dset_extent(dataset->id, size) < 0) {
        hdf5_failed(file, "extend \"%s\" in %s", dataset->name, file->path);
    } else {
        dataset->extent = rows;
    }
}

void hdf5_dataset_close(struct hdf5_file *file, unsigned index)
{
    struct hdf5_dataset *dataset = &file->datasets[index];
    const hid_t id = dataset->id;
    dataset->id = -1;
    if (id >= 0 && H5Dclose(id) < 0) {
        hdf5_failed(file, "close \"%s\" of %s", dataset->name, file->path);
    }
}

/* Writes the list of the dataset's scales. A scale, which has the name of its dimension, has no
 * such list. */
static void attach_scales(struct hdf5_file *file, const struct hdf5_dataset *dataset)
{
    hvl_t scales[HDF5_RANK_MAX];
    const hsize_t rank = dataset->rank;
    if (rank == 0 || strcmp(dataset->name, file->dimensions[dataset->dimensions[0]].name) == 0) {
        return;
    }
    for (unsigned i = 0; i < rank; i++) {
        scales[i] = (hvl_t){1, &file->dimensions[dataset->dimensions[i]].scale};
    }
    if (file->list <= 0) {
        file->list = H5Tvlen_create(H5T_STD_REF_OBJ);
    }
    hid_t space = H5Screate_simple(1, &rank, NULL);
    hdf5_attribute_write(file, dataset->id, "DIMENSION_LIST", file->list, file->list, space,
                         scales);
    (void)H5Sclose(space);
}

unsigned hdf5_dataset_create(struct hdf5_file *file, const struct hdf5_spec *spec)
{
    const unsigned index = file->dataset_count;
    if (file->code == 0 && index == file->dataset_capacity) {
        file->code =
            vamp_err_set(file->err, -ENOBUFS, "create dataset \"%s\": more than %u datasets",
                         spec->name, file->dataset_capacity);
    }
    if (file->code == 0 && index > file->time + 1) {
        hdf5_dataset_close(file, index - 1);
    }
    if (file->code != 0) {
        return 0;
    }
    /* The description in memory. */
    struct hdf5_dataset *dataset = &file->datasets[index];
    *dataset = (struct hdf5_dataset){.type = spec->type,
                                     .rank = spec->rank,
                                     .packed = spec->packed,
                                     .fill = spec->fill_value,
                                     .id = -1};
    (void)snprintf(dataset->name, sizeof dataset->name, "%s", spec->name);
    memcpy(dataset->dimensions, spec->dimensions, sizeof dataset->dimensions);

    /* The dataset in the file. */
    const hid_t create = choose_creation(file, dataset, spec);
    hid_t space = dataset_space(file, dataset);
    if (file->code == 0 && space >= 0) {
        dataset->id = H5Dcreate2(file->file, dataset->name, hdf5_file_type(dataset->type), space,
                                 H5P_DEFAULT, create, H5P_DEFAULT);
    }
    if (dataset->id < 0) {
        hdf5_failed(file, "create dataset \"%s\"", spec->name);
    }
    (void)H5Sclose(space);
    if (file->code != 0) {
        return 0;
    }
    /* The attributes. */
    file->dataset_count++;
    attach_scales(file, dataset);
    if (spec->long_name != NULL) {
        hdf5_attribute_text(file, dataset->id, "long_name", spec->long_name);
    }
    if (spec->units != NULL) {
        hdf5_attribute_text(file, dataset->id, "units", spec->units);
    }
    if (spec->has_fill) {
        hdf5_attribute_numbers(file, dataset->id, "_FillValue", spec->type, &spec->fill_value, 1);
    }
    if (spec->type == HDF5_CHAR) {
        hdf5_attribute_text(file, dataset->id, "_Encoding", "utf-8");
    }
    return index;
}

unsigned hdf5_texts_create(struct hdf5_file *file, const char *name, const char *long_name,
                           unsigned dimension, unsigned length_dimension)
{
    return hdf5_dataset_create(
        file, &(struct hdf5_spec){
                  .name = name,
                  .type = HDF5_CHAR,
                  .rank = 2,
                  .dimensions = {dimension, length_dimension},
                  .chunk_rows = file->dimensions[dimension].unlimited ? HDF5_TEXT_CHUNK_ROWS : 0,
                  .long_name = long_name,
              });
}

unsigned hdf5_column_create(struct hdf5_file *file, unsigned dimension, const char *name,
                            enum hdf5_type type, const char *units, const char *about,
                            uint64_t default_value)
{
    return hdf5_dataset_create(file, &(struct hdf5_spec){.name = name,
                                                         .type = type,
                                                         .rank = 1,
                                                         .dimensions = {dimension},
                                                         .fill_value = default_value,
                                                         .units = units,
                                                         .long_name = about});
}

/* ---- chunks */

void hdf5_chunks_init(struct hdf5_file *file, size_t most_bytes)
{
    struct hdf5_chunks *chunks = &file->chunks;
    if (file->code != 0) {
        return;
    }
    chunks->shuffled_bytes = most_bytes;
    chunks->packed_bytes = libdeflate_zlib_compress_bound(NULL, most_bytes);
    chunks->compressor = libdeflate_alloc_compressor(HDF5_DEFLATE_LEVEL);
    chunks->shuffled = malloc(most_bytes);
    /* The last byte is the check of the chunk's location. */
    chunks->packed = malloc(chunks->packed_bytes + 1);
    if (chunks->compressor == NULL || chunks->shuffled == NULL || chunks->packed == NULL) {
        hdf5_no_memory(file, "prepare the file");
    }
}

void hdf5_chunks_done(struct hdf5_chunks *chunks)
{
    libdeflate_free_compressor(chunks->compressor);
    free(chunks->shuffled);
    free(chunks->packed);
}

/* Applies HDF5's shuffle filter: the first byte of each number, then the second byte of each, and
 * so on, for all bytes of the type in the file. */
static void shuffle(const uint64_t *numbers, size_t count, size_t bytes, unsigned char *out)
{
    for (size_t byte = 0; byte < bytes; byte++, out += count) {
        for (size_t i = 0; i < count; i++) {
            out[i] = (unsigned char)(numbers[i] >> (8 * byte));
        }
    }
}

static void failed_to_write(struct hdf5_file *file, const struct hdf5_dataset *dataset)
{
    hdf5_failed(file, "write \"%s\" in %s", dataset->name, file->path);
}

/* Returns a byte that identifies the chunk and its variable. Without it, an exchange of two pages
 * of a file would not be detected, because the check values of both compressed streams are valid.
 */
static unsigned char place_of(const struct hdf5_dataset *dataset, hsize_t chunk)
{
    unsigned char number[sizeof(uint64_t)];
    hdf5_row_store(number, chunk, sizeof number);
    const uint32_t name = libdeflate_crc32(0, dataset->name, strlen(dataset->name));
    return (unsigned char)libdeflate_crc32(name, number, sizeof number);
}

/* Writes the complete chunk that begins at `start`. A byte after the compressed stream, ignored by
 * HDF5, identifies the chunk. */
static void put_chunk(struct hdf5_file *file, const struct hdf5_dataset *dataset,
                      const hsize_t *start, const uint64_t *numbers, size_t count)
{
    struct hdf5_chunks *chunks = &file->chunks;
    const size_t bytes = hdf5_type_bytes(dataset->type);
    assert(count * bytes <= chunks->shuffled_bytes);
    shuffle(numbers, count, bytes, chunks->shuffled);
    size_t packed = libdeflate_zlib_compress(chunks->compressor, chunks->shuffled, count * bytes,
                                             chunks->packed, chunks->packed_bytes);
    assert(packed > 0); /* the buffer has the size of the worst case */
    chunks->packed[packed++] = place_of(dataset, start[0] / dataset->chunk[0]);
    if (H5Dwrite_chunk(dataset->id, H5P_DEFAULT, 0, start, packed, chunks->packed) < 0) {
        failed_to_write(file, dataset);
    }
}

/* ---- writing */

uint64_t *hdf5_column_reserve(struct hdf5_file *file, struct hdf5_column *column, size_t count)
{
    if (file->code == 0 && count > column->capacity) {
        const size_t capacity = VAMP_MAX(count, 2 * column->capacity);
        uint64_t *numbers = realloc(column->numbers, capacity * sizeof *numbers);
        if (numbers == NULL) {
            hdf5_no_memory(file, "prepare the numbers of a bucket");
        } else {
            column->numbers = numbers;
            column->capacity = capacity;
        }
    }
    return file->code == 0 ? column->numbers : NULL;
}

uint64_t *hdf5_column_begin(struct hdf5_file *file, size_t count, uint64_t value)
{
    uint64_t *numbers = hdf5_column_reserve(file, &file->column, count);
    for (size_t i = 0; numbers != NULL && i < count; i++) {
        numbers[i] = value;
    }
    return numbers;
}

struct hdf5_dataset *hdf5_dataset_open(struct hdf5_file *file, unsigned index)
{
    struct hdf5_dataset *dataset = &file->datasets[index];
    if (file->code == 0 && dataset->id < 0) {
        dataset->id = H5Dopen2(file->file, dataset->name, H5P_DEFAULT);
        if (dataset->id < 0) {
            hdf5_failed(file, "open \"%s\" of %s again", dataset->name, file->path);
        }
    }
    return dataset;
}

/* Opens the dataset and extends it to at least `rows` rows. Returns false after a failure. */
static bool reach(struct hdf5_file *file, unsigned index, hsize_t rows)
{
    struct hdf5_dataset *dataset = hdf5_dataset_open(file, index);
    if (file->code == 0 && is_growing(file, dataset) && rows > dataset->extent) {
        hdf5_dataset_set_rows(file, dataset, rows);
    }
    return file->code == 0;
}

/* Writes a block of values whose type in memory is `type`, after extending the dataset if needed.
 * If the type in the file differs, HDF5 allocates and clears 1 MiB for the conversion. */
static void put(struct hdf5_file *file, unsigned index, const hsize_t *start, const hsize_t *count,
                hid_t type, const void *values)
{
    struct hdf5_dataset *dataset = &file->datasets[index];
    if (!reach(file, index, is_growing(file, dataset) ? start[0] + count[0] : 0)) {
        return;
    }
    herr_t written = -1;
    if (dataset->rank == 0) {
        written = H5Dwrite(dataset->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    } else {
        hid_t in_file = H5Dget_space(dataset->id);
        hid_t in_memory = H5Screate_simple((int)dataset->rank, count, NULL);
        if (in_file >= 0 && in_memory >= 0 &&
            H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0) {
            written = H5Dwrite(dataset->id, type, in_memory, in_file, H5P_DEFAULT, values);
        }
        if (written < 0) {
            failed_to_write(file, dataset); /* before the next HDF5 call clears the error stack */
        }
        (void)H5Sclose(in_memory);
        (void)H5Sclose(in_file);
    }
    if (written < 0) {
        failed_to_write(file, dataset);
    }
}

void hdf5_dataset_put(struct hdf5_file *file, unsigned index, const hsize_t *start,
                      const hsize_t *count, const void *values)
{
    put(file, index, start, count, hdf5_memory_type(file->datasets[index].type), values);
}

void hdf5_dataset_put_small(struct hdf5_file *file, unsigned index, hsize_t first, unsigned count,
                            const uint32_t *numbers)
{
    const hsize_t start[] = {first, 0}, size[] = {count, 1};
    uint8_t bytes[HDF5_TEXT_CHUNK_ROWS];
    assert(count <= HDF5_TEXT_CHUNK_ROWS);
    if (file->datasets[index].type != HDF5_U8) {
        put(file, index, start, size, H5T_NATIVE_UINT32, numbers);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        bytes[i] = (uint8_t)numbers[i];
    }
    put(file, index, start, size, H5T_NATIVE_UINT8, bytes);
}

/* Writes `count` numbers to a row of an uncompressed variable, beginning at cell `at`. Each number
 * is written only once. Rows along time are only buffered; the flush writes them. */
static void put_numbers(struct hdf5_file *file, unsigned index, hsize_t row, size_t at,
                        size_t count, const uint64_t *numbers)
{
    const struct hdf5_dataset *dataset = &file->datasets[index];
    const hsize_t start[] = {row, at}, size[] = {1, count};
    for (size_t i = 0; dataset->checked && i < count; i++) {
        hdf5_check_number(file, index, at + i, numbers[i]);
    }
    if (!dataset->checked || dataset->dimensions[0] != HDF5_TIME) {
        hdf5_dataset_put(file, index, start, size, numbers);
    }
}

/* Returns whether a cell (at offset `at`) has a value in a row that is buffered for the flush. */
static bool is_held(const struct hdf5_file *file, const struct hdf5_dataset *dataset, unsigned rows,
                    size_t at, size_t bytes)
{
    const unsigned char *fill =
        hdf5_row_place(file, dataset, file->dimensions[HDF5_TIME].row_count) + at;
    if (dataset == &file->datasets[file->bucket_number]) {
        return true; /* always written in full */
    }
    for (unsigned row = 0; row < rows; row++) {
        if (memcmp(hdf5_row_place(file, dataset, row) + at, fill, bytes) != 0) {
            return true;
        }
    }
    return false;
}

void hdf5_dataset_put_held(struct hdf5_file *file, unsigned index)
{
    const struct hdf5_dataset *dataset = &file->datasets[index];
    if (!dataset->checked || dataset->dimensions[0] != HDF5_TIME) {
        return;
    }
    const size_t cells = hdf5_row_numbers(file, dataset);
    const size_t bytes = hdf5_type_bytes(dataset->type);
    const unsigned rows = file->dimensions[HDF5_TIME].row;
    assert(rows == file->rows - file->flushed);
    /* Write each run of adjacent cells that have a value in a buffered row, as one block. */
    for (size_t at = 0, end = 0; at < cells; at = end + 1) {
        end = at;
        while (end < cells && is_held(file, dataset, rows, end * bytes, bytes)) {
            end++;
        }
        if (end == at) {
            continue;
        }
        const hsize_t start[] = {file->flushed, at}, count[] = {rows, end - at};
        const size_t length = (end - at) * bytes;
        unsigned char *numbers =
            (unsigned char *)hdf5_column_reserve(file, &file->column, (rows * length + 7) / 8);
        for (unsigned row = 0; numbers != NULL && row < rows; row++) {
            memcpy(numbers + row * length, hdf5_row_place(file, dataset, row) + at * bytes, length);
        }
        put(file, index, start, count, hdf5_file_type(dataset->type), numbers);
    }
}

/* Returns whether all numbers equal the fill value of the dataset. */
static bool is_fill(const struct hdf5_dataset *dataset, const uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] != dataset->fill) {
            return false;
        }
    }
    return true;
}

/* Writes the cells that differ from the fill value; each cell has its own chunks. */
static void put_cells(struct hdf5_file *file, unsigned index, hsize_t row, size_t cells,
                      const uint64_t *numbers)
{
    const struct hdf5_dataset *dataset = &file->datasets[index];
    for (size_t at = 0, end = 0; at < cells; at = end + 1) {
        end = at;
        while (end < cells && numbers[end] != dataset->fill) {
            end++;
        }
        if (end > at) {
            put_numbers(file, index, row, at, end - at, numbers + at);
        }
    }
}

void hdf5_dataset_put_row(struct hdf5_file *file, unsigned index, hsize_t row,
                          const uint64_t *numbers)
{
    struct hdf5_dataset *dataset = &file->datasets[index];
    hsize_t start[HDF5_RANK_MAX] = {row}, count[HDF5_RANK_MAX] = {1};
    size_t cells = 1;
    for (unsigned i = 1; i < dataset->rank; i++) {
        count[i] = file->dimensions[dataset->dimensions[i]].size;
        cells *= (size_t)count[i];
    }
    if (file->code != 0 || is_fill(dataset, numbers, cells)) {
        return;
    }
    if (!dataset->packed) {
        put_cells(file, index, row, cells, numbers);
    } else if (reach(file, index, row + 1)) {
        put_chunk(file, dataset, start, numbers, cells);
    }
}

/* Datasets of groups are extended in steps of this many chunks; rows not yet written are padding.
 * Changing the extent with each bucket would write more metadata. */
#define CHUNKS_AHEAD 32

void hdf5_dataset_put_chunks(struct hdf5_file *file, unsigned index, hsize_t first, size_t count,
                             const uint64_t *numbers)
{
    struct hdf5_dataset *dataset = &file->datasets[index];
    const size_t rows = (size_t)dataset->chunk[0];
    const hsize_t step = CHUNKS_AHEAD * dataset->chunk[0];
    if (file->code != 0 || is_fill(dataset, numbers, count)) {
        return;
    }
    hsize_t end = first + count;
    if (end > dataset->extent) {
        end = hdf5_round_up(end, step);
    }
    (void)reach(file, index, end);
    for (size_t at = 0; file->code == 0 && at < count; at += rows) {
        const hsize_t start = first + at;
        if (!is_fill(dataset, numbers + at, rows)) {
            put_chunk(file, dataset, &start, numbers + at, rows);
        }
    }
}

void hdf5_dataset_put_texts(struct hdf5_file *file, unsigned index, hsize_t row, unsigned count,
                            const char *const *texts)
{
    const struct hdf5_dataset *dataset = &file->datasets[index];
    if (file->code != 0) {
        return;
    }
    const hsize_t length = file->dimensions[dataset->dimensions[dataset->rank - 1]].size;
    const hsize_t start[] = {row, 0}, size[] = {count, length};
    const size_t bytes = count * (size_t)length;
    char *block = (char *)hdf5_column_reserve(file, &file->column, (bytes + 7) / sizeof(uint64_t));
    for (unsigned i = 0; block != NULL && i < count; i++) {
        (void)vamp_utf8_copy(block + i * length, (size_t)length, texts[i]);
    }
    hdf5_dataset_put(file, index, start, size, block);
}

void hdf5_dataset_put_number(struct hdf5_file *file, unsigned index, hsize_t row, uint64_t number)
{
    put_numbers(file, index, row, 0, 1, &number);
}

/* ---- end */

/* After a failure, only datasets that are open can be too long. */
void hdf5_datasets_trim(struct hdf5_file *file, bool only_cut)
{
    for (unsigned i = 0; file->code == 0 && i < file->dataset_count; i++) {
        struct hdf5_dataset *dataset = &file->datasets[i];
        if (!is_growing(file, dataset)) {
            continue;
        }
        const struct hdf5_dimension *first = &file->dimensions[dataset->dimensions[0]];
        const bool is_open = dataset->id >= 0;
        if (!only_cut && dataset->extent < first->size) {
            (void)reach(file, i, first->size);
        } else if (is_open && dataset->extent > first->size) {
            hdf5_dataset_set_rows(file, dataset, first->size);
        }
        if (!is_open) {
            hdf5_dataset_close(file, i);
        }
        if (only_cut) {
            file->code = 0;
        }
    }
}

void hdf5_datasets_close(struct hdf5_file *file)
{
    for (unsigned i = 0; i < file->dataset_count; i++) {
        hdf5_dataset_close(file, i);
    }
}
