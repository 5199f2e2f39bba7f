/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live status line: one line on a terminal, rewritten in place; not shown if stderr is not a
 * terminal. All messages of a running program are printed through this module, so that they do not
 * mix with the line, and so that text from the network or a file cannot control the terminal or
 * begin a line. Repeated messages are suppressed and counted; the latest messages are kept and
 * shown on request. vamp_status_say and vamp_status_error may be called by any thread, the other
 * functions by the worker and at start-up.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "vampire/core/clock.h"
#include "vampire/core/units.h"
#include "vampire/stats/stats.h"

/*
 * Suppression of repeats. Messages are of the same kind if their texts differ only in numbers. The
 * first VAMP_REPEATS_SAID messages of each kind within VAMP_REPEATS_NS are printed; the others are
 * counted and their number is reported. The number of kinds is limited: a new kind replaces the one
 * that has been inactive for longest, whose count is reported first. Not thread-safe: the caller
 * holds a lock.
 */
#define VAMP_REPEATS_KINDS 16
#define VAMP_REPEATS_SAID 5
#define VAMP_REPEATS_NS INT64_C(10000000000)
/* Maximum length of the quotation in a report of suppressed messages. */
#define VAMP_REPEATS_TEXT_BYTES 160

struct vamp_repeat {
    uint64_t key;                       /* 0: unused entry */
    int64_t began_ns, last_ns;          /* monotonic */
    uint64_t count;                     /* number of messages in this period */
    char text[VAMP_REPEATS_TEXT_BYTES]; /* first message of the period */
};

struct vamp_repeats {
    struct vamp_repeat kinds[VAMP_REPEATS_KINDS];
};

/* Receives a line that reports the number of suppressed messages. */
typedef void vamp_repeats_fn(void *context, const char *line);

/* Returns whether to print the message now. First reports all periods that have ended. All zeros:
 * empty. `now_ns` is monotonic. */
bool vamp_repeats_admit(struct vamp_repeats *repeats, const char *message, int64_t now_ns,
                        vamp_repeats_fn *report, void *context);
/* Reports the periods that have ended; to be called at intervals. `all`: every period. */
void vamp_repeats_flush(struct vamp_repeats *repeats, int64_t now_ns, bool all,
                        vamp_repeats_fn *report, void *context);

/*
 * A reminder of a persistent condition, such as an output that waits for its server: reported at
 * once, again after VAMP_REMINDER_FIRST_NS, and then at intervals that double up to
 * VAMP_REMINDER_LONGEST_NS. One thread at a time.
 */
#define VAMP_REMINDER_FIRST_NS INT64_C(10000000000)
#define VAMP_REMINDER_LONGEST_NS INT64_C(600000000000)

/* All zeros: no condition. */
struct vamp_reminder {
    uint64_t kind;            /* kind of the message (a hash of its text without numbers) */
    int64_t due_ns, pause_ns; /* monotonic time of the next report; interval before it */
};

/* Returns whether to print the message now: its kind differs from that of the previous message, or
 * a report is due. `now_ns` is monotonic. */
bool vamp_reminder_take_due(struct vamp_reminder *reminder, const char *message, int64_t now_ns);
/* Ends the condition: the next message is printed in any case. */
void vamp_reminder_end(struct vamp_reminder *reminder);

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
    bool live;                       /* `stream` is a terminal, and `quiet` is false */
    bool quiet;                      /* only errors are printed */
    bool shown;                      /* the terminal shows a status line */
    int64_t started_ns, previous_ns; /* monotonic */
    uint64_t previous_operations, previous_bytes;
    double fraction; /* of a replay that was read; 0: not a replay, or not known */
    const struct vamp_clock *clock;
    pthread_mutex_t lock; /* protects the stream, `shown` and the following members */
    struct vamp_repeats repeats;
    struct vamp_status_message kept[VAMP_STATUS_KEPT]; /* the latest messages, a ring */
    unsigned said; /* total number of messages, including suppressed ones */
};

/* `program` is the prefix of each message and must outlive the status. */
void vamp_status_init(struct vamp_status *status, const char *program, bool quiet,
                      const struct vamp_clock *clock);
/* Reports the number of messages suppressed so far, and frees everything. */
void vamp_status_done(struct vamp_status *status);
/* Rewrites the line. */
void vamp_status_show(struct vamp_status *status, const struct vamp_totals *totals,
                      const struct vamp_bins *bins, int64_t now_ns);
/* Removes the line, so that other text can be printed. */
void vamp_status_clear(struct vamp_status *status);
/* Reports suppressed messages whose period has ended; to be called at intervals. */
void vamp_status_flush(struct vamp_status *status);
/* Calls `each` for the latest messages, oldest first. */
void vamp_status_kept(struct vamp_status *status,
                      void (*each)(void *context, const struct vamp_status_message *message),
                      void *context);
/* Writes a quantile of times, or its bounds where it is below the resolution; 1 is the maximum. */
const char *vamp_quantile_text(const struct vamp_histogram *histogram, const struct vamp_bins *bins,
                               double q, uint64_t resolution_ns,
                               char text[static VAMP_UNIT_TEXT_BYTES]);
/* Prints "PROGRAM: text", unless quiet. */
void vamp_status_say(struct vamp_status *status, const char *format, ...) VAMP_PRINTF(2, 3);
/* Like vamp_status_say, for a complete line; `context` is the status. */
void vamp_status_say_line(void *context, const char *line);
/* Prints "PROGRAM: error: text", also if quiet. */
void vamp_status_error(struct vamp_status *status, const char *format, ...) VAMP_PRINTF(2, 3);
