/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The detail: a row for each series that changed, in each group. The rows of a bucket, and the
 * entries of its histograms, fill whole chunks, so that each chunk is written once.
 */
#include "writers/hdf5/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- which series */

static bool gauge_differs(const struct hdf5_metric *metric, unsigned series,
                          const struct vamp_gauge_value *value)
{
    const struct vamp_gauge_value *shown =
        series < metric->shown_count ? &metric->shown[series] : NULL;
    return shown == NULL || shown->value != value->value || shown->min != value->min ||
           shown->max != value->max;
}

static void mark_metric(const struct hdf5_file *file, unsigned number,
                        const struct vamp_metric_values *values, bool restart)
{
    const struct vamp_schema_metric *entry = &file->schema->metrics[number];
    bool *is_changed = file->sets[entry->label_set].is_changed;
    switch (vamp_metrics[entry->id].kind) {
    case VAMP_COUNTER:
        for (unsigned i = 0; i < values->count; i++) {
            is_changed[i] = is_changed[i] || values->counters[i].delta != 0;
        }
        return;
    case VAMP_GAUGE:
        for (unsigned i = 0; i < values->count; i++) {
            is_changed[i] = is_changed[i] || restart ||
                            gauge_differs(&file->metrics[number], i, &values->gauges[i]);
        }
        return;
    case VAMP_HISTOGRAM:
        for (unsigned i = 0; i < values->count; i++) {
            is_changed[values->histograms[i].series] = true;
        }
        return;
    }
}

void hdf5_rows_plan(struct hdf5_file *file, const struct vamp_bucket *bucket, bool restart)
{
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        memset(file->sets[s].is_changed, 0, file->sets[s].known * sizeof(bool));
    }
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        if (file->metrics[m].has_rows) {
            mark_metric(file, m, &bucket->values[m], restart);
        }
    }
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        struct hdf5_set *set = &file->sets[s];
        set->changed_count = 0;
        for (unsigned i = 0; set->has_group && i < set->known; i++) {
            if (set->is_changed[i]) {
                set->changed[set->changed_count++] = i;
            }
        }
    }
}

/* ---- bins */

/* One value is the sum, two are the minimum and the sum less the minimum: their bins follow. */
static uint32_t entries_of(const struct vamp_bucket_histogram *histogram)
{
    return histogram->count > 2 ? histogram->bin_count : 0;
}

uint64_t hdf5_rows_entries(const struct vamp_metric_values *values)
{
    uint64_t entries = 0;
    for (unsigned i = 0; i < values->count; i++) {
        entries += entries_of(values->histograms[i].histogram);
    }
    return entries;
}

/* ---- columns */

static size_t whole_chunks(size_t count, unsigned chunk)
{
    return (count + chunk - 1) / chunk * chunk;
}

/* A column of as many rows as the bucket has in this group, all 0. */
static int begin_column(struct hdf5_column *column, size_t count, struct vamp_err *err)
{
    int code = hdf5_column_reserve(column, count, err);
    if (code == 0) {
        memset(column->numbers, 0, count * sizeof *column->numbers);
    }
    return code;
}

static int put_column(struct hdf5_file *file, const struct hdf5_set *set, unsigned dataset,
                      struct vamp_err *err)
{
    return hdf5_dataset_put_chunks(file, dataset, file->dimensions[set->row].size,
                                   whole_chunks(set->changed_count, set->chunk_rows),
                                   file->column.numbers, err);
}

static int write_index(struct hdf5_file *file, struct hdf5_set *set, struct vamp_err *err)
{
    const size_t padded = whole_chunks(set->changed_count, set->chunk_rows);
    for (size_t i = 0; i < padded; i++) {
        file->column.numbers[i] = i < set->changed_count ? set->changed[i] : HDF5_PADDING;
    }
    const hsize_t first = file->dimensions[set->row].size;
    int code = put_column(file, set, set->series_index, err);
    file->slot_first[set->slot] = (uint32_t)first;
    file->slot_count[set->slot] = set->changed_count;
    file->dimensions[set->row].next = first + padded;
    return code;
}

static int write_counter(struct hdf5_file *file, const struct hdf5_set *set, unsigned first,
                         const struct vamp_metric_values *values, struct vamp_err *err)
{
    for (unsigned i = 0; i < set->changed_count; i++) {
        const unsigned series = set->changed[i];
        file->column.numbers[i] = series < values->count ? values->counters[series].delta : 0;
    }
    return put_column(file, set, first + HDF5_COUNTER_DELTA, err);
}

/* An extreme that is the value itself is the fill value, which takes no space. */
static uint64_t gauge_part(const struct vamp_gauge_value *gauge, unsigned part)
{
    if (part == HDF5_GAUGE_VALUE) {
        return (uint64_t)gauge->value;
    }
    const int64_t extreme = part == HDF5_GAUGE_MIN ? gauge->min : gauge->max;
    return extreme != gauge->value ? (uint64_t)extreme : HDF5_GAUGE_MISSING;
}

static int write_gauge(struct hdf5_file *file, const struct hdf5_set *set,
                       struct hdf5_metric *metric, const struct vamp_metric_values *values,
                       struct vamp_err *err)
{
    int code = 0;
    const size_t padded = whole_chunks(set->changed_count, set->chunk_rows);
    for (unsigned part = 0; code == 0 && part < HDF5_GAUGE_DATASETS; part++) {
        const uint64_t none = file->datasets[metric->rows + part].fill;
        for (size_t i = 0; i < padded; i++) {
            const unsigned series = i < set->changed_count ? set->changed[i] : UINT_MAX;
            file->column.numbers[i] =
                series < values->count ? gauge_part(&values->gauges[series], part) : none;
        }
        code = put_column(file, set, metric->rows + part, err);
    }
    if (code == 0 && values->count > metric->shown_count) {
        struct vamp_gauge_value *shown =
            realloc(metric->shown, values->count * sizeof *metric->shown);
        if (shown == NULL) {
            return vamp_err_set_errno(err, ENOMEM, "keep the gauges of a bucket");
        }
        metric->shown = shown;
        metric->shown_count = values->count;
    }
    if (code == 0 && values->count > 0) {
        memcpy(metric->shown, values->gauges, values->count * sizeof *metric->shown);
    }
    return code;
}

/* ---- histograms */

/* What follows from the others is 0, which takes no space. */
static uint64_t histogram_part(const struct vamp_bucket_histogram *histogram, unsigned part)
{
    switch (part) {
    case HDF5_ROWS_COUNT:
        return histogram->count;
    case HDF5_ROWS_SUM:
        return histogram->sum;
    case HDF5_ROWS_MIN:
        return histogram->count > 1 ? histogram->min : 0;
    case HDF5_ROWS_MAX:
        return histogram->count > 2 ? histogram->max : 0;
    default:
        return entries_of(histogram);
    }
}

static int write_summary(struct hdf5_file *file, const struct hdf5_set *set, unsigned first,
                         unsigned part, const struct vamp_metric_values *values,
                         struct vamp_err *err)
{
    for (unsigned i = 0, h = 0; i < set->changed_count; i++) {
        const bool has_value = h < values->count && values->histograms[h].series == set->changed[i];
        file->column.numbers[i] =
            has_value ? histogram_part(values->histograms[h].histogram, part) : 0;
        h += has_value;
    }
    return put_column(file, set, first + part, err);
}

/* Bins into `column`, counts into `counts`, from `at` on; both have room. Returns the end. */
static size_t collect_entries(struct hdf5_file *file, const struct vamp_bucket_histogram *histogram,
                              size_t at)
{
    for (uint32_t i = 0; i < entries_of(histogram); i++, at++) {
        file->column.numbers[at] = histogram->bins[i].bin;
        file->counts.numbers[at] = histogram->bins[i].count;
    }
    return at;
}

static int write_entries(struct hdf5_file *file, const struct hdf5_metric *metric,
                         const struct vamp_metric_values *values, struct vamp_err *err)
{
    struct hdf5_dimension *entry = &file->dimensions[metric->entry];
    const size_t most = whole_chunks((size_t)hdf5_rows_entries(values), metric->entry_chunk);
    if (most == 0) {
        return 0;
    }
    int code = begin_column(&file->column, most, err);
    if (code == 0) {
        code = begin_column(&file->counts, most, err);
    }
    if (code != 0) {
        return code;
    }
    size_t count = 0;
    for (unsigned i = 0; i < values->count; i++) {
        count = collect_entries(file, values->histograms[i].histogram, count);
    }
    const size_t padded = whole_chunks(count, metric->entry_chunk);
    code = hdf5_dataset_put_chunks(file, metric->rows + HDF5_ROWS_BIN, entry->size, padded,
                                   file->column.numbers, err);
    if (code == 0) {
        code = hdf5_dataset_put_chunks(file, metric->rows + HDF5_ROWS_BIN_COUNT, entry->size,
                                       padded, file->counts.numbers, err);
    }
    file->slot_first[metric->entry_slot] = (uint32_t)entry->size;
    file->slot_count[metric->entry_slot] = (uint32_t)count;
    entry->next = entry->size + padded;
    return code;
}

static int write_histogram(struct hdf5_file *file, const struct hdf5_set *set,
                           const struct hdf5_metric *metric,
                           const struct vamp_metric_values *values, struct vamp_err *err)
{
    if (values->count == 0) {
        return 0;
    }
    int code = 0;
    for (unsigned part = HDF5_ROWS_COUNT; code == 0 && part <= HDF5_ROWS_ENTRIES; part++) {
        code = write_summary(file, set, metric->rows, part, values, err);
    }
    return code != 0 ? code : write_entries(file, metric, values, err);
}

/* ---- groups */

static int write_metric(struct hdf5_file *file, const struct hdf5_set *set, unsigned number,
                        const struct vamp_metric_values *values, struct vamp_err *err)
{
    struct hdf5_metric *metric = &file->metrics[number];
    int code = begin_column(&file->column, whole_chunks(set->changed_count, set->chunk_rows), err);
    if (code != 0) {
        return code;
    }
    switch (vamp_metrics[file->schema->metrics[number].id].kind) {
    case VAMP_COUNTER:
        return write_counter(file, set, metric->rows, values, err);
    case VAMP_GAUGE:
        return write_gauge(file, set, metric, values, err);
    case VAMP_HISTOGRAM:
        return write_histogram(file, set, metric, values, err);
    }
    return 0;
}

static int write_group(struct hdf5_file *file, const struct vamp_bucket *bucket, unsigned number,
                       struct vamp_err *err)
{
    struct hdf5_set *set = &file->sets[number];
    if (set->changed_count == 0) {
        return 0;
    }
    int code = begin_column(&file->column, whole_chunks(set->changed_count, set->chunk_rows), err);
    if (code == 0) {
        code = write_index(file, set, err);
    }
    for (unsigned m = 0; code == 0 && m < file->schema->metric_count; m++) {
        if (file->schema->metrics[m].label_set == number && file->metrics[m].has_rows) {
            code = write_metric(file, set, m, &bucket->values[m], err);
        }
    }
    return code;
}

static int write_places(struct hdf5_file *file, struct vamp_err *err)
{
    int code = hdf5_dataset_put_indices(file, file->first_row, file->rows, file->slot_first, err);
    return code != 0
               ? code
               : hdf5_dataset_put_indices(file, file->row_count, file->rows, file->slot_count, err);
}

int hdf5_rows_write(struct hdf5_file *file, const struct vamp_bucket *bucket, struct vamp_err *err)
{
    if (file->slots == 0) { /* no set has rows, and there is no table of their places */
        return 0;
    }
    int code = 0;
    memset(file->slot_first, 0, file->slots * sizeof *file->slot_first);
    memset(file->slot_count, 0, file->slots * sizeof *file->slot_count);
    for (unsigned s = 0; code == 0 && s < file->schema->label_set_count; s++) {
        code = file->sets[s].has_group ? write_group(file, bucket, s, err) : 0;
    }
    return code != 0 ? code : write_places(file, err);
}
