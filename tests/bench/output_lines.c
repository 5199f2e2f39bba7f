/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What writing a bucket costs: a row of JSON lines next to an fwrite of the same bytes, a bucket in
 * HDF5 next to a bare append of the same bins to a dataset of the same kind, and next to one to as
 * many datasets as a bucket has.
 */
#include <errno.h>
#include <hdf5.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "vampire/core/options/options.h"
#include "vampire/stats/cells/open_histogram.h"
#include "writers/writer.h"

#define SERIES 20
#define SUB_BITS 2 /* 248 bins */
#define BINS 248
#define USED_BINS 40    /* of a histogram: durations over three magnitudes */
#define BUCKETS_MAX 200 /* of one measured run */
#define BUCKETS_FEW 10  /* where instructions are counted */
#define START_NS INT64_C(1767225600000000000)
#define WIDTH_NS INT64_C(1000000000)
#define DEFLATE_LEVEL 1
/* What a bucket with one histogram has in addition to its bins: four numbers of each series and
 * four of each output in rows; time, width, number and the account of the events in columns. */
#define OTHER_ROWS 8
#define OTHERS (OTHER_ROWS + 9 + VAMP_LOSS_COUNT)
#define COLUMN_ROWS 512

/* ------------------------------------------------------------------ one bucket, as writers see it
 */

struct made {
    struct vamp_run run;
    struct vamp_label_set set;
    struct vamp_schema_metric metric;
    struct vamp_schema schema;
    struct vamp_series series[SERIES];
    const struct vamp_series *series_list[SERIES];
    const struct vamp_series *const *series_lists[1];
    unsigned series_count[1];
    struct vamp_histogram_value histograms[SERIES];
    struct vamp_counter_value counters[SERIES];
    struct vamp_metric_values values;
    struct vamp_bucket bucket;
    char names[SERIES][32];
};

static struct vamp_bucket_histogram *make_histogram(const struct vamp_bins *bins, unsigned number)
{
    struct vamp_open_pool pool;
    vamp_open_pool_init(&pool, bins, (size_t)1 << 20);
    struct vamp_open_histogram *open = NULL;
    uint64_t random = number + 1;
    for (unsigned i = 0; i < USED_BINS * 12; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const unsigned doubling = (unsigned)(random >> 60) % (USED_BINS >> SUB_BITS);
        const uint64_t value = UINT64_C(50000) << doubling;
        (void)vamp_open_record(&pool, &open, value + (random >> 40) % value);
    }
    struct vamp_bucket_histogram *histogram =
        calloc(1, vamp_bucket_histogram_bytes(vamp_open_bins_at_most(&pool, open)));
    if (histogram == NULL) {
        abort();
    }
    vamp_open_copy(&pool, open, histogram);
    vamp_open_pool_done(&pool);
    return histogram;
}

static void make_schema(struct made *made, enum vamp_metric_id metric)
{
    made->run = (struct vamp_run){.id = "00000000-0000-4000-8000-000000000000",
                                  .workflow = "bench",
                                  .component = "vampire",
                                  .host = "here",
                                  .user = "operator",
                                  .batch_job = "",
                                  .version = "bench",
                                  .clock = "event",
                                  .sampling = "none",
                                  .configuration = "{}",
                                  .started_ns = START_NS};
    made->set = (struct vamp_label_set){.name = "component_series",
                                        .labels = {VAMP_LABEL_COMPONENT},
                                        .label_count = 1,
                                        .max_series = SERIES};
    made->metric = (struct vamp_schema_metric){.id = metric, .label_set = 0};
    made->schema = (struct vamp_schema){.label_sets = &made->set,
                                        .label_set_count = 1,
                                        .metrics = &made->metric,
                                        .metric_count = 1,
                                        .max_components = 64,
                                        .level = VAMP_LEVEL_COMPONENT,
                                        .bucket_ns = WIDTH_NS};
    vamp_bins_init(&made->schema.bins, SUB_BITS);
}

/* A counter or a histogram of the components. */
static struct made *made_create(enum vamp_metric_id metric)
{
    struct made *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    make_schema(made, metric);
    for (unsigned i = 0; i < SERIES; i++) {
        (void)snprintf(made->names[i], sizeof made->names[i], "IFS -- %u", i);
        made->series[i].labels[0] = i == 0 ? VAMP_SERIES_OTHER : made->names[i];
        made->series_list[i] = &made->series[i];
        made->histograms[i] = (struct vamp_histogram_value){
            .series = i, .histogram = make_histogram(&made->schema.bins, i)};
        made->counters[i] = (struct vamp_counter_value){.value = UINT64_C(123456789) * (i + 1),
                                                        .delta = UINT64_C(987654) * (i + 1)};
    }
    made->series_lists[0] = made->series_list;
    made->series_count[0] = SERIES;
    made->values.count = SERIES;
    if (vamp_metrics[metric].kind == VAMP_COUNTER) {
        made->values.counters = made->counters;
    } else {
        made->values.histograms = made->histograms;
    }
    made->bucket = (struct vamp_bucket){.width_ns = WIDTH_NS,
                                        .start_ns = START_NS,
                                        .schema = &made->schema,
                                        .series_count = made->series_count,
                                        .series = made->series_lists,
                                        .values = &made->values,
                                        .holders = 1};
    return made;
}

static void made_free(struct made *made)
{
    for (unsigned i = 0; i < SERIES; i++) {
        free((void *)(uintptr_t)made->histograms[i].histogram);
    }
    free(made);
}

/* ------------------------------------------------------------------ writing buckets */

struct writing {
    struct made *made;
    const struct vamp_writer_ops *ops;
    void *options, *target;
    unsigned segment;
    uint64_t buckets, rows_per_bucket, bytes_per_bucket;
    /* the baseline's */
    hid_t file, dataset, other[OTHERS];
    unsigned others; /* datasets in addition to that of the bins */
    hsize_t rows;
    uint64_t *bins; /* SERIES x BINS */
    FILE *stream;
    char *text; /* what one bucket is in JSON */
    uint64_t heap_calls;
};

static void stop(const char *what, const char *text)
{
    (void)fprintf(stderr, "bench: %s: %s\n", what, text);
    exit(1);
}

static void close_target(struct writing *writing)
{
    struct vamp_err err = VAMP_ERR_NONE;
    if (writing->target != NULL) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s", writing->ops->path(writing->target));
        if (writing->ops->close(writing->target, NULL, &err) != 0) {
            stop("close", err.text);
        }
        (void)unlink(path);
        writing->target = NULL;
    }
}

static void write_bucket(struct writing *writing, uint64_t number)
{
    struct vamp_err err = VAMP_ERR_NONE;
    writing->made->bucket.number = number;
    writing->made->bucket.start_ns = START_NS + (int64_t)number * WIDTH_NS;
    const struct vamp_delivery delivery = {.bucket = &writing->made->bucket};
    if (writing->ops->write_bucket(writing->target, &delivery, &err) != 0) {
        stop("write", err.text);
    }
}

/* A new file with its first bucket, which says what all later ones need not. */
static void reset_writing(void *state)
{
    struct writing *writing = state;
    struct vamp_err err = VAMP_ERR_NONE;
    close_target(writing);
    writing->made->bucket.number = 0;
    writing->made->bucket.start_ns = START_NS;
    const struct vamp_delivery first = {.bucket = &writing->made->bucket};
    const struct vamp_writer_target target = {.run = &writing->made->run,
                                              .schema = &writing->made->schema,
                                              .name = "bench",
                                              .segment = ++writing->segment,
                                              .first = &first};
    if (writing->ops->open(writing->options, &target, &writing->target, &err) != 0) {
        stop("open", err.text);
    }
    write_bucket(writing, 0);
}

static uint64_t run_writing(void *state)
{
    struct writing *writing = state;
    const uint64_t calls = bench_heap_calls();
    for (uint64_t number = 1; number <= writing->buckets; number++) {
        write_bucket(writing, number);
    }
    writing->heap_calls = bench_heap_calls() - calls;
    return writing->buckets * writing->rows_per_bucket;
}

static struct writing *open_writing(const struct vamp_writer_ops *ops, enum vamp_metric_id metric,
                                    const struct bench_size *size)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct writing *writing = calloc(1, sizeof *writing);
    if (writing == NULL || (writing->made = made_create(metric)) == NULL ||
        (writing->options = calloc(1, ops->options_bytes)) == NULL) {
        stop("open", "no memory");
    }
    writing->ops = ops;
    writing->rows_per_bucket = 1;
    writing->buckets = size->events >= BENCH_EVENTS_FULL ? BUCKETS_MAX : BUCKETS_FEW;
    const struct vamp_opt *where = vamp_opt_find(ops->options, "directory");
    if (vamp_opt_presets(ops->options, writing->options, &err) != 0 ||
        vamp_opt_set(where, writing->options, size->directory, &err) != 0) {
        stop("options", err.text);
    }
    return writing;
}

static void close_writing(void *state)
{
    struct writing *writing = state;
    close_target(writing);
    vamp_opt_done(writing->ops->options, writing->options);
    free(writing->options);
    if (writing->stream != NULL) {
        (void)fclose(writing->stream);
    }
    if (writing->dataset > 0) {
        (void)H5Dclose(writing->dataset);
        for (unsigned i = 0; i < writing->others; i++) {
            (void)H5Dclose(writing->other[i]);
        }
        (void)H5Fclose(writing->file);
    }
    free(writing->bins);
    free(writing->text);
    made_free(writing->made);
    free(writing);
}

/* ------------------------------------------------------------------ JSON */

/* The text of the second bucket, as a file that was cut at its begin and end shows it. */
static void learn_text(struct writing *writing)
{
    reset_writing(writing);
    const uint64_t before = writing->ops->bytes(writing->target);
    write_bucket(writing, 1);
    writing->bytes_per_bucket = writing->ops->bytes(writing->target) - before;
    writing->text = calloc(1, writing->bytes_per_bucket + 1);
    FILE *file = fopen(writing->ops->path(writing->target), "re");
    if (file == NULL || writing->text == NULL || fseek(file, (long)before, SEEK_SET) != 0 ||
        fread(writing->text, 1, writing->bytes_per_bucket, file) != writing->bytes_per_bucket) {
        stop("read", "the JSON lines");
    }
    (void)fclose(file);
    writing->rows_per_bucket = SERIES;
}

static int open_json(const struct bench_line *line, const struct bench_size *size, void **ret_state)
{
    struct writing *writing =
        open_writing(&vamp_writer_jsonl, (enum vamp_metric_id)line->number, size);
    learn_text(writing);
    char path[4200];
    (void)snprintf(path, sizeof path, "%s/fwrite.jsonl", size->directory);
    writing->stream = fopen(path, "we");
    if (writing->stream == NULL) {
        stop("open", path);
    }
    (void)unlink(path);
    *ret_state = writing;
    return 0;
}

/* The same lines with fwrite and one flush a bucket. */
static uint64_t run_fwrite(void *state)
{
    struct writing *writing = state;
    rewind(writing->stream);
    for (unsigned bucket = 0; bucket < writing->buckets; bucket++) {
        if (fwrite(writing->text, 1, writing->bytes_per_bucket, writing->stream) !=
            writing->bytes_per_bucket) {
            stop("fwrite", "the JSON lines");
        }
        (void)fflush(writing->stream);
    }
    return writing->buckets * writing->rows_per_bucket;
}

static void more_json(void *state, FILE *out)
{
    const struct writing *writing = state;
    (void)fprintf(out, ", \"bytes_per_row\": %.1f, \"heap_calls\": %" PRIu64,
                  (double)writing->bytes_per_bucket / (double)writing->rows_per_bucket,
                  writing->heap_calls);
}

/* ------------------------------------------------------------------ HDF5 */

/* Along time, without end; a row is `row`. */
static hid_t create_bare_dataset(const struct writing *writing, const char *name, unsigned rank,
                                 const hsize_t *row, hsize_t rows_a_chunk)
{
    hsize_t size[3] = {0}, largest[3] = {H5S_UNLIMITED}, chunk[3] = {rows_a_chunk};
    for (unsigned i = 1; i < rank; i++) {
        size[i] = largest[i] = chunk[i] = row[i];
    }
    const hid_t space = H5Screate_simple((int)rank, size, largest);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_chunk(creation, (int)rank, chunk);
    if (rank > 1) {
        (void)H5Pset_shuffle(creation);
        (void)H5Pset_deflate(creation, DEFLATE_LEVEL);
    }
    const hid_t dataset = H5Dcreate2(writing->file, name, H5T_NATIVE_UINT64, space, H5P_DEFAULT,
                                     creation, H5P_DEFAULT);
    (void)H5Pclose(creation);
    (void)H5Sclose(space);
    if (dataset < 0) {
        stop("HDF5", name);
    }
    return dataset;
}

static const hsize_t bins_row[3] = {1, SERIES, BINS};
static const hsize_t numbers_row[2] = {1, SERIES};
static const hsize_t column_row[1] = {1};

static void create_bare(struct writing *writing, const char *directory)
{
    char path[4200];
    (void)snprintf(path, sizeof path, "%s/bare.h5", directory);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    (void)H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    writing->file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    (void)H5Pclose(access);
    writing->dataset = create_bare_dataset(writing, "bins", 3, bins_row, 1);
    for (unsigned i = 0; i < writing->others; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "other_%u", i);
        writing->other[i] = i < OTHER_ROWS
                                ? create_bare_dataset(writing, name, 2, numbers_row, 1)
                                : create_bare_dataset(writing, name, 1, column_row, COLUMN_ROWS);
    }
    if (H5Fstart_swmr_write(writing->file) < 0) {
        stop("HDF5", path);
    }
    (void)unlink(path);
}

static int open_hdf5(const struct bench_line *line, const struct bench_size *size, void **ret_state)
{
    struct writing *writing = open_writing(&vamp_writer_hdf5, VAMP_METRIC_DEMANDS_PER_CDO, size);
    writing->others = (unsigned)line->number;
    writing->bins = calloc((size_t)SERIES * BINS, sizeof *writing->bins);
    if (writing->bins == NULL) {
        stop("open", "no memory");
    }
    for (unsigned i = 0; i < SERIES; i++) {
        const struct vamp_bucket_histogram *histogram = writing->made->histograms[i].histogram;
        for (uint32_t b = 0; b < histogram->bin_count; b++) {
            writing->bins[(size_t)i * BINS + histogram->bins[b].bin] = histogram->bins[b].count;
        }
    }
    create_bare(writing, size->directory);
    reset_writing(writing);
    const uint64_t before = writing->ops->bytes(writing->target);
    (void)run_writing(writing);
    writing->bytes_per_bucket = (writing->ops->bytes(writing->target) - before) / writing->buckets;
    *ret_state = writing;
    return 0;
}

/* Grows the dataset by a row and writes it. */
static void append_row(const struct writing *writing, hid_t dataset, unsigned rank,
                       const hsize_t *row)
{
    hsize_t size[3] = {writing->rows + 1}, from[3] = {writing->rows};
    for (unsigned i = 1; i < rank; i++) {
        size[i] = row[i];
        from[i] = 0;
    }
    const hid_t memory = H5Screate_simple((int)rank, row, NULL);
    hid_t space = -1;
    if (H5Dset_extent(dataset, size) < 0 || (space = H5Dget_space(dataset)) < 0 ||
        H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, row, NULL) < 0 ||
        H5Dwrite(dataset, H5T_NATIVE_UINT64, memory, space, H5P_DEFAULT, writing->bins) < 0) {
        stop("HDF5", "append");
    }
    (void)H5Sclose(space);
    (void)H5Sclose(memory);
}

/* A row of each dataset and one flush: the least that appending needs. */
static uint64_t run_append(void *state)
{
    struct writing *writing = state;
    for (unsigned bucket = 0; bucket < writing->buckets; bucket++) {
        append_row(writing, writing->dataset, 3, bins_row);
        for (unsigned i = 0; i < writing->others; i++) {
            const bool is_row = i < OTHER_ROWS;
            append_row(writing, writing->other[i], is_row ? 2 : 1,
                       is_row ? numbers_row : column_row);
        }
        if (H5Fflush(writing->file, H5F_SCOPE_LOCAL) < 0) {
            stop("HDF5", "flush");
        }
        writing->rows++;
    }
    return writing->buckets;
}

static void more_hdf5(void *state, FILE *out)
{
    const struct writing *writing = state;
    (void)fprintf(out, ", \"bytes_per_bucket\": %" PRIu64 ", \"bytes_per_row\": %.1f",
                  writing->bytes_per_bucket, (double)writing->bytes_per_bucket / SERIES);
}

#define JSON(text_name, text_what, metric)                                                         \
    {                                                                                              \
        .name = (text_name), .what = (text_what), .each = "row",                                   \
        .baseline = "fwrite of the same bytes", .clock = BENCH_PROCESSOR, .counted = true,         \
        .pairs = 25, .number = (metric), .open = open_json, .reset = reset_writing,                \
        .run = run_writing, .base = run_fwrite, .more = more_json, .close = close_writing          \
    }

#define HDF5(text_name, text_baseline, datasets)                                                   \
    {                                                                                              \
        .name = (text_name),                                                                       \
        .what = "a bucket of 20 histograms of 248 bins to HDF5, compressed, flushed",              \
        .each = "bucket", .baseline = (text_baseline), .clock = BENCH_ELAPSED, .pairs = 15,        \
        .number = (datasets), .open = open_hdf5, .reset = reset_writing, .run = run_writing,       \
        .base = run_append, .more = more_hdf5, .close = close_writing                              \
    }

const struct bench_line bench_output_lines[] = {
    JSON("json", "a counter in JSON lines", VAMP_METRIC_PRODUCED_BYTES),
    JSON("json.histogram", "a histogram of 40 bins in JSON lines", VAMP_METRIC_DEMANDS_PER_CDO),
    HDF5("hdf5", "the bare append of the same bins, compressed, flushed", 0),
    HDF5("hdf5.all", "the bare append to as many datasets of the same kinds, flushed once", OTHERS),
    {.name = NULL},
};
