/* SPDX-License-Identifier: BSD-3-Clause */
/* Reservation of disk space: a bucket is written only when the file system has enough space for it.
 */
#pragma once

#include <stdint.h>

#include "vampire/core/err.h"
#include "writers/writer.h"

struct hdf5_file;

/* Returns 0, or -ENOTSUP with instructions in the text if `directory` does not support live HDF5
 * files: network file systems without POSIX writes. */
VAMP_MUST_CHECK int hdf5_space_check(const char *directory, struct vamp_err *err);
/* Ensures that the file can grow by `bytes` beyond the offset `end`. Returns 0; -EAGAIN with a text
 * if there is not enough space now; -ENOSPC instead for a new file, whose `end` is 0. */
VAMP_MUST_CHECK int hdf5_space_reserve(int fd, uint64_t end, uint64_t bytes, const char *path,
                                       struct vamp_err *err);
/* Releases the unused part of the reservation. */
void hdf5_space_release(int fd);
/* Upper limit of the bytes needed to write this delivery, after hdf5_rows_plan. */
uint64_t hdf5_space_needed(const struct hdf5_file *file, const struct vamp_delivery *delivery);
