/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The HDF5 writer, split by stage. A file is made by layout.c (the overview in the root group),
 * metric.c (the variables of a metric), own.c (vampire's own metrics), group.c (a group of rows for
 * each label set) and words.c (the words of closed lists); file.c opens and closes it. A bucket is
 * written by bucket.c, in this order: tables.c (components and gaps), cdo.c, alarm.c, series.c
 * (labels of new series), restart.c (totals), rows.c (the detail), overview.c. dataset.c and
 * chunk.c write numbers, attribute.c attributes, space.c reserves disk space, error.c turns HDF5's
 * error stack into a vamp_err, writer.c is the table. The format is specified in
 * docs/output-hdf5.md.
 *
 * HDF5 1.10 has one lock for the whole library and blocks for milliseconds: only outputs' threads
 * (and the first open) call it.
 */
#ifndef VAMP_WRITERS_HDF5_INTERNAL_H
#define VAMP_WRITERS_HDF5_INTERNAL_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

#include "writers/format/file.h"
#include "writers/writer.h"

#define HDF5_SCHEMA_VERSION "2.1"

#define HDF5_RANK_MAX (VAMP_LABELS_MAX + 1)
#define HDF5_NAME_BYTES 192
#define HDF5_DEFLATE_LEVEL 1
#define HDF5_NO_DATASET UINT_MAX
/* What numpy and xarray read as "not a time". It is not declared with _FillValue: with one, xarray
 * goes through doubles, which cost nanoseconds, and warns at every missing time. */
#define HDF5_TIME_MISSING ((uint64_t)INT64_MIN)
/* A gauge without a value. */
#define HDF5_GAUGE_MISSING ((uint64_t)INT64_MIN)
/* The series of rows that only fill a chunk. */
#define HDF5_PADDING UINT32_MAX
/* Chunks of a variable. The index of more of them has pieces larger than a page, of which a kill in
 * the middle of a write can leave a half (file.c). */
#define HDF5_CHUNKS_MAX 8000
/* Rows of a chunk: chunks of 64 KiB have a wider index. */
#define HDF5_CHUNK_ROWS_MAX 4096
#define HDF5_OWN_GROUP "vampire"
#define HDF5_OWN_COLUMNS_MAX 128 /* of a table of vampire's own metrics */
#define HDF5_TEXT_CHUNK_ROWS 64  /* of texts and tables */
/* Columns along time are not compressed: a compressed chunk of many rows, flushed for each row,
 * would be written to a new place each time. A single busy bucket in quiet hours takes a whole
 * chunk of each column, so chunks are small. */
#define HDF5_COLUMN_CHUNK_ROWS 128
/* Where rows are: a chunk fills a page, and dimensions without rows in a quiet bucket take none. */
#define HDF5_PLACE_CHUNK_ROWS 128
#define HDF5_PLACE_CHUNK_SLOTS 8
#define HDF5_TEXT_BYTES 256 /* of a sentence */

struct hdf5_options {
    char *directory;
    unsigned access; /* enum vamp_target_access */
    bool sync;       /* fdatasync after each bucket */
};

/* Element types; numbers are uint64_t or int64_t in memory. */
enum hdf5_type { HDF5_U64, HDF5_I64, HDF5_U32, HDF5_U16, HDF5_U8, HDF5_CHAR };

/* Dimensions that every file has; those of words and groups follow. */
enum hdf5_dimension_number {
    HDF5_TIME,
    HDF5_RESTART, /* totals of all counters */
    HDF5_BIN,
    HDF5_NAME_LENGTH, /* bytes of component names */
    HDF5_WORD_LENGTH, /* bytes of words that vampire or its configuration chose */
    HDF5_TEXT_LENGTH, /* bytes of a sentence */
    HDF5_ID_LENGTH,   /* bytes of a series id */
    HDF5_GAP,
    HDF5_OUTPUT,
    HDF5_COMPONENT,
    HDF5_FIRST_OTHER,
};

struct hdf5_dimension {
    char name[HDF5_NAME_BYTES]; /* of one in a group: GROUP/NAME */
    hsize_t size;               /* slots; of an unlimited one: rows of the buckets written */
    hsize_t next;               /* of an unlimited one: and of the bucket being written */
    bool unlimited;
    hid_t scale; /* open while the layout is made, else -1 */
};

struct hdf5_dataset {
    char name[HDF5_NAME_BYTES]; /* of one in a group: GROUP/NAME */
    enum hdf5_type type;
    unsigned rank;
    unsigned dimensions[HDF5_RANK_MAX]; /* indices into hdf5_file.dimensions */
    hsize_t chunk[HDF5_RANK_MAX];
    hsize_t extent; /* rows; of an unlimited dimension it may have fewer: the rest is fill values */
    uint64_t fill;
    bool packed;
    hid_t id; /* -1: closed until it is written */
};

/* What a dataset is made of; hdf5_dataset_create copies what it needs. */
struct hdf5_spec {
    const char *name;
    enum hdf5_type type;
    unsigned rank;
    unsigned dimensions[HDF5_RANK_MAX];
    hsize_t chunk_rows;    /* along the first dimension; 0: the writer's choice */
    hsize_t chunk_columns; /* along the second one; 0: all */
    bool packed;           /* compressed; each chunk is written once, whole */
    bool early;            /* chunks have their place before rows are announced */
    bool has_fill;         /* fill_value is a _FillValue attribute: it means "nothing here" */
    uint64_t fill_value;
    const char *units, *long_name; /* NULL: no such attribute */
};

/* The words of a label whose values are a closed list; words.c. */
struct hdf5_words {
    unsigned dimension; /* 0: no metric has this label */
    unsigned slots;     /* word 0 is "(other)" */
    unsigned named;     /* of the outputs: words in the file so far */
    unsigned text;      /* dataset */
};

/* A label set: its cells in the overview, and its group of rows. */
struct hdf5_set {
    unsigned closed[VAMP_LABELS_MAX]; /* positions of the closed labels in the set */
    unsigned closed_count;
    unsigned cells; /* of a variable of the overview: the product of its words */
    uint32_t *cell; /* by series, as many as `known` */
    unsigned known, capacity;

    bool has_group;
    char group[HDF5_NAME_BYTES];
    unsigned series, row, before; /* dimensions */
    unsigned chunk_rows;
    unsigned label_text[VAMP_LABELS_MAX], label_count, id_text;
    unsigned written; /* series whose labels are in the file */
    unsigned series_index;
    unsigned slot; /* of `row` (struct hdf5_file) */
    unsigned before_restart, before_series;
    /* Of the bucket being written: series with a row, ascending. */
    uint32_t *changed;
    bool *is_changed;
    unsigned changed_count;
};

/* The datasets of a metric in the order of these enumerations; first those of the overview. */
enum { HDF5_COUNTER_DELTA, HDF5_COUNTER_BEFORE, HDF5_COUNTER_DATASETS };
enum { HDF5_GAUGE_VALUE, HDF5_GAUGE_MIN, HDF5_GAUGE_MAX, HDF5_GAUGE_DATASETS };
enum {
    HDF5_OVERVIEW_BINS,
    HDF5_OVERVIEW_COUNT,
    HDF5_OVERVIEW_SUM,
    HDF5_OVERVIEW_MIN,
    HDF5_OVERVIEW_MAX,
    HDF5_OVERVIEW_DATASETS
};
enum {
    HDF5_ROWS_COUNT,
    HDF5_ROWS_SUM,
    HDF5_ROWS_MIN,
    HDF5_ROWS_MAX,
    HDF5_ROWS_ENTRIES,
    HDF5_ROWS_BIN,
    HDF5_ROWS_BIN_COUNT,
    HDF5_ROWS_DATASETS
};

/* Where the sums of a metric's series are. */
enum hdf5_place {
    HDF5_PLACE_OVERVIEW,
    HDF5_PLACE_TABLE, /* of vampire's own metrics */
    HDF5_PLACE_ROWS,  /* nowhere: it has rows only */
};

struct hdf5_metric {
    enum hdf5_place place;
    bool has_rows;           /* in the group of its set: the overview does not show it whole */
    unsigned overview, rows; /* the first datasets; of a table's metric the first column */
    unsigned entry;          /* dimension of a histogram's entries */
    unsigned entry_chunk;
    unsigned entry_slot; /* (struct hdf5_file) */
    /* Of a gauge with rows: what the reader knows of each series. */
    struct vamp_gauge_value *shown;
    unsigned shown_count;
};

enum {
    HDF5_OUTPUT_QUEUED,
    HDF5_OUTPUT_WRITTEN,
    HDF5_OUTPUT_LOST,
    HDF5_OUTPUT_WAITING,
    HDF5_OUTPUT_DATASETS
};
enum { HDF5_GAP_START, HDF5_GAP_END, HDF5_GAP_EVENTS, HDF5_GAP_REASON, HDF5_GAP_DATASETS };
enum {
    HDF5_COMPONENT_APP_ID,
    HDF5_COMPONENT_JOINED,
    HDF5_COMPONENT_LEFT,
    HDF5_COMPONENT_OPERATIONS,
    HDF5_COMPONENT_NAME,
    HDF5_COMPONENT_REASON,
    HDF5_COMPONENT_DATASETS
};
/* Columns of the CDO table: numbers, then times, then texts. */
#define HDF5_CDO_NUMBERS 4
#define HDF5_CDO_TEXTS 4
#define HDF5_EVENT_COLUMNS (6 + VAMP_LOSS_COUNT)

/* A table of vampire's own metrics: a column for each cell of each metric; own.c. */
struct hdf5_table {
    const char *name;
    unsigned dimension, columns;
    unsigned first; /* dataset */
};

/* How a file ended; how_ended has these values. */
enum hdf5_ending { HDF5_OPEN = 0, HDF5_ROTATED = 1, HDF5_ENDED = 2 };

/* Compresses chunks; chunk.c. Must not move: zlib points to it. */
struct hdf5_chunks {
    bool made;
    z_stream stream;
    unsigned char *shuffled, *packed;
    size_t shuffled_bytes, packed_bytes;
};

/* Numbers to be written, which grows as needed. */
struct hdf5_column {
    uint64_t *numbers;
    size_t capacity;
};

struct hdf5_file {
    const struct hdf5_options *options;
    const struct vamp_run *run;
    const struct vamp_schema *schema;
    const char *output;
    unsigned segment;
    char *path;
    int fd;     /* vampire's own, next to HDF5's: for reservation and sync */
    hid_t file; /* -1: closed */

    struct hdf5_dimension *dimensions;
    unsigned dimension_count;
    struct hdf5_dataset *datasets;
    unsigned dataset_count, dataset_capacity;

    struct hdf5_words words[VAMP_LABEL_COUNT];
    const char *output_words[VAMP_OUTPUTS_MAX + 1]; /* from 1 on, as long as the run */
    struct hdf5_set *sets;                          /* per label set */
    struct hdf5_metric *metrics;                    /* per schema metric */
    struct hdf5_table own_counters, own_gauges;
    /* Where the rows of a bucket are: a slot for each dimension of rows and of entries. */
    unsigned slots, first_row, row_count; /* number, datasets */
    uint32_t *slot_first, *slot_count;    /* of the bucket being written */
    unsigned time, restart_row, bucket_ns, bucket_number, statistics_buckets, events_first;
    unsigned outputs_first, output_name;
    unsigned gaps_first, components_first;
    unsigned how_ended, ended, end_reason;

    hsize_t rows;        /* buckets written */
    unsigned cdo_length; /* dimension of a CDO's texts, after its table's; 0: not at level `cdo` */
    unsigned cdos_first;
    unsigned alarm_length; /* the same of the alarms' table; 0: the run has no rules */
    unsigned alarms_first;
    unsigned outputs_named;
    const char **component_names; /* by row: the name that the file has */
    unsigned component_capacity;
    bool failed; /* after any HDF5 error: nothing is written any more */
    struct hdf5_column column, counts;
    struct hdf5_chunks chunks;
};

/* error.c. Sets `err` from HDF5's error stack and clears the stack. The code is -errno of the
 * system call that failed, when one did, else -EIO. */
int hdf5_fail(struct vamp_err *err, const char *format, ...) VAMP_PRINTF(2, 3);
/* Before anything else on any thread: no printing by HDF5, no clean-up at exit. */
void hdf5_quiet(void);

/* attribute.c: on the object `id`, as fixed-length text (invalid UTF-8 replaced) or number. */
VAMP_MUST_CHECK int hdf5_attribute_text(hid_t id, const char *name, const char *text,
                                        struct vamp_err *err);
VAMP_MUST_CHECK int hdf5_attribute_number(hid_t id, const char *name, enum hdf5_type type,
                                          uint64_t value, struct vamp_err *err);
VAMP_MUST_CHECK int hdf5_attribute_bytes(hid_t id, const char *name, const uint8_t *values,
                                         unsigned count, struct vamp_err *err);
/* Little endian in the file, the machine's own in memory. */
hid_t hdf5_file_type(enum hdf5_type type);
hid_t hdf5_memory_type(enum hdf5_type type);

/* space.c. */
/* -ENOTSUP when live HDF5 files cannot live in `directory` (network file systems without POSIX
 * writes), with a text that explains what to do. */
VAMP_MUST_CHECK int hdf5_space_check(const char *directory, struct vamp_err *err);
bool hdf5_space_is_posix(long file_system_magic);
/* Makes sure that the file can grow by `bytes` from `end` on. 0; -EAGAIN with text: it cannot now;
 * of a new file, whose end is 0, -ENOSPC. */
VAMP_MUST_CHECK int hdf5_space_reserve(int fd, uint64_t end, uint64_t bytes, const char *path,
                                       struct vamp_err *err);
/* Releases what was reserved and not used. */
void hdf5_space_release(int fd);
/* An upper bound of what writing this delivery needs, whose rows were planned. */
uint64_t hdf5_space_needed(const struct hdf5_file *file, const struct vamp_delivery *delivery);

/* dataset.c. */
/* Names a dimension, its number, and makes its scale. */
VAMP_MUST_CHECK int hdf5_dimension_create(struct hdf5_file *file, unsigned dimension,
                                          const char *name, hsize_t size, bool unlimited,
                                          struct vamp_err *err);
/* Creates, attaches the scales, leaves the dataset open until the next one is created: an open one
 * takes 43 KiB. `time` stays open. */
VAMP_MUST_CHECK int hdf5_dataset_create(struct hdf5_file *file, const struct hdf5_spec *spec,
                                        unsigned *ret_index, struct vamp_err *err);
/* Opens it again, unless it is open; writing it does so, too. */
VAMP_MUST_CHECK int hdf5_dataset_open(struct hdf5_file *file, unsigned index, struct vamp_err *err);
/* Closes it if it is open. 0; -EIO: HDF5 failed. */
VAMP_MUST_CHECK int hdf5_dataset_close(struct hdf5_file *file, unsigned index,
                                       struct vamp_err *err);
/* Writes the block at `start` of `count` elements; grows along an unlimited first dimension. */
VAMP_MUST_CHECK int hdf5_dataset_put(struct hdf5_file *file, unsigned index, const hsize_t *start,
                                     const hsize_t *count, const void *values,
                                     struct vamp_err *err);
/* One row of all cells, from `numbers`: nothing is written where all are the fill value. */
VAMP_MUST_CHECK int hdf5_dataset_put_row(struct hdf5_file *file, unsigned index, hsize_t row,
                                         const uint64_t *numbers, struct vamp_err *err);
/* Whole chunks of a packed column from `first` on; those that contain only the fill value are not
 * written. */
VAMP_MUST_CHECK int hdf5_dataset_put_chunks(struct hdf5_file *file, unsigned index, hsize_t first,
                                            size_t count, const uint64_t *numbers,
                                            struct vamp_err *err);
/* One row of 32-bit numbers, as many as its dimension has: from the first to the last that is not
 * 0, so that chunks before and after them are not written. */
VAMP_MUST_CHECK int hdf5_dataset_put_indices(struct hdf5_file *file, unsigned index, hsize_t row,
                                             const uint32_t *indices, struct vamp_err *err);
/* Texts, each cut to the length there is, from row `row` on; not of file->column. */
VAMP_MUST_CHECK int hdf5_dataset_put_texts(struct hdf5_file *file, unsigned index, hsize_t row,
                                           unsigned count, const char *const *texts,
                                           struct vamp_err *err);
/* One text, or one number, into row `row`. */
VAMP_MUST_CHECK int hdf5_dataset_put_text(struct hdf5_file *file, unsigned index, hsize_t row,
                                          const char *text, struct vamp_err *err);
VAMP_MUST_CHECK int hdf5_dataset_put_number(struct hdf5_file *file, unsigned index, hsize_t row,
                                            uint64_t number, struct vamp_err *err);
/* Gives every dataset the rows of its unlimited dimension; `only_cut`: where it has more. */
VAMP_MUST_CHECK int hdf5_datasets_trim(struct hdf5_file *file, bool only_cut, struct vamp_err *err);
/* They are opened again when they are written. */
VAMP_MUST_CHECK int hdf5_datasets_close(struct hdf5_file *file, struct vamp_err *err);
/* Bytes of a number in the file. */
size_t hdf5_type_bytes(enum hdf5_type type);
/* Room for `count` numbers. 0 or -ENOMEM. */
VAMP_MUST_CHECK int hdf5_column_reserve(struct hdf5_column *column, size_t count,
                                        struct vamp_err *err);

/* chunk.c: for chunks of at most `most_bytes`. 0 or -ENOMEM; hdf5_chunks_done is right after
 * either. */
VAMP_MUST_CHECK int hdf5_chunks_init(struct hdf5_chunks *chunks, size_t most_bytes);
void hdf5_chunks_done(struct hdf5_chunks *chunks);
/* Writes the chunk that begins at `start`, whole; `bytes` of each number. 0; negative after an
 * error, for hdf5_fail. */
VAMP_MUST_CHECK int hdf5_chunk_put(struct hdf5_chunks *chunks, hid_t dataset, const hsize_t *start,
                                   const uint64_t *numbers, size_t count, size_t bytes);

/* layout.c: every dimension and dataset of a file, from the schema. */
VAMP_MUST_CHECK int hdf5_layout_create(struct hdf5_file *file, const struct vamp_delivery *first,
                                       struct vamp_err *err);
VAMP_MUST_CHECK int hdf5_layout_text(struct hdf5_file *file, const char *name,
                                     const char *long_name, unsigned dimension,
                                     unsigned length_dimension, unsigned *ret_index,
                                     struct vamp_err *err);

/* The dimension of the texts of a label. */
unsigned hdf5_layout_length(enum vamp_label label);

/* words.c. */
/* The words of every closed label that a metric has. */
VAMP_MUST_CHECK int hdf5_words_create(struct hdf5_file *file, struct vamp_err *err);
/* Which cells of the overview the series of the bucket belong to; names outputs that are new. */
VAMP_MUST_CHECK int hdf5_words_place(struct hdf5_file *file, const struct vamp_bucket *bucket,
                                     struct vamp_err *err);

/* metric.c: the datasets of the schema's metric `number`, in the overview and in its group. */
VAMP_MUST_CHECK int hdf5_metric_create_overview(struct hdf5_file *file, unsigned number,
                                                struct vamp_err *err);
VAMP_MUST_CHECK int hdf5_metric_create_rows(struct hdf5_file *file, unsigned number,
                                            struct vamp_err *err);

/* group.c. */
/* A group with an attribute. */
VAMP_MUST_CHECK int hdf5_group_create(struct hdf5_file *file, const char *name,
                                      const char *attribute, const char *text,
                                      struct vamp_err *err);
/* All groups, and the table of the places of their rows. */
VAMP_MUST_CHECK int hdf5_groups_create(struct hdf5_file *file, const struct vamp_delivery *first,
                                       struct vamp_err *err);

/* series.c: labels of the series that are new. */
VAMP_MUST_CHECK int hdf5_series_write(struct hdf5_file *file, const struct vamp_bucket *bucket,
                                      struct vamp_err *err);

/* tables.c: rows of the component table and gaps; the outputs' names. */
VAMP_MUST_CHECK int hdf5_tables_write(struct hdf5_file *file, const struct vamp_delivery *delivery,
                                      struct vamp_err *err);

/* restart.c: the counters' totals before this bucket, in a segment's first one and after a bucket
 * that was lost. */
bool hdf5_restart_is_due(const struct hdf5_file *file, const struct vamp_delivery *delivery);
VAMP_MUST_CHECK int hdf5_restart_write(struct hdf5_file *file, const struct vamp_bucket *bucket,
                                       struct vamp_err *err);

/* rows.c. */
/* Finds the series that have a row in this bucket, which were placed (words.c). */
void hdf5_rows_plan(struct hdf5_file *file, const struct vamp_bucket *bucket, bool restart);
/* Entries of a histogram metric. */
uint64_t hdf5_rows_entries(const struct vamp_metric_values *values);
VAMP_MUST_CHECK int hdf5_rows_write(struct hdf5_file *file, const struct vamp_bucket *bucket,
                                    struct vamp_err *err);

/* cells.c: sums of a metric's series, added to its cells. */
/* So many cells in file->column, each `fill`. */
VAMP_MUST_CHECK int hdf5_cells_begin(struct hdf5_file *file, size_t count, uint64_t fill,
                                     struct vamp_err *err);
/* Of a counter what was added in the bucket, and what there was before it. */
void hdf5_cells_add_delta(const struct hdf5_set *set, const struct vamp_metric_values *values,
                          uint64_t *cells);
void hdf5_cells_add_before(const struct hdf5_set *set, const struct vamp_metric_values *values,
                           uint64_t *cells);
/* Of a gauge: the value, or an extreme. */
void hdf5_cells_join_gauge(const struct hdf5_set *set, const struct vamp_metric_values *values,
                           unsigned part, enum vamp_merge rule, uint64_t *cells);

/* own.c: vampire's own metrics. */
/* Where each metric is, once the words are known. */
void hdf5_own_place(struct hdf5_file *file);
VAMP_MUST_CHECK int hdf5_own_create(struct hdf5_file *file, struct vamp_err *err);
VAMP_MUST_CHECK int hdf5_own_write(struct hdf5_file *file, const struct vamp_bucket *bucket,
                                   struct vamp_err *err);
VAMP_MUST_CHECK int hdf5_own_restart(struct hdf5_file *file, const struct vamp_bucket *bucket,
                                     struct vamp_err *err);

/* overview.c. */
VAMP_MUST_CHECK int hdf5_overview_write(struct hdf5_file *file, const struct vamp_bucket *bucket,
                                        struct vamp_err *err);

/* file.c. */
VAMP_MUST_CHECK int hdf5_file_open(const struct hdf5_options *options,
                                   const struct vamp_writer_target *target,
                                   struct hdf5_file **ret_file, struct vamp_err *err);
VAMP_MUST_CHECK int hdf5_file_close(struct hdf5_file *file, const struct vamp_ending *ending,
                                    struct vamp_err *err);

/* alarm.c: the table of alarms, whose dimension is the one before `alarm_length`. */
VAMP_MUST_CHECK int hdf5_alarm_create(struct hdf5_file *file, struct vamp_err *err);
VAMP_MUST_CHECK int hdf5_alarm_write(struct hdf5_file *file, const struct vamp_bucket *bucket,
                                     struct vamp_err *err);

/* cdo.c: the table of level `cdo`, whose dimension is the one before `cdo_length`. */
VAMP_MUST_CHECK int hdf5_cdo_create(struct hdf5_file *file, struct vamp_err *err);
VAMP_MUST_CHECK int hdf5_cdo_write(struct hdf5_file *file, const struct vamp_bucket *bucket,
                                   struct vamp_err *err);

/* recover.c */
extern const struct vamp_file_ops hdf5_files;

/* bucket.c: as the table's `write`. */
VAMP_MUST_CHECK int hdf5_bucket_write(struct hdf5_file *file, const struct vamp_delivery *delivery,
                                      struct vamp_err *err);

#endif
