/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts HDF5's errors to a vamp_err. Any thread that may call HDF5 (file.h). */
#pragma once

#include <hdf5.h>
#include <stdbool.h>

#include "vampire/core/err.h"

struct hdf5_file;

/* Sets `err` from HDF5's error stack and clears the stack. Returns -errno of the failed system
 * call, or -EIO if none failed. */
int hdf5_fail(struct vamp_err *err, const char *format, ...) VAMP_PRINTF(2, 3);
/* Like hdf5_fail, for a file: sets its `code` and `err`, unless an earlier failure is recorded. */
void hdf5_failed(struct hdf5_file *file, const char *format, ...) VAMP_PRINTF(2, 3);
void hdf5_no_memory(struct hdf5_file *file, const char *doing);
/* Turns off HDF5's own error output and its clean-up at exit. Must be called before any other HDF5
 * function, on any thread. */
void hdf5_quiet(void);
/* Sets that files are opened without HDF5's locks. Returns whether that succeeded. */
bool hdf5_without_locks(hid_t access);
