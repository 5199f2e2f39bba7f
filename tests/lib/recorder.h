/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "vampire/core/recording/recording.h"

/* As vamp_recorder_begin, into a new file, of which nothing is left after a failure. */
static inline int recorder_open(const char *path, const struct vamp_recording_header *header,
                                struct vamp_recorder **ret_recorder, struct vamp_err *err)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) {
        return vamp_err_set_errno(err, errno, "create recording %s", path);
    }
    const int result = vamp_recorder_begin(file, path, header, ret_recorder, err);
    if (result != 0) {
        (void)unlink(path);
    }
    return result;
}
