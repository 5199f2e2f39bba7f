/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One state that lasts, such as an output that waits for its server: it is said at once, then again
 * after VAMP_REMINDER_FIRST_NS, and each time after twice that, at most VAMP_REMINDER_LONGEST_NS.
 * One thread at a time.
 */
#ifndef VAMP_RUN_REMINDER_H
#define VAMP_RUN_REMINDER_H

#include <stdbool.h>
#include <stdint.h>

#define VAMP_REMINDER_FIRST_NS INT64_C(10000000000)
#define VAMP_REMINDER_LONGEST_NS INT64_C(600000000000)

/* Zeroes: nothing lasts. */
struct vamp_reminder {
    uint64_t kind;            /* of the message (vamp_repeats_kind) */
    int64_t due_ns, pause_ns; /* monotonic; until then */
};

/* Whether to print the message now: it is of another kind than the one before, or due again.
 * `now_ns` monotonic. */
bool vamp_reminder_is_due(struct vamp_reminder *reminder, const char *message, int64_t now_ns);
/* The state is over: the next message is printed, whatever it says. */
void vamp_reminder_end(struct vamp_reminder *reminder);

#endif
