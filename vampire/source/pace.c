/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/source/pace.h"
#include "vampire/core/values.h"

void vamp_pace_init(struct vamp_pace *pace, const struct vamp_clock *clock, uint64_t speed)
{
    *pace = (struct vamp_pace){.clock = clock, .speed = speed, .first_event_ns = INT64_MIN};
}

int64_t vamp_pace_due_in_ns(struct vamp_pace *pace, int64_t event_ns)
{
    const int64_t now_ns = vamp_clock_monotonic_ns(pace->clock);
    if (pace->first_event_ns == INT64_MIN) {
        pace->first_event_ns = event_ns;
        pace->first_ns = now_ns;
    }
    if (event_ns <= pace->first_event_ns) {
        return 0;
    }
    /* The difference of two arbitrary times fits in 64 bits only as an unsigned number. */
    uint64_t wait_ns = ((uint64_t)event_ns - (uint64_t)pace->first_event_ns) / pace->speed;
    if (wait_ns > INT64_MAX) {
        wait_ns = INT64_MAX;
    }
    return (int64_t)wait_ns - (now_ns - pace->first_ns);
}

void vamp_pace_wait(struct vamp_pace *pace, int64_t event_ns, int64_t timeout_ns)
{
    const int64_t left_ns = vamp_pace_left_ns(pace, event_ns);
    vamp_sleep_ns(VAMP_MIN(left_ns, timeout_ns));
}
