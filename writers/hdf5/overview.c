/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The overview: a row for each bucket, over all labels whose values are no closed list. Columns of
 * numbers, the account, and the metrics, each the sum of its series.
 */
#include "writers/hdf5/internal.h"

#include <string.h>

static int put_cells(struct hdf5_file *file, unsigned dataset, struct vamp_err *err)
{
    return hdf5_dataset_put_row(file, dataset, file->rows, file->column.numbers, err);
}

static int write_counter(struct hdf5_file *file, const struct hdf5_set *set, unsigned first,
                         const struct vamp_metric_values *values, struct vamp_err *err)
{
    int code = hdf5_cells_begin(file, set->cells, 0, err);
    if (code != 0) {
        return code;
    }
    hdf5_cells_add_delta(set, values, file->column.numbers);
    return put_cells(file, first + HDF5_COUNTER_DELTA, err);
}

static int write_gauge(struct hdf5_file *file, const struct hdf5_set *set, unsigned first,
                       enum vamp_metric_id id, const struct vamp_metric_values *values,
                       struct vamp_err *err)
{
    int code = 0;
    const enum vamp_merge rule = vamp_metrics[id].merge;
    for (unsigned part = 0; code == 0 && part < HDF5_GAUGE_DATASETS; part++) {
        code = hdf5_cells_begin(file, set->cells, HDF5_GAUGE_MISSING, err);
        if (code == 0) {
            hdf5_cells_join_gauge(set, values, part, rule, file->column.numbers);
            code = put_cells(file, first + part, err);
        }
    }
    return code;
}

static int write_extremes(struct hdf5_file *file, unsigned first,
                          const struct vamp_metric_values *values, struct vamp_err *err)
{
    uint64_t least = UINT64_MAX, greatest = 0;
    for (unsigned i = 0; i < values->count; i++) {
        const struct vamp_bucket_histogram *histogram = values->histograms[i].histogram;
        least = histogram->min < least ? histogram->min : least;
        greatest = histogram->max > greatest ? histogram->max : greatest;
    }
    int code = hdf5_dataset_put_number(file, first + HDF5_OVERVIEW_MIN, file->rows, least, err);
    return code != 0 ? code
                     : hdf5_dataset_put_number(file, first + HDF5_OVERVIEW_MAX, file->rows,
                                               greatest, err);
}

static int write_bins(struct hdf5_file *file, unsigned first,
                      const struct vamp_metric_values *values, struct vamp_err *err)
{
    const struct vamp_bins *bins = &file->schema->bins;
    int code = hdf5_cells_begin(file, bins->count, 0, err);
    for (unsigned i = 0; code == 0 && i < values->count; i++) {
        const struct vamp_bucket_histogram *histogram = values->histograms[i].histogram;
        for (uint32_t b = 0; b < histogram->bin_count; b++) {
            file->column.numbers[histogram->bins[b].bin] += histogram->bins[b].count;
        }
    }
    return code != 0 ? code : put_cells(file, first + HDF5_OVERVIEW_BINS, err);
}

static int write_histogram(struct hdf5_file *file, const struct hdf5_set *set, unsigned first,
                           const struct vamp_metric_values *values, struct vamp_err *err)
{
    if (values->count == 0) {
        return 0;
    }
    int code = write_bins(file, first, values, err);
    for (unsigned part = HDF5_OVERVIEW_COUNT; code == 0 && part <= HDF5_OVERVIEW_SUM; part++) {
        code = hdf5_cells_begin(file, set->cells, 0, err);
        for (unsigned i = 0; code == 0 && i < values->count; i++) {
            const struct vamp_histogram_value *value = &values->histograms[i];
            file->column.numbers[set->cell[value->series]] +=
                part == HDF5_OVERVIEW_COUNT ? value->histogram->count : value->histogram->sum;
        }
        code = code != 0 ? code : put_cells(file, first + part, err);
    }
    return code != 0 ? code : write_extremes(file, first, values, err);
}

static int write_metrics(struct hdf5_file *file, const struct vamp_bucket *bucket,
                         struct vamp_err *err)
{
    int code = 0;
    for (unsigned m = 0; code == 0 && m < file->schema->metric_count; m++) {
        const struct vamp_schema_metric *entry = &file->schema->metrics[m];
        const struct hdf5_set *set = &file->sets[entry->label_set];
        const unsigned first = file->metrics[m].overview;
        if (file->metrics[m].place != HDF5_PLACE_OVERVIEW) {
            continue;
        }
        switch (vamp_metrics[entry->id].kind) {
        case VAMP_COUNTER:
            code = write_counter(file, set, first, &bucket->values[m], err);
            break;
        case VAMP_GAUGE:
            code = write_gauge(file, set, first, entry->id, &bucket->values[m], err);
            break;
        case VAMP_HISTOGRAM:
            code = write_histogram(file, set, first, &bucket->values[m], err);
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
    const uint64_t width = (uint64_t)bucket->width_ns, buckets = bucket->buckets;
    int code = hdf5_dataset_put_row(file, file->bucket_ns, file->rows, &width, err);
    if (code == 0) {
        code = hdf5_dataset_put_row(file, file->statistics_buckets, file->rows, &buckets, err);
    }
    for (unsigned i = 0; code == 0 && i < HDF5_EVENT_COLUMNS; i++) {
        code = hdf5_dataset_put_row(file, file->events_first + i, file->rows, &numbers[i], err);
    }
    return code;
}

static int write_outputs(struct hdf5_file *file, const struct vamp_accounting *account,
                         struct vamp_err *err)
{
    int code = 0;
    for (; code == 0 && file->outputs_named < account->output_count; file->outputs_named++) {
        code = hdf5_dataset_put_text(file, file->output_name, file->outputs_named,
                                     account->outputs[file->outputs_named].name, err);
    }
    for (unsigned part = 0; code == 0 && part < HDF5_OUTPUT_DATASETS; part++) {
        uint64_t numbers[VAMP_OUTPUTS_MAX] = {0};
        for (unsigned i = 0; i < account->output_count; i++) {
            const struct vamp_output_account *output = &account->outputs[i];
            numbers[i] = part == HDF5_OUTPUT_QUEUED    ? output->queued
                         : part == HDF5_OUTPUT_WRITTEN ? output->written
                         : part == HDF5_OUTPUT_LOST    ? output->lost
                                                       : output->waiting;
        }
        code = hdf5_dataset_put_row(file, file->outputs_first + part, file->rows, numbers, err);
    }
    return code;
}

int hdf5_overview_write(struct hdf5_file *file, const struct vamp_bucket *bucket,
                        struct vamp_err *err)
{
    int code = write_metrics(file, bucket, err);
    if (code == 0) {
        code = hdf5_own_write(file, bucket, err);
    }
    if (code == 0) {
        code = write_columns(file, bucket, err);
    }
    return code != 0 ? code : write_outputs(file, &bucket->accounting, err);
}
