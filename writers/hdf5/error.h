/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5's errors as a vamp_err. Any thread that may call HDF5 (file.h). */
#pragma once

#include "vampire/core/err.h"

struct hdf5_file;

/* Sets `err` from HDF5's error stack and clears the stack. Returns -errno of the system call that
 * failed, or -EIO if none did. */
int hdf5_fail(struct vamp_err *err, const char *format, ...) VAMP_PRINTF(2, 3);
/* The same for a file: sets its `code` and `err`, unless something failed before. */
void hdf5_failed(struct hdf5_file *file, const char *format, ...) VAMP_PRINTF(2, 3);
void hdf5_no_memory(struct hdf5_file *file, const char *doing);
/* Turns off HDF5's own error output and its clean-up at exit. Must be called before anything else
 * of HDF5, on any thread. */
void hdf5_quiet(void);
