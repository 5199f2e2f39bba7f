/* SPDX-License-Identifier: BSD-3-Clause */
/* Removes an incomplete record from the end of a file, for the recovery of formats. */
#pragma once

#include "writers/writer.h"

struct vamp_recover_cut {
    uint64_t whole_bytes;      /* bytes to keep */
    uint64_t record_bytes_max; /* maximum length of a torn record; a longer remainder is damage */
    bool dry_run;
};
/* Truncates the file to `cut->whole_bytes`, syncs it to disk and describes the change in the
 * recovery. Returns 0, -EBADMSG if the remainder is too long for a torn record, or another -errno.
 */
VAMP_MUST_CHECK int vamp_recover_cut(int fd, const char *path, const struct vamp_recover_cut *cut,
                                     struct vamp_recovery *ret_recovery, struct vamp_err *err);

/* For formats whose records are JSON lines (json_emit.h): counts the complete lines and removes the
 * remainder. Results as for vamp_recover_cut. */
VAMP_MUST_CHECK int vamp_recover_lines(int fd, const char *path, bool dry_run,
                                       struct vamp_recovery *ret_recovery, struct vamp_err *err);
