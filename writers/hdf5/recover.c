/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repairs HDF5 files that a killed run left. They contain every flushed bucket, but the file is
 * marked as open for writing, and the end of file stored in it dates from its creation. Clears both
 * as h5clear does (h5clear -s --increment=0), after a check that everything can be read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "writers/hdf5/internal.h"

/* Properties of HDF5's own tools, not named in its headers. */
#define CLEAR_STATUS_FLAGS "clear_status_flags"
#define SKIP_EOF_CHECK "skip_eof_check"

static bool is_own(const uint8_t *begin, size_t bytes)
{
    static const uint8_t mark[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    return bytes >= sizeof mark && memcmp(begin, mark, sizeof mark) == 0;
}

/* The last row of a dataset along time; all of one that has no time. */
static int read_dataset(hid_t dataset, uint64_t *rows, struct vamp_err *err)
{
    hsize_t size[HDF5_RANK_MAX] = {0}, start[HDF5_RANK_MAX] = {0}, room[HDF5_RANK_MAX] = {0};
    hid_t space = H5Dget_space(dataset);
    const int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    int code = -EBADMSG;
    if (rank >= 0 && rank <= HDF5_RANK_MAX &&
        H5Sget_simple_extent_dims(space, size, room) == rank) {
        hsize_t items = 1;
        if (rank > 0 && room[0] == H5S_UNLIMITED) {
            *rows = size[0] < *rows ? size[0] : *rows;
            start[0] = size[0] > 0 ? size[0] - 1 : 0;
            size[0] = size[0] > 0 ? 1 : 0;
        }
        for (int i = 0; i < rank; i++) {
            items *= size[i];
        }
        hid_t type = H5Dget_type(dataset);
        void *values = calloc((size_t)items + 1, H5Tget_size(type));
        hid_t memory = H5Screate_simple(1, &items, NULL);
        code = values == NULL ? -ENOMEM : 0;
        if (code == 0 && items > 0 &&
            ((rank > 0 &&
              H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL) < 0) ||
             H5Dread(dataset, type, memory, space, H5P_DEFAULT, values) < 0)) {
            code = -EBADMSG;
        }
        free(values);
        (void)H5Sclose(memory);
        (void)H5Tclose(type);
    }
    (void)H5Sclose(space);
    return code == 0 ? 0 : hdf5_fail(err, "read the newest bucket");
}

struct look {
    uint64_t rows;
    int code;
    struct vamp_err *err;
};

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    (void)info;
    struct look *look = context;
    hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    look->code = dataset < 0 ? hdf5_fail(look->err, "open variable %s", name)
                             : read_dataset(dataset, &look->rows, look->err);
    if (dataset >= 0) {
        (void)H5Dclose(dataset);
    }
    return look->code == 0 ? 0 : -1;
}

/* Buckets that every variable has. */
static int count_buckets(hid_t file, uint64_t *ret_buckets, struct vamp_err *err)
{
    struct look look = {.rows = UINT64_MAX, .err = err};
    herr_t result = H5Literate(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, &look);
    (void)H5Eclear2(H5E_DEFAULT);
    if (look.code != 0) {
        return look.code;
    }
    if (result < 0 || look.rows == UINT64_MAX) {
        return vamp_err_set(err, -EBADMSG, "it has no buckets");
    }
    *ret_buckets = look.rows;
    return 0;
}

static int look_at(const char *path, unsigned how, uint64_t *ret_buckets, struct vamp_err *err)
{
    hid_t file = H5Fopen(path, how, H5P_DEFAULT);
    if (file < 0) {
        return hdf5_fail(err, "open it");
    }
    int code = count_buckets(file, ret_buckets, err);
    (void)H5Fclose(file);
    return code;
}

static int clear(const char *path, struct vamp_err *err)
{
    const hbool_t yes = true;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t file = -1;
    if (access >= 0 && H5Pset(access, CLEAR_STATUS_FLAGS, &yes) >= 0 &&
        H5Pset(access, SKIP_EOF_CHECK, &yes) >= 0) {
        file = H5Fopen(path, H5F_ACC_RDWR, access);
    }
    int code = file < 0 || H5Fincrement_filesize(file, 0) < 0 ? hdf5_fail(err, "repair it") : 0;
    if (file >= 0 && H5Fclose(file) < 0 && code == 0) {
        code = hdf5_fail(err, "repair it");
    }
    (void)H5Pclose(access);
    return code;
}

static int recover_damaged(const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                           struct vamp_err *err)
{
    int code = look_at(path, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, &ret_recovery->records, err);
    if (code != 0) {
        return vamp_err_wrap(err, "%s cannot be recovered and was left as it is", path);
    }
    ret_recovery->damaged = true;
    (void)snprintf(ret_recovery->what, sizeof ret_recovery->what,
                   "the mark that it is being written");
    if (dry_run) {
        return 0;
    }
    uint64_t again = 0;
    code = clear(path, err);
    if (code == 0) {
        code = look_at(path, H5F_ACC_RDONLY, &again, err);
    }
    if (code == 0 && again < ret_recovery->records) {
        code = vamp_err_set(err, -EBADMSG, "it has fewer buckets than before");
    }
    return code == 0 ? 0 : vamp_err_wrap(err, "recover %s", path);
}

static int recover(int fd, const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                   struct vamp_err *err)
{
    (void)fd;
    struct vamp_err plainly = VAMP_ERR_NONE;
    hdf5_quiet();
    ret_recovery->record = "bucket";
    if (look_at(path, H5F_ACC_RDONLY, &ret_recovery->records, &plainly) == 0) {
        return 0;
    }
    return recover_damaged(path, dry_run, ret_recovery, err);
}

const struct vamp_recovery_ops hdf5_recovery = {.is_own = is_own, .recover = recover};
