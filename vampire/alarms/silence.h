/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Temporarily silenced alarms, read from a file of lines NAME DURATION. NAME is the name of a rule
 * or a glob pattern of names, and may contain blanks; the duration starts at the last modification
 * of the file. Empty lines and lines that begin with # are skipped. Worker thread.
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
    char *text; /* content of the file, to which the patterns point; malloc'ed */
};

/* Replaces the silences by those in a file; if the file does not exist, there are none. Returns 0,
 * or -errno; on an error the silences are unchanged and the message contains the line number.
 * Blocks as long as the file system does. */
VAMP_MUST_CHECK int vamp_silences_read(struct vamp_silences *silences, const char *path,
                                       struct vamp_err *err);
void vamp_silences_done(struct vamp_silences *silences);
/* Returns whether the rule with this name is silenced at this time. */
bool vamp_silences_hold(const struct vamp_silences *silences, const char *name, int64_t utc_ns);
