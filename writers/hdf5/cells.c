/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of the series of a metric, by cells: one for each combination of words (words.c). */
#include "writers/hdf5/internal.h"

int hdf5_cells_begin(struct hdf5_file *file, size_t count, uint64_t fill, struct vamp_err *err)
{
    int code = hdf5_column_reserve(&file->column, count, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        file->column.numbers[i] = fill;
    }
    return code;
}

void hdf5_cells_add_delta(const struct hdf5_set *set, const struct vamp_metric_values *values,
                          uint64_t *cells)
{
    for (unsigned i = 0; i < values->count; i++) {
        cells[set->cell[i]] += values->counters[i].delta;
    }
}

void hdf5_cells_add_before(const struct hdf5_set *set, const struct vamp_metric_values *values,
                           uint64_t *cells)
{
    for (unsigned i = 0; i < values->count; i++) {
        cells[set->cell[i]] += values->counters[i].value - values->counters[i].delta;
    }
}

/* Series of one cell add, or the largest stays. */
static uint64_t join_gauge(uint64_t cell, uint64_t value, enum vamp_merge rule)
{
    if (cell == HDF5_GAUGE_MISSING || value == HDF5_GAUGE_MISSING) {
        return cell == HDF5_GAUGE_MISSING ? value : cell;
    }
    if (rule == VAMP_MERGE_LARGEST) {
        return (int64_t)cell > (int64_t)value ? cell : value;
    }
    return cell + value;
}

void hdf5_cells_join_gauge(const struct hdf5_set *set, const struct vamp_metric_values *values,
                           unsigned part, enum vamp_merge rule, uint64_t *cells)
{
    for (unsigned i = 0; i < values->count; i++) {
        const struct vamp_gauge_value *gauge = &values->gauges[i];
        uint64_t *cell = &cells[set->cell[i]];
        const int64_t value = part == HDF5_GAUGE_VALUE ? gauge->value
                              : part == HDF5_GAUGE_MIN ? gauge->min
                                                       : gauge->max;
        *cell = join_gauge(*cell, (uint64_t)value, rule);
    }
}
