/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The HDF5 writer: its file, and how it is opened and closed. The format is specified in
 * docs/output-hdf5.md. The modules, lowest first:
 *
 *   error, space        errors of HDF5; reservation of disk space
 *   row, attribute,     rows with check values; attributes and groups; datasets; dimensions;
 *   dataset, scale,     check values
 *   check
 *   words, metric,      labels with a closed list of values; the datasets of a metric; groups of
 *   group, tables, own  rows; gaps, components, CDOs and alarms; vampire's own metrics
 *   layout              all contents of a new file
 *   rows, overview      the values of a bucket
 *   writer, recover     the table of the format; repair
 *
 * Functions that take a file and return no result report a failure in `code` and `err` of the file,
 * and have no effect after an earlier failure, so that the first failure is kept and the caller
 * checks it once. After a failure, the returned numbers of datasets and dimensions are 0.
 *
 * HDF5 1.10 has one lock for the whole library and blocks for milliseconds: it may be called only
 * by the threads of outputs, and by the thread that opens the first segment.
 */
#pragma once

#include "vampire/core/map.h"
#include "writers/hdf5/dataset.h"
#include "writers/hdf5/group.h"
#include "writers/hdf5/metric.h"
#include "writers/hdf5/own.h"
#include "writers/hdf5/scale.h"
#include "writers/hdf5/tables.h"
#include "writers/hdf5/words.h"
#include "writers/writer.h"

#define HDF5_SCHEMA_VERSION "3.2"

struct hdf5_options {
    char *directory;
    unsigned access; /* enum vamp_target_access */
    bool sync;       /* fdatasync after each bucket */
};

enum {
    HDF5_OUTPUT_QUEUED,
    HDF5_OUTPUT_WRITTEN,
    HDF5_OUTPUT_LOST,
    HDF5_OUTPUT_WAITING,
    HDF5_OUTPUT_DATASETS
};
#define HDF5_EVENT_COLUMNS (6 + VAMP_LOSS_COUNT)

struct hdf5_file {
    const struct hdf5_options *options;
    const struct vamp_run *run;
    const struct vamp_schema *schema;
    const char *output;
    unsigned segment;
    char *path;
    int fd;     /* a descriptor in addition to HDF5's, for reservation and sync */
    hid_t file; /* -1: closed */
    /* Used only while the file is created; 0: none. */
    hid_t create[HDF5_CREATIONS]; /* property lists */
    hid_t text;                   /* type of texts with a variable length */
    hid_t list;                   /* type of lists of dimensions */
    hid_t scalar;                 /* dataspace of most attributes */
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
    /* The location of a bucket's rows in each dimension of rows and of entries. Each such dimension
     * has a slot. */
    unsigned slots, first_row, row_count; /* number of slots; datasets */
    uint64_t *slot_first, *slot_count;    /* for the bucket being written */
    struct map names;                     /* entries are struct hdf5_name */
    unsigned name;                        /* dataset */
    unsigned time, time_us, restart_row, bucket_ns, bucket_number, statistics_buckets;
    unsigned events[HDF5_EVENT_COLUMNS]; /* 0: not in this file */
    unsigned outputs_first, output_name;
    unsigned gaps_first, components_first;
    unsigned how_ended, ended, end_reason, end_check;
    /* Dataset with the properties found to be unknown after not_observed was written. */
    unsigned absences;
    uint32_t learned; /* bits of enum vamp_unknown in that dataset */

    /* Buckets written, and the number of them that readers can see. */
    hsize_t rows, flushed;
    uint32_t sums[VAMP_UNFLUSHED_MAX]; /* time_check of the buckets not yet flushed */
    uint64_t taken;   /* number of statistics buckets that the rows in `rows` contain */
    uint64_t written; /* number of statistics buckets that the rows in `flushed` contain */
    /* Series of the newest bucket; see struct vamp_bucket. */
    const struct vamp_series *const *const *series;
    unsigned cdo;        /* dimension of the table of CDOs; 0: not at level `cdo` */
    unsigned cdos_first; /* dataset */
    unsigned alarm;      /* dimension of the table of alarms; 0: the run has no rules */
    unsigned alarms_first;
    unsigned outputs_named;
    struct hdf5_component_texts *component_texts; /* by row: the texts in the file */
    unsigned component_capacity;
    bool failed; /* after any HDF5 error: nothing more is written */
    int code;    /* the first failure of the current call */
    struct vamp_err *err;
    struct hdf5_column column, counts;
    struct hdf5_chunks chunks;
};

/* Returns the kind of the schema's metric `number`. */
static inline enum vamp_metric_kind hdf5_kind(const struct hdf5_file *file, unsigned number)
{
    return vamp_metrics[file->schema->metrics[number].id].kind;
}

/* Functions of the format's table (writers/writer.h). */
int hdf5_file_open(const void *options, const struct vamp_writer_target *target, void **ret_self,
                   struct vamp_err *err);
int hdf5_file_close(void *self, const struct vamp_ending *ending, struct vamp_err *err);
