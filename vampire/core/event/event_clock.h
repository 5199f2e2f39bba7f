/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Estimates the time of the event stream while no event comes. Event times are the pool manager's
 * clock, which need not agree with ours and may be stepped. So it records how far events run ahead
 * of our monotonic clock (the largest lead, that of the fastest delivery; others may be late,
 * because we were stopped) over the last two windows of some seconds, and add it to the monotonic
 * time. For one thread at a time: the source has one, for gaps of a pool that is gone, and the
 * worker another, for the buckets.
 */
#ifndef VAMP_CORE_EVENT_EVENT_CLOCK_H
#define VAMP_CORE_EVENT_EVENT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct vamp_event_clock {
    int64_t lead_ns[2]; /* event time minus monotonic time: this window and the one before */
    bool known[2];
    int64_t window_start_ns; /* monotonic */
};

void vamp_event_clock_init(struct vamp_event_clock *clock);
/* An event of this time was seen at this monotonic time. A time that no real clock gives is
 * ignored. */
void vamp_event_clock_observe(struct vamp_event_clock *clock, int64_t event_ns,
                              int64_t monotonic_ns);
/* The estimate; false while no event was seen yet. */
bool vamp_event_clock_now(const struct vamp_event_clock *clock, int64_t monotonic_ns,
                          int64_t *ret_event_ns);

#endif
