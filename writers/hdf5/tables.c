/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the tables of components and gaps. */
#include "writers/hdf5/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rows of consecutive numbers that are written at once. */
#define BATCH HDF5_TEXT_CHUNK_ROWS

static uint64_t number_of(const struct vamp_component *component, unsigned column)
{
    const uint64_t numbers[] = {
        [HDF5_COMPONENT_APP_ID] = component->app_id,
        [HDF5_COMPONENT_JOINED] = (uint64_t)component->joined_ns,
        [HDF5_COMPONENT_LEFT] = (uint64_t)component->left_ns,
        [HDF5_COMPONENT_OPERATIONS] = component->operations,
    };
    return numbers[column];
}

/* Operations change with each bucket; names and reasons hardly ever do. */
static bool has_new_text(const struct hdf5_file *file, const struct vamp_component_row *row)
{
    return row->component.left_ns != INT64_MIN ||
           file->component_names[row->index] != row->component.name;
}

/* How many of `rows` follow one another in the table, up to a batch; of those with a new text if
 * `texts`. */
static unsigned count_run(const struct hdf5_file *file, const struct vamp_component_row *rows,
                          unsigned count, bool texts)
{
    unsigned run = 0;
    while (run < count && run < BATCH && rows[run].index == rows[0].index + run &&
           (!texts || has_new_text(file, &rows[run]))) {
        run++;
    }
    return run;
}

static int write_numbers(struct hdf5_file *file, const struct vamp_component_row *rows,
                         unsigned count, struct vamp_err *err)
{
    const hsize_t start = rows[0].index, size = count;
    uint64_t numbers[BATCH];
    int code = 0;
    for (unsigned c = HDF5_COMPONENT_APP_ID; code == 0 && c <= HDF5_COMPONENT_OPERATIONS; c++) {
        for (unsigned i = 0; i < count; i++) {
            numbers[i] = number_of(&rows[i].component, c);
        }
        code = hdf5_dataset_put(file, file->components_first + c, &start, &size, numbers, err);
    }
    return code;
}

static int write_texts(struct hdf5_file *file, const struct vamp_component_row *rows,
                       unsigned count, struct vamp_err *err)
{
    const char *names[BATCH], *reasons[BATCH];
    for (unsigned i = 0; i < count; i++) {
        const struct vamp_component *component = &rows[i].component;
        names[i] = component->name;
        reasons[i] =
            component->left_ns == INT64_MIN ? "" : vamp_leave_reason_name(component->reason);
        file->component_names[rows[i].index] = component->name;
    }
    int code = hdf5_dataset_put_texts(file, file->components_first + HDF5_COMPONENT_NAME,
                                      rows[0].index, count, names, err);
    return code != 0 ? code
                     : hdf5_dataset_put_texts(file, file->components_first + HDF5_COMPONENT_REASON,
                                              rows[0].index, count, reasons, err);
}

static int reserve_names(struct hdf5_file *file, unsigned count, struct vamp_err *err)
{
    if (count <= file->component_capacity) {
        return 0;
    }
    const char **names = realloc(file->component_names, count * sizeof *names);
    if (names == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "keep the names of %u components", count);
    }
    memset(names + file->component_capacity, 0, (count - file->component_capacity) * sizeof *names);
    file->component_names = names;
    file->component_capacity = count;
    return 0;
}

/* The rows are in the order of the table. */
static int write_components(struct hdf5_file *file, const struct vamp_delivery *delivery,
                            struct vamp_err *err)
{
    const struct vamp_component_row *rows = delivery->components;
    const unsigned count = delivery->component_count;
    if (count == 0) {
        return 0;
    }
    struct hdf5_dimension *slots = &file->dimensions[HDF5_COMPONENT];
    const unsigned end = rows[count - 1].index + 1;
    int code = reserve_names(file, end, err);
    for (unsigned i = 0, run = 0; code == 0 && i < count; i += run) {
        run = count_run(file, rows + i, count - i, false);
        code = write_numbers(file, rows + i, run, err);
    }
    for (unsigned i = 0, run = 0; code == 0 && i<count; i += run> 0 ? run : 1) {
        run = count_run(file, rows + i, count - i, true);
        code = run > 0 ? write_texts(file, rows + i, run, err) : 0;
    }
    slots->next = end > slots->next ? end : slots->next;
    return code;
}

static int write_gaps(struct hdf5_file *file, const struct vamp_delivery *delivery,
                      struct vamp_err *err)
{
    const unsigned first = file->gaps_first;
    int code = 0;
    for (unsigned i = 0; code == 0 && i < delivery->gap_count; i++) {
        const struct vamp_gap *gap = &delivery->gaps[i];
        const hsize_t row = file->dimensions[HDF5_GAP].next++;
        const uint64_t numbers[] = {
            [HDF5_GAP_START] = (uint64_t)gap->start_ns,
            [HDF5_GAP_END] = (uint64_t)gap->end_ns,
            [HDF5_GAP_EVENTS] = gap->events,
        };
        for (unsigned c = 0; code == 0 && c < sizeof numbers / sizeof numbers[0]; c++) {
            code = hdf5_dataset_put_number(file, first + c, row, numbers[c], err);
        }
        if (code == 0) {
            code = hdf5_dataset_put_text(file, first + HDF5_GAP_REASON, row,
                                         vamp_gap_reason_name(gap->reason), err);
        }
    }
    return code;
}

int hdf5_tables_write(struct hdf5_file *file, const struct vamp_delivery *delivery,
                      struct vamp_err *err)
{
    int code = write_components(file, delivery, err);
    return code != 0 ? code : write_gaps(file, delivery, err);
}
