/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps recorded or generated times to the machine's time: when the next event is due. */
#pragma once

#include <stdint.h>

#include "vampire/core/clock.h"

/* `speed` is 0 (as fast as possible) or n: n times as fast as the events' times. */
struct vamp_pace {
    const struct vamp_clock *clock;
    uint64_t speed;
    int64_t first_event_ns; /* INT64_MIN: no event yet */
    int64_t first_ns;       /* monotonic time at which the first event was returned */
};

void vamp_pace_init(struct vamp_pace *pace, const struct vamp_clock *clock, uint64_t speed);
/* Returns the time to wait for an event with time `event_ns`; 0 or less if it is due. The first
 * event is due at once, as are events with an earlier time than the first event. */
int64_t vamp_pace_due_in_ns(struct vamp_pace *pace, int64_t event_ns); /* `speed` must be above 0 */
static inline int64_t vamp_pace_left_ns(struct vamp_pace *pace, int64_t event_ns)
{
    return pace->speed == 0 ? 0 : vamp_pace_due_in_ns(pace, event_ns);
}
/* Sleeps until an event of this time is due, at most `timeout_ns`. */
void vamp_pace_wait(struct vamp_pace *pace, int64_t event_ns, int64_t timeout_ns);
