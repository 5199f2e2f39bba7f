/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits messages that repeat. Messages are of one kind if their texts differ only in numbers. Of
 * each kind the first VAMP_REPEATS_SAID within VAMP_REPEATS_NS are printed; the rest are counted
 * and the count is reported. Bounded: VAMP_REPEATS_KINDS kinds; a new kind replaces the one that
 * has been silent longest, whose count is reported first. Not thread-safe: the caller holds a lock.
 */
#ifndef VAMP_RUN_REPEATS_H
#define VAMP_RUN_REPEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VAMP_REPEATS_KINDS 16
/* At most VAMP_REPEATS_SAID messages of one kind are printed within VAMP_REPEATS_NS. */
#define VAMP_REPEATS_SAID 5
#define VAMP_REPEATS_NS INT64_C(10000000000)
/* Bytes of a message that are quoted with the number of those held back. */
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

/* Called with a line that reports how many messages were held back. */
typedef void vamp_repeats_fn(void *context, const char *line);

/* What messages of one kind share: a hash of the text without its numbers; never 0. */
uint64_t vamp_repeats_kind(const char *message);
/* Whether to print the message now. First reports every stretch that is over. Zero-initialised is
 * empty. `now_ns` monotonic. */
bool vamp_repeats_admit(struct vamp_repeats *repeats, const char *message, int64_t now_ns,
                        vamp_repeats_fn *report, void *context);
/* Reports the stretches that are over; to be called at intervals. `all`: every stretch. */
void vamp_repeats_flush(struct vamp_repeats *repeats, int64_t now_ns, bool all,
                        vamp_repeats_fn *report, void *context);

#endif
