/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The HDF5 writer, split by stage: layout.c makes everything a file contains, file.c opens and
 * closes it, bucket.c writes a bucket, space.c reserves disk space, error.c turns HDF5's error
 * stack into a vamp_err, attribute.c writes attributes, writer.c is the table. The format is
 * specified in docs/output-hdf5.md.
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

#define HDF5_SCHEMA_VERSION "1.0"

#define HDF5_RANK_MAX 3
#define HDF5_NAME_BYTES 192
#define HDF5_DEFLATE_LEVEL 1
#define HDF5_NO_DATASET UINT_MAX
/* What numpy and xarray read as "not a time". It is not declared with _FillValue: with one, xarray
 * goes through doubles, which cost nanoseconds, and warns at every missing time. */
#define HDF5_TIME_MISSING ((uint64_t)INT64_MIN)

struct hdf5_options {
    char *directory;
    unsigned access; /* enum vamp_target_access */
    bool sync;       /* fdatasync after each bucket */
};

/* Element types. */
enum hdf5_type { HDF5_U64, HDF5_I64, HDF5_U8, HDF5_CHAR };

/* Dimensions every file has; those of the label sets follow. */
enum hdf5_dimension_number {
    HDF5_TIME, /* the only unlimited one */
    HDF5_BIN,
    HDF5_NAME_LENGTH, /* bytes of component names */
    HDF5_WORD_LENGTH, /* bytes of words that vampire or its configuration chose */
    HDF5_ID_LENGTH,   /* bytes of a series id */
    HDF5_GAP,
    HDF5_OUTPUT,
    HDF5_COMPONENT,
    HDF5_FIRST_SET,
};

struct hdf5_dimension {
    char name[HDF5_NAME_BYTES];
    hsize_t size; /* slots; of time: rows written */
    hid_t scale;  /* open while the layout is made, else -1 */
};

struct hdf5_dataset {
    char name[HDF5_NAME_BYTES];
    enum hdf5_type type;
    unsigned rank;
    unsigned dimensions[HDF5_RANK_MAX]; /* indices into hdf5_file.dimensions */
    hsize_t chunk[HDF5_RANK_MAX];
    bool plain;
    hid_t id; /* -1: closed */
};

/* What a dataset is made of; hdf5_dataset_create copies what it needs. */
struct hdf5_spec {
    const char *name;
    enum hdf5_type type;
    unsigned rank;
    unsigned dimensions[HDF5_RANK_MAX];
    hsize_t chunk[HDF5_RANK_MAX]; /* 0: the writer's choice for this shape */
    bool plain;                   /* as in `chunk`, not compressed: for blocks of rows that grow */
    bool early;                   /* chunks have their place before rows are announced */
    bool has_fill; /* fill_value is a _FillValue attribute: it means "nothing here" */
    uint64_t fill_value;
    const char *units, *long_name; /* NULL: no such attribute */
};

/* Datasets of a label set, as indices; label_text has one for each label. */
struct hdf5_set {
    unsigned dimension;
    unsigned slots;
    unsigned written; /* series whose labels are in the file */
    unsigned label_text[VAMP_LABELS_MAX];
    unsigned id_text;
};

/* The datasets of a metric begin at index `first`, in the order of these enumerations. */
enum { HDF5_COUNTER_VALUE, HDF5_COUNTER_DELTA, HDF5_COUNTER_DATASETS };
enum { HDF5_GAUGE_VALUE, HDF5_GAUGE_MIN, HDF5_GAUGE_MAX, HDF5_GAUGE_DATASETS };
enum {
    HDF5_HISTOGRAM_BINS,
    HDF5_HISTOGRAM_COUNT,
    HDF5_HISTOGRAM_SUM,
    HDF5_HISTOGRAM_MIN,
    HDF5_HISTOGRAM_MAX,
    HDF5_HISTOGRAM_DATASETS
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

/* How a file ended; how_ended has these values. */
enum hdf5_ending { HDF5_OPEN = 0, HDF5_ROTATED = 1, HDF5_ENDED = 2 };

/* Compresses chunks; chunk.c. Must not move: zlib points to it. */
struct hdf5_chunks {
    bool made;
    z_stream small, large;
    unsigned char *shuffled, *packed;
    size_t shuffled_bytes, packed_bytes;
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

    struct hdf5_set *sets;
    unsigned *metric_first; /* per schema metric */
    unsigned time, bucket_ns, bucket_number, statistics_buckets, events_first;
    unsigned outputs_first, output_name;
    unsigned gaps_first, components_first;
    unsigned how_ended, ended, end_reason;

    hsize_t rows; /* buckets committed */
    unsigned gap_rows;
    unsigned cdo_dimension; /* 0: not at level `cdo`; the next one is the length of its texts */
    unsigned cdos_first, cdo_rows;
    unsigned outputs_named;
    bool failed; /* after any HDF5 error: nothing is written any more */
    uint64_t *scratch;
    size_t scratch_items;
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
/* An upper bound of what writing this delivery needs. */
uint64_t hdf5_space_needed(const struct hdf5_file *file, const struct vamp_delivery *delivery);

/* dataset.c. */
VAMP_MUST_CHECK int hdf5_dimension_create(struct hdf5_file *file, unsigned dimension,
                                          struct vamp_err *err);
/* Creates, attaches the scales, leaves the dataset open. */
VAMP_MUST_CHECK int hdf5_dataset_create(struct hdf5_file *file, const struct hdf5_spec *spec,
                                        unsigned *ret_index, struct vamp_err *err);
/* Writes the block at `start` of `count` elements; grows along time when needed. */
VAMP_MUST_CHECK int hdf5_dataset_put(struct hdf5_file *file, unsigned index, const hsize_t *start,
                                     const hsize_t *count, const void *values,
                                     struct vamp_err *err);
/* Grows along time; new rows read as the fill value. */
VAMP_MUST_CHECK int hdf5_dataset_extend(struct hdf5_file *file, unsigned index, hsize_t rows,
                                        struct vamp_err *err);
VAMP_MUST_CHECK int hdf5_datasets_close(struct hdf5_file *file, struct vamp_err *err);
VAMP_MUST_CHECK int hdf5_datasets_reopen(struct hdf5_file *file, struct vamp_err *err);

/* chunk.c: for chunks of at most `most_bytes`. 0 or -ENOMEM; hdf5_chunks_done is right after
 * either. */
VAMP_MUST_CHECK int hdf5_chunks_init(struct hdf5_chunks *chunks, size_t most_bytes);
void hdf5_chunks_done(struct hdf5_chunks *chunks);
/* Writes the chunk that begins at `start`, whole. 0; negative after an error, for hdf5_fail. */
VAMP_MUST_CHECK int hdf5_chunk_put(struct hdf5_chunks *chunks, hid_t dataset, const hsize_t *start,
                                   const uint64_t *numbers, size_t count);

/* layout.c: every dimension and dataset of a file, from the schema. */
VAMP_MUST_CHECK int hdf5_layout_create(struct hdf5_file *file, const struct vamp_delivery *first,
                                       struct vamp_err *err);
/* Series of one histogram chunk. */
unsigned hdf5_layout_chunk_series(const struct hdf5_file *file, const struct hdf5_set *set);

/* The name of a label's variable: the plain word for the first label set that has the label, else
 * LABEL_of_SET. */
void hdf5_label_variable(const struct vamp_schema *schema, unsigned set, unsigned label,
                         char name[static HDF5_NAME_BYTES]);

/* metric.c: the datasets of the schema's metric `number`. */
VAMP_MUST_CHECK int hdf5_metric_create(struct hdf5_file *file, unsigned number,
                                       struct vamp_err *err);

/* file.c. */
VAMP_MUST_CHECK int hdf5_file_open(const struct hdf5_options *options,
                                   const struct vamp_writer_target *target,
                                   struct hdf5_file **ret_file, struct vamp_err *err);
VAMP_MUST_CHECK int hdf5_file_close(struct hdf5_file *file, const struct vamp_ending *ending,
                                    struct vamp_err *err);

/* cdo.c: the table of level `cdo`. */
unsigned hdf5_cdo_slots(const struct vamp_delivery *first);
VAMP_MUST_CHECK int hdf5_cdo_create(struct hdf5_file *file, struct vamp_err *err);
/* The bucket's rows, for which there is room. */
VAMP_MUST_CHECK int hdf5_cdo_write(struct hdf5_file *file, const struct vamp_bucket *bucket,
                                   struct vamp_err *err);

/* recover.c */
extern const struct vamp_recovery_ops hdf5_recovery;

/* bucket.c: as the table's `write`. */
VAMP_MUST_CHECK int hdf5_bucket_write(struct hdf5_file *file, const struct vamp_delivery *delivery,
                                      struct vamp_err *err);

#endif
