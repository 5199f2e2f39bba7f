/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing a bucket: its number, flushed; labels and data, flushed; `time` last, flushed. A reader
 * that reads `time` first never sees half a bucket, and flushed data survives a kill.
 */
#include "writers/hdf5/internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define RESERVE_STEP_BYTES 65536

/* ---- whether there is room */

/* A name longer than any file has room for is cut; the others must fit. */
static bool name_fits(const struct hdf5_file *file, const char *name)
{
    size_t room = file->dimensions[HDF5_NAME_LENGTH].size;
    return room >= VAMP_NAME_BYTES_MAX || strnlen(name, room + 1) <= room;
}

static bool names_fit(const struct hdf5_file *file, const struct vamp_delivery *delivery)
{
    bool fits = true;
    for (unsigned i = 0; i < delivery->component_count; i++) {
        fits = fits && name_fits(file, delivery->components[i].component.name);
    }
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        const struct vamp_label_set *description = &file->schema->label_sets[s];
        for (unsigned i = file->sets[s].written;
             file->sets[s].has_group && i < delivery->bucket->series_count[s]; i++) {
            for (unsigned l = 0; l < description->label_count; l++) {
                fits = fits && (!vamp_label_is_open(description->labels[l]) ||
                                name_fits(file, delivery->bucket->series[s][i]->labels[l]));
            }
        }
    }
    return fits;
}

/* Whether the index of chunks remains small with `more` rows along a dimension. */
static bool index_fits(const struct hdf5_file *file, unsigned dimension, uint64_t more,
                       unsigned chunk)
{
    return (file->dimensions[dimension].size + more + chunk - 1) / chunk <= HDF5_CHUNKS_MAX;
}

static bool chunks_fit(const struct hdf5_file *file, const struct vamp_bucket *bucket)
{
    bool fits = index_fits(file, HDF5_TIME, 1, 1) &&
                (file->cdo_length == 0 ||
                 index_fits(file, file->cdo_length - 1, bucket->cdo_count, HDF5_TEXT_CHUNK_ROWS)) &&
                (file->alarm_length == 0 || index_fits(file, file->alarm_length - 1,
                                                       bucket->alarm_count, HDF5_TEXT_CHUNK_ROWS));
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        const struct hdf5_set *set = &file->sets[s];
        fits = fits && (!set->has_group ||
                        (index_fits(file, set->row, set->changed_count, set->chunk_rows) &&
                         index_fits(file, set->before, bucket->series_count[s], set->chunk_rows)));
    }
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        const struct hdf5_metric *metric = &file->metrics[m];
        fits = fits && (metric->entry == 0 ||
                        index_fits(file, metric->entry, hdf5_rows_entries(&bucket->values[m]),
                                   metric->entry_chunk));
    }
    return fits;
}

/* An empty file takes any number of chunks: the next one would not have more room. */
static int check_room(const struct hdf5_file *file, const struct vamp_delivery *delivery,
                      struct vamp_err *err)
{
    if (!names_fit(file, delivery)) {
        return vamp_err_set(err, -ENOBUFS, "%s has room for names of %u bytes", file->path,
                            (unsigned)file->dimensions[HDF5_NAME_LENGTH].size);
    }
    if (file->rows > 0 && !chunks_fit(file, delivery->bucket)) {
        return vamp_err_set(err, -ENOBUFS,
                            "%s has %u buckets, and a variable has room for %u chunks", file->path,
                            (unsigned)file->rows, HDF5_CHUNKS_MAX);
    }
    return 0;
}

/* ---- writing */

/* H5Dwrite reports success for data that cannot be stored; only the flush reports the error. */
static int flush(struct hdf5_file *file, struct vamp_err *err)
{
    return H5Fflush(file->file, H5F_SCOPE_LOCAL) < 0 ? hdf5_fail(err, "flush %s", file->path) : 0;
}

/* Costs little: flushing the file looks at all places of HDF5's table of cached metadata. */
static int flush_dataset(const struct hdf5_file *file, unsigned index, struct vamp_err *err)
{
    return H5Dflush(file->datasets[index].id) < 0 ? hdf5_fail(err, "flush %s", file->path) : 0;
}

/* The variable that readers find in the list of `time`: no other variable may ever be longer. */
static int write_number(struct hdf5_file *file, uint64_t number, struct vamp_err *err)
{
    const int code = hdf5_dataset_put_number(file, file->bucket_number, file->rows, number, err);
    return code != 0 ? code : flush_dataset(file, file->bucket_number, err);
}

/* All else is flushed: only `time` has changed, except where it took a new chunk and the file
 * became longer. */
static int write_time(struct hdf5_file *file, const struct vamp_bucket *bucket,
                      struct vamp_err *err)
{
    const bool has_chunk = file->rows % file->datasets[file->time].chunk[0] != 0;
    const int code =
        hdf5_dataset_put_number(file, file->time, file->rows, (uint64_t)bucket->start_ns, err);
    return code != 0 ? code : has_chunk ? flush_dataset(file, file->time, err) : flush(file, err);
}

static int write_data(struct hdf5_file *file, const struct vamp_delivery *delivery, bool restart,
                      struct vamp_err *err)
{
    int code = hdf5_tables_write(file, delivery, err);
    if (code == 0) {
        code = hdf5_cdo_write(file, delivery->bucket, err);
    }
    if (code == 0) {
        code = hdf5_alarm_write(file, delivery->bucket, err);
    }
    if (code == 0) {
        code = hdf5_series_write(file, delivery->bucket, err);
    }
    if (code == 0) {
        code = hdf5_rows_write(file, delivery->bucket, err);
    }
    if (code == 0) {
        code = hdf5_overview_write(file, delivery->bucket, err);
    }
    if (code == 0 && restart) {
        code = hdf5_restart_write(file, delivery->bucket, err);
    }
    return code;
}

static int write_all(struct hdf5_file *file, const struct vamp_delivery *delivery, bool restart,
                     struct vamp_err *err)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    int code = write_number(file, bucket->number, err);
    if (code == 0) {
        code = write_data(file, delivery, restart, err);
    }
    if (code == 0) {
        code = flush(file, err);
    }
    code = code != 0 ? code : write_time(file, bucket, err);
    if (code == 0 && file->options->sync && fdatasync(file->fd) != 0) {
        code = vamp_err_set_errno(err, errno, "sync %s", file->path);
    }
    return code;
}

/* The bucket is in the file. */
static void commit(struct hdf5_file *file)
{
    file->dimensions[HDF5_TIME].next = ++file->rows;
    for (unsigned i = 0; i < file->dimension_count; i++) {
        file->dimensions[i].size = file->dimensions[i].next;
    }
}

/* These two codes guarantee an intact file; after a failure in HDF5 there is no guarantee. */
static int as_final(int code, struct vamp_err *err)
{
    if (code != -EAGAIN && code != -ENOBUFS) {
        return code;
    }
    if (err != NULL) {
        err->code = -EIO;
    }
    return -EIO;
}

/* Reserves what the bucket needs at most, in steps. While the end of the file does not move, a
 * repeated request is already met and costs the file system almost nothing. */
static int reserve(const struct hdf5_file *file, hsize_t end, uint64_t bytes, struct vamp_err *err)
{
    const uint64_t steps = (bytes + RESERVE_STEP_BYTES - 1) / RESERVE_STEP_BYTES;
    return hdf5_space_reserve(file->fd, end, steps * RESERVE_STEP_BYTES, file->path, err);
}

/* Everything that can say no while nothing is written. */
static int prepare(struct hdf5_file *file, const struct vamp_delivery *delivery, bool restart,
                   struct vamp_err *err)
{
    int code = hdf5_words_place(file, delivery->bucket, err);
    if (code != 0) {
        return code;
    }
    hdf5_rows_plan(file, delivery->bucket, restart);
    code = check_room(file, delivery, err);
    if (code != 0) {
        return code;
    }
    hsize_t end = 0;
    if (H5Fget_filesize(file->file, &end) < 0) {
        file->failed = true;
        return as_final(hdf5_fail(err, "look at %s", file->path), err);
    }
    return reserve(file, end, hdf5_space_needed(file, delivery), err);
}

int hdf5_bucket_write(struct hdf5_file *file, const struct vamp_delivery *delivery,
                      struct vamp_err *err)
{
    hdf5_quiet();
    if (file->failed) {
        return vamp_err_set(err, -EIO, "%s failed before and is closed to writing", file->path);
    }
    const bool restart = hdf5_restart_is_due(file, delivery);
    int code = prepare(file, delivery, restart, err);
    if (code != 0) {
        return code;
    }
    code = write_all(file, delivery, restart, err);
    if (code != 0) {
        file->failed = true;
        return as_final(code, err);
    }
    commit(file);
    return 0;
}
