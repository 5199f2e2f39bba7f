/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dimensions. Each is a dimension scale. The attributes that link variables (dataset.c) and scales
 * are written once. H5DSattach_scale would read, extend and rewrite both for each dimension of each
 * variable, which took a third of the time to create a file.
 */
#include "writers/hdf5/scale.h"

#include <hdf5_hl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "writers/hdf5/attribute.h"
#include "writers/hdf5/error.h"
#include "writers/hdf5/file.h"

/* Marks a new dataset as the scale of its dimension. netCDF finds the two dimensions of a scale of
 * texts by number, and then requires a number in all scales. */
static void finish_scale(struct hdf5_file *file, unsigned number, hid_t id, const char *label)
{
    struct hdf5_dimension *dimension = &file->dimensions[number];
    const uint64_t value = number;
    if (file->code == 0 && (id < 0 || H5DSset_scale(id, label) < 0 ||
                            H5Rcreate(&dimension->scale, file->file, dimension->name, H5R_OBJECT,
                                      H5I_INVALID_HID) < 0)) {
        hdf5_failed(file, "create dimension \"%s\"", dimension->name);
    }
    hdf5_attribute_numbers(file, id, "_Netcdf4Dimid", HDF5_U32, &value, 0);
}

/* Creates a dimension without a variable, marked as the netCDF-4 library does. With a variable,
 * readers would not join characters to text. */
static void create_bare_scale(struct hdf5_file *file, unsigned number)
{
    const struct hdf5_dimension *dimension = &file->dimensions[number];
    char label[96];
    (void)snprintf(label, sizeof label,
                   "This is a netCDF dimension but not a netCDF variable.%10llu",
                   (unsigned long long)dimension->size);
    const hsize_t most = dimension->unlimited ? H5S_UNLIMITED : dimension->size;
    const hsize_t chunk = 1;
    hid_t space = H5Screate_simple(1, &dimension->size, &most), scale = -1;
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    if (space >= 0 && create >= 0 && H5Pset_obj_track_times(create, false) >= 0 &&
        (!dimension->unlimited || H5Pset_chunk(create, 1, &chunk) >= 0)) {
        scale = H5Dcreate2(file->file, dimension->name, H5T_IEEE_F32BE, space, H5P_DEFAULT, create,
                           H5P_DEFAULT);
    }
    (void)H5Pclose(create);
    (void)H5Sclose(space);
    finish_scale(file, number, scale, label);
    (void)H5Dclose(scale);
}

/* Adds a row and removes it, which creates the chunk index. If the first bucket created the index,
 * the index would become visible in one write and the length of `time` in another; between the two
 * writes, the first bucket would have no time. */
static void create_time(struct hdf5_file *file)
{
    const char *name = file->dimensions[HDF5_TIME].name;
    file->time = hdf5_dataset_create(file, &(struct hdf5_spec){.name = name,
                                                               .type = HDF5_I64,
                                                               .rank = 1,
                                                               .dimensions = {HDF5_TIME},
                                                               .early = true,
                                                               .fill_value = HDF5_TIME_MISSING,
                                                               .units = HDF5_UNIT_TIME,
                                                               .long_name = "start of the bucket"});
    if (file->code == 0) {
        struct hdf5_dataset *time = &file->datasets[file->time];
        finish_scale(file, HDF5_TIME, time->id, name);
        hdf5_dataset_set_rows(file, time, 1);
        hdf5_dataset_set_rows(file, time, 0);
    }
}

void hdf5_dimension_create(struct hdf5_file *file, unsigned number, const char *name, hsize_t size)
{
    struct hdf5_dimension *dimension = &file->dimensions[number];
    *dimension = (struct hdf5_dimension){.size = size, .next = size, .unlimited = size == 0};
    (void)snprintf(dimension->name, sizeof dimension->name, "%s", name);
    if (file->code == 0 && number == HDF5_TIME) {
        create_time(file);
    } else if (file->code == 0) {
        create_bare_scale(file, number);
    }
}

unsigned hdf5_words_dimension_create(struct hdf5_file *file, const char *name, const char *about,
                                     hsize_t size, unsigned length_dimension)
{
    const unsigned number = file->dimension_count++;
    struct hdf5_dimension *dimension = &file->dimensions[number];
    *dimension = (struct hdf5_dimension){.size = size, .next = size};
    (void)snprintf(dimension->name, sizeof dimension->name, "%s", name);
    const unsigned index = hdf5_texts_create(file, name, about, number, length_dimension);
    const uint64_t both[] = {number, length_dimension};
    if (file->code == 0) {
        const hid_t id = file->datasets[index].id;
        hdf5_attribute_numbers(file, id, "_Netcdf4Coordinates", HDF5_U32, both, 2);
        finish_scale(file, number, id, name);
    }
    return index;
}

/* An entry of a scale's list: a variable along the dimension. */
struct user {
    hobj_ref_t dataset;
    int axis;
};

/* Lists the variables along the dimension; only its `longest` one if that is set. Returns their
 * number. */
static hsize_t find_users(struct hdf5_file *file, unsigned number, struct user *users)
{
    const unsigned longest = file->dimensions[number].longest;
    hsize_t count = 0;
    for (unsigned i = 0; i < file->dataset_count; i++) {
        const struct hdf5_dataset *dataset = &file->datasets[i];
        if (dataset->rank > 0 && dataset->dimensions[0] == number &&
            (longest == 0 || longest == i)) {
            users[count] = (struct user){.axis = 0};
            if (H5Rcreate(&users[count++].dataset, file->file, dataset->name, H5R_OBJECT,
                          H5I_INVALID_HID) < 0) {
                hdf5_failed(file, "inspect \"%s\" in %s", dataset->name, file->path);
            }
        }
    }
    return count;
}

/* Writes the list of variables in a scale. `users`: a buffer for all datasets. */
static void write_list(struct hdf5_file *file, unsigned number, struct user *users)
{
    const struct hdf5_dimension *dimension = &file->dimensions[number];
    const hsize_t count = find_users(file, number, users);
    if (count == 0 || file->code != 0) {
        return;
    }
    hid_t scale = H5Dopen2(file->file, dimension->name, H5P_DEFAULT);
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof *users);
    if (scale < 0 || type < 0 ||
        H5Tinsert(type, "dataset", HOFFSET(struct user, dataset), H5T_STD_REF_OBJ) < 0 ||
        H5Tinsert(type, "dimension", HOFFSET(struct user, axis), H5T_NATIVE_INT) < 0) {
        hdf5_failed(file, "finish dimension \"%s\" of %s", dimension->name, file->path);
    } else {
        hid_t space = H5Screate_simple(1, &count, NULL);
        hdf5_attribute_write(file, scale, "REFERENCE_LIST", type, type, space, users);
        (void)H5Sclose(space);
    }
    (void)H5Tclose(type);
    (void)H5Dclose(scale);
}

void hdf5_scales_finish(struct hdf5_file *file)
{
    struct user *users = calloc(file->dataset_count + 1, sizeof *users);
    if (users == NULL) {
        hdf5_no_memory(file, "prepare the file");
        return;
    }
    for (unsigned i = 0; file->code == 0 && i < file->dimension_count; i++) {
        if (file->dimensions[i].unlimited) {
            write_list(file, i, users);
        }
    }
    free(users);
}
