/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The overview: one row per bucket, summed over all open labels. It contains columns of numbers,
 * the accounting, and the metrics summed by cell, with one cell for each combination of words
 * (words.c).
 */
#include "writers/hdf5/overview.h"

#include <string.h>

#include "vampire/core/values.h"
#include "writers/hdf5/file.h"

/* ---- cells */

/* Joins the values of two series of a cell: adds them, or keeps the larger one, according to the
 * rule. */
static uint64_t join_gauge(uint64_t cell, uint64_t value, enum vamp_merge rule)
{
    if (cell == HDF5_GAUGE_MISSING) {
        return value;
    }
    if (value == HDF5_GAUGE_MISSING) {
        return cell;
    }
    if (rule == VAMP_MERGE_LARGEST) {
        return (uint64_t)VAMP_MAX((int64_t)cell, (int64_t)value);
    }
    return cell + value;
}

static int64_t gauge_part(const struct vamp_gauge_value *gauge, unsigned part)
{
    switch (part) {
    case HDF5_GAUGE_MIN:
        return gauge->min;
    case HDF5_GAUGE_MAX:
        return gauge->max;
    default:
        return gauge->value;
    }
}

/* Accesses the arrays directly instead of through a row iterator: all gauges of all series are
 * processed three times per bucket. */
void hdf5_cells_add(const struct hdf5_file *file, const struct vamp_bucket *bucket, unsigned metric,
                    unsigned part, uint64_t *cells)
{
    const struct vamp_metric_values *values = &bucket->values[metric];
    const struct vamp_schema_metric *entry = &file->schema->metrics[metric];
    const uint32_t *cell = file->sets[entry->label_set].cell;
    switch (vamp_metrics[entry->id].kind) {
    case VAMP_COUNTER:
        for (unsigned i = 0; i < values->count; i++) {
            const struct vamp_counter_value *counter = &values->counters[i];
            if (part == HDF5_COUNTER_DELTA) {
                cells[cell[i]] += counter->delta;
            } else {
                cells[cell[i]] += counter->value - counter->delta;
            }
        }
        return;
    case VAMP_GAUGE:
        for (unsigned i = 0; i < values->count; i++) {
            const struct vamp_gauge_value *gauge = &values->gauges[i];
            cells[cell[i]] = join_gauge(cells[cell[i]], (uint64_t)gauge_part(gauge, part),
                                        vamp_metrics[entry->id].merge);
        }
        return;
    case VAMP_HISTOGRAM:
        for (unsigned i = 0; i < values->count; i++) {
            const struct vamp_histogram_value *value = &values->histograms[i];
            cells[cell[value->series]] +=
                part == HDF5_OVERVIEW_COUNT ? value->histogram->count : value->histogram->sum;
        }
        return;
    }
}

void hdf5_extremes_leave(struct hdf5_file *file, unsigned part, uint64_t *cells, size_t count)
{
    uint64_t *values = hdf5_column_reserve(file, &file->counts, count);
    for (size_t i = 0; values != NULL && i < count; i++) {
        if (part == HDF5_GAUGE_VALUE) {
            values[i] = cells[i];
        } else if (cells[i] == values[i]) {
            cells[i] = HDF5_GAUGE_MISSING;
        }
    }
}

/* Writes one part of a metric to a row of its variable. */
static void write_part(struct hdf5_file *file, const struct vamp_bucket *bucket, unsigned metric,
                       unsigned part, hsize_t row)
{
    const struct vamp_schema_metric *entry = &file->schema->metrics[metric];
    const bool is_gauge = vamp_metrics[entry->id].kind == VAMP_GAUGE;
    const unsigned count = file->sets[entry->label_set].cells;
    uint64_t *cells = hdf5_column_begin(file, count, is_gauge ? HDF5_GAUGE_MISSING : 0);
    if (cells != NULL) {
        hdf5_cells_add(file, bucket, metric, part, cells);
        if (is_gauge) {
            hdf5_extremes_leave(file, part, cells, count);
        }
        hdf5_dataset_put_row(file, file->metrics[metric].overview + part, row, cells);
    }
}

/* ---- metrics */

/* Writes the bins of all series, their sums, and the extremes. */
static void write_histogram(struct hdf5_file *file, const struct vamp_bucket *bucket,
                            unsigned metric)
{
    const unsigned first = file->metrics[metric].overview;
    uint64_t least = UINT64_MAX, greatest = 0;
    if (bucket->values[metric].count == 0) {
        return;
    }
    uint64_t *bins = hdf5_column_begin(file, file->schema->bins.count, 0);
    if (bins == NULL) {
        return;
    }
    for (unsigned i = 0; i < bucket->values[metric].count; i++) {
        const struct vamp_bucket_histogram *histogram =
            bucket->values[metric].histograms[i].histogram;
        least = VAMP_MIN(least, histogram->min);
        greatest = VAMP_MAX(greatest, histogram->max);
        for (uint32_t b = 0; b < histogram->bin_count; b++) {
            bins[histogram->bins[b].bin] += histogram->bins[b].count;
        }
    }
    hdf5_dataset_put_row(file, first + HDF5_OVERVIEW_BINS, file->rows, bins);
    write_part(file, bucket, metric, HDF5_OVERVIEW_COUNT, file->rows);
    write_part(file, bucket, metric, HDF5_OVERVIEW_SUM, file->rows);
    hdf5_dataset_put_number(file, first + HDF5_OVERVIEW_MIN, file->rows, least);
    hdf5_dataset_put_number(file, first + HDF5_OVERVIEW_MAX, file->rows, greatest);
}

static void write_metric(struct hdf5_file *file, const struct vamp_bucket *bucket, unsigned metric)
{
    switch (hdf5_kind(file, metric)) {
    case VAMP_COUNTER:
        write_part(file, bucket, metric, HDF5_COUNTER_DELTA, file->rows);
        return;
    case VAMP_GAUGE:
        for (unsigned part = 0; part < HDF5_GAUGE_DATASETS; part++) {
            write_part(file, bucket, metric, part, file->rows);
        }
        return;
    case VAMP_HISTOGRAM:
        write_histogram(file, bucket, metric);
        return;
    }
}

void hdf5_overview_restart(struct hdf5_file *file, const struct vamp_bucket *bucket)
{
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        if (file->metrics[m].place == HDF5_PLACE_OVERVIEW && hdf5_kind(file, m) == VAMP_COUNTER) {
            write_part(file, bucket, m, HDF5_COUNTER_BEFORE, file->dimensions[HDF5_RESTART].size);
        }
    }
}

/* ---- columns */

/* Writes the times of the bucket and the accounting of events to the current row. */
static void write_columns(struct hdf5_file *file, const struct vamp_bucket *bucket)
{
    const struct vamp_accounting *account = &bucket->accounting;
    uint64_t numbers[HDF5_EVENT_COLUMNS] = {
        account->received, account->decoded, account->rejected,
        account->filtered, account->counted, account->late,
    };
    memcpy(numbers + HDF5_EVENT_COLUMNS - VAMP_LOSS_COUNT, account->lost, sizeof account->lost);
    const uint64_t width = (uint64_t)bucket->width_ns;
    const uint64_t start_us = (uint64_t)(bucket->start_ns / 1000);
    hdf5_dataset_put_row(file, file->time_us, file->rows, &start_us);
    hdf5_dataset_put_row(file, file->bucket_ns, file->rows, &width);
    hdf5_dataset_put_row(file, file->statistics_buckets, file->rows, &bucket->buckets);
    for (unsigned i = 0; i < HDF5_EVENT_COLUMNS; i++) {
        if (file->events[i] != 0) {
            hdf5_dataset_put_row(file, file->events[i], file->rows, &numbers[i]);
        }
    }
}

/* Reports properties found to be unknown since not_observed was written. Each has a row of its own
 * in a dataset created in advance, since nothing can be created while there may be readers. */
static void write_learned(struct hdf5_file *file)
{
    const uint32_t fresh = vamp_coverage_unknown(file->schema->coverage) & ~file->learned;
    for (unsigned i = 0; i < VAMP_UNKNOWN_COUNT && fresh >> i != 0; i++) {
        char reason[VAMP_ABSENCE_BYTES], text[VAMP_ABSENCE_BYTES];
        const char *row = text;
        if ((fresh & VAMP_UNKNOWN_BIT(i)) != 0) {
            (void)snprintf(text, sizeof text, "%s: %s", vamp_unknown_word((enum vamp_unknown)i),
                           vamp_unknown_reason(VAMP_UNKNOWN_BIT(i), reason));
            hdf5_dataset_put_texts(file, file->absences, i, 1, &row);
        }
    }
    file->learned |= fresh;
}

/* Writes the accounting of the outputs, and names that are not in the file yet. */
static void write_outputs(struct hdf5_file *file, const struct vamp_accounting *account)
{
    for (; file->outputs_named < account->output_count; file->outputs_named++) {
        const char *const name = account->outputs[file->outputs_named].name;
        hdf5_dataset_put_texts(file, file->output_name, file->outputs_named, 1, &name);
    }
    uint64_t numbers[HDF5_OUTPUT_DATASETS][VAMP_OUTPUTS_MAX] = {{0}};
    for (unsigned i = 0; i < account->output_count; i++) {
        const struct vamp_output_account *output = &account->outputs[i];
        numbers[HDF5_OUTPUT_QUEUED][i] = output->queued;
        numbers[HDF5_OUTPUT_WRITTEN][i] = output->written;
        numbers[HDF5_OUTPUT_LOST][i] = output->lost;
        numbers[HDF5_OUTPUT_WAITING][i] = output->waiting;
    }
    for (unsigned part = 0; part < HDF5_OUTPUT_DATASETS; part++) {
        hdf5_dataset_put_row(file, file->outputs_first + part, file->rows, numbers[part]);
    }
}

void hdf5_overview_write(struct hdf5_file *file, const struct vamp_bucket *bucket)
{
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        if (file->metrics[m].place == HDF5_PLACE_OVERVIEW) {
            write_metric(file, bucket, m);
        }
    }
    write_columns(file, bucket);
    write_learned(file);
    write_outputs(file, &bucket->accounting);
}
