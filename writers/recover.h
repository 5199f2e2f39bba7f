/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repairs files that a killed run left (vampire --recover). An incomplete record is cut off the
 * end; HDF5 files are changed so that they open normally. No whole record is removed, a file that
 * another process writes is not touched, and a file that is damaged in another way is left as it
 * is.
 */
#ifndef VAMP_WRITERS_RECOVER_H
#define VAMP_WRITERS_RECOVER_H

#include "writers/writer.h"

/* One file; formats are known by their first bytes. 0; -EBUSY: another process writes it; -EBADMSG:
 * it is no file of vampire, or is damaged; another -errno. */
VAMP_MUST_CHECK int vamp_recover_file(const char *path, bool dry_run,
                                      struct vamp_recovery *ret_recovery, struct vamp_err *err);

#endif
