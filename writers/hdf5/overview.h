/* SPDX-License-Identifier: BSD-3-Clause */
/* The overview: one row for each bucket. */
#pragma once

#include <stddef.h>

#include "writers/writer.h"

struct hdf5_file;

/* Adds one part of a metric's series to its cells: HDF5_COUNTER_, HDF5_GAUGE_, HDF5_OVERVIEW_COUNT
 * or HDF5_OVERVIEW_SUM. */
void hdf5_cells_add(const struct hdf5_file *file, const struct vamp_bucket *bucket, unsigned metric,
                    unsigned part, uint64_t *cells);
/* Omits extremes that equal the value. Call it first with the part HDF5_GAUGE_VALUE, whose cells
 * are stored; then, with the minimum and the maximum, cells equal to the stored value become
 * missing. */
void hdf5_extremes_leave(struct hdf5_file *file, unsigned part, uint64_t *cells, size_t count);
void hdf5_overview_write(struct hdf5_file *file, const struct vamp_bucket *bucket);
void hdf5_overview_restart(struct hdf5_file *file, const struct vamp_bucket *bucket);
