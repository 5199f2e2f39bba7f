/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing a bucket: its number, flushed; labels and data, flushed; `time` last, flushed again. A
 * reader that reads `time` first never sees half a bucket, and flushed data survives a kill.
 */
#include "writers/hdf5/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vampire/core/utf8.h"

#define RESERVE_STEP_BYTES 65536

/* A name longer than any file has room for is cut; the others must fit. */
static bool name_fits(const struct hdf5_file *file, const char *name)
{
    size_t room = file->dimensions[HDF5_NAME_LENGTH].size;
    return room >= VAMP_NAME_BYTES_MAX || strnlen(name, room + 1) <= room;
}

static int check_series(const struct hdf5_file *file, const struct vamp_bucket *bucket, unsigned s,
                        struct vamp_err *err)
{
    const struct vamp_label_set *set = &file->schema->label_sets[s];
    if (bucket->series_count[s] > file->sets[s].slots) {
        return vamp_err_set(err, -ENOBUFS, "%s has room for %u series of \"%s\", %u are there",
                            file->path, file->sets[s].slots, set->name, bucket->series_count[s]);
    }
    for (unsigned i = file->sets[s].written; i < bucket->series_count[s]; i++) {
        for (unsigned l = 0; l < set->label_count; l++) {
            if (!name_fits(file, bucket->series[s][i]->labels[l])) {
                return vamp_err_set(err, -ENOBUFS, "%s has room for names of %u bytes", file->path,
                                    (unsigned)file->dimensions[HDF5_NAME_LENGTH].size);
            }
        }
    }
    return 0;
}

static int check_room(const struct hdf5_file *file, const struct vamp_delivery *delivery,
                      struct vamp_err *err)
{
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        int code = check_series(file, delivery->bucket, s, err);
        if (code != 0) {
            return code;
        }
    }
    for (unsigned i = 0; i < delivery->component_count; i++) {
        const struct vamp_component_row *row = &delivery->components[i];
        if (row->index >= file->dimensions[HDF5_COMPONENT].size ||
            !name_fits(file, row->component.name)) {
            return vamp_err_set(err, -ENOBUFS, "%s has no room for component number %u", file->path,
                                row->index);
        }
    }
    if (file->cdo_dimension != 0 &&
        file->cdo_rows + delivery->bucket->cdo_count > file->dimensions[file->cdo_dimension].size) {
        return vamp_err_set(err, -ENOBUFS, "%s has room for %u CDOs", file->path,
                            (unsigned)file->dimensions[file->cdo_dimension].size);
    }
    if (file->gap_rows + delivery->gap_count > file->dimensions[HDF5_GAP].size) {
        return vamp_err_set(err, -ENOBUFS, "%s has room for %u gaps", file->path,
                            (unsigned)file->dimensions[HDF5_GAP].size);
    }
    return 0;
}

/* One text into row `row` of a text dataset. */
static int put_text(struct hdf5_file *file, unsigned dataset, hsize_t row, const char *text,
                    struct vamp_err *err)
{
    hsize_t length = file->dimensions[file->datasets[dataset].dimensions[1]].size;
    (void)vamp_utf8_copy((char *)file->scratch, length, text);
    const hsize_t start[] = {row, 0}, count[] = {1, length};
    return hdf5_dataset_put(file, dataset, start, count, file->scratch, err);
}

/* One number into row `row` of a column. */
static int put_number(struct hdf5_file *file, unsigned dataset, hsize_t row, uint64_t value,
                      struct vamp_err *err)
{
    const hsize_t count = 1;
    return hdf5_dataset_put(file, dataset, &row, &count, &value, err);
}

/* The same at the end of a column along time. */
static int append_number(struct hdf5_file *file, unsigned dataset, uint64_t value,
                         struct vamp_err *err)
{
    int code = hdf5_dataset_extend(file, dataset, file->rows + 1, err);
    return code != 0 ? code : put_number(file, dataset, file->rows, value, err);
}

static int write_labels(struct hdf5_file *file, const struct vamp_bucket *bucket,
                        struct vamp_err *err)
{
    int code = 0;
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        struct hdf5_set *set = &file->sets[s];
        unsigned labels = file->schema->label_sets[s].label_count;
        unsigned end = labels > 0 ? bucket->series_count[s] : 0;
        for (unsigned i = set->written; code == 0 && i < end; i++) {
            const struct vamp_series *series = bucket->series[s][i];
            for (unsigned l = 0; code == 0 && l < labels; l++) {
                code = put_text(file, set->label_text[l], i, series->labels[l], err);
            }
            code = code != 0 ? code : put_text(file, set->id_text, i, series->id, err);
        }
        set->written = end > set->written ? end : set->written;
    }
    return code;
}

static int write_components(struct hdf5_file *file, const struct vamp_delivery *delivery,
                            struct vamp_err *err)
{
    const unsigned first = file->components_first;
    int code = 0;
    for (unsigned i = 0; code == 0 && i < delivery->component_count; i++) {
        const struct vamp_component *component = &delivery->components[i].component;
        const hsize_t row = delivery->components[i].index;
        const uint64_t numbers[] = {
            [HDF5_COMPONENT_APP_ID] = component->app_id,
            [HDF5_COMPONENT_JOINED] = (uint64_t)component->joined_ns,
            [HDF5_COMPONENT_LEFT] = (uint64_t)component->left_ns,
            [HDF5_COMPONENT_OPERATIONS] = component->operations,
        };
        for (unsigned c = 0; code == 0 && c < sizeof numbers / sizeof numbers[0]; c++) {
            code = put_number(file, first + c, row, numbers[c], err);
        }
        if (code == 0) {
            code = put_text(file, first + HDF5_COMPONENT_NAME, row, component->name, err);
        }
        if (code == 0 && component->left_ns != INT64_MIN) {
            code = put_text(file, first + HDF5_COMPONENT_REASON, row,
                            vamp_leave_reason_name(component->reason), err);
        }
    }
    return code;
}

static int write_gaps(struct hdf5_file *file, const struct vamp_delivery *delivery,
                      struct vamp_err *err)
{
    const unsigned first = file->gaps_first;
    int code = 0;
    for (unsigned i = 0; code == 0 && i < delivery->gap_count; i++) {
        const struct vamp_gap *gap = &delivery->gaps[i];
        const hsize_t row = file->gap_rows++;
        code = put_number(file, first + HDF5_GAP_START, row, (uint64_t)gap->start_ns, err);
        if (code == 0) {
            code = put_number(file, first + HDF5_GAP_END, row, (uint64_t)gap->end_ns, err);
        }
        if (code == 0) {
            code = put_number(file, first + HDF5_GAP_EVENTS, row, gap->events, err);
        }
        if (code == 0) {
            code = put_text(file, first + HDF5_GAP_REASON, row, vamp_gap_reason_name(gap->reason),
                            err);
        }
    }
    return code;
}

/* One value for each slot into the new row; `scratch` holds them. Without labels there is one. */
static int put_row(struct hdf5_file *file, unsigned dataset, struct vamp_err *err)
{
    int code = hdf5_dataset_extend(file, dataset, file->rows + 1, err);
    if (code != 0) {
        return code;
    }
    const struct hdf5_dataset *shape = &file->datasets[dataset];
    const hsize_t start[] = {file->rows, 0};
    const hsize_t count[] = {1, shape->rank > 1 ? file->dimensions[shape->dimensions[1]].size : 1};
    return hdf5_dataset_put(file, dataset, start, count, file->scratch, err);
}

static int write_counter(struct hdf5_file *file, unsigned first, unsigned slots,
                         const struct vamp_metric_values *values, struct vamp_err *err)
{
    memset(file->scratch, 0, slots * sizeof *file->scratch);
    for (unsigned i = 0; i < values->count; i++) {
        file->scratch[i] = values->counters[i].value;
    }
    int code = put_row(file, first + HDF5_COUNTER_VALUE, err);
    for (unsigned i = 0; i < values->count; i++) {
        file->scratch[i] = values->counters[i].delta;
    }
    return code != 0 ? code : put_row(file, first + HDF5_COUNTER_DELTA, err);
}

static int write_gauge(struct hdf5_file *file, unsigned first, unsigned slots,
                       const struct vamp_metric_values *values, struct vamp_err *err)
{
    int code = 0;
    memset(file->scratch, 0, slots * sizeof *file->scratch);
    for (unsigned part = 0; code == 0 && part < HDF5_GAUGE_DATASETS; part++) {
        for (unsigned i = 0; i < values->count; i++) {
            const struct vamp_gauge_value *gauge = &values->gauges[i];
            file->scratch[i] = (uint64_t)(part == HDF5_GAUGE_VALUE ? gauge->value
                                          : part == HDF5_GAUGE_MIN ? gauge->min
                                                                   : gauge->max);
        }
        code = put_row(file, first + part, err);
    }
    return code;
}

/* Count, sum, min or max of each series. Rows without a value are not written at all: they read
 * as the fill value. */
static int write_histogram_summary(struct hdf5_file *file, unsigned first, unsigned slots,
                                   unsigned part, const struct vamp_metric_values *values,
                                   struct vamp_err *err)
{
    bool extreme = part == HDF5_HISTOGRAM_MIN || part == HDF5_HISTOGRAM_MAX;
    memset(file->scratch, extreme ? 0xFF : 0, slots * sizeof *file->scratch);
    for (unsigned i = 0; i < values->count; i++) {
        const struct vamp_bucket_histogram *histogram = values->histograms[i].histogram;
        file->scratch[values->histograms[i].series] = part == HDF5_HISTOGRAM_COUNT
                                                          ? histogram->count
                                                      : part == HDF5_HISTOGRAM_SUM ? histogram->sum
                                                      : part == HDF5_HISTOGRAM_MIN ? histogram->min
                                                                                   : histogram->max;
    }
    return put_row(file, first + part, err);
}

/* Bins are written a chunk of series at a time; chunks without values are not written. */
static int write_bins(struct hdf5_file *file, const struct hdf5_set *set, unsigned dataset,
                      bool labelled, const struct vamp_metric_values *values, struct vamp_err *err)
{
    const unsigned bins = file->schema->bins.count;
    const unsigned per_chunk = hdf5_layout_chunk_series(file, set);
    int code = hdf5_dataset_extend(file, dataset, file->rows + 1, err);
    for (unsigned i = 0; code == 0 && i < values->count;) {
        unsigned begin = values->histograms[i].series / per_chunk * per_chunk;
        unsigned end = begin + per_chunk < set->slots ? begin + per_chunk : set->slots;
        memset(file->scratch, 0, (size_t)(end - begin) * bins * sizeof *file->scratch);
        for (; i < values->count && values->histograms[i].series < end; i++) {
            const struct vamp_bucket_histogram *histogram = values->histograms[i].histogram;
            uint64_t *row = file->scratch + (size_t)(values->histograms[i].series - begin) * bins;
            for (uint32_t b = 0; b < histogram->bin_count; b++) {
                row[histogram->bins[b].bin] = histogram->bins[b].count;
            }
        }
        const hsize_t start[] = {file->rows, begin, 0}, count[] = {1, end - begin, bins};
        const hsize_t flat_start[] = {file->rows, 0}, flat_count[] = {1, bins};
        code = hdf5_dataset_put(file, dataset, labelled ? start : flat_start,
                                labelled ? count : flat_count, file->scratch, err);
    }
    return code;
}

static int write_histogram(struct hdf5_file *file, const struct hdf5_set *set, unsigned first,
                           bool labelled, const struct vamp_metric_values *values,
                           struct vamp_err *err)
{
    int code = write_bins(file, set, first + HDF5_HISTOGRAM_BINS, labelled, values, err);
    for (unsigned part = HDF5_HISTOGRAM_COUNT; code == 0 && part < HDF5_HISTOGRAM_DATASETS;
         part++) {
        code = values->count > 0
                   ? write_histogram_summary(file, first, set->slots, part, values, err)
                   : hdf5_dataset_extend(file, first + part, file->rows + 1, err);
    }
    return code;
}

static int write_metrics(struct hdf5_file *file, const struct vamp_bucket *bucket,
                         struct vamp_err *err)
{
    int code = 0;
    for (unsigned i = 0; code == 0 && i < file->schema->metric_count; i++) {
        const struct vamp_schema_metric *entry = &file->schema->metrics[i];
        const struct vamp_metric_values *values = &bucket->values[i];
        const struct hdf5_set *set = &file->sets[entry->label_set];
        const bool labelled = file->schema->label_sets[entry->label_set].label_count > 0;
        const unsigned first = file->metric_first[i];
        switch (vamp_metrics[entry->id].kind) {
        case VAMP_COUNTER:
            code = write_counter(file, first, set->slots, values, err);
            break;
        case VAMP_GAUGE:
            code = write_gauge(file, first, set->slots, values, err);
            break;
        case VAMP_HISTOGRAM:
            code = write_histogram(file, set, first, labelled, values, err);
            break;
        }
    }
    return code;
}

static int write_columns(struct hdf5_file *file, const struct vamp_bucket *bucket,
                         struct vamp_err *err)
{
    const struct vamp_accounting *account = &bucket->accounting;
    uint64_t numbers[HDF5_EVENT_COLUMNS] = {
        account->received, account->decoded, account->rejected,
        account->filtered, account->counted, account->late,
    };
    memcpy(numbers + HDF5_EVENT_COLUMNS - VAMP_LOSS_COUNT, account->lost, sizeof account->lost);
    int code = append_number(file, file->bucket_ns, (uint64_t)bucket->width_ns, err);
    if (code == 0) {
        code = append_number(file, file->statistics_buckets, bucket->buckets, err);
    }
    for (unsigned i = 0; code == 0 && i < HDF5_EVENT_COLUMNS; i++) {
        code = append_number(file, file->events_first + i, numbers[i], err);
    }
    return code;
}

static int write_outputs(struct hdf5_file *file, const struct vamp_accounting *account,
                         struct vamp_err *err)
{
    int code = 0;
    for (; code == 0 && file->outputs_named < account->output_count; file->outputs_named++) {
        code = put_text(file, file->output_name, file->outputs_named,
                        account->outputs[file->outputs_named].name, err);
    }
    for (unsigned part = 0; code == 0 && part < HDF5_OUTPUT_DATASETS; part++) {
        memset(file->scratch, 0, VAMP_OUTPUTS_MAX * sizeof *file->scratch);
        for (unsigned i = 0; i < account->output_count; i++) {
            const struct vamp_output_account *output = &account->outputs[i];
            const uint64_t numbers[HDF5_OUTPUT_DATASETS] = {
                [HDF5_OUTPUT_QUEUED] = output->queued,
                [HDF5_OUTPUT_WRITTEN] = output->written,
                [HDF5_OUTPUT_LOST] = output->lost,
                [HDF5_OUTPUT_WAITING] = output->waiting,
            };
            file->scratch[i] = numbers[part];
        }
        code = put_row(file, file->outputs_first + part, err);
    }
    return code;
}

/* H5Dwrite reports success for data that cannot be stored; only the flush reports the error. */
static int flush(struct hdf5_file *file, struct vamp_err *err)
{
    return H5Fflush(file->file, H5F_SCOPE_LOCAL) < 0 ? hdf5_fail(err, "flush %s", file->path) : 0;
}

/* The variable that readers find in the list of `time`: no other variable may ever be longer. */
static int write_number(struct hdf5_file *file, uint64_t number, struct vamp_err *err)
{
    int code = append_number(file, file->bucket_number, number, err);
    if (code == 0 && H5Dflush(file->datasets[file->bucket_number].id) < 0) {
        code = hdf5_fail(err, "flush %s", file->path);
    }
    return code;
}

static int write_all(struct hdf5_file *file, const struct vamp_delivery *delivery,
                     struct vamp_err *err)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    int code = write_number(file, bucket->number, err);
    if (code == 0) {
        code = write_labels(file, bucket, err);
    }
    if (code == 0) {
        code = write_components(file, delivery, err);
    }
    if (code == 0) {
        code = write_gaps(file, delivery, err);
    }
    if (code == 0) {
        code = hdf5_cdo_write(file, bucket, err);
    }
    if (code == 0) {
        code = write_metrics(file, bucket, err);
    }
    if (code == 0) {
        code = write_columns(file, bucket, err);
    }
    if (code == 0) {
        code = write_outputs(file, &bucket->accounting, err);
    }
    if (code == 0) {
        code = flush(file, err);
    }
    if (code == 0) {
        code = append_number(file, file->time, (uint64_t)bucket->start_ns, err);
    }
    if (code == 0) {
        code = flush(file, err);
    }
    if (code == 0 && file->options->sync && fdatasync(file->fd) != 0) {
        code = vamp_err_set_errno(err, errno, "sync %s", file->path);
    }
    return code;
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

int hdf5_bucket_write(struct hdf5_file *file, const struct vamp_delivery *delivery,
                      struct vamp_err *err)
{
    hdf5_quiet();
    if (file->failed) {
        return vamp_err_set(err, -EIO, "%s failed before and is closed to writing", file->path);
    }
    int code = check_room(file, delivery, err);
    if (code != 0) {
        return code;
    }
    hsize_t end = 0;
    if (H5Fget_filesize(file->file, &end) < 0) {
        file->failed = true;
        return as_final(hdf5_fail(err, "look at %s", file->path), err);
    }
    code = reserve(file, end, hdf5_space_needed(file, delivery), err);
    if (code != 0) {
        return code;
    }
    code = write_all(file, delivery, err);
    if (code != 0) {
        file->failed = true;
        return as_final(code, err);
    }
    file->rows++;
    return 0;
}
