/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repairs HDF5 files left by a killed run. They contain every flushed bucket, but the file is
 * marked as open for writing, and the end of file stored in it dates from its creation. After
 * checking that all data can be read, corrects both, as h5clear -s --increment=0 does, and sets the
 * length of all variables along time to that of `time`, which removes a bucket that was being
 * written.
 */
#include "writers/hdf5/recover.h"

#include <errno.h>
#include <hdf5_hl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "writers/hdf5/dataset.h"
#include "writers/hdf5/error.h"

/* Properties used by HDF5's own tools, which its headers do not declare. */
#define CLEAR_STATUS_FLAGS "clear_status_flags"
#define SKIP_EOF_CHECK "skip_eof_check"

static bool is_own(const uint8_t *begin, size_t bytes)
{
    static const uint8_t mark[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    return bytes >= sizeof mark && memcmp(begin, mark, sizeof mark) == 0;
}

struct look {
    int (*each)(struct look *look, hid_t dataset, struct vamp_err *err);
    haddr_t time; /* the scale of the buckets */
    hsize_t rows;
    int code;
    struct vamp_err *err;
};

/* Called by HDF5 for each object of the file. Calls `each` if the object is a dataset. */
static herr_t visit(hid_t file, const char *name, const H5O_info_t *info, void *context)
{
    struct look *look = context;
    if (info->type != H5O_TYPE_DATASET) {
        return 0;
    }
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    if (dataset < 0) {
        look->code = hdf5_fail(look->err, "open variable %s", name);
        return -1;
    }
    look->code = look->each(look, dataset, look->err);
    (void)H5Dclose(dataset);
    return look->code == 0 ? 0 : -1;
}

static int visit_all(hid_t file, struct look *look)
{
    const herr_t result =
        H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, visit, look, H5O_INFO_BASIC);
    if (look->code == 0 && result < 0) {
        return hdf5_fail(look->err, "list its variables");
    }
    (void)H5Eclear2(H5E_DEFAULT);
    return look->code;
}

/* Returns the rank and the sizes of a dataset's dataspace; -1 if vampire never writes such a
 * dataspace. */
static int shape_of(hid_t space, hsize_t size[static HDF5_RANK_MAX],
                    hsize_t largest[static HDF5_RANK_MAX])
{
    if (space < 0) {
        return -1;
    }
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank > HDF5_RANK_MAX || H5Sget_simple_extent_dims(space, size, largest) != rank) {
        return -1;
    }
    return rank;
}

/* Reads the last row of a dataset along an unlimited dimension, or a complete dataset without one.
 */
static int read_each(struct look *look, hid_t dataset, struct vamp_err *err)
{
    hsize_t size[HDF5_RANK_MAX] = {0}, start[HDF5_RANK_MAX] = {0}, largest[HDF5_RANK_MAX] = {0};
    hsize_t items = 1;
    hid_t memory = -1;
    void *values = NULL;
    bool good = false;
    (void)look;
    hid_t space = H5Dget_space(dataset);
    hid_t type = H5Dget_type(dataset);
    const int rank = shape_of(space, size, largest);
    if (type < 0 || rank < 0) {
        goto out;
    }
    /* The selection: the last row, or everything. */
    if (rank > 0 && largest[0] == H5S_UNLIMITED && size[0] > 0) {
        start[0] = size[0] - 1;
        size[0] = 1;
    }
    for (int i = 0; i < rank; i++) {
        items *= size[i];
    }
    values = calloc((size_t)items + 1, H5Tget_size(type));
    if (values == NULL || items == 0) {
        good = values != NULL;
        goto out;
    }
    memory = H5Screate_simple(1, &items, NULL);
    if (rank > 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL) < 0) {
        goto out;
    }
    good = H5Dread(dataset, type, memory, space, H5P_DEFAULT, values) >= 0;
out:;
    const int code = good ? 0 : hdf5_fail(err, "read the newest bucket");
    free(values);
    (void)H5Sclose(memory);
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    return code;
}

/* Returns the number of rows of the dataset `name`, and its address. */
static int rows_of(hid_t file, const char *name, hsize_t *ret_rows, haddr_t *ret_address)
{
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT), space = -1;
    if (dataset >= 0) {
        space = H5Dget_space(dataset);
    }
    H5O_info_t info = {.addr = 0};
    const bool good = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                      H5Sget_simple_extent_dims(space, ret_rows, NULL) == 1 &&
                      H5Oget_info2(dataset, &info, H5O_INFO_BASIC) >= 0;
    *ret_address = info.addr;
    (void)H5Sclose(space);
    (void)H5Dclose(dataset);
    (void)H5Eclear2(H5E_DEFAULT);
    return good ? 0 : -EBADMSG;
}

/* `time` is written last, so every bucket that has a time is complete. */
static int count_buckets(hid_t file, struct look *look)
{
    hsize_t numbers = 0;
    haddr_t other = 0;
    if (rows_of(file, "time", &look->rows, &look->time) != 0 ||
        rows_of(file, "bucket_number", &numbers, &other) != 0 || numbers < look->rows) {
        return vamp_err_set(look->err, -EBADMSG, "it has no buckets");
    }
    return 0;
}

static herr_t is_time(hid_t dataset, unsigned dimension, hid_t scale, void *context)
{
    (void)dataset;
    (void)dimension;
    const struct look *look = context;
    H5O_info_t info;
    return H5Oget_info2(scale, &info, H5O_INFO_BASIC) >= 0 && info.addr == look->time;
}

/* Sets the length of a variable along time to that of `time`. */
static int trim_each(struct look *look, hid_t dataset, struct vamp_err *err)
{
    hsize_t size[HDF5_RANK_MAX] = {0}, largest[HDF5_RANK_MAX] = {0};
    hid_t space = H5Dget_space(dataset);
    int code = 0;
    const bool has_other_length =
        shape_of(space, size, largest) > 0 && size[0] != look->rows && H5DSis_scale(dataset) == 0;
    if (has_other_length && H5DSiterate_scales(dataset, 0, NULL, is_time, look) > 0) {
        size[0] = look->rows;
        if (H5Dset_extent(dataset, size) < 0) {
            code = hdf5_fail(err, "remove an incomplete bucket");
        }
    }
    (void)H5Sclose(space);
    return code;
}

/* In a file opened for SWMR, HDF5 interprets a wrong checksum as a write in progress and retries
 * after 1 ns, 2 ns, 4 ns, ..., by default 100 times, which practically never ends. */
#define SWMR_ATTEMPTS 18

/* Reads the last row of every dataset. `how`: flags of H5Fopen. Returns 0 and the number of
 * buckets, or -errno. */
static int read_newest(const char *path, unsigned how, uint64_t *ret_buckets, struct vamp_err *err)
{
    const unsigned attempts = (how & H5F_ACC_SWMR_READ) != 0 ? SWMR_ATTEMPTS : 1;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = -1;
    if (access >= 0 && hdf5_without_locks(access) &&
        H5Pset_metadata_read_attempts(access, attempts) >= 0) {
        file = H5Fopen(path, how, access);
    }
    (void)H5Pclose(access);
    if (file < 0) {
        return hdf5_fail(err, "open it");
    }
    struct look look = {.each = read_each, .err = err};
    int code = count_buckets(file, &look);
    if (code == 0) {
        code = visit_all(file, &look);
    }
    *ret_buckets = look.rows;
    (void)H5Fclose(file);
    return code;
}

/* Repairs the file: clears the flags of an open file, sets the end of file, and cuts all variables
 * to the length of `time`. */
static int clear(const char *path, struct vamp_err *err)
{
    const hbool_t yes = true;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t file = -1;
    if (access >= 0 && hdf5_without_locks(access) &&
        H5Pset(access, CLEAR_STATUS_FLAGS, &yes) >= 0 &&
        H5Pset(access, SKIP_EOF_CHECK, &yes) >= 0) {
        file = H5Fopen(path, H5F_ACC_RDWR, access);
    }
    struct look look = {.each = trim_each, .err = err};
    int code = 0;
    if (file < 0 || H5Fincrement_filesize(file, 0) < 0) {
        code = hdf5_fail(err, "repair it");
    }
    if (code == 0) {
        code = count_buckets(file, &look);
    }
    if (code == 0) {
        code = visit_all(file, &look);
    }
    if (file >= 0 && H5Fclose(file) < 0 && code == 0) {
        code = hdf5_fail(err, "repair it");
    }
    (void)H5Pclose(access);
    return code;
}

/* Checks the file as a reader would, repairs it unless `dry_run`, and checks it again. */
static int recover_damaged(const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                           struct vamp_err *err)
{
    int code = read_newest(path, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, &ret_recovery->records, err);
    if (code != 0) {
        return vamp_err_wrap(err, "%s cannot be recovered and was left as it is", path);
    }
    ret_recovery->damaged = true;
    (void)snprintf(ret_recovery->what, sizeof ret_recovery->what,
                   "the flag of a file that is being written");
    if (dry_run) {
        return 0;
    }
    uint64_t again = 0;
    code = clear(path, err);
    if (code == 0) {
        code = read_newest(path, H5F_ACC_RDONLY, &again, err);
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
    if (read_newest(path, H5F_ACC_RDONLY, &ret_recovery->records, &plainly) == 0) {
        return 0;
    }
    return recover_damaged(path, dry_run, ret_recovery, err);
}

const struct vamp_file_ops hdf5_files = {.is_own = is_own, .recover = recover};
