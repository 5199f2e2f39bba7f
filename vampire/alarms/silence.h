/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alarms that are silenced for a time: a file of lines NAME DURATION, where NAME is a rule's name
 * or a glob pattern of names (blanks are part of it) and the time counts from the file's last
 * change. Empty lines and those that begin with # are skipped. The worker thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/err.h"

#define VAMP_SILENCES_MAX 256U
#define VAMP_SILENCES_FILE_BYTES 65536U

struct vamp_silence {
    const char *pattern;
    int64_t until_ns; /* UTC */
};

struct vamp_silences {
    struct vamp_silence items[VAMP_SILENCES_MAX];
    unsigned count;
    char *text; /* of the file; the patterns are in it. malloc'ed */
};

/* Replaces the silences by those of a file; a file that does not exist means none. 0, or -errno
 * with the place of the mistake, and then the silences stay as they were. Blocks as long as the
 * file system does. */
VAMP_MUST_CHECK int vamp_silences_read(struct vamp_silences *silences, const char *path,
                                       struct vamp_err *err);
void vamp_silences_done(struct vamp_silences *silences);
/* Whether the rule of this name is silenced at this time. */
bool vamp_silences_hold(const struct vamp_silences *silences, const char *name, int64_t utc_ns);
