/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/hdf5/internal.h"

#include <stdlib.h>
#include <string.h>

#include "vampire/core/utf8.h"

hid_t hdf5_file_type(enum hdf5_type type)
{
    switch (type) {
    case HDF5_U64:
        return H5T_STD_U64LE;
    case HDF5_I64:
        return H5T_STD_I64LE;
    case HDF5_U32:
        return H5T_STD_U32LE;
    case HDF5_U16:
        return H5T_STD_U16LE;
    case HDF5_U8:
        return H5T_STD_U8LE;
    case HDF5_CHAR:
        return H5T_C_S1;
    }
    return H5T_STD_U8LE;
}

hid_t hdf5_memory_type(enum hdf5_type type)
{
    switch (type) {
    case HDF5_U64:
    case HDF5_U32:
    case HDF5_U16:
        return H5T_NATIVE_UINT64;
    case HDF5_I64:
        return H5T_NATIVE_INT64;
    case HDF5_U8:
        return H5T_NATIVE_UINT8;
    case HDF5_CHAR:
        return H5T_C_S1;
    }
    return H5T_NATIVE_UINT8;
}

/* The handle must be closed again before SWMR starts, on every path. */
static int attribute_write(hid_t id, const char *name, hid_t file_type, hid_t memory_type,
                           hid_t space, const void *value, struct vamp_err *err)
{
    hid_t attribute = H5Acreate2(id, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0) {
        return hdf5_fail(err, "create attribute \"%s\"", name);
    }
    herr_t written = H5Awrite(attribute, memory_type, value);
    herr_t closed = H5Aclose(attribute);
    return written < 0 || closed < 0 ? hdf5_fail(err, "write attribute \"%s\"", name) : 0;
}

int hdf5_attribute_text(hid_t id, const char *name, const char *text, struct vamp_err *err)
{
    /* A bad byte becomes three. HDF5 has no text of length 0: an empty one is a single NUL. */
    size_t room = strlen(text) * 3 + 1;
    char *clean = malloc(room);
    if (clean == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "write attribute \"%s\"", name);
    }
    size_t length = vamp_utf8_copy(clean, room, text);
    hid_t type = H5Tcopy(H5T_C_S1);
    hid_t space = H5Screate(H5S_SCALAR);
    int code = 0;
    if (type < 0 || space < 0 || H5Tset_size(type, length > 0 ? length : 1) < 0 ||
        H5Tset_strpad(type, H5T_STR_NULLPAD) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0) {
        code = hdf5_fail(err, "describe attribute \"%s\"", name);
    } else {
        code = attribute_write(id, name, type, type, space, clean, err);
    }
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    free(clean);
    return code;
}

int hdf5_attribute_number(hid_t id, const char *name, enum hdf5_type type, uint64_t value,
                          struct vamp_err *err)
{
    hsize_t one = 1; /* netCDF's numbers are arrays of one */
    hid_t space = H5Screate_simple(1, &one, NULL);
    uint8_t byte = (uint8_t)value;
    const void *at = type == HDF5_U8 ? (const void *)&byte : (const void *)&value;
    int code = space < 0 ? hdf5_fail(err, "describe attribute \"%s\"", name)
                         : attribute_write(id, name, hdf5_file_type(type), hdf5_memory_type(type),
                                           space, at, err);
    (void)H5Sclose(space);
    return code;
}

int hdf5_attribute_bytes(hid_t id, const char *name, const uint8_t *values, unsigned count,
                         struct vamp_err *err)
{
    hsize_t size = count;
    hid_t space = H5Screate_simple(1, &size, NULL);
    int code = space < 0
                   ? hdf5_fail(err, "describe attribute \"%s\"", name)
                   : attribute_write(id, name, H5T_STD_U8LE, H5T_NATIVE_UINT8, space, values, err);
    (void)H5Sclose(space);
    return code;
}
