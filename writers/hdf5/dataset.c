/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects of a file: attributes, groups and datasets, and the writing of numbers and texts.
 * Whole chunks are shuffled and compressed here and passed to HDF5 in the form stored in the file.
 * The file is the same as if HDF5 did it: its filters are named in the dataset, and every reader
 * undoes them. HDF5 itself would allocate, clear and free a compressor of 256 KiB for each chunk:
 * nine tenths of the time for a row of a few hundred bytes.
 */
#include "writers/hdf5/dataset.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/event/components.h"
#include "vampire/core/utf8.h"
#include "writers/hdf5/error.h"
#include "writers/hdf5/file.h"
#include "writers/hdf5/row.h"

/* ---- types: little endian in the file, the machine's own in memory */

static hid_t file_type(enum hdf5_type type)
{
    const hid_t types[] = {
        [HDF5_U64] = H5T_STD_U64LE, [HDF5_I64] = H5T_STD_I64LE, [HDF5_U32] = H5T_STD_U32LE,
        [HDF5_U16] = H5T_STD_U16LE, [HDF5_U8] = H5T_STD_U8LE,   [HDF5_CHAR] = H5T_C_S1,
    };
    return types[type];
}

static hid_t memory_type(enum hdf5_type type)
{
    return type == HDF5_I64    ? H5T_NATIVE_INT64
           : type == HDF5_U8   ? H5T_NATIVE_UINT8
           : type == HDF5_CHAR ? H5T_C_S1
                               : H5T_NATIVE_UINT64;
}

/* ---- attributes */

void hdf5_attribute_write(struct hdf5_file *file, hid_t id, const char *name, hid_t in_file,
                          hid_t in_memory, hid_t space, const void *value)
{
    hid_t attribute =
        space < 0 ? -1 : H5Acreate2(id, name, in_file, space, H5P_DEFAULT, H5P_DEFAULT);
    const herr_t written = attribute < 0 ? -1 : H5Awrite(attribute, in_memory, value);
    const herr_t closed = attribute < 0 ? -1 : H5Aclose(attribute);
    if (written < 0 || closed < 0) {
        hdf5_failed(file, "write attribute \"%s\"", name);
    }
}

/* The space of most attributes. */
static hid_t scalar(struct hdf5_file *file)
{
    file->scalar = file->scalar > 0 ? file->scalar : H5Screate(H5S_SCALAR);
    return file->scalar;
}

void hdf5_attribute_text(struct hdf5_file *file, hid_t id, const char *name, const char *text)
{
    if (file->code != 0) {
        return;
    }
    /* A bad byte becomes three. HDF5 has no text of length 0: an empty one is a single NUL. */
    const size_t room = strlen(text) * 3 + 1;
    char *clean = malloc(room);
    if (clean == NULL) {
        hdf5_no_memory(file, "write an attribute");
        return;
    }
    const size_t length = vamp_utf8_copy(clean, room, text);
    const bool is_there = file->text > 0 || ((file->text = H5Tcopy(H5T_C_S1)) >= 0 &&
                                             H5Tset_strpad(file->text, H5T_STR_NULLPAD) >= 0 &&
                                             H5Tset_cset(file->text, H5T_CSET_UTF8) >= 0);
    if (!is_there || H5Tset_size(file->text, length > 0 ? length : 1) < 0) {
        hdf5_failed(file, "describe attribute \"%s\"", name);
    } else {
        hdf5_attribute_write(file, id, name, file->text, file->text, scalar(file), clean);
    }
    free(clean);
}

void hdf5_attribute_numbers(struct hdf5_file *file, hid_t id, const char *name, enum hdf5_type type,
                            const void *values, hsize_t count)
{
    if (file->code == 0) {
        hid_t row = count > 0 ? H5Screate_simple(1, &count, NULL) : -1;
        hdf5_attribute_write(file, id, name, file_type(type), memory_type(type),
                             count > 0 ? row : scalar(file), values);
        (void)H5Sclose(row);
    }
}

void hdf5_group_create(struct hdf5_file *file, const char *name, const char *attribute,
                       const char *text)
{
    const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    if (file->code != 0) {
        return;
    }
    hid_t create = H5Pcreate(H5P_GROUP_CREATE);
    hid_t group = -1;
    if (create >= 0 && H5Pset_link_creation_order(create, order) >= 0 &&
        H5Pset_attr_creation_order(create, order) >= 0 &&
        H5Pset_obj_track_times(create, false) >= 0) {
        group = H5Gcreate2(file->file, name, H5P_DEFAULT, create, H5P_DEFAULT);
    }
    (void)H5Pclose(create);
    if (group >= 0) {
        hdf5_attribute_text(file, group, attribute, text);
    }
    if (group < 0 || H5Gclose(group) < 0) {
        hdf5_failed(file, "create group \"%s\"", name);
    }
}

/* ---- making datasets */

/* A row of a packed dataset of several dimensions is a chunk of its own. Columns have many rows in
 * a chunk. */
static void choose_chunk(const struct hdf5_file *file, struct hdf5_dataset *dataset,
                         const struct hdf5_spec *spec)
{
    for (unsigned i = 0; i < dataset->rank; i++) {
        hsize_t size = file->dimensions[dataset->dimensions[i]].size;
        dataset->chunk[i] = size > 0 ? size : 1;
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

/* So many attributes stay in the object header. HDF5 would move more than 8 to a tree and a heap of
 * their own, which take 1.5 kB a dataset, and half of the time of opening the file. */
#define ATTRIBUTES_MAX 32

/* They are kept for the next datasets, which often have the same: to make and drop them takes as
 * long as to create a dataset. */
static hid_t choose_creation(struct hdf5_file *file, struct hdf5_dataset *dataset,
                             const struct hdf5_spec *spec)
{
    const bool grows = dataset->rank > 0 && file->dimensions[dataset->dimensions[0]].unlimited;
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
    const hid_t list = file->create[place] = H5Pcreate(H5P_DATASET_CREATE);
    /* No times of creation: the same buckets give the same file. */
    bool good = list >= 0 && H5Pset_obj_track_times(list, false) >= 0 &&
                H5Pset_attr_creation_order(list, H5P_CRT_ORDER_TRACKED) >= 0 &&
                H5Pset_attr_phase_change(list, ATTRIBUTES_MAX, 0) >= 0 &&
                H5Pset_fill_time(list, H5D_FILL_TIME_ALLOC) >= 0;
    uint8_t byte = (uint8_t)spec->fill_value;
    const void *fill =
        hdf5_type_bytes(dataset->type) == 1 ? (const void *)&byte : (const void *)&spec->fill_value;
    good = good && H5Pset_fill_value(list, memory_type(dataset->type), fill) >= 0;
    good =
        good && (dataset->rank == 0 || H5Pset_chunk(list, (int)dataset->rank, dataset->chunk) >= 0);
    good = good && (!spec->early || H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) >= 0);
    good = good && (!dataset->packed ||
                    (H5Pset_shuffle(list) >= 0 && H5Pset_deflate(list, HDF5_DEFLATE_LEVEL) >= 0));
    good = good && (dataset->rank == 0 || grows || H5Pset_fletcher32(list) >= 0);
    if (!good) {
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

static hid_t dataset_space(const struct hdf5_file *file, const struct hdf5_dataset *dataset)
{
    if (dataset->rank == 0) {
        return H5Screate(H5S_SCALAR);
    }
    hsize_t size[HDF5_RANK_MAX], largest[HDF5_RANK_MAX];
    for (unsigned i = 0; i < dataset->rank; i++) {
        const struct hdf5_dimension *dimension = &file->dimensions[dataset->dimensions[i]];
        size[i] = dimension->unlimited ? 0 : dimension->size;
        largest[i] = dimension->unlimited ? H5S_UNLIMITED : size[i];
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

/* The list of its dimensions' scales. What names its own dimension is a scale, which has none. */
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
    file->list = file->list > 0 ? file->list : H5Tvlen_create(H5T_STD_REF_OBJ);
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
    struct hdf5_dataset *dataset = &file->datasets[index];
    *dataset = (struct hdf5_dataset){.type = spec->type,
                                     .rank = spec->rank,
                                     .packed = spec->packed,
                                     .fill = spec->fill_value,
                                     .id = -1};
    (void)snprintf(dataset->name, sizeof dataset->name, "%s", spec->name);
    memcpy(dataset->dimensions, spec->dimensions, sizeof dataset->dimensions);

    const hid_t create = choose_creation(file, dataset, spec);
    hid_t space = dataset_space(file, dataset);
    if (file->code == 0 && space >= 0) {
        dataset->id = H5Dcreate2(file->file, dataset->name, file_type(dataset->type), space,
                                 H5P_DEFAULT, create, H5P_DEFAULT);
    }
    if (dataset->id < 0) {
        hdf5_failed(file, "create dataset \"%s\"", spec->name);
    }
    (void)H5Sclose(space);
    if (file->code != 0) {
        return 0;
    }
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
                            uint64_t usual)
{
    return hdf5_dataset_create(file, &(struct hdf5_spec){.name = name,
                                                         .type = type,
                                                         .rank = 1,
                                                         .dimensions = {dimension},
                                                         .fill_value = usual,
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
    chunks->packed = malloc(chunks->packed_bytes + 1); /* and the check of its place */
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

/* HDF5's shuffle filter: the first byte of each number, then the second byte of each, and so on, up
 * to the width of the type in the file. */
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

/* Says which chunk of which variable it is: after two pages of a file were exchanged, the check
 * values of both streams hold. */
static unsigned char place_of(const struct hdf5_dataset *dataset, hsize_t chunk)
{
    unsigned char number[sizeof(uint64_t)];
    hdf5_row_store(number, chunk, sizeof number);
    const uint32_t name = libdeflate_crc32(0, dataset->name, strlen(dataset->name));
    return (unsigned char)libdeflate_crc32(name, number, sizeof number);
}

/* Writes the chunk that begins at `start`, whole. Behind its stream, where HDF5 does not look, is
 * its place. */
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
        const size_t capacity = count < 2 * column->capacity ? 2 * column->capacity : count;
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

/* Open, with at least so many rows. False: something failed. */
static bool reach(struct hdf5_file *file, unsigned index, hsize_t rows)
{
    struct hdf5_dataset *dataset = hdf5_dataset_open(file, index);
    const bool grows = dataset->rank > 0 && file->dimensions[dataset->dimensions[0]].unlimited;
    if (file->code == 0 && grows && rows > dataset->extent) {
        hdf5_dataset_set_rows(file, dataset, rows);
    }
    return file->code == 0;
}

/* `values` have the type `type`. Where it is not the one in the file, HDF5 takes and clears 1 MiB
 * to convert. */
static void put(struct hdf5_file *file, unsigned index, const hsize_t *start, const hsize_t *count,
                hid_t type, const void *values)
{
    struct hdf5_dataset *dataset = &file->datasets[index];
    if (!reach(file, index, dataset->rank > 0 ? start[0] + count[0] : 0)) {
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
            failed_to_write(file, dataset); /* before the next call clears HDF5's errors */
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
    put(file, index, start, count, memory_type(file->datasets[index].type), values);
}

void hdf5_dataset_put_small(struct hdf5_file *file, unsigned index, hsize_t first, unsigned count,
                            const uint32_t *numbers)
{
    const hsize_t start[] = {first, 0}, size[] = {count, 1};
    uint8_t bytes[HDF5_TEXT_CHUNK_ROWS];
    const bool is_byte = file->datasets[index].type == HDF5_U8;
    assert(count <= HDF5_TEXT_CHUNK_ROWS);
    for (unsigned i = 0; is_byte && i < count; i++) {
        bytes[i] = (uint8_t)numbers[i];
    }
    put(file, index, start, size, is_byte ? H5T_NATIVE_UINT8 : H5T_NATIVE_UINT32,
        is_byte ? (const void *)bytes : numbers);
}

/* Numbers of a row of an uncompressed variable, from `at` on, which are written once. Those along
 * time wait for the flush, which writes those of all its buckets. */
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

static bool is_held(const struct hdf5_file *file, const struct hdf5_dataset *dataset, unsigned rows,
                    size_t at, size_t bytes)
{
    const unsigned char *fill =
        hdf5_row_place(file, dataset, file->dimensions[HDF5_TIME].row_count) + at;
    bool is_fill = dataset != &file->datasets[file->bucket_number]; /* that one has all rows */
    for (unsigned row = 0; is_fill && row < rows; row++) {
        is_fill = memcmp(hdf5_row_place(file, dataset, row) + at, fill, bytes) == 0;
    }
    return !is_fill;
}

void hdf5_dataset_put_held(struct hdf5_file *file, unsigned index)
{
    const struct hdf5_dataset *dataset = &file->datasets[index];
    const bool is_kept = dataset->checked && dataset->dimensions[0] == HDF5_TIME;
    const size_t cells = is_kept ? hdf5_row_numbers(file, dataset) : 0;
    const size_t bytes = hdf5_type_bytes(dataset->type);
    const unsigned rows = file->dimensions[HDF5_TIME].row;
    assert(rows == file->rows - file->flushed);
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
        put(file, index, start, count, file_type(dataset->type), numbers);
    }
}

static bool is_fill(const struct hdf5_dataset *dataset, const uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] != dataset->fill) {
            return false;
        }
    }
    return true;
}

/* Those that are not the fill value: each cell has chunks of its own. */
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

/* Rows of groups are announced ahead: those not written are padding. An extent that grows with each
 * bucket would be another piece of metadata to write. */
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
    end = end > dataset->extent ? (end + step - 1) / step * step : end;
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

/* ---- the end */

/* A dataset that a failed file did not open has nothing to cut. */
void hdf5_datasets_trim(struct hdf5_file *file, bool only_cut)
{
    for (unsigned i = 0; file->code == 0 && i < file->dataset_count; i++) {
        struct hdf5_dataset *dataset = &file->datasets[i];
        const struct hdf5_dimension *first =
            dataset->rank > 0 ? &file->dimensions[dataset->dimensions[0]] : NULL;
        if (first == NULL || !first->unlimited) {
            continue;
        }
        const bool is_open = dataset->id >= 0;
        if (!only_cut && dataset->extent < first->size) {
            (void)reach(file, i, first->size);
        } else if (is_open && dataset->extent > first->size) {
            hdf5_dataset_set_rows(file, dataset, first->size);
        }
        if (!is_open) {
            hdf5_dataset_close(file, i);
        }
        file->code = only_cut ? 0 : file->code;
    }
}

void hdf5_datasets_close(struct hdf5_file *file)
{
    for (unsigned i = 0; i < file->dataset_count; i++) {
        hdf5_dataset_close(file, i);
    }
}
