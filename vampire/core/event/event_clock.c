/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/event/event_clock.h"

#include "vampire/core/clock.h"

#define WINDOW_NS (5 * VAMP_NS_PER_SECOND)

void vamp_event_clock_init(struct vamp_event_clock *clock)
{
    *clock = (struct vamp_event_clock){0};
}

void vamp_event_clock_observe(struct vamp_event_clock *clock, int64_t event_ns,
                              int64_t monotonic_ns)
{
    if (event_ns > INT64_MAX / 2 || event_ns < -(INT64_MAX / 2)) {
        return;
    }
    if (clock->known[0] && monotonic_ns - clock->window_start_ns >= WINDOW_NS) {
        clock->lead_ns[1] = clock->lead_ns[0];
        clock->known[1] = true;
        clock->known[0] = false;
    }
    int64_t lead_ns = event_ns - monotonic_ns;
    if (!clock->known[0]) {
        clock->known[0] = true;
        clock->window_start_ns = monotonic_ns;
        clock->lead_ns[0] = lead_ns;
    } else if (lead_ns > clock->lead_ns[0]) {
        clock->lead_ns[0] = lead_ns;
    }
}

bool vamp_event_clock_now(const struct vamp_event_clock *clock, int64_t monotonic_ns,
                          int64_t *ret_event_ns)
{
    if (!clock->known[0]) {
        return false;
    }
    int64_t lead_ns = clock->lead_ns[0];
    if (clock->known[1] && clock->lead_ns[1] > lead_ns) {
        lead_ns = clock->lead_ns[1];
    }
    *ret_event_ns = monotonic_ns + lead_ns;
    return true;
}
