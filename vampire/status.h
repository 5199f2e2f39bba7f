/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live status line: one line on a terminal, rewritten in place; nothing when stderr is not
 * a terminal. Also the one place through which messages go to a person while vampire runs, so
 * that they do not mix with the line. Worker thread and start-up only.
 */
#ifndef VAMP_STATUS_H
#define VAMP_STATUS_H

#include <stdbool.h>
#include <stdio.h>

#include "vampire/stats/stats.h"

struct vamp_status {
    FILE *stream;                    /* stderr */
    bool live;                       /* a terminal, and not asked to be quiet */
    bool quiet;                      /* no messages but errors */
    bool shown;                      /* a line stands on the terminal */
    int64_t started_ns, previous_ns; /* monotonic */
    uint64_t previous_operations, previous_bytes;
};

/* `now_ns` monotonic. */
void vamp_status_init(struct vamp_status *status, bool quiet, int64_t now_ns);
/* Rewrites the line. */
void vamp_status_show(struct vamp_status *status, const struct vamp_totals *totals,
                      const struct vamp_bins *bins, int64_t now_ns);
/* Removes the line, so that other text can be printed. */
void vamp_status_clear(struct vamp_status *status);
/* "vampire: text", unless quiet. */
void vamp_status_say(struct vamp_status *status, const char *format, ...) VAMP_PRINTF(2, 3);
/* "vampire: error: text", always. */
void vamp_status_error(struct vamp_status *status, const char *format, ...) VAMP_PRINTF(2, 3);

/* All operations of the totals together. */
uint64_t vamp_totals_operations(const struct vamp_totals *totals);
/* All losses before the statistics together. */
uint64_t vamp_totals_lost(const struct vamp_totals *totals);

#endif
