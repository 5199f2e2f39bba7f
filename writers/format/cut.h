/* SPDX-License-Identifier: BSD-3-Clause */
/* Cuts an incomplete record off the end of a file, for the formats' recovery. */
#pragma once

#include "writers/writer.h"

struct vamp_recover_cut {
    uint64_t whole_bytes;      /* bytes that are kept */
    uint64_t record_bytes_max; /* of a torn record after it; a longer rest is damage */
    bool dry_run;
};
/* Cuts the file to `cut->whole_bytes`, synced to disk, and describes that in the recovery. 0;
 * -EBADMSG: the rest is too long to be a torn record; another -errno. */
VAMP_MUST_CHECK int vamp_recover_cut(int fd, const char *path, const struct vamp_recover_cut *cut,
                                     struct vamp_recovery *ret_recovery, struct vamp_err *err);

/* For formats whose records are JSON lines (json_emit.h): counts the complete lines and cuts the
 * rest off. Results as vamp_recover_cut. */
VAMP_MUST_CHECK int vamp_recover_lines(int fd, const char *path, bool dry_run,
                                       struct vamp_recovery *ret_recovery, struct vamp_err *err);
