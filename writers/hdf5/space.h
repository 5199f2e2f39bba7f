/* SPDX-License-Identifier: BSD-3-Clause */
/* Reservation of disk space: a bucket is written only when the file system has room for it. */
#pragma once

#include <stdint.h>

#include "vampire/core/err.h"
#include "writers/writer.h"

struct hdf5_file;

/* -ENOTSUP, with a text that explains what to do, if live HDF5 files are not possible in
 * `directory`: network file systems without POSIX writes. */
VAMP_MUST_CHECK int hdf5_space_check(const char *directory, struct vamp_err *err);
/* Ensures that the file can grow by `bytes` from `end` on. 0; -EAGAIN with a text if it cannot now;
 * -ENOSPC for a new file, whose `end` is 0. */
VAMP_MUST_CHECK int hdf5_space_reserve(int fd, uint64_t end, uint64_t bytes, const char *path,
                                       struct vamp_err *err);
/* Releases the part of the reservation that was not used. */
void hdf5_space_release(int fd);
/* An upper bound of the bytes that writing this delivery takes. Its rows have been planned
 * (rows.h). */
uint64_t hdf5_space_needed(const struct hdf5_file *file, const struct vamp_delivery *delivery);
