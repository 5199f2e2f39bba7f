/* SPDX-License-Identifier: BSD-3-Clause */
/* The overview: one row for each bucket. */
#pragma once

#include <stddef.h>

#include "writers/writer.h"

struct hdf5_file;

/* Adds a part of a metric's series to its cells: HDF5_COUNTER_, HDF5_GAUGE_, HDF5_OVERVIEW_COUNT or
 * HDF5_OVERVIEW_SUM. */
void hdf5_cells_add(const struct hdf5_file *file, const struct vamp_bucket *bucket, unsigned metric,
                    unsigned part, uint64_t *cells);
/* Call with the value of a gauge first, which is kept; then, in its minimum and maximum, the cells
 * that equal the value become missing. */
void hdf5_extremes_leave(struct hdf5_file *file, unsigned part, uint64_t *cells, size_t count);
void hdf5_overview_write(struct hdf5_file *file, const struct vamp_bucket *bucket);
void hdf5_overview_restart(struct hdf5_file *file, const struct vamp_bucket *bucket);
