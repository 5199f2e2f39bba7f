/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live status line: one line on a terminal, rewritten in place; nothing when stderr is not a
 * terminal. All messages of a running program pass through here, so that they do not mix with the
 * line. Repeated messages are suppressed and counted, and the newest are kept to be shown on
 * request. vamp_status_say and vamp_status_error are for any thread, the rest for the worker and
 * start-up.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "vampire/core/clock.h"
#include "vampire/stats/stats.h"

/*
 * Messages are repeats of one kind if their texts differ only in numbers. The first
 * VAMP_REPEATS_SAID of each kind within VAMP_REPEATS_NS are printed; the rest are counted and the
 * count is reported. Bounded: a new kind replaces the one that has been silent longest, whose count
 * is reported first. Not thread-safe: the caller holds a lock.
 */
#define VAMP_REPEATS_KINDS 16
#define VAMP_REPEATS_SAID 5
#define VAMP_REPEATS_NS INT64_C(10000000000)
/* Bytes of a message that are quoted with the number of suppressed ones. */
#define VAMP_REPEATS_TEXT_BYTES 160

struct vamp_repeat {
    uint64_t key;                       /* 0: free */
    int64_t began_ns, last_ns;          /* monotonic */
    uint64_t count;                     /* in this stretch */
    char text[VAMP_REPEATS_TEXT_BYTES]; /* the first of the stretch */
};

struct vamp_repeats {
    struct vamp_repeat kinds[VAMP_REPEATS_KINDS];
};

/* Called with a line that reports how many messages were suppressed. */
typedef void vamp_repeats_fn(void *context, const char *line);

/* Whether to print the message now. First reports every stretch that is over. Zero-initialised is
 * empty. `now_ns` monotonic. */
bool vamp_repeats_admit(struct vamp_repeats *repeats, const char *message, int64_t now_ns,
                        vamp_repeats_fn *report, void *context);
/* Reports the stretches that are over; to be called at intervals. `all`: every stretch. */
void vamp_repeats_flush(struct vamp_repeats *repeats, int64_t now_ns, bool all,
                        vamp_repeats_fn *report, void *context);

/*
 * A lasting state, such as an output that waits for its server: it is reported at once, then again
 * after VAMP_REMINDER_FIRST_NS, and each time after twice that, at most VAMP_REMINDER_LONGEST_NS.
 * One thread at a time.
 */
#define VAMP_REMINDER_FIRST_NS INT64_C(10000000000)
#define VAMP_REMINDER_LONGEST_NS INT64_C(600000000000)

/* All zeros: no lasting state. */
struct vamp_reminder {
    uint64_t kind;            /* of the message (a hash of its text without numbers) */
    int64_t due_ns, pause_ns; /* monotonic; until then */
};

/* Whether to print the message now: it is of another kind than the one before, or due again.
 * `now_ns` monotonic. */
bool vamp_reminder_take_due(struct vamp_reminder *reminder, const char *message, int64_t now_ns);
/* The state has ended: the next message is printed in any case. */
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
    bool live;                       /* a terminal, and not quiet */
    bool quiet;                      /* only errors are printed */
    bool shown;                      /* a line is on the terminal */
    int64_t started_ns, previous_ns; /* monotonic */
    uint64_t previous_operations, previous_bytes;
    const struct vamp_clock *clock;
    pthread_mutex_t lock; /* of the stream, `shown` and the following members */
    struct vamp_repeats repeats;
    struct vamp_status_message kept[VAMP_STATUS_KEPT]; /* the newest messages, a ring */
    unsigned said;                                     /* all messages, including suppressed ones */
};

/* `program` begins each message; it outlives the status. */
void vamp_status_init(struct vamp_status *status, const char *program, bool quiet,
                      const struct vamp_clock *clock);
/* Reports how many messages were suppressed so far, and frees everything. */
void vamp_status_done(struct vamp_status *status);
/* Rewrites the line. */
void vamp_status_show(struct vamp_status *status, const struct vamp_totals *totals,
                      const struct vamp_bins *bins, int64_t now_ns);
/* Removes the line, so that other text can be printed. */
void vamp_status_clear(struct vamp_status *status);
/* Reports suppressed messages whose stretch is over; to be called at intervals. */
void vamp_status_flush(struct vamp_status *status);
/* Calls `each` with the newest messages, oldest first. */
void vamp_status_kept(struct vamp_status *status,
                      void (*each)(void *context, const struct vamp_status_message *message),
                      void *context);
/* "PROGRAM: text", unless quiet. */
void vamp_status_say(struct vamp_status *status, const char *format, ...) VAMP_PRINTF(2, 3);
/* The same for a whole line; `context` is the status. */
void vamp_status_say_line(void *context, const char *line);
/* "PROGRAM: error: text", always. */
void vamp_status_error(struct vamp_status *status, const char *format, ...) VAMP_PRINTF(2, 3);
