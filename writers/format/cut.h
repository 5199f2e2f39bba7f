/* SPDX-License-Identifier: BSD-3-Clause */
/* Cuts an incomplete record off the end of a file, for the formats' recovery. */
#pragma once

#include "writers/writer.h"

struct vamp_recover_cut {
    uint64_t whole_bytes;      /* bytes that are kept */
    uint64_t record_bytes_max; /* of a torn record after it; a longer rest is damage */
    bool dry_run;
};
/* Cuts the file to `cut->whole_bytes`, on the disk when it returns, and describes that in the
 * recovery. 0; -EBADMSG: what would be cut is too much; another -errno. */
VAMP_MUST_CHECK int vamp_recover_cut(int fd, const char *path, const struct vamp_recover_cut *cut,
                                     struct vamp_recovery *ret_recovery, struct vamp_err *err);

/* Of a format whose records are lines of core's JSON: counts the whole ones into the recovery, as
 * "line", and cuts what follows the last. As vamp_recover_cut. */
VAMP_MUST_CHECK int vamp_recover_lines(int fd, const char *path, bool dry_run,
                                       struct vamp_recovery *ret_recovery, struct vamp_err *err);
