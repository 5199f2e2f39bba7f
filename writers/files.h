/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that runs left; their formats are known by their first bytes. */
#ifndef VAMP_WRITERS_FILES_H
#define VAMP_WRITERS_FILES_H

#include "writers/format/run_file.h"
#include "writers/writer.h"

/* Repairs a file that a killed run left (vampire --recover). An incomplete record is cut off the
 * end; HDF5 files are changed so that they open normally. No whole record is removed, a file that
 * another process writes is not touched, and a file that is damaged in another way is left as it
 * is. 0; -EBUSY: another process writes it; -EBADMSG: it is no file of vampire, or is damaged;
 * another -errno. */
VAMP_MUST_CHECK int vamp_recover_file(const char *path, bool dry_run,
                                      struct vamp_recovery *ret_recovery, struct vamp_err *err);

/* Reads what a file says of its run (vampire --summary); `*ret_is_written`: a process writes it.
 * The caller owns `*ret_file`. 0; -EBADMSG: it is no file of vampire's with counts, or is damaged;
 * another -errno. */
VAMP_MUST_CHECK int vamp_read_run_file(const char *path, struct vamp_run_file **ret_file,
                                       bool *ret_is_written, struct vamp_err *err);

#endif
