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
/* libdeflate's fastest: level 3 saves 0.2 % of the bytes and costs a quarter more time. */
#define HDF5_DEFLATE_LEVEL 1
#define HDF5_UNIT_TIME "nanoseconds since 1970-01-01T00:00:00Z"
#define HDF5_UNIT_TIME_US "microseconds since 1970-01-01T00:00:00Z"
/* numpy and xarray read this as "not a time". It is not declared as _FillValue: with one, xarray
 * converts times to doubles, which lose nanoseconds, and warns at every missing time. */
#define HDF5_TIME_MISSING ((uint64_t)INT64_MIN)
/* A gauge without a value. */
#define HDF5_GAUGE_MISSING ((uint64_t)INT64_MIN)
/* The series number in rows that only fill a chunk. */
#define HDF5_PADDING UINT32_MAX
/* Maximum number of chunks of a variable. With more, the blocks of HDF5's chunk index are larger
 * than a page, and a kill during a write can leave half a block (file.c). */
#define HDF5_CHUNKS_MAX 8000
/* Maximum number of rows in a chunk: chunks of 64 KiB need a wider index. */
#define HDF5_CHUNK_ROWS_MAX 4096
#define HDF5_TEXT_CHUNK_ROWS 64    /* texts and tables */
#define HDF5_SERIES_CHUNK_ROWS 256 /* label numbers */
/* Rows of at most this many cells are not compressed: a chunk and its index entry would take
 * more. */
#define HDF5_FEW_CELLS 8
/* Columns along time are not compressed: a compressed chunk of many rows, flushed for each row,
 * would be written to a new place each time. A single busy bucket in quiet hours takes a whole
 * chunk of each column, so chunks are small. */
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
        extent; /* rows; may be fewer than an unlimited dimension has: the rest is fill values */
    uint64_t fill;
    bool packed, checked;
    size_t place; /* offset in the checked row of its dimension */
    hid_t id;     /* -1: closed until it is written */
};

/* Description of a new dataset; copied as needed. */
struct hdf5_spec {
    const char *name;
    enum hdf5_type type;
    unsigned rank;
    unsigned dimensions[HDF5_RANK_MAX];
    hsize_t chunk_rows;    /* along the first dimension; 0: the writer's choice */
    hsize_t chunk_columns; /* along the second one; 0: all */
    bool packed;           /* compressed; each chunk is written once, whole */
    bool early;            /* space for chunks is allocated before rows are announced */
    bool has_fill;         /* fill_value is a _FillValue attribute: it means "nothing here" */
    uint64_t fill_value;
    const char *units, *long_name; /* NULL: no such attribute */
};

/* Creation properties, cached: datasets with equal ones share an HDF5 property list. */
#define HDF5_CREATIONS 32
struct hdf5_creation {
    hsize_t chunk[HDF5_RANK_MAX];
    uint64_t fill;
    uint64_t traits; /* type, rank and the rest: compared as bytes, so without padding */
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

/* The number of rows in the whole chunks that `count` rows take. */
static inline uint64_t hdf5_round_up(uint64_t count, uint64_t chunk)
{
    return (count + chunk - 1) / chunk * chunk;
}

/* Creates a dataset and attaches its scales. It stays open until the next one is created, since an
 * open dataset takes 43 KiB; `time` stays open. Returns its number. */
unsigned hdf5_dataset_create(struct hdf5_file *file, const struct hdf5_spec *spec);
/* Releases everything that only the creation of datasets and attributes needs. */
void hdf5_creations_drop(struct hdf5_file *file);
/* Creates a column of numbers along a dimension; the default value takes no space. */
unsigned hdf5_column_create(struct hdf5_file *file, unsigned dimension, const char *name,
                            enum hdf5_type type, const char *units, const char *about,
                            uint64_t default_value);
/* Creates a column of texts along a dimension. */
unsigned hdf5_texts_create(struct hdf5_file *file, const char *name, const char *long_name,
                           unsigned dimension, unsigned length_dimension);
/* Sets the number of rows of the dataset in the file. */
void hdf5_dataset_set_rows(struct hdf5_file *file, struct hdf5_dataset *dataset, hsize_t rows);
/* Opens the dataset unless it is open. The functions that write to a dataset open it, too. */
struct hdf5_dataset *hdf5_dataset_open(struct hdf5_file *file, unsigned index);
/* Closes it if it is open, also after a failure. */
void hdf5_dataset_close(struct hdf5_file *file, unsigned index);
/* Writes a block of `count` elements at `start`; grows along an unlimited first dimension. */
void hdf5_dataset_put(struct hdf5_file *file, unsigned index, const hsize_t *start,
                      const hsize_t *count, const void *values);
/* Writes one row of all cells. Cells with the fill value are not written; a compressed row is
 * written whole unless all its cells have the fill value. */
void hdf5_dataset_put_row(struct hdf5_file *file, unsigned index, hsize_t row,
                          const uint64_t *numbers);
/* Writes whole chunks of a compressed column from row `first` on, except chunks that contain only
 * the fill value. */
void hdf5_dataset_put_chunks(struct hdf5_file *file, unsigned index, hsize_t first, size_t count,
                             const uint64_t *numbers);
/* Writes `count` (at most HDF5_TEXT_CHUNK_ROWS) numbers to a column of 32 or 8 bits. */
void hdf5_dataset_put_small(struct hdf5_file *file, unsigned index, hsize_t first, unsigned count,
                            const uint32_t *numbers);
/* Writes texts from row `row` on, each cut to the dataset's length. They may not be in
 * file->column. */
void hdf5_dataset_put_texts(struct hdf5_file *file, unsigned index, hsize_t row, unsigned count,
                            const char *const *texts);
/* Writes the rows of a dataset along time that are kept for the flush. */
void hdf5_dataset_put_held(struct hdf5_file *file, unsigned index);
/* Writes one number to row `row`. */
void hdf5_dataset_put_number(struct hdf5_file *file, unsigned index, hsize_t row, uint64_t number);
/* Gives every dataset as many rows as its unlimited dimension has. `only_cut`: only shortens those
 * that are longer, as far as that is possible, and cannot fail. */
void hdf5_datasets_trim(struct hdf5_file *file, bool only_cut);
/* Closes all datasets, also after a failure. Writing to a dataset opens it again. */
void hdf5_datasets_close(struct hdf5_file *file);
/* Room for `count` numbers in the column, whose contents stay; hdf5_column_begin: in file->column,
 * each set to `value`. NULL: out of memory, or something failed before. */
uint64_t *hdf5_column_reserve(struct hdf5_file *file, struct hdf5_column *column, size_t count);
uint64_t *hdf5_column_begin(struct hdf5_file *file, size_t count, uint64_t value);
/* Prepares file->chunks for chunks of at most `most_bytes`. */
void hdf5_chunks_init(struct hdf5_file *file, size_t most_bytes);
void hdf5_chunks_done(struct hdf5_chunks *chunks);
