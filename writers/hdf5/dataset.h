/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes, groups and datasets of a file, and writing numbers and texts to datasets. Datasets
 * are numbered in the order of their creation; number 0 is `time`.
 */
#pragma once

#include <hdf5.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writers/writer.h"

struct hdf5_file;

#define HDF5_RANK_MAX (VAMP_LABELS_MAX + 1)
#define HDF5_NAME_BYTES 192
/* libdeflate's fastest level: level 3 saves 0.2 % of the bytes and takes a quarter more time. */
#define HDF5_DEFLATE_LEVEL 1
#define HDF5_UNIT_TIME "nanoseconds since 1970-01-01T00:00:00Z"
#define HDF5_UNIT_TIME_US "microseconds since 1970-01-01T00:00:00Z"
/* numpy and xarray read this value as "not a time". It is not declared as _FillValue, because
 * xarray then converts times to doubles, which loses nanoseconds, and warns about every missing
 * time. */
#define HDF5_TIME_MISSING ((uint64_t)INT64_MIN)
/* A gauge without a value. */
#define HDF5_GAUGE_MISSING ((uint64_t)INT64_MIN)
/* The series number in rows that only pad a chunk. */
#define HDF5_PADDING UINT32_MAX
/* Maximum number of chunks of a variable. With more, the blocks of HDF5's chunk index exceed a
 * page, and a kill during a write can leave half a block (file.c). */
#define HDF5_CHUNKS_MAX 8000
/* Maximum number of rows in a chunk: chunks of 64 KiB need a larger chunk index. */
#define HDF5_CHUNK_ROWS_MAX 4096
#define HDF5_TEXT_CHUNK_ROWS 64    /* for texts and tables */
#define HDF5_SERIES_CHUNK_ROWS 256 /* for label numbers */
/* Rows with at most this many cells are not compressed: a chunk and its index entry would take more
 * space. */
#define HDF5_FEW_CELLS 8
/* Columns along time are not compressed: a compressed chunk of many rows, flushed after each row,
 * would be written to a new location each time. Chunks are small, since a single nonzero value
 * takes a whole chunk of each column. */
#define HDF5_COLUMN_CHUNK_ROWS 128

/* Element types; numbers are uint64_t or int64_t in memory. */
enum hdf5_type { HDF5_U64, HDF5_I64, HDF5_U32, HDF5_U16, HDF5_U8, HDF5_CHAR };

struct hdf5_dataset {
    char name[HDF5_NAME_BYTES]; /* in a group: GROUP/NAME */
    enum hdf5_type type;
    unsigned rank;
    unsigned dimensions[HDF5_RANK_MAX]; /* indices into hdf5_file.dimensions */
    hsize_t chunk[HDF5_RANK_MAX];
    hsize_t
        /* number of rows; may be less than the size of an unlimited dimension: missing rows have
           the fill value */
        extent;
    uint64_t fill;
    bool packed, checked;
    size_t place; /* offset of the dataset in the checked row of its dimension */
    hid_t id;     /* -1: closed until the next write */
};

/* Description of a new dataset; copied where needed. */
struct hdf5_spec {
    const char *name;
    enum hdf5_type type;
    unsigned rank;
    unsigned dimensions[HDF5_RANK_MAX];
    hsize_t chunk_rows;    /* rows of a chunk; 0: chosen by the writer */
    hsize_t chunk_columns; /* columns of a chunk; 0: all */
    bool packed;           /* compressed; each chunk is written once, completely */
    bool early;            /* chunks are allocated before rows become visible */
    bool has_fill;         /* fill_value becomes a _FillValue attribute, which means "no value" */
    uint64_t fill_value;
    const char *units, *long_name; /* NULL: the attribute is omitted */
};

/* Cached creation properties: datasets with equal properties share an HDF5 property list. */
#define HDF5_CREATIONS 32
struct hdf5_creation {
    hsize_t chunk[HDF5_RANK_MAX];
    uint64_t fill;
    /* type, rank and other flags, packed into an integer because entries are compared as bytes, so
     * there must be no padding */
    uint64_t traits;
};

/* Buffers for compressing one chunk. */
struct hdf5_chunks {
    struct libdeflate_compressor *compressor;
    unsigned char *shuffled, *packed;
    size_t shuffled_bytes, packed_bytes;
};

/* A buffer of numbers to be written, which grows as needed. */
struct hdf5_column {
    uint64_t *numbers;
    size_t capacity;
};

/* Rounds `count` rows up to whole chunks. */
static inline uint64_t hdf5_round_up(uint64_t count, uint64_t chunk)
{
    return (count + chunk - 1) / chunk * chunk;
}

/* Creates a dataset and attaches its scales. It stays open until the next one is created, since an
 * open dataset takes 43 KiB; only `time` stays open. Returns its number. */
unsigned hdf5_dataset_create(struct hdf5_file *file, const struct hdf5_spec *spec);
/* Releases everything that is needed only to create datasets and attributes. */
void hdf5_creations_drop(struct hdf5_file *file);
/* Creates a column of numbers along a dimension. Cells with the default value take no space. */
unsigned hdf5_column_create(struct hdf5_file *file, unsigned dimension, const char *name,
                            enum hdf5_type type, const char *units, const char *about,
                            uint64_t default_value);
/* Creates a column of texts along a dimension. */
unsigned hdf5_texts_create(struct hdf5_file *file, const char *name, const char *long_name,
                           unsigned dimension, unsigned length_dimension);
/* Sets the number of rows of the dataset in the file. */
void hdf5_dataset_set_rows(struct hdf5_file *file, struct hdf5_dataset *dataset, hsize_t rows);
/* Opens the dataset unless it is open. The functions that write to a dataset also open it. */
struct hdf5_dataset *hdf5_dataset_open(struct hdf5_file *file, unsigned index);
/* Closes the dataset if it is open; also after a failure. */
void hdf5_dataset_close(struct hdf5_file *file, unsigned index);
/* Writes a block of `count` elements at `start`, and extends the dataset along an unlimited first
 * dimension. */
void hdf5_dataset_put(struct hdf5_file *file, unsigned index, const hsize_t *start,
                      const hsize_t *count, const void *values);
/* Writes one row of all cells. Cells with the fill value are not written; a compressed row is
 * written completely unless all its cells have the fill value. */
void hdf5_dataset_put_row(struct hdf5_file *file, unsigned index, hsize_t row,
                          const uint64_t *numbers);
/* Writes whole chunks of a compressed column from row `first` on, except chunks that contain only
 * the fill value. */
void hdf5_dataset_put_chunks(struct hdf5_file *file, unsigned index, hsize_t first, size_t count,
                             const uint64_t *numbers);
/* Writes `count` (at most HDF5_TEXT_CHUNK_ROWS) numbers to a column of 32 or 8 bits. */
void hdf5_dataset_put_small(struct hdf5_file *file, unsigned index, hsize_t first, unsigned count,
                            const uint32_t *numbers);
/* Writes texts to rows `row` and following, each cut to the dataset's length. The texts must not be
 * stored in file->column. */
void hdf5_dataset_put_texts(struct hdf5_file *file, unsigned index, hsize_t row, unsigned count,
                            const char *const *texts);
/* Writes the rows of a dataset along time that were buffered until the flush. */
void hdf5_dataset_put_held(struct hdf5_file *file, unsigned index);
/* Writes one number to row `row`. */
void hdf5_dataset_put_number(struct hdf5_file *file, unsigned index, hsize_t row, uint64_t number);
/* Sets the number of rows of every dataset to that of its unlimited dimension. `only_cut`: only
 * shortens datasets that are longer, as far as possible, and cannot fail. */
void hdf5_datasets_trim(struct hdf5_file *file, bool only_cut);
/* Closes all datasets, also after a failure. Writing to a dataset opens it again. */
void hdf5_datasets_close(struct hdf5_file *file);
/* Ensures capacity for `count` numbers in the column and keeps its contents. hdf5_column_begin uses
 * file->column and sets each number to `value`. NULL if out of memory or after an earlier failure.
 */
uint64_t *hdf5_column_reserve(struct hdf5_file *file, struct hdf5_column *column, size_t count);
uint64_t *hdf5_column_begin(struct hdf5_file *file, size_t count, uint64_t value);
/* Prepares file->chunks for chunks of at most `most_bytes` bytes. */
void hdf5_chunks_init(struct hdf5_file *file, size_t most_bytes);
void hdf5_chunks_done(struct hdf5_chunks *chunks);
