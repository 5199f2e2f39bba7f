/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of the groups: one for each series that changed. The rows of a bucket, and the entries
 * of its histograms, are padded to whole chunks, so that each chunk is written once. A bucket
 * contains only its own increments. The totals before it are written with the first bucket of a
 * segment and after a lost bucket, so that readers can compute totals from there on.
 */
#include "writers/hdf5/rows.h"

#include <stdlib.h>
#include <string.h>

#include "writers/hdf5/error.h"
#include "writers/hdf5/file.h"

/* ---- which series */

bool hdf5_is_age(enum vamp_metric_id id)
{
    return vamp_metrics[id].kind == VAMP_GAUGE && vamp_metric_may_be_none(&vamp_metrics[id]) &&
           vamp_metrics[id].merge == VAMP_MERGE_LARGEST;
}

/* Returns whether the value is as last written, or increased by the time since then, for an age. */
static bool follows(int64_t value, int64_t shown, int64_t grown)
{
    if (shown == VAMP_GAUGE_NONE || value == VAMP_GAUGE_NONE) {
        return value == shown;
    }
    return value == shown + grown;
}

/* Returns whether value, minimum and maximum follow those last written. */
static bool gauge_follows(const struct vamp_gauge_value *value,
                          const struct vamp_gauge_value *shown, int64_t grown)
{
    return follows(value->value, shown->value, grown) && follows(value->min, shown->min, grown) &&
           follows(value->max, shown->max, grown);
}

/* Sets is_changed for the series that need a row because of this metric. `restart`: for every
 * series of a gauge. */
static void mark_metric(const struct hdf5_file *file, unsigned number,
                        const struct vamp_bucket *bucket, bool restart)
{
    const struct vamp_metric_values *values = &bucket->values[number];
    const struct vamp_schema_metric *entry = &file->schema->metrics[number];
    bool *is_changed = file->sets[entry->label_set].is_changed;
    const struct hdf5_metric *metric = &file->metrics[number];
    int64_t grown = 0; /* increase of an age since the values last written */
    if (hdf5_is_age(entry->id)) {
        grown = bucket->start_ns + bucket->width_ns - metric->shown_ns;
    }
    switch (vamp_metrics[entry->id].kind) {
    case VAMP_COUNTER:
        for (unsigned i = 0; i < values->count; i++) {
            is_changed[i] |= values->counters[i].delta != 0;
        }
        return;
    case VAMP_GAUGE:
        for (unsigned i = 0; i < values->count; i++) {
            const struct vamp_gauge_value *value = &values->gauges[i], *shown = &metric->shown[i];
            if (restart || i >= metric->shown_count || !gauge_follows(value, shown, grown)) {
                is_changed[i] = true;
            }
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
        struct hdf5_set *set = &file->sets[s];
        if (set->known > 0) { /* without series there is no array */
            memset(set->is_changed, 0, set->known * sizeof(bool));
        }
    }
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        if (file->metrics[m].has_rows) {
            mark_metric(file, m, bucket, restart);
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

/* Returns the number of bins to write. For one or two values, minimum and sum determine the values
 * and thus their bins, so that no bins are written. */
static uint32_t entries_of(const struct vamp_bucket_histogram *histogram)
{
    return histogram->count > 2 ? histogram->bin_count : 0;
}

uint64_t hdf5_rows_entries(const struct vamp_bucket *bucket, unsigned metric)
{
    const struct vamp_metric_values *values = &bucket->values[metric];
    uint64_t entries = 0;
    for (unsigned i = 0; i < values->count; i++) {
        entries += entries_of(values->histograms[i].histogram);
    }
    return entries;
}

/* ---- columns */

/* Begins a column with one row, set to `fill`, for each row of the bucket in this group. Returns
 * NULL after a failure. */
static uint64_t *begin_column(struct hdf5_file *file, const struct hdf5_set *set, uint64_t fill)
{
    return hdf5_column_begin(file, hdf5_round_up(set->changed_count, set->chunk_rows), fill);
}

/* Writes the series numbers and times of the rows, and records their location for the group table.
 */
static void write_index(struct hdf5_file *file, struct hdf5_set *set,
                        const struct vamp_bucket *bucket)
{
    uint64_t *numbers = begin_column(file, set, HDF5_PADDING);
    if (numbers == NULL) {
        return;
    }
    for (size_t i = 0; i < set->changed_count; i++) {
        numbers[i] = set->changed[i];
    }
    struct hdf5_dimension *row = &file->dimensions[set->row];
    hdf5_dataset_put_chunks(file, set->series_index, row->size,
                            hdf5_round_up(set->changed_count, set->chunk_rows), numbers);
    file->slot_first[set->slot] = row->size;
    file->slot_count[set->slot] = set->changed_count;
    numbers = begin_column(file, set, (uint64_t)(bucket->start_ns / 1000));
    if (numbers != NULL) {
        hdf5_dataset_put_chunks(file, set->row_time, row->size,
                                hdf5_round_up(set->changed_count, set->chunk_rows), numbers);
    }
    row->next = row->size + hdf5_round_up(set->changed_count, set->chunk_rows);
}

/* An extreme that equals the value is stored as the fill value, which takes no space. */
static uint64_t gauge_part(const struct vamp_gauge_value *gauge, unsigned part)
{
    if (part == HDF5_GAUGE_VALUE) {
        return (uint64_t)gauge->value;
    }
    const int64_t extreme = part == HDF5_GAUGE_MIN ? gauge->min : gauge->max;
    if (extreme == gauge->value) {
        return HDF5_GAUGE_MISSING;
    }
    return (uint64_t)extreme;
}

/* ---- histograms */

/* Writes all parts, one column after the other. A number that can be computed from the others is 0,
 * which takes no space, as are the numbers of a series with a row but without values. */
static void write_summaries(struct hdf5_file *file, const struct hdf5_set *set, unsigned number,
                            const struct vamp_metric_values *values)
{
    const size_t rows = hdf5_round_up(set->changed_count, set->chunk_rows);
    uint64_t *numbers = hdf5_column_begin(file, (HDF5_ROWS_ENTRIES + 1) * rows, 0);
    for (unsigned i = 0, h = 0; numbers != NULL && h < values->count; i++) {
        if (set->changed[i] != values->histograms[h].series) {
            continue;
        }
        const struct vamp_bucket_histogram *histogram = values->histograms[h++].histogram;
        numbers[HDF5_ROWS_COUNT * rows + i] = histogram->count;
        numbers[HDF5_ROWS_SUM * rows + i] = histogram->sum;
        if (histogram->count > 1) {
            numbers[HDF5_ROWS_MIN * rows + i] = histogram->min;
        }
        if (histogram->count > 2) {
            numbers[HDF5_ROWS_MAX * rows + i] = histogram->max;
        }
        numbers[HDF5_ROWS_ENTRIES * rows + i] = entries_of(histogram);
    }
    for (unsigned part = 0; numbers != NULL && part <= HDF5_ROWS_ENTRIES; part++) {
        hdf5_dataset_put_chunks(file, file->metrics[number].rows + part,
                                file->dimensions[set->row].size, rows, numbers + part * rows);
    }
}

/* Writes the bins of a histogram as entries, and records their location. */
static void write_entries(struct hdf5_file *file, const struct vamp_bucket *bucket, unsigned number)
{
    const struct hdf5_metric *metric = &file->metrics[number];
    struct hdf5_dimension *entry = &file->dimensions[metric->entry];
    const size_t count = (size_t)hdf5_rows_entries(bucket, number);
    const size_t padded = hdf5_round_up(count, metric->entry_chunk);
    uint64_t *bins = hdf5_column_begin(file, padded, 0);
    uint64_t *counts = hdf5_column_reserve(file, &file->counts, padded);
    if (count == 0 || counts == NULL) {
        return;
    }
    memset(counts, 0, padded * sizeof *counts);
    size_t at = 0;
    for (unsigned i = 0; i < bucket->values[number].count; i++) {
        const struct vamp_bucket_histogram *histogram =
            bucket->values[number].histograms[i].histogram;
        for (uint32_t b = 0; b < entries_of(histogram); b++, at++) {
            bins[at] = histogram->bins[b].bin;
            counts[at] = histogram->bins[b].count;
        }
    }
    hdf5_dataset_put_chunks(file, metric->rows + HDF5_ROWS_BIN, entry->size, padded, bins);
    hdf5_dataset_put_chunks(file, metric->rows + HDF5_ROWS_BIN_COUNT, entry->size, padded, counts);
    file->slot_first[metric->entry_slot] = entry->size;
    file->slot_count[metric->entry_slot] = count;
    entry->next = entry->size + padded;
}

/* ---- groups */

/* Writes a part of a counter or gauge for the series that have a row. */
static void write_part(struct hdf5_file *file, const struct hdf5_set *set, unsigned number,
                       unsigned part, const struct vamp_metric_values *values)
{
    const unsigned dataset = file->metrics[number].rows + part;
    const bool is_counter = hdf5_kind(file, number) == VAMP_COUNTER;
    uint64_t *numbers = begin_column(file, set, file->datasets[dataset].fill);
    if (numbers == NULL) {
        return;
    }
    for (unsigned i = 0; i < set->changed_count && set->changed[i] < values->count; i++) {
        const unsigned series = set->changed[i];
        if (is_counter) {
            numbers[i] = values->counters[series].delta;
        } else {
            numbers[i] = gauge_part(&values->gauges[series], part);
        }
    }
    hdf5_dataset_put_chunks(file, dataset, file->dimensions[set->row].size,
                            hdf5_round_up(set->changed_count, set->chunk_rows), numbers);
}

/* Stores the values that are now in the file, for the comparison in mark_metric. */
static void keep_gauges(struct hdf5_file *file, struct hdf5_metric *metric,
                        const struct vamp_metric_values *values, int64_t end_ns)
{
    metric->shown_ns = end_ns;
    if (values->count > metric->shown_count) {
        struct vamp_gauge_value *shown =
            realloc(metric->shown, values->count * sizeof *metric->shown);
        if (shown == NULL) {
            hdf5_no_memory(file, "keep the gauges of a bucket");
            return;
        }
        metric->shown = shown;
        metric->shown_count = values->count;
    }
    if (file->code == 0 && values->count > 0) {
        memcpy(metric->shown, values->gauges, values->count * sizeof *metric->shown);
    }
}

/* Writes all parts of a metric for the series that have a row. */
static void write_metric(struct hdf5_file *file, const struct hdf5_set *set,
                         const struct vamp_bucket *bucket, unsigned number)
{
    const struct vamp_metric_values *values = &bucket->values[number];
    switch (hdf5_kind(file, number)) {
    case VAMP_COUNTER:
        write_part(file, set, number, HDF5_COUNTER_DELTA, values);
        return;
    case VAMP_GAUGE:
        for (unsigned part = 0; part < HDF5_GAUGE_DATASETS; part++) {
            write_part(file, set, number, part, values);
        }
        keep_gauges(file, &file->metrics[number], values, bucket->start_ns + bucket->width_ns);
        return;
    case VAMP_HISTOGRAM:
        if (values->count > 0) {
            write_summaries(file, set, number, values);
            write_entries(file, bucket, number);
        }
        return;
    }
}

void hdf5_rows_write(struct hdf5_file *file, const struct vamp_bucket *bucket)
{
    if (file->slots == 0) { /* no set has rows, so there is no table of row locations */
        return;
    }
    memset(file->slot_first, 0, file->slots * sizeof *file->slot_first);
    memset(file->slot_count, 0, file->slots * sizeof *file->slot_count);
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        struct hdf5_set *set = &file->sets[s];
        if (set->changed_count == 0) {
            continue;
        }
        write_index(file, set, bucket);
        for (unsigned m = 0; m < file->schema->metric_count; m++) {
            if (file->schema->metrics[m].label_set == s && file->metrics[m].has_rows) {
                write_metric(file, set, bucket, m);
            }
        }
    }
    hdf5_dataset_put_row(file, file->first_row, file->rows, file->slot_first);
    hdf5_dataset_put_row(file, file->row_count, file->rows, file->slot_count);
}

/* ---- totals before a bucket */

/* Returns the total of a counter before this bucket; 0: the metric has no such series. */
static uint64_t before(const struct vamp_metric_values *values, unsigned series)
{
    if (series >= values->count) {
        return 0;
    }
    return values->counters[series].value - values->counters[series].delta;
}

/* Returns whether the metric is a counter with rows in this set's group. */
static bool is_counter_of(const struct hdf5_file *file, unsigned metric, unsigned set)
{
    const struct vamp_schema_metric *entry = &file->schema->metrics[metric];
    return entry->label_set == set && file->metrics[metric].has_rows &&
           vamp_metrics[entry->id].kind == VAMP_COUNTER;
}

/* Lists the series with a nonzero total in set->changed. Returns their number. */
static unsigned find_series(struct hdf5_file *file, const struct vamp_bucket *bucket,
                            unsigned number)
{
    struct hdf5_set *set = &file->sets[number];
    unsigned count = 0;
    for (unsigned i = 0; i < bucket->series_count[number]; i++) {
        bool has_total = false;
        for (unsigned m = 0; m < file->schema->metric_count; m++) {
            has_total =
                has_total || (is_counter_of(file, m, number) && before(&bucket->values[m], i) != 0);
        }
        if (has_total) {
            set->changed[count++] = i;
        }
    }
    return count;
}

/* Writes a column for the series found, padded to whole chunks. */
static void write_totals(struct hdf5_file *file, const struct hdf5_set *set, unsigned dataset,
                         unsigned count, const struct vamp_metric_values *values)
{
    const size_t padded = hdf5_round_up(count, set->chunk_rows);
    uint64_t *numbers =
        hdf5_column_begin(file, padded, dataset == set->before_series ? HDF5_PADDING : 0);
    if (numbers == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (dataset == set->before_series) {
            numbers[i] = set->changed[i];
        } else if (dataset == set->before_restart) {
            numbers[i] = file->dimensions[HDF5_RESTART].size;
        } else {
            numbers[i] = before(values, set->changed[i]);
        }
    }
    hdf5_dataset_put_chunks(file, dataset, file->dimensions[set->before].size, padded, numbers);
}

void hdf5_rows_restart(struct hdf5_file *file, const struct vamp_bucket *bucket)
{
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        struct hdf5_set *set = &file->sets[s];
        if (!set->has_group) {
            continue;
        }
        const unsigned count = find_series(file, bucket, s);
        write_totals(file, set, set->before_series, count, NULL);
        write_totals(file, set, set->before_restart, count, NULL);
        for (unsigned m = 0; m < file->schema->metric_count; m++) {
            if (is_counter_of(file, m, s)) {
                write_totals(file, set, file->metrics[m].rows + HDF5_COUNTER_BEFORE, count,
                             &bucket->values[m]);
            }
        }
        file->dimensions[set->before].next += hdf5_round_up(count, set->chunk_rows);
    }
}
