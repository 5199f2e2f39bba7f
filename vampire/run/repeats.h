/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that repeat: of those that are alike only the first few of a stretch of time are worth a
 * line; the rest are counted, and the number is said. Alike are messages whose texts agree but for
 * their numbers. Bounded: VAMP_REPEATS_KINDS kinds of message; the one longest silent gives way,
 * and what was held back of it is said. Not thread-safe: the caller has a lock.
 */
#ifndef VAMP_RUN_REPEATS_H
#define VAMP_RUN_REPEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VAMP_REPEATS_KINDS 16
/* So many alike in a stretch of so long are said. */
#define VAMP_REPEATS_SAID 5
#define VAMP_REPEATS_NS INT64_C(10000000000)
/* As much of a message as is quoted with the number of those held back. */
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

/* Gets a line that tells how many were held back. */
typedef void vamp_repeats_fn(void *context, const char *line);

/* Whether to say the message now. First tells of whatever stretch is over. Zero-initialised is
 * empty. `now_ns` monotonic. */
bool vamp_repeats_admit(struct vamp_repeats *repeats, const char *message, int64_t now_ns,
                        vamp_repeats_fn *tell, void *context);
/* Tells of the stretches that are over; to be called once in a while. `all`: of every one. */
void vamp_repeats_flush(struct vamp_repeats *repeats, int64_t now_ns, bool all,
                        vamp_repeats_fn *tell, void *context);

#endif
