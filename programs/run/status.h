/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live status line: one line on a terminal, rewritten in place; nothing when stderr is not a
 * terminal. All messages of a running program pass through here, so that they do not mix with the
 * line. Messages that repeat are held back and counted (programs/run/repeats.h), and the
 * newest are kept to be shown on request. vamp_status_say and vamp_status_error are for any thread,
 * the rest for the worker and start-up.
 */
#ifndef VAMP_RUN_STATUS_H
#define VAMP_RUN_STATUS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "programs/run/repeats.h"
#include "vampire/core/clock.h"
#include "vampire/stats/stats.h"

#define VAMP_STATUS_KEPT 8
#define VAMP_STATUS_TEXT_BYTES 1024

struct vamp_status_message {
    int64_t utc_ns;
    bool error;
    char text[VAMP_STATUS_TEXT_BYTES];
};

struct vamp_status {
    const char *program;
    FILE *stream;                    /* stderr */
    bool live;                       /* a terminal, and not asked to be quiet */
    bool quiet;                      /* no messages but errors */
    bool shown;                      /* a line stands on the terminal */
    int64_t started_ns, previous_ns; /* monotonic */
    uint64_t previous_operations, previous_bytes;
    const struct vamp_clock *clock;
    pthread_mutex_t lock; /* of the stream, `shown` and what follows */
    struct vamp_repeats repeats;
    struct vamp_status_message kept[VAMP_STATUS_KEPT]; /* the newest messages, a ring */
    unsigned said;                                     /* all messages, including those held back */
};

/* `program` begins each message; it outlives the status. */
void vamp_status_init(struct vamp_status *status, const char *program, bool quiet,
                      const struct vamp_clock *clock);
/* Reports how many messages were held back so far, and frees everything. */
void vamp_status_done(struct vamp_status *status);
/* Rewrites the line. */
void vamp_status_show(struct vamp_status *status, const struct vamp_totals *totals,
                      const struct vamp_bins *bins, int64_t now_ns);
/* Removes the line, so that other text can be printed. */
void vamp_status_clear(struct vamp_status *status);
/* Reports the messages held back whose stretch is over; to be called at intervals. */
void vamp_status_flush(struct vamp_status *status);
/* Calls `each` with the newest messages, oldest first. */
void vamp_status_kept(struct vamp_status *status,
                      void (*each)(void *context, const struct vamp_status_message *message),
                      void *context);
/* "PROGRAM: text", unless quiet. */
void vamp_status_say(struct vamp_status *status, const char *format, ...) VAMP_PRINTF(2, 3);
/* "PROGRAM: error: text", always. */
void vamp_status_error(struct vamp_status *status, const char *format, ...) VAMP_PRINTF(2, 3);

#endif
