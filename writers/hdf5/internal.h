/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The HDF5 writer. A file is made by layout.c (columns), scale.c (dimensions), words.c (the words
 * of closed lists), metric.c (the variables of a metric), tables.c (gaps, components, CDOs,
 * alarms), own.c (vampire's own metrics) and group.c (a group of rows for each label set); file.c
 * opens and closes it. A bucket is written by writer.c, which is also the table, in this order:
 * tables.c, group.c (labels of new series), rows.c (the detail), overview.c, own.c, and their
 * totals where they are due. dataset.c has what is written with, check.c has
 * check values, space.c reserves disk space, error.c turns HDF5's error stack into a vamp_err. The
 * format is specified in docs/output-hdf5.md.
 *
 * Functions on a file without a result set `code` and `err` of the file when something fails, and
 * do nothing when something has failed already: the first failure is kept, and is looked at once.
 * Numbers of datasets and dimensions are 0 then.
 *
 * HDF5 1.10 has one lock for the whole library and blocks for milliseconds: only outputs' threads
 * (and the first open) call it.
 */
#pragma once

#include <hdf5.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/map.h"
#include "writers/format/file.h"
#include "writers/writer.h"

#define HDF5_SCHEMA_VERSION "3.2"

#define HDF5_RANK_MAX (VAMP_LABELS_MAX + 1)
#define HDF5_NAME_BYTES 192
/* libdeflate's fastest: level 3 saves 0.2 % of the bytes and costs a quarter more time. */
#define HDF5_DEFLATE_LEVEL 1
#define HDF5_UNIT_TIME "nanoseconds since 1970-01-01T00:00:00Z"
#define HDF5_UNIT_TIME_US "microseconds since 1970-01-01T00:00:00Z"
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
#define HDF5_OWN_COLUMNS_MAX 128   /* of a table of vampire's own metrics */
#define HDF5_TEXT_CHUNK_ROWS 64    /* of texts and tables */
#define HDF5_SERIES_CHUNK_ROWS 256 /* of the numbers of labels */
/* So few cells of a bucket are not compressed: a chunk of its own and its place in the index take
 * more. */
#define HDF5_FEW_CELLS 8
/* Columns along time are not compressed: a compressed chunk of many rows, flushed for each row,
 * would be written to a new place each time. A single busy bucket in quiet hours takes a whole
 * chunk of each column, so chunks are small. */
#define HDF5_COLUMN_CHUNK_ROWS 128
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
    HDF5_NAME,        /* names: what a label with an open list can be */
    HDF5_GAP,
    HDF5_OUTPUT,
    HDF5_COMPONENT,
    HDF5_UNKNOWN,
    HDF5_FIRST_OTHER,
};

struct hdf5_dimension {
    char name[HDF5_NAME_BYTES]; /* of one in a group: GROUP/NAME */
    hsize_t size;               /* slots; of an unlimited one: rows of the buckets written */
    hsize_t next;               /* of an unlimited one: and of the bucket being written */
    bool unlimited;
    hobj_ref_t scale;
    unsigned longest; /* dataset, the only one in the scale's list; 0: all along the dimension */
    /* Of one with check values: their dataset; rows as they will be in the file, of time those that
     * are not flushed yet, then an empty one; and which of them is being written. */
    unsigned check;
    unsigned char *rows;
    size_t row_bytes;
    unsigned row, row_count;
};

struct hdf5_dataset {
    char name[HDF5_NAME_BYTES]; /* of one in a group: GROUP/NAME */
    enum hdf5_type type;
    unsigned rank;
    unsigned dimensions[HDF5_RANK_MAX]; /* indices into hdf5_file.dimensions */
    hsize_t chunk[HDF5_RANK_MAX];
    hsize_t extent; /* rows; of an unlimited dimension it may have fewer: the rest is fill values */
    uint64_t fill;
    bool packed, checked;
    size_t place; /* in the checked row of its dimension */
    hid_t id;     /* -1: closed until it is written */
};

/* What a dataset is made of; what is needed of it is copied. */
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

/* What datasets that were created alike have in common, and how many kinds are kept. */
#define HDF5_CREATIONS 32
struct hdf5_creation {
    hsize_t chunk[HDF5_RANK_MAX];
    uint64_t fill;
    uint64_t traits; /* type, rank and the rest: compared as bytes, so without holes */
};

#define HDF5_WORDS_MAX 64 /* of a label, (other) included */

/* The words of a label whose values are a closed list; words.c. */
struct hdf5_words {
    unsigned dimension;                /* 0: no metric has this label */
    unsigned slots;                    /* word 0 is "(other)" */
    unsigned named;                    /* of the outputs: words in the file so far */
    unsigned text;                     /* dataset */
    const char *words[HDF5_WORDS_MAX]; /* as many as `named`, as long as the run */
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
    unsigned label_number[VAMP_LABELS_MAX], label_count; /* of a name, or of a word */
    unsigned written;                                    /* series whose labels are in the file */
    unsigned due; /* series of the buckets written: those labels, and what waits for a flush */
    unsigned series_index, row_time;
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
    int64_t shown_ns; /* the end of that bucket */
};

enum {
    HDF5_OUTPUT_QUEUED,
    HDF5_OUTPUT_WRITTEN,
    HDF5_OUTPUT_LOST,
    HDF5_OUTPUT_WAITING,
    HDF5_OUTPUT_DATASETS
};
#define HDF5_EVENT_COLUMNS (6 + VAMP_LOSS_COUNT)

/* A table of vampire's own metrics: a column for each cell of each metric; own.c. */
struct hdf5_table {
    const char *name;
    unsigned dimension, columns;
    unsigned first; /* dataset */
};

/* How a file ended; how_ended has these values. */
enum hdf5_ending { HDF5_OPEN = 0, HDF5_ROTATED = 1, HDF5_ENDED = 2 };

/* Compresses chunks; dataset.c. */
struct hdf5_chunks {
    struct libdeflate_compressor *compressor;
    unsigned char *shuffled, *packed;
    size_t shuffled_bytes, packed_bytes;
};

/* Numbers to be written, which grows as needed. */
struct hdf5_column {
    uint64_t *numbers;
    size_t capacity;
};

struct hdf5_component_texts {
    const char *name;
    const struct vamp_component_where *where;
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
    /* While the file is made; 0: none. The types of texts, whose length changes, and of lists of
     * dimensions; the space of most attributes. */
    hid_t create[HDF5_CREATIONS], text, list, scalar;
    struct hdf5_creation creations[HDF5_CREATIONS];
    unsigned creation_count;

    struct hdf5_dimension *dimensions;
    unsigned dimension_count;
    struct hdf5_dataset *datasets;
    unsigned dataset_count, dataset_capacity;

    struct hdf5_words words[VAMP_LABEL_COUNT];
    struct hdf5_set *sets;       /* per label set */
    struct hdf5_metric *metrics; /* per schema metric */
    struct hdf5_table own_counters, own_gauges;
    /* Where the rows of a bucket are: a slot for each dimension of rows and of entries. */
    unsigned slots, first_row, row_count; /* number, datasets */
    uint64_t *slot_first, *slot_count;    /* of the bucket being written */
    struct map names;                     /* struct hdf5_name */
    unsigned name;                        /* dataset */
    unsigned time, time_us, restart_row, bucket_ns, bucket_number, statistics_buckets;
    unsigned events[HDF5_EVENT_COLUMNS]; /* 0: not in this file */
    unsigned outputs_first, output_name;
    unsigned gaps_first, components_first;
    unsigned how_ended, ended, end_reason, end_check;
    unsigned absences; /* what was learned since the attribute not_observed was written */
    uint32_t learned;  /* of that: what is in the file */

    hsize_t rows, flushed;             /* buckets written, and those of them that readers see */
    uint32_t sums[VAMP_UNFLUSHED_MAX]; /* of the others: time_check */
    uint64_t taken, written;           /* the same in buckets of the statistics */
    const struct vamp_series *const *const *series; /* of the last of them; see vamp_bucket */
    unsigned cdo; /* dimension of their table; 0: not at level `cdo` */
    unsigned cdos_first;
    unsigned alarm; /* the same; 0: the run has no rules */
    unsigned alarms_first;
    unsigned outputs_named;
    struct hdf5_component_texts *component_texts; /* by row: what the file has */
    unsigned component_capacity;
    bool failed; /* after any HDF5 error: nothing is written any more */
    int code;    /* of the call that goes on: what failed first */
    struct vamp_err *err;
    struct hdf5_column column, counts;
    struct hdf5_chunks chunks;
};

/* Of rows, as many as fill whole chunks. */
static inline uint64_t hdf5_round_up(uint64_t count, uint64_t chunk)
{
    return (count + chunk - 1) / chunk * chunk;
}

/* error.c: from HDF5's error stack, which is cleared. The code is -errno of the system call that
 * failed, when one did, else -EIO. */
int hdf5_fail(struct vamp_err *err, const char *format, ...) VAMP_PRINTF(2, 3);
/* The same, into the file. */
void hdf5_failed(struct hdf5_file *file, const char *format, ...) VAMP_PRINTF(2, 3);
void hdf5_no_memory(struct hdf5_file *file, const char *doing);
/* Before anything else on any thread: no printing by HDF5, no clean-up at exit. */
void hdf5_quiet(void);

/* space.c. */
/* -ENOTSUP when live HDF5 files cannot live in `directory` (network file systems without POSIX
 * writes), with a text that explains what to do. */
VAMP_MUST_CHECK int hdf5_space_check(const char *directory, struct vamp_err *err);
/* Makes sure that the file can grow by `bytes` from `end` on. 0; -EAGAIN with text: it cannot now;
 * of a new file, whose end is 0, -ENOSPC. */
VAMP_MUST_CHECK int hdf5_space_reserve(int fd, uint64_t end, uint64_t bytes, const char *path,
                                       struct vamp_err *err);
/* Releases what was reserved and not used. */
void hdf5_space_release(int fd);
/* An upper bound of what writing this delivery needs, whose rows were planned. */
uint64_t hdf5_space_needed(const struct hdf5_file *file, const struct vamp_delivery *delivery);

/* dataset.c. */
/* An attribute of the object `id`: text of fixed length (invalid UTF-8 replaced), or `count`
 * numbers in the type's form in memory; or any. The attribute is closed on every path: SWMR does
 * not start otherwise. */
void hdf5_attribute_write(struct hdf5_file *file, hid_t id, const char *name, hid_t in_file,
                          hid_t in_memory, hid_t space, const void *value);
void hdf5_attribute_text(struct hdf5_file *file, hid_t id, const char *name, const char *text);
void hdf5_attribute_numbers(struct hdf5_file *file, hid_t id, const char *name, enum hdf5_type type,
                            const void *values, hsize_t count);
/* A group with an attribute. */
void hdf5_group_create(struct hdf5_file *file, const char *name, const char *attribute,
                       const char *text);
/* Creates, attaches the scales, leaves the dataset open until the next one is created: an open one
 * takes 43 KiB. `time` stays open. Returns its number. */
unsigned hdf5_dataset_create(struct hdf5_file *file, const struct hdf5_spec *spec);
/* What only creating datasets and attributes needs. */
void hdf5_creations_drop(struct hdf5_file *file);
/* Numbers along a dimension; `usual` takes no space. */
unsigned hdf5_column_create(struct hdf5_file *file, unsigned dimension, const char *name,
                            enum hdf5_type type, const char *units, const char *about,
                            uint64_t usual);
/* Texts along a dimension. */
unsigned hdf5_texts_create(struct hdf5_file *file, const char *name, const char *long_name,
                           unsigned dimension, unsigned length_dimension);
/* Its rows in the file. */
void hdf5_dataset_set_rows(struct hdf5_file *file, struct hdf5_dataset *dataset, hsize_t rows);
/* Opens it again, unless it is open; writing it does so, too. */
struct hdf5_dataset *hdf5_dataset_open(struct hdf5_file *file, unsigned index);
/* Closes it if it is open, also after a failure. */
void hdf5_dataset_close(struct hdf5_file *file, unsigned index);
/* Writes the block at `start` of `count` elements; grows along an unlimited first dimension. */
void hdf5_dataset_put(struct hdf5_file *file, unsigned index, const hsize_t *start,
                      const hsize_t *count, const void *values);
/* One row of all cells, from `numbers`: nothing is written where all, or uncompressed ones, are the
 * fill value. */
void hdf5_dataset_put_row(struct hdf5_file *file, unsigned index, hsize_t row,
                          const uint64_t *numbers);
/* Whole chunks of a packed column from `first` on; those that contain only the fill value are not
 * written. */
void hdf5_dataset_put_chunks(struct hdf5_file *file, unsigned index, hsize_t first, size_t count,
                             const uint64_t *numbers);
/* `count` numbers of a column of 32 or 8 bits, at most HDF5_TEXT_CHUNK_ROWS. */
void hdf5_dataset_put_small(struct hdf5_file *file, unsigned index, hsize_t first, unsigned count,
                            const uint32_t *numbers);
/* Texts, each cut to the length there is, from row `row` on; not of file->column. */
void hdf5_dataset_put_texts(struct hdf5_file *file, unsigned index, hsize_t row, unsigned count,
                            const char *const *texts);
/* Writes the rows of a dataset along time that are not flushed yet. */
void hdf5_dataset_put_held(struct hdf5_file *file, unsigned index);
/* One number into row `row`. */
void hdf5_dataset_put_number(struct hdf5_file *file, unsigned index, hsize_t row, uint64_t number);
/* Gives every dataset the rows of its unlimited dimension. `only_cut`: where it has more, as far as
 * that can be done; nothing fails then. */
void hdf5_datasets_trim(struct hdf5_file *file, bool only_cut);
/* They are opened again when they are written. Also after a failure. */
void hdf5_datasets_close(struct hdf5_file *file);
/* Room for `count` numbers, with what is in it or, of file->column, each set to `value`. NULL: no
 * memory, or something failed before. */
uint64_t *hdf5_column_reserve(struct hdf5_file *file, struct hdf5_column *column, size_t count);
uint64_t *hdf5_column_begin(struct hdf5_file *file, size_t count, uint64_t value);
/* For chunks of at most `most_bytes`. */
void hdf5_chunks_init(struct hdf5_file *file, size_t most_bytes);
void hdf5_chunks_done(struct hdf5_chunks *chunks);

/* scale.c. */
/* Names a dimension, its number, and makes its scale; of size 0: unlimited. */
void hdf5_dimension_create(struct hdf5_file *file, unsigned dimension, const char *name,
                           hsize_t size);
/* A dimension whose scale is the texts of its values, which readers select by; returns the dataset,
 * of the newest dimension. */
unsigned hdf5_words_dimension_create(struct hdf5_file *file, const char *name, const char *about,
                                     hsize_t size, unsigned length_dimension);
/* The scales of unlimited dimensions get the list of their datasets. */
void hdf5_scales_finish(struct hdf5_file *file);

/* row.c. */
/* Of a number in the file. */
size_t hdf5_type_bytes(enum hdf5_type type);
/* Numbers that a row of the dataset has. */
size_t hdf5_row_numbers(const struct hdf5_file *file, const struct hdf5_dataset *dataset);
/* A number of `bytes`, as the file has it. */
void hdf5_row_store(unsigned char *to, uint64_t number, size_t bytes);
/* A dataset's text, or number (the one at `at` of several), in the row of its dimension. Writing
 * does it along time and restarts. */
void hdf5_check_text(const struct hdf5_file *file, unsigned index, const char *text);
void hdf5_check_number(const struct hdf5_file *file, unsigned index, size_t at, uint64_t number);
/* Of the row, which is complete. The next one is empty: what is not written has the fill value. */
uint64_t hdf5_check_sum(struct hdf5_file *file, unsigned dimension);
/* Row `row` of those that are kept, or the empty one behind them, from the dataset's place on. */
unsigned char *hdf5_row_place(const struct hdf5_file *file, const struct hdf5_dataset *dataset,
                              unsigned row);
/* All rows were flushed, and are empty again. */
void hdf5_rows_clear(struct hdf5_dimension *dimension);

/* check.c. */
/* The check values of what was created along an unlimited dimension, uncompressed. */
void hdf5_check_create(struct hdf5_file *file, unsigned dimension, const char *name,
                       enum hdf5_type type);
/* How the file and the run ended, and its check value. */
void hdf5_end_write(struct hdf5_file *file, enum hdf5_ending how, int64_t time_ns,
                    const char *reason);

/* words.c. */
/* The dimension of the texts of a label. */
unsigned hdf5_words_length(enum vamp_label label);
/* Whether losses at this place (enum vamp_loss) cannot be known: the file has no numbers of them.
 */
bool hdf5_is_unseen(const struct hdf5_file *file, unsigned place);
/* Of a label whose values are a closed list; 0: (other). An output that is new gets a word, while
 * there are some. */
/* The words of every closed label that a metric has. */
void hdf5_words_create(struct hdf5_file *file);
/* Which cells of the overview the series of the bucket belong to; names outputs that are new. */
void hdf5_words_place(struct hdf5_file *file, const struct vamp_bucket *bucket);

/* metric.c: the datasets of the schema's metric `number`, in the overview and in its group. */
void hdf5_metric_create_overview(struct hdf5_file *file, unsigned number);
void hdf5_metric_create_rows(struct hdf5_file *file, unsigned number);
/* Adds the names of the labels to the text: all, or those whose values are a closed list. */
void hdf5_label_list(const struct vamp_label_set *set, bool all, const char *separator, char *text,
                     size_t bytes);
/* What the schema's metric `number` is. */
static inline enum vamp_metric_kind hdf5_kind(const struct hdf5_file *file, unsigned number)
{
    return vamp_metrics[file->schema->metrics[number].id].kind;
}

/* rows.c. */
/* Finds the series that have a row in this bucket, which were placed (words.c). */
void hdf5_rows_plan(struct hdf5_file *file, const struct vamp_bucket *bucket, bool restart);
/* A gauge that grows by the time between two buckets while nothing happens. */
bool hdf5_is_age(enum vamp_metric_id id);
/* Entries of a histogram metric. */
uint64_t hdf5_rows_entries(const struct vamp_bucket *bucket, unsigned metric);
void hdf5_rows_write(struct hdf5_file *file, const struct vamp_bucket *bucket);
/* The counters' totals before this bucket. Last: what hdf5_rows_plan found is overwritten. */
void hdf5_rows_restart(struct hdf5_file *file, const struct vamp_bucket *bucket);

/* overview.c. */
/* Adds a part of a metric's series to its cells: HDF5_COUNTER_, HDF5_GAUGE_, HDF5_OVERVIEW_COUNT or
 * HDF5_OVERVIEW_SUM. */
void hdf5_cells_add(const struct hdf5_file *file, const struct vamp_bucket *bucket, unsigned metric,
                    unsigned part, uint64_t *cells);
/* The cells of a gauge's value are kept; then an extreme that is the value itself is left out. */
void hdf5_extremes_leave(struct hdf5_file *file, unsigned part, uint64_t *cells, size_t count);
void hdf5_overview_write(struct hdf5_file *file, const struct vamp_bucket *bucket);
void hdf5_overview_restart(struct hdf5_file *file, const struct vamp_bucket *bucket);

/* own.c: vampire's own metrics. */
/* Where each metric is, once the words are known. */
void hdf5_own_place(struct hdf5_file *file);
void hdf5_own_create(struct hdf5_file *file);
void hdf5_own_write(struct hdf5_file *file, const struct vamp_bucket *bucket);
void hdf5_own_restart(struct hdf5_file *file, const struct vamp_bucket *bucket);

/* group.c: all groups, and the table of the places of their rows; labels of series that are new,
 * which the bucket has, and which a flush writes. */
void hdf5_groups_create(struct hdf5_file *file, const struct vamp_delivery *first);
void hdf5_series_note(struct hdf5_file *file, const struct vamp_bucket *bucket);
void hdf5_series_write(struct hdf5_file *file);
void hdf5_names_done(struct hdf5_file *file);

/* tables.c. */
void hdf5_tables_create(struct hdf5_file *file);
void hdf5_tables_write(struct hdf5_file *file, const struct vamp_delivery *delivery);

/* layout.c: every dimension and dataset of a file, from the schema. */
void hdf5_layout_create(struct hdf5_file *file, const struct vamp_delivery *first);

/* writer.c */
/* Shows readers the buckets that they do not see yet. */
void hdf5_flush(struct hdf5_file *file);

/* file.c: as the table's functions. */
int hdf5_file_open(const void *options, const struct vamp_writer_target *target, void **ret_self,
                   struct vamp_err *err);
int hdf5_file_close(void *self, const struct vamp_ending *ending, struct vamp_err *err);

/* recover.c */
extern const struct vamp_file_ops hdf5_files;
