/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the tables of components and gaps. */
#include "writers/hdf5/internal.h"

static int write_component(struct hdf5_file *file, const struct vamp_component_row *from,
                           struct vamp_err *err)
{
    const struct vamp_component *component = &from->component;
    const unsigned first = file->components_first;
    const hsize_t row = from->index;
    const uint64_t numbers[] = {
        [HDF5_COMPONENT_APP_ID] = component->app_id,
        [HDF5_COMPONENT_JOINED] = (uint64_t)component->joined_ns,
        [HDF5_COMPONENT_LEFT] = (uint64_t)component->left_ns,
        [HDF5_COMPONENT_OPERATIONS] = component->operations,
    };
    int code = 0;
    for (unsigned c = 0; code == 0 && c < sizeof numbers / sizeof numbers[0]; c++) {
        code = hdf5_dataset_put_number(file, first + c, row, numbers[c], err);
    }
    if (code == 0) {
        code = hdf5_dataset_put_text(file, first + HDF5_COMPONENT_NAME, row, component->name, err);
    }
    if (code == 0 && component->left_ns != INT64_MIN) {
        code = hdf5_dataset_put_text(file, first + HDF5_COMPONENT_REASON, row,
                                     vamp_leave_reason_name(component->reason), err);
    }
    return code;
}

static int write_components(struct hdf5_file *file, const struct vamp_delivery *delivery,
                            struct vamp_err *err)
{
    struct hdf5_dimension *slots = &file->dimensions[HDF5_COMPONENT];
    int code = 0;
    for (unsigned i = 0; code == 0 && i < delivery->component_count; i++) {
        const struct vamp_component_row *row = &delivery->components[i];
        code = write_component(file, row, err);
        slots->next = row->index + 1 > slots->next ? row->index + 1 : slots->next;
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
