/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of the HDF5 writer, and writing a bucket: labels and data, then the flush, which writes
 * bucket numbers first and `time` last. A reader that reads `time` first never sees half a bucket,
 * and flushed data survives a kill. A live run flushes after each bucket. A replay, which can be
 * repeated, flushes several buckets together, because most of the data that a flush writes (the
 * ends of indexes and the lengths of variables) is changed again by the next bucket.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writers/format/file.h"
#include "writers/hdf5/error.h"
#include "writers/hdf5/file.h"
#include "writers/hdf5/overview.h"
#include "writers/hdf5/recover.h"
#include "writers/hdf5/row.h"
#include "writers/hdf5/rows.h"
#include "writers/hdf5/space.h"

#define RESERVE_STEP_BYTES 65536

/* ---- capacity checks */

/* A name longer than VAMP_NAME_BYTES_MAX is cut in every file; any shorter name must fit. */
static bool name_fits(const struct hdf5_file *file, const char *name)
{
    size_t room = file->dimensions[HDF5_NAME_LENGTH].size;
    return room >= VAMP_NAME_BYTES_MAX || strnlen(name, room + 1) <= room;
}

/* Returns whether all names in the series' open labels fit. */
static bool series_fits(const struct hdf5_file *file, const struct vamp_label_set *set,
                        const struct vamp_series *series)
{
    for (unsigned l = 0; l < set->label_count; l++) {
        if (vamp_label_is_open(set->labels[l]) && !name_fits(file, series->labels[l])) {
            return false;
        }
    }
    return true;
}

/* Returns whether all names fit that the bucket adds to the file. */
static bool names_fit(const struct hdf5_file *file, const struct vamp_delivery *delivery)
{
    for (unsigned i = 0; i < delivery->component_count; i++) {
        if (!name_fits(file, delivery->components[i].component.name)) {
            return false;
        }
    }
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        const unsigned count = file->sets[s].has_group ? delivery->bucket->series_count[s] : 0;
        for (unsigned i = file->sets[s].due; i < count; i++) {
            if (!series_fits(file, &file->schema->label_sets[s], delivery->bucket->series[s][i])) {
                return false;
            }
        }
    }
    return true;
}

/* Returns whether the chunk index stays small enough after adding `more` rows along a dimension. */
static bool index_fits(const struct hdf5_file *file, unsigned dimension, uint64_t more,
                       unsigned chunk)
{
    return (file->dimensions[dimension].size + more + chunk - 1) / chunk <= HDF5_CHUNKS_MAX;
}

/* Returns whether the index of every variable stays small enough after adding the bucket. */
static bool chunks_fit(const struct hdf5_file *file, const struct vamp_bucket *bucket)
{
    bool fits = index_fits(file, HDF5_TIME, 1, 1);
    if (file->cdo != 0) {
        fits = fits && index_fits(file, file->cdo, bucket->cdo_count, HDF5_TEXT_CHUNK_ROWS);
    }
    if (file->alarm != 0) {
        fits = fits && index_fits(file, file->alarm, bucket->alarm_count, HDF5_TEXT_CHUNK_ROWS);
    }
    for (unsigned s = 0; fits && s < file->schema->label_set_count; s++) {
        const struct hdf5_set *set = &file->sets[s];
        if (set->has_group) {
            fits = index_fits(file, set->row, set->changed_count, set->chunk_rows) &&
                   index_fits(file, set->before, bucket->series_count[s], set->chunk_rows);
        }
    }
    for (unsigned m = 0; fits && m < file->schema->metric_count; m++) {
        const struct hdf5_metric *metric = &file->metrics[m];
        if (metric->entry != 0) {
            fits =
                index_fits(file, metric->entry, hdf5_rows_entries(bucket, m), metric->entry_chunk);
        }
    }
    return fits;
}

/* Rejects the bucket with -ENOBUFS if its names or chunks do not fit. An empty file accepts any
 * number of chunks, since the next file would not have more capacity. */
static void check_capacity(struct hdf5_file *file, const struct vamp_delivery *delivery)
{
    if (!names_fit(file, delivery)) {
        file->code = vamp_err_set(file->err, -ENOBUFS, "%s has capacity for names of %u bytes",
                                  file->path, (unsigned)file->dimensions[HDF5_NAME_LENGTH].size);
    } else if (file->rows > 0 && !chunks_fit(file, delivery->bucket)) {
        file->code = vamp_err_set(file->err, -ENOBUFS,
                                  "%s has %u buckets, and a variable has capacity for %u chunks",
                                  file->path, (unsigned)file->rows, HDF5_CHUNKS_MAX);
    }
}

/* ---- writing */

/* H5Dwrite reports success for data that cannot be stored; only the flush reports the error. */
static void flush_file(struct hdf5_file *file)
{
    if (file->code == 0 && H5Fflush(file->file, H5F_SCOPE_LOCAL) < 0) {
        hdf5_failed(file, "flush %s", file->path);
    }
}

/* Flushes one dataset. Faster than flush_file, which scans all metadata cached by HDF5. */
static void flush_dataset(struct hdf5_file *file, unsigned index)
{
    if (file->code == 0 && H5Dflush(file->datasets[index].id) < 0) {
        hdf5_failed(file, "flush %s", file->path);
    }
}

/* Makes the buckets written since the last flush visible to readers. */
static void flush_rows(struct hdf5_file *file)
{
    const struct hdf5_dataset *time = &file->datasets[file->time];
    const hsize_t chunk = time->chunk[0];
    if (file->rows == file->flushed) {
        return;
    }
    hdf5_series_write(file);
    for (unsigned i = 0; i < file->dataset_count; i++) {
        if (i != file->time) {
            hdf5_dataset_put_held(file, i);
        }
    }
    hdf5_dataset_put_small(file, file->dimensions[HDF5_TIME].check, file->flushed,
                           (unsigned)(file->rows - file->flushed), file->sums);
    /* The variable in the list of `time` comes first: no other variable may ever be longer. */
    flush_dataset(file, file->bucket_number);
    flush_file(file);
    /* From here on only `time` changes, unless it needs a new chunk and the file becomes longer. */
    const bool has_chunk = hdf5_round_up(file->flushed, chunk) == hdf5_round_up(file->rows, chunk);
    hdf5_dataset_put_held(file, file->time);
    if (has_chunk) {
        flush_dataset(file, file->time);
    } else {
        flush_file(file);
    }
    if (file->code == 0 && file->options->sync && fdatasync(file->fd) != 0) {
        file->code = vamp_err_set_errno(file->err, errno, "sync %s", file->path);
    }
    if (file->code == 0) {
        file->flushed = file->rows;
        file->written = file->taken;
        hdf5_rows_clear(&file->dimensions[HDF5_TIME]);
    }
}

/* Writes a bucket. `restart`: also writes the totals of counters before it. Flushes when the run is
 * live, after totals, and when the buffer of rows is full. */
static void write_all(struct hdf5_file *file, const struct vamp_delivery *delivery, bool restart)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    hdf5_dataset_put_number(file, file->bucket_number, file->rows, bucket->number);
    hdf5_tables_write(file, delivery);
    hdf5_series_note(file, bucket);
    hdf5_rows_write(file, bucket);
    hdf5_overview_write(file, bucket);
    hdf5_own_write(file, bucket);
    if (restart) {
        struct hdf5_dimension *restarts = &file->dimensions[HDF5_RESTART];
        hdf5_dataset_put_number(file, file->restart_row, restarts->size, file->rows);
        hdf5_overview_restart(file, bucket);
        hdf5_own_restart(file, bucket);
        hdf5_rows_restart(file, bucket);
        hdf5_dataset_put_number(file, restarts->check, restarts->size,
                                hdf5_check_sum(file, HDF5_RESTART));
        restarts->next = restarts->size + 1;
    }
    hdf5_dataset_put_number(file, file->time, file->rows, (uint64_t)bucket->start_ns);
    file->sums[file->rows++ - file->flushed] = (uint32_t)hdf5_check_sum(file, HDF5_TIME);
    file->taken += bucket->buckets;
    /* A bucket with totals is flushed at once; otherwise a kill could leave totals without their
     * bucket. */
    if (!file->run->replayed || restart || file->rows - file->flushed == VAMP_UNFLUSHED_MAX) {
        flush_rows(file);
    }
}

/* Closes the file for writing. -EAGAIN and -ENOBUFS would mean that the file is intact (writer.h),
 * so they are replaced by -EIO. */
static int finish_failed(struct hdf5_file *file)
{
    file->failed = true;
    file->dimensions[HDF5_TIME].size = file->flushed; /* close removes the remaining rows */
    if (file->code != -EAGAIN && file->code != -ENOBUFS) {
        return file->code;
    }
    if (file->err != NULL) {
        file->err->code = -EIO;
    }
    return -EIO;
}

/* Returns the error for a bucket that was rejected before anything of it was written. If the output
 * will close the file because of this error, flushes the earlier buckets first. */
static int refuse(struct hdf5_file *file)
{
    const int code = file->code;
    if (code != -EAGAIN && code != -ENOBUFS) {
        file->code = 0;
        file->err = NULL; /* err contains the reason of the rejection */
        flush_rows(file);
        if (file->code != 0) {
            (void)finish_failed(file);
        }
    }
    return code;
}

static int write_bucket(void *self, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    struct hdf5_file *file = self;
    hdf5_quiet();
    if (file->failed) {
        return vamp_err_set(err, -EIO, "%s failed before and is closed to writing", file->path);
    }
    file->code = 0;
    file->err = err;
    const bool restart = file->rows == 0 || delivery->lost_before > 0;
    /* All checks that can reject the bucket come before the first write. */
    hdf5_words_place(file, delivery->bucket);
    if (file->code == 0) {
        hdf5_rows_plan(file, delivery->bucket, restart);
        check_capacity(file, delivery);
    }
    if (file->code != 0) {
        return refuse(file);
    }
    hsize_t end = 0;
    if (H5Fget_filesize(file->file, &end) < 0) {
        hdf5_failed(file, "inspect %s", file->path);
        return finish_failed(file);
    }
    /* Upper limit of the bytes for the bucket, rounded up to steps. While the end of the file does
     * not move, a repeated request is already satisfied and costs the file system almost nothing.
     */
    const uint64_t steps =
        (hdf5_space_needed(file, delivery) + RESERVE_STEP_BYTES - 1) / RESERVE_STEP_BYTES;
    file->code = hdf5_space_reserve(file->fd, end, steps * RESERVE_STEP_BYTES, file->path, err);
    if (file->code != 0) {
        return refuse(file);
    }
    write_all(file, delivery, restart);
    if (file->code != 0) {
        return finish_failed(file);
    }
    file->dimensions[HDF5_TIME].next = file->rows; /* the bucket is in the file */
    for (unsigned i = 0; i < file->dimension_count; i++) {
        file->dimensions[i].size = file->dimensions[i].next;
    }
    return 0;
}

static int flush_bucket(void *self, struct vamp_err *err)
{
    struct hdf5_file *file = self;
    hdf5_quiet();
    file->code = 0;
    file->err = err;
    flush_rows(file);
    return file->code == 0 ? 0 : finish_failed(file);
}

static uint64_t written(const void *self)
{
    return ((const struct hdf5_file *)self)->written;
}

/* ---- the table */

static const struct vamp_opt hdf5_options_table[] = {
    VAMP_TARGET_DIRECTORY_OPTION("files vampire-WORKFLOW-START-RUN-NAME-SEGMENT.h5",
                                 offsetof(struct hdf5_options, directory), 0),
    VAMP_TARGET_ACCESS_OPTION("read the files", offsetof(struct hdf5_options, access), 0),
    {"sync", VAMP_OPT_BOOL, offsetof(struct hdf5_options, sync), "false",
     .help = "whether each bucket is forced to disk, to survive power loss"},
    {.key = NULL},
};

static uint64_t file_bytes(const void *self)
{
    struct stat status;
    const struct hdf5_file *file = self;
    return fstat(file->fd, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static const char *file_path(const void *self)
{
    return ((const struct hdf5_file *)self)->path;
}

const struct vamp_writer_ops vamp_writer_hdf5 = {
    .name = "hdf5",
    .summary = "HDF5 files of time buckets for notebooks, readable while they are written",
    .options = hdf5_options_table,
    .options_bytes = sizeof(struct hdf5_options),
    .open = hdf5_file_open,
    .element = VAMP_ELEMENT_BUCKET,
    .write_bucket = write_bucket,
    .flush = flush_bucket,
    .written = written,
    .bytes = file_bytes,
    .path = file_path,
    .files = &hdf5_files,
    .close = hdf5_file_close,
};
