/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Totals. A bucket has only what was added in it. What was there before is written in the first
 * bucket of a segment, and again after a bucket that was lost, so that totals are right after both.
 */
#include "writers/hdf5/internal.h"

bool hdf5_restart_is_due(const struct hdf5_file *file, const struct vamp_delivery *delivery)
{
    return file->rows == 0 || delivery->lost_before > 0;
}

static uint64_t before(const struct vamp_metric_values *values, unsigned series)
{
    return series < values->count ? values->counters[series].value - values->counters[series].delta
                                  : 0;
}

static bool is_counter(const struct hdf5_file *file, unsigned metric)
{
    return vamp_metrics[file->schema->metrics[metric].id].kind == VAMP_COUNTER;
}

/* A counter with rows in this set's group. */
static bool is_of(const struct hdf5_file *file, unsigned metric, unsigned set)
{
    return file->schema->metrics[metric].label_set == set && file->metrics[metric].has_rows &&
           is_counter(file, metric);
}

static int write_overview(struct hdf5_file *file, unsigned number,
                          const struct vamp_metric_values *values, struct vamp_err *err)
{
    const struct hdf5_set *set = &file->sets[file->schema->metrics[number].label_set];
    int code = hdf5_cells_begin(file, set->cells, 0, err);
    if (code != 0) {
        return code;
    }
    hdf5_cells_add_before(set, values, file->column.numbers);
    return hdf5_dataset_put_row(file, file->metrics[number].overview + HDF5_COUNTER_BEFORE,
                                file->dimensions[HDF5_RESTART].size, file->column.numbers, err);
}

/* Into set->changed: series with a total that is not 0. */
static unsigned find_series(struct hdf5_file *file, const struct vamp_bucket *bucket,
                            unsigned number)
{
    struct hdf5_set *set = &file->sets[number];
    unsigned count = 0;
    for (unsigned i = 0; i < bucket->series_count[number]; i++) {
        bool has_total = false;
        for (unsigned m = 0; m < file->schema->metric_count; m++) {
            has_total = has_total || (is_of(file, m, number) && before(&bucket->values[m], i) != 0);
        }
        if (has_total) {
            set->changed[count++] = i;
        }
    }
    return count;
}

/* `value` of each series found, padded to whole chunks. */
static int write_column(struct hdf5_file *file, const struct hdf5_set *set, unsigned dataset,
                        unsigned count, const struct vamp_metric_values *values,
                        struct vamp_err *err)
{
    const size_t padded = (size_t)(count + set->chunk_rows - 1) / set->chunk_rows * set->chunk_rows;
    int code = hdf5_column_reserve(&file->column, padded, err);
    if (code != 0) {
        return code;
    }
    uint64_t *numbers = file->column.numbers;
    for (size_t i = 0; i < padded; i++) {
        const uint64_t filler = dataset == set->before_series ? HDF5_PADDING : 0;
        numbers[i] = i >= count                       ? filler
                     : dataset == set->before_series  ? set->changed[i]
                     : dataset == set->before_restart ? file->dimensions[HDF5_RESTART].size
                                                      : before(values, set->changed[i]);
    }
    return hdf5_dataset_put_chunks(file, dataset, file->dimensions[set->before].size, padded,
                                   numbers, err);
}

static int write_rows(struct hdf5_file *file, const struct vamp_bucket *bucket, unsigned number,
                      struct vamp_err *err)
{
    struct hdf5_set *set = &file->sets[number];
    const unsigned count = find_series(file, bucket, number);
    int code = write_column(file, set, set->before_series, count, NULL, err);
    if (code == 0) {
        code = write_column(file, set, set->before_restart, count, NULL, err);
    }
    for (unsigned m = 0; code == 0 && m < file->schema->metric_count; m++) {
        if (is_of(file, m, number)) {
            code = write_column(file, set, file->metrics[m].rows + HDF5_COUNTER_BEFORE, count,
                                &bucket->values[m], err);
        }
    }
    file->dimensions[set->before].next +=
        (count + set->chunk_rows - 1) / set->chunk_rows * set->chunk_rows;
    return code;
}

int hdf5_restart_write(struct hdf5_file *file, const struct vamp_bucket *bucket,
                       struct vamp_err *err)
{
    struct hdf5_dimension *restart = &file->dimensions[HDF5_RESTART];
    int code = hdf5_dataset_put_number(file, file->restart_row, restart->size, file->rows, err);
    for (unsigned m = 0; code == 0 && m < file->schema->metric_count; m++) {
        const bool shown = is_counter(file, m) && file->metrics[m].place == HDF5_PLACE_OVERVIEW;
        code = shown ? write_overview(file, m, &bucket->values[m], err) : 0;
    }
    code = code != 0 ? code : hdf5_own_restart(file, bucket, err);
    for (unsigned s = 0; code == 0 && s < file->schema->label_set_count; s++) {
        code = file->sets[s].has_group ? write_rows(file, bucket, s, err) : 0;
    }
    restart->next = restart->size + 1;
    return code;
}
