/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/hdf5/internal.h"

#include <errno.h>
#include <hdf5_hl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/event/components.h"
#include "vampire/core/utf8.h"

/* A dimension without a variable of its own, as the netCDF-4 library marks it. Were it a
 * variable, readers would not join characters into text. */
static int create_bare_scale(struct hdf5_file *file, struct hdf5_dimension *dimension,
                             struct vamp_err *err)
{
    char label[96];
    (void)snprintf(label, sizeof label,
                   "This is a netCDF dimension but not a netCDF variable.%10llu",
                   (unsigned long long)dimension->size);
    const hsize_t most = dimension->unlimited ? H5S_UNLIMITED : dimension->size;
    const hsize_t chunk = 1;
    hid_t space = H5Screate_simple(1, &dimension->size, &most);
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    if (space >= 0 && create >= 0 && H5Pset_obj_track_times(create, false) >= 0 &&
        (!dimension->unlimited || H5Pset_chunk(create, 1, &chunk) >= 0)) {
        dimension->scale = H5Dcreate2(file->file, dimension->name, H5T_IEEE_F32BE, space,
                                      H5P_DEFAULT, create, H5P_DEFAULT);
    }
    (void)H5Pclose(create);
    (void)H5Sclose(space);
    if (dimension->scale < 0 || H5DSset_scale(dimension->scale, label) < 0) {
        return hdf5_fail(err, "create dimension \"%s\"", dimension->name);
    }
    return 0;
}

static int set_rows(const struct hdf5_file *file, struct hdf5_dataset *dataset, hsize_t rows,
                    struct vamp_err *err)
{
    hsize_t size[HDF5_RANK_MAX];
    for (unsigned i = 0; i < dataset->rank; i++) {
        size[i] = file->dimensions[dataset->dimensions[i]].size;
    }
    size[0] = rows;
    if (H5Dset_extent(dataset->id, size) < 0) {
        return hdf5_fail(err, "extend \"%s\" in %s", dataset->name, file->path);
    }
    dataset->extent = rows;
    return 0;
}

/* Adding a row and removing it creates the chunk index. If the first bucket created it, the index
 * would be announced in one write and the length of `time` in another: between the two that bucket
 * has no time. */
static int make_index(struct hdf5_file *file, struct vamp_err *err)
{
    struct hdf5_dataset *time = &file->datasets[file->time];
    int code = set_rows(file, time, 1, err);
    return code == 0 ? set_rows(file, time, 0, err) : code;
}

static int create_time(struct hdf5_file *file, struct hdf5_dimension *dimension,
                       struct vamp_err *err)
{
    struct hdf5_spec spec = {
        .name = dimension->name,
        .type = HDF5_I64,
        .rank = 1,
        .dimensions = {HDF5_TIME},
        .early = true,
        .fill_value = HDF5_TIME_MISSING,
        .units = "nanoseconds since 1970-01-01T00:00:00Z",
        .long_name = "start of the bucket",
    };
    int code = hdf5_dataset_create(file, &spec, &file->time, err);
    if (code != 0) {
        return code;
    }
    dimension->scale = file->datasets[file->time].id;
    if (H5DSset_scale(dimension->scale, dimension->name) < 0) {
        return hdf5_fail(err, "create dimension \"%s\"", dimension->name);
    }
    return make_index(file, err);
}

int hdf5_dimension_create(struct hdf5_file *file, unsigned number, const char *name, hsize_t size,
                          bool unlimited, struct vamp_err *err)
{
    struct hdf5_dimension *dimension = &file->dimensions[number];
    *dimension =
        (struct hdf5_dimension){.size = size, .next = size, .unlimited = unlimited, .scale = -1};
    (void)snprintf(dimension->name, sizeof dimension->name, "%s", name);
    return number == HDF5_TIME ? create_time(file, dimension, err)
                               : create_bare_scale(file, dimension, err);
}

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

static hid_t creation_properties(const struct hdf5_file *file, struct hdf5_dataset *dataset,
                                 const struct hdf5_spec *spec)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    /* No times of creation: the same buckets give the same file. */
    bool good = list >= 0 && H5Pset_obj_track_times(list, false) >= 0 &&
                H5Pset_attr_creation_order(list, H5P_CRT_ORDER_TRACKED) >= 0 &&
                H5Pset_attr_phase_change(list, ATTRIBUTES_MAX, 0) >= 0 &&
                H5Pset_fill_time(list, H5D_FILL_TIME_ALLOC) >= 0;
    uint8_t byte = (uint8_t)spec->fill_value;
    const void *fill = dataset->type == HDF5_U8 || dataset->type == HDF5_CHAR
                           ? (const void *)&byte
                           : (const void *)&spec->fill_value;
    good = good && H5Pset_fill_value(list, hdf5_memory_type(dataset->type), fill) >= 0;
    if (good && dataset->rank > 0) {
        choose_chunk(file, dataset, spec);
        good = H5Pset_chunk(list, (int)dataset->rank, dataset->chunk) >= 0;
    }
    if (good && spec->early) {
        good = H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) >= 0;
    }
    if (good && dataset->packed) {
        good = H5Pset_shuffle(list) >= 0 && H5Pset_deflate(list, HDF5_DEFLATE_LEVEL) >= 0;
    }
    if (!good) {
        (void)H5Pclose(list);
        return -1;
    }
    return list;
}

/* No chunk is cached. Compressed chunks are written whole, once. Of columns only the new number is
 * written; with a cached chunk the whole chunk would be written for each number. */
static hid_t access_properties(void)
{
    hid_t list = H5Pcreate(H5P_DATASET_ACCESS);
    if (list >= 0 && H5Pset_chunk_cache(list, 13, 0, 1.0) < 0) {
        (void)H5Pclose(list);
        return -1;
    }
    return list;
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

static int describe(const struct hdf5_file *file, const struct hdf5_dataset *dataset,
                    const struct hdf5_spec *spec, struct vamp_err *err)
{
    for (unsigned i = 0; i < dataset->rank; i++) {
        hid_t scale = file->dimensions[dataset->dimensions[i]].scale;
        if (scale >= 0 && H5DSattach_scale(dataset->id, scale, i) < 0) {
            return hdf5_fail(err, "give dataset \"%s\" its dimensions", spec->name);
        }
    }
    int code = 0;
    if (spec->long_name != NULL) {
        code = hdf5_attribute_text(dataset->id, "long_name", spec->long_name, err);
    }
    if (code == 0 && spec->units != NULL) {
        code = hdf5_attribute_text(dataset->id, "units", spec->units, err);
    }
    if (code == 0 && spec->has_fill) {
        code = hdf5_attribute_number(dataset->id, "_FillValue", spec->type, spec->fill_value, err);
    }
    if (code == 0 && spec->type == HDF5_CHAR) {
        code = hdf5_attribute_text(dataset->id, "_Encoding", "utf-8", err);
    }
    return code;
}

int hdf5_dataset_close(struct hdf5_file *file, unsigned index, struct vamp_err *err)
{
    struct hdf5_dataset *dataset = &file->datasets[index];
    const hid_t id = dataset->id;
    dataset->id = -1;
    return id >= 0 && H5Dclose(id) < 0
               ? hdf5_fail(err, "close \"%s\" of %s", dataset->name, file->path)
               : 0;
}

int hdf5_dataset_create(struct hdf5_file *file, const struct hdf5_spec *spec, unsigned *ret_index,
                        struct vamp_err *err)
{
    if (file->dataset_count == file->dataset_capacity) {
        return vamp_err_set(err, -ENOBUFS, "create dataset \"%s\": more than %u datasets",
                            spec->name, file->dataset_capacity);
    }
    const unsigned index = file->dataset_count;
    if (index > file->time + 1 && hdf5_dataset_close(file, index - 1, err) != 0) {
        return -EIO;
    }
    struct hdf5_dataset *dataset = &file->datasets[index];
    *dataset = (struct hdf5_dataset){.type = spec->type,
                                     .rank = spec->rank,
                                     .packed = spec->packed,
                                     .fill = spec->fill_value,
                                     .id = -1};
    (void)snprintf(dataset->name, sizeof dataset->name, "%s", spec->name);
    memcpy(dataset->dimensions, spec->dimensions, sizeof dataset->dimensions);

    hid_t create = creation_properties(file, dataset, spec);
    hid_t access = access_properties();
    hid_t space = dataset_space(file, dataset);
    if (create >= 0 && access >= 0 && space >= 0) {
        dataset->id = H5Dcreate2(file->file, dataset->name, hdf5_file_type(dataset->type), space,
                                 H5P_DEFAULT, create, access);
    }
    int code = dataset->id < 0 ? hdf5_fail(err, "create dataset \"%s\"", spec->name) : 0;
    (void)H5Sclose(space);
    (void)H5Pclose(access);
    (void)H5Pclose(create);
    if (code != 0) {
        return code;
    }
    file->dataset_count++;
    *ret_index = index;
    return describe(file, dataset, spec, err);
}

size_t hdf5_type_bytes(enum hdf5_type type)
{
    switch (type) {
    case HDF5_U64:
    case HDF5_I64:
        return sizeof(uint64_t);
    case HDF5_U32:
        return sizeof(uint32_t);
    case HDF5_U16:
        return sizeof(uint16_t);
    case HDF5_U8:
    case HDF5_CHAR:
        break;
    }
    return 1;
}

int hdf5_column_reserve(struct hdf5_column *column, size_t count, struct vamp_err *err)
{
    if (count <= column->capacity) {
        return 0;
    }
    const size_t capacity = count < 2 * column->capacity ? 2 * column->capacity : count;
    uint64_t *numbers = realloc(column->numbers, capacity * sizeof *numbers);
    if (numbers == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare %zu numbers of a bucket", count);
    }
    column->numbers = numbers;
    column->capacity = capacity;
    return 0;
}

static int failed_to_write(const struct hdf5_file *file, const struct hdf5_dataset *dataset,
                           struct vamp_err *err)
{
    return hdf5_fail(err, "write \"%s\" in %s", dataset->name, file->path);
}

int hdf5_dataset_open(struct hdf5_file *file, unsigned index, struct vamp_err *err)
{
    struct hdf5_dataset *dataset = &file->datasets[index];
    if (dataset->id >= 0) {
        return 0;
    }
    hid_t access = access_properties();
    dataset->id = access < 0 ? -1 : H5Dopen2(file->file, dataset->name, access);
    (void)H5Pclose(access);
    return dataset->id < 0 ? hdf5_fail(err, "open \"%s\" of %s again", dataset->name, file->path)
                           : 0;
}

/* Open, with at least so many rows. */
static int reach(struct hdf5_file *file, unsigned index, hsize_t rows, struct vamp_err *err)
{
    struct hdf5_dataset *dataset = &file->datasets[index];
    const int code = hdf5_dataset_open(file, index, err);
    const bool grows = dataset->rank > 0 && file->dimensions[dataset->dimensions[0]].unlimited;
    return code == 0 && grows && rows > dataset->extent ? set_rows(file, dataset, rows, err) : code;
}

/* `values` have the type `type`. Where it is not the one in the file, HDF5 takes and clears 1 MiB
 * to convert. */
static int put(struct hdf5_file *file, unsigned index, const hsize_t *start, const hsize_t *count,
               hid_t type, const void *values, struct vamp_err *err)
{
    struct hdf5_dataset *dataset = &file->datasets[index];
    int code = reach(file, index, dataset->rank > 0 ? start[0] + count[0] : 0, err);
    if (code != 0) {
        return code;
    }
    if (dataset->rank == 0) {
        return H5Dwrite(dataset->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0
                   ? failed_to_write(file, dataset, err)
                   : 0;
    }
    hid_t in_file = H5Dget_space(dataset->id);
    hid_t in_memory = H5Screate_simple((int)dataset->rank, count, NULL);
    herr_t written = -1;
    if (in_file >= 0 && in_memory >= 0 &&
        H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0) {
        written = H5Dwrite(dataset->id, type, in_memory, in_file, H5P_DEFAULT, values);
    }
    code = written < 0 ? failed_to_write(file, dataset, err) : 0;
    (void)H5Sclose(in_memory);
    (void)H5Sclose(in_file);
    return code;
}

int hdf5_dataset_put(struct hdf5_file *file, unsigned index, const hsize_t *start,
                     const hsize_t *count, const void *values, struct vamp_err *err)
{
    return put(file, index, start, count, hdf5_memory_type(file->datasets[index].type), values,
               err);
}

int hdf5_dataset_put_indices(struct hdf5_file *file, unsigned index, hsize_t row,
                             const uint32_t *indices, struct vamp_err *err)
{
    hsize_t first = 0, end = file->dimensions[file->datasets[index].dimensions[1]].size;
    while (end > 0 && indices[end - 1] == 0) {
        end--;
    }
    while (first < end && indices[first] == 0) {
        first++;
    }
    const hsize_t start[] = {row, first}, count[] = {1, end - first};
    return first == end ? 0
                        : put(file, index, start, count, H5T_NATIVE_UINT32, indices + first, err);
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

int hdf5_dataset_put_row(struct hdf5_file *file, unsigned index, hsize_t row,
                         const uint64_t *numbers, struct vamp_err *err)
{
    struct hdf5_dataset *dataset = &file->datasets[index];
    hsize_t start[HDF5_RANK_MAX] = {row}, count[HDF5_RANK_MAX] = {1};
    size_t cells = 1;
    for (unsigned i = 1; i < dataset->rank; i++) {
        count[i] = file->dimensions[dataset->dimensions[i]].size;
        cells *= (size_t)count[i];
    }
    if (is_fill(dataset, numbers, cells)) {
        return 0;
    }
    if (!dataset->packed) {
        return hdf5_dataset_put(file, index, start, count, numbers, err);
    }
    int code = reach(file, index, row + 1, err);
    if (code == 0 && hdf5_chunk_put(&file->chunks, dataset->id, start, numbers, cells,
                                    hdf5_type_bytes(dataset->type)) < 0) {
        code = failed_to_write(file, dataset, err);
    }
    return code;
}

/* Rows of groups are announced ahead: those not written are padding. An extent that grows with each
 * bucket would be another piece of metadata to write. */
#define CHUNKS_AHEAD 32

static int reach_ahead(struct hdf5_file *file, unsigned index, hsize_t rows, struct vamp_err *err)
{
    const struct hdf5_dataset *dataset = &file->datasets[index];
    const hsize_t step = CHUNKS_AHEAD * dataset->chunk[0];
    return reach(file, index, rows > dataset->extent ? (rows + step - 1) / step * step : rows, err);
}

int hdf5_dataset_put_chunks(struct hdf5_file *file, unsigned index, hsize_t first, size_t count,
                            const uint64_t *numbers, struct vamp_err *err)
{
    struct hdf5_dataset *dataset = &file->datasets[index];
    const size_t rows = (size_t)dataset->chunk[0];
    if (is_fill(dataset, numbers, count)) {
        return 0;
    }
    int code = reach_ahead(file, index, first + count, err);
    for (size_t at = 0; code == 0 && at < count; at += rows) {
        const hsize_t start = first + at;
        if (!is_fill(dataset, numbers + at, rows) &&
            hdf5_chunk_put(&file->chunks, dataset->id, &start, numbers + at, rows,
                           hdf5_type_bytes(dataset->type)) < 0) {
            code = failed_to_write(file, dataset, err);
        }
    }
    return code;
}

int hdf5_dataset_put_texts(struct hdf5_file *file, unsigned index, hsize_t row, unsigned count,
                           const char *const *texts, struct vamp_err *err)
{
    const struct hdf5_dataset *dataset = &file->datasets[index];
    const hsize_t length = file->dimensions[dataset->dimensions[dataset->rank - 1]].size;
    const size_t bytes = count * (size_t)length;
    int code = hdf5_column_reserve(&file->column, (bytes + 7) / sizeof(uint64_t), err);
    if (code != 0) {
        return code;
    }
    char *block = (char *)file->column.numbers;
    for (unsigned i = 0; i < count; i++) {
        (void)vamp_utf8_copy(block + i * length, (size_t)length, texts[i]);
    }
    const hsize_t start[] = {row, 0}, size[] = {count, length};
    return hdf5_dataset_put(file, index, start, size, block, err);
}

int hdf5_dataset_put_text(struct hdf5_file *file, unsigned index, hsize_t row, const char *text,
                          struct vamp_err *err)
{
    return hdf5_dataset_put_texts(file, index, row, 1, &text, err);
}

int hdf5_dataset_put_number(struct hdf5_file *file, unsigned index, hsize_t row, uint64_t number,
                            struct vamp_err *err)
{
    const hsize_t count = 1;
    return hdf5_dataset_put(file, index, &row, &count, &number, err);
}

/* A dataset that a failed file did not open has nothing to cut. */
int hdf5_datasets_trim(struct hdf5_file *file, bool only_cut, struct vamp_err *err)
{
    int code = 0;
    for (unsigned i = 0; code == 0 && i < file->dataset_count; i++) {
        struct hdf5_dataset *dataset = &file->datasets[i];
        const struct hdf5_dimension *first =
            dataset->rank > 0 ? &file->dimensions[dataset->dimensions[0]] : NULL;
        if (first == NULL || !first->unlimited) {
            continue;
        }
        const bool is_open = dataset->id >= 0;
        if (!only_cut && dataset->extent < first->size) {
            code = reach(file, i, first->size, err);
        } else if (is_open && dataset->extent > first->size) {
            code = set_rows(file, dataset, first->size, only_cut ? NULL : err);
        }
        code = code == 0 && !is_open ? hdf5_dataset_close(file, i, err) : code;
        code = only_cut ? 0 : code;
    }
    return code;
}

int hdf5_datasets_close(struct hdf5_file *file, struct vamp_err *err)
{
    int code = 0;
    for (unsigned i = 0; i < file->dimension_count; i++) {
        /* The scale of time is the dataset time, closed below. */
        hid_t scale = i == HDF5_TIME ? -1 : file->dimensions[i].scale;
        file->dimensions[i].scale = -1;
        if (scale >= 0 && H5Dclose(scale) < 0 && code == 0) {
            code = hdf5_fail(err, "close dimension \"%s\" of %s", file->dimensions[i].name,
                             file->path);
        }
    }
    for (unsigned i = 0; i < file->dataset_count; i++) {
        const int closed = hdf5_dataset_close(file, i, code == 0 ? err : NULL);
        code = code == 0 ? closed : code;
    }
    return code;
}
