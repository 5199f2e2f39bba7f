/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Temporarily silenced alarms: a file of lines NAME DURATION, where NAME is a rule's name or a
 * glob pattern of names, including blanks, and the duration begins with the file's last change.
 * Empty lines and those that begin with # are skipped. Worker thread.
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
    char *text; /* of the file, to which the patterns point; malloc'ed */
};

/* Replaces the silences by those of a file; none if it does not exist. 0, or -errno with the line
 * of the error, and the silences are unchanged. Blocks as long as the file system does. */
VAMP_MUST_CHECK int vamp_silences_read(struct vamp_silences *silences, const char *path,
                                       struct vamp_err *err);
void vamp_silences_done(struct vamp_silences *silences);
/* Whether the rule of this name is silenced at this time. */
bool vamp_silences_hold(const struct vamp_silences *silences, const char *name, int64_t utc_ns);
