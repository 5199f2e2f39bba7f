/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/hdf5/attribute.h"

#include <stdlib.h>
#include <string.h>

#include "vampire/core/utf8.h"
#include "vampire/core/values.h"
#include "writers/hdf5/error.h"
#include "writers/hdf5/file.h"

/* ---- types: little endian in the file, native in memory */

hid_t hdf5_file_type(enum hdf5_type type)
{
    const hid_t types[] = {
        [HDF5_U64] = H5T_STD_U64LE, [HDF5_I64] = H5T_STD_I64LE, [HDF5_U32] = H5T_STD_U32LE,
        [HDF5_U16] = H5T_STD_U16LE, [HDF5_U8] = H5T_STD_U8LE,   [HDF5_CHAR] = H5T_C_S1,
    };
    return types[type];
}

hid_t hdf5_memory_type(enum hdf5_type type)
{
    switch (type) {
    case HDF5_I64:
        return H5T_NATIVE_INT64;
    case HDF5_U8:
        return H5T_NATIVE_UINT8;
    case HDF5_CHAR:
        return H5T_C_S1;
    case HDF5_U64:
    case HDF5_U32:
    case HDF5_U16:
        break;
    }
    return H5T_NATIVE_UINT64;
}

/* ---- attributes and groups */

void hdf5_attribute_write(struct hdf5_file *file, hid_t id, const char *name, hid_t in_file,
                          hid_t in_memory, hid_t space, const void *value)
{
    hid_t attribute = -1;
    herr_t written = -1, closed = -1;
    if (space >= 0) {
        attribute = H5Acreate2(id, name, in_file, space, H5P_DEFAULT, H5P_DEFAULT);
    }
    if (attribute >= 0) {
        written = H5Awrite(attribute, in_memory, value);
        closed = H5Aclose(attribute);
    }
    if (written < 0 || closed < 0) {
        hdf5_failed(file, "write attribute \"%s\"", name);
    }
}

/* Returns the dataspace of a scalar. It is created at the first call and kept in the file. */
static hid_t scalar(struct hdf5_file *file)
{
    if (file->scalar <= 0) {
        file->scalar = H5Screate(H5S_SCALAR);
    }
    return file->scalar;
}

/* Returns the type of texts with this length, valid until the next call; -1 on failure. */
static hid_t text_type(struct hdf5_file *file, size_t length)
{
    if (file->text <= 0) {
        file->text = H5Tcopy(H5T_C_S1);
        if (file->text < 0 || H5Tset_strpad(file->text, H5T_STR_NULLPAD) < 0 ||
            H5Tset_cset(file->text, H5T_CSET_UTF8) < 0) {
            return -1;
        }
    }
    return H5Tset_size(file->text, length) < 0 ? -1 : file->text;
}

void hdf5_attribute_text(struct hdf5_file *file, hid_t id, const char *name, const char *text)
{
    if (file->code != 0) {
        return;
    }
    /* Each invalid byte is replaced by three bytes. HDF5 has no text of length 0, so that an empty
     * text is stored as a single NUL. */
    const size_t room = strlen(text) * 3 + 1;
    char *clean = malloc(room);
    if (clean == NULL) {
        hdf5_no_memory(file, "write an attribute");
        return;
    }
    const size_t length = vamp_utf8_copy(clean, room, text);
    const hid_t type = text_type(file, VAMP_MAX(length, 1));
    if (type < 0) {
        hdf5_failed(file, "describe attribute \"%s\"", name);
    } else {
        hdf5_attribute_write(file, id, name, type, type, scalar(file), clean);
    }
    free(clean);
}

void hdf5_attribute_numbers(struct hdf5_file *file, hid_t id, const char *name, enum hdf5_type type,
                            const void *values, hsize_t count)
{
    if (file->code != 0) {
        return;
    }
    if (count == 0) {
        hdf5_attribute_write(file, id, name, hdf5_file_type(type), hdf5_memory_type(type),
                             scalar(file), values);
        return;
    }
    hid_t row = H5Screate_simple(1, &count, NULL);
    hdf5_attribute_write(file, id, name, hdf5_file_type(type), hdf5_memory_type(type), row, values);
    (void)H5Sclose(row);
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
