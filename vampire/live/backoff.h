/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When to try again: pauses that double up to a bound, each a quarter longer or shorter by chance,
 * so that many who lost the same peer do not come back at once. Times are monotonic nanoseconds.
 */
#ifndef VAMP_LIVE_BACKOFF_H
#define VAMP_LIVE_BACKOFF_H

#include <stdint.h>

struct vamp_backoff {
    int64_t pause_ns; /* the next one, without its chance */
    int64_t next_ns;  /* when to try */
    uint64_t chance;
};

#define VAMP_BACKOFF_SHORTEST_NS INT64_C(500000000)
#define VAMP_BACKOFF_LONGEST_NS INT64_C(5000000000)

/* The first attempt is due after one pause. `seed` need not be good. */
void vamp_backoff_begin(struct vamp_backoff *backoff, int64_t now_ns, uint64_t seed);
/* An attempt has failed: the next one is due later. */
void vamp_backoff_failed(struct vamp_backoff *backoff, int64_t now_ns);

#endif
