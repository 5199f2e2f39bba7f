/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/hdf5/space.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "vampire/alarms/change.h"
#include "vampire/core/values.h"
#include "writers/hdf5/file.h"
#include "writers/hdf5/rows.h"

#define NFS_MAGIC 0x6969L
#define SMB_MAGIC 0x517BL
#define CIFS_MAGIC 0xFF534D42L
#define SMB2_MAGIC 0xFE534D42L

/* Reserved in addition to the calculated size, so that the next buckets need no further
 * reservation. Where reservation is not supported, this space must be free. */
#define MARGIN_BYTES 1048576
#define FIXED_BYTES 131072

int hdf5_space_check(const char *directory, struct vamp_err *err)
{
    struct statfs status;
    if (statfs(directory, &status) != 0) {
        return vamp_err_set_errno(err, errno, "inspect the directory \"%s\" for HDF5 files",
                                  directory);
    }
    const long magic = (long)status.f_type;
    if (magic == NFS_MAGIC || magic == SMB_MAGIC || magic == CIFS_MAGIC || magic == SMB2_MAGIC) {
        return vamp_err_set(
            err, -ENOTSUP,
            "the directory \"%s\" is on NFS or SMB, where an HDF5 file that is read "
            "while it grows gets damaged; set \"directory\" to a local or parallel "
            "file system and copy the closed files",
            directory);
    }
    return 0;
}

/* Sets the error: -ENOSPC for a new file (`end` 0), else -EAGAIN. */
static int no_space(const char *path, uint64_t end, uint64_t bytes, int code, struct vamp_err *err)
{
    struct vamp_err reason = VAMP_ERR_NONE;
    (void)vamp_err_set_errno(&reason, code, "reserve %llu KiB for %s",
                             (unsigned long long)(bytes / 1024),
                             end == 0 ? "a new file" : "the next bucket");
    if (end == 0) {
        return vamp_err_set(err, -ENOSPC, "%s: %s; free some space on that file system", path,
                            reason.text);
    }
    return vamp_err_set(err, -EAGAIN,
                        "%s: %s; buckets wait in memory, free some space on that file system", path,
                        reason.text);
}

int hdf5_space_reserve(int fd, uint64_t end, uint64_t bytes, const char *path, struct vamp_err *err)
{
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)end, (off_t)bytes) == 0) {
        return 0;
    }
    int code = errno;
    if (code != EOPNOTSUPP && code != ENOSYS && code != EINTR) {
        return no_space(path, end, bytes, code, err);
    }
    struct statvfs status;
    if (fstatvfs(fd, &status) != 0) {
        return 0; /* free space is unknown; the write reports a failure */
    }
    uint64_t available = (uint64_t)status.f_bavail * status.f_frsize;
    if (available < bytes + MARGIN_BYTES) {
        return no_space(path, end, bytes, ENOSPC, err);
    }
    return 0;
}

void hdf5_space_release(int fd)
{
    struct stat status;
    if (fstat(fd, &status) == 0) {
        /* The size is unchanged: this only releases blocks after the end of the file. */
        int ignored = ftruncate(fd, status.st_size);
        (void)ignored;
    }
}

/* Returns the maximum size of a compressed chunk of `numbers` numbers; compression can add a few
 * bytes. */
static uint64_t packed_bytes(uint64_t numbers)
{
    return numbers * sizeof(uint64_t) + numbers / 128 + 64;
}

/* Returns an upper limit for the overview of one metric: a row of cells or a new chunk of each
 * column, whichever is larger. */
static uint64_t overview_bytes(const struct hdf5_file *file, const struct hdf5_set *set,
                               enum vamp_metric_kind kind)
{
    uint64_t row = packed_bytes(VAMP_MAX(set->cells, HDF5_COLUMN_CHUNK_ROWS));
    if (set->cells <= HDF5_FEW_CELLS) {
        row = set->cells * packed_bytes(HDF5_COLUMN_CHUNK_ROWS);
    }
    switch (kind) {
    case VAMP_COUNTER:
        return HDF5_COUNTER_DATASETS * row;
    case VAMP_GAUGE:
        return HDF5_GAUGE_DATASETS * row;
    case VAMP_HISTOGRAM:
        break;
    }
    return HDF5_OVERVIEW_DATASETS * row + packed_bytes(file->schema->bins.count);
}

/* Returns an upper limit of the bytes that the rows of one metric take. */
static uint64_t rows_bytes(const struct hdf5_file *file, unsigned number,
                           const struct vamp_bucket *bucket)
{
    const struct vamp_schema_metric *entry = &file->schema->metrics[number];
    const struct hdf5_metric *metric = &file->metrics[number];
    const struct vamp_metric_values *values = &bucket->values[number];
    const struct hdf5_set *set = &file->sets[entry->label_set];
    const uint64_t rows = packed_bytes(hdf5_round_up(set->changed_count, set->chunk_rows));
    switch (vamp_metrics[entry->id].kind) {
    case VAMP_COUNTER: /* and a total for each series */
        return rows + packed_bytes(hdf5_round_up(values->count, set->chunk_rows));
    case VAMP_GAUGE:
        return HDF5_GAUGE_DATASETS * rows;
    case VAMP_HISTOGRAM:
        break;
    }
    if (values->count == 0) {
        return 0;
    }
    const uint64_t entries = hdf5_round_up(hdf5_rows_entries(bucket, number), metric->entry_chunk);
    return HDF5_ROWS_DATASETS * rows + 2 * packed_bytes(entries);
}

/* Returns an upper limit of the bytes that the labels, the indexes of rows, and the tables take. */
static uint64_t text_bytes(const struct hdf5_file *file, const struct vamp_delivery *delivery)
{
    const uint64_t name = file->dimensions[HDF5_NAME_LENGTH].size;
    const uint64_t word = file->dimensions[HDF5_WORD_LENGTH].size;
    uint64_t bytes = 0;
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        const struct hdf5_set *set = &file->sets[s];
        const unsigned there = delivery->bucket->series_count[s];
        if (set->has_group) {
            const uint64_t unwritten = vamp_minus(there, set->written);
            bytes += hdf5_round_up(unwritten + HDF5_TEXT_CHUNK_ROWS, HDF5_TEXT_CHUNK_ROWS) *
                     (file->schema->label_sets[s].label_count * (name + word) + 64);
            /* series_index, time and totals */
            bytes += 2 * packed_bytes(hdf5_round_up(set->changed_count, set->chunk_rows)) +
                     2 * packed_bytes(hdf5_round_up(set->known, set->chunk_rows));
        }
    }
    /* Chunks of tables are allocated whole. */
    bytes +=
        hdf5_round_up(delivery->component_count + 2 * HDF5_TEXT_CHUNK_ROWS, HDF5_TEXT_CHUNK_ROWS) *
        (name + word + 64);
    if (file->cdo != 0) {
        bytes += (delivery->bucket->cdo_count + 512) * (uint64_t)(16 * 8 + 4 * VAMP_CDO_NAME_BYTES);
    }
    if (file->alarm != 0) {
        bytes += (delivery->bucket->alarm_count + 2 * HDF5_TEXT_CHUNK_ROWS) *
                 (uint64_t)(5 * 8 + 9 * VAMP_ALARM_TEXT_BYTES);
    }
    return bytes + (delivery->gap_count + 2 * HDF5_TEXT_CHUNK_ROWS) * (word + 64);
}

/* Returns the largest number of chunks of any variable. */
static uint64_t most_chunks(const struct hdf5_file *file)
{
    uint64_t most = file->rows;
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        const struct hdf5_set *set = &file->sets[s];
        if (set->has_group) {
            most = VAMP_MAX(most, file->dimensions[set->row].size / set->chunk_rows);
        }
    }
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        const struct hdf5_metric *metric = &file->metrics[m];
        if (metric->entry != 0) {
            most = VAMP_MAX(most, file->dimensions[metric->entry].size / metric->entry_chunk);
        }
    }
    return most;
}

/* Parameters of the estimate in index_bytes. */
#define INDEX_FIXED_BYTES 1024
#define INDEX_BLOCK_BYTES 200.0 /* per square root of the number of chunks */
#define INDEX_SPARE_CHUNKS 16.0

/* Returns an upper estimate of the bytes by which the indexes of all datasets grow with one bucket:
 * an index grows in blocks of about the square root of its number of chunks. Many datasets have the
 * same number of chunks, so that their indexes grow in the same bucket. */
static uint64_t index_bytes(const struct hdf5_file *file)
{
    const double chunks = (double)most_chunks(file) + INDEX_SPARE_CHUNKS;
    return file->dataset_count * (INDEX_FIXED_BYTES + (uint64_t)(INDEX_BLOCK_BYTES * sqrt(chunks)));
}

uint64_t hdf5_space_needed(const struct hdf5_file *file, const struct vamp_delivery *delivery)
{
    uint64_t bytes = FIXED_BYTES + index_bytes(file) + text_bytes(file, delivery) +
                     2 * packed_bytes(file->slots);
    for (unsigned i = 0; i < file->schema->metric_count; i++) {
        const struct vamp_schema_metric *entry = &file->schema->metrics[i];
        const struct hdf5_set *set = &file->sets[entry->label_set];
        bytes += overview_bytes(file, set, vamp_metrics[entry->id].kind);
        if (file->metrics[i].has_rows) {
            bytes += rows_bytes(file, i, delivery->bucket);
        }
    }
    return bytes;
}
