/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/clock.h"

#include <stdio.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now); /* cannot fail for these two clocks */
    return (int64_t)now.tv_sec * VAMP_NS_PER_SECOND + now.tv_nsec;
}

static int64_t system_utc_ns(void *self)
{
    (void)self;
    return read_clock(CLOCK_REALTIME);
}

static int64_t system_monotonic_ns(void *self)
{
    (void)self;
    return read_clock(CLOCK_MONOTONIC);
}

const struct vamp_clock vamp_clock_system = {
    .utc_ns = system_utc_ns,
    .monotonic_ns = system_monotonic_ns,
};

int64_t vamp_clock_utc_ns(const struct vamp_clock *clock)
{
    return clock->utc_ns(clock->self);
}

int64_t vamp_clock_monotonic_ns(const struct vamp_clock *clock)
{
    return clock->monotonic_ns(clock->self);
}

void vamp_sleep_ns(int64_t ns)
{
    if (ns > 0) {
        const struct timespec pause = vamp_timespec(ns);
        (void)nanosleep(&pause, NULL);
    }
}

void vamp_time_text(int64_t utc_ns, char text[static VAMP_TIME_TEXT_BYTES])
{
    int64_t seconds = utc_ns / VAMP_NS_PER_SECOND;
    int64_t rest = utc_ns % VAMP_NS_PER_SECOND;
    if (rest < 0) {
        rest += VAMP_NS_PER_SECOND;
        seconds--;
    }
    time_t whole = (time_t)seconds;
    struct tm parts;
    if (gmtime_r(&whole, &parts) == NULL) {
        parts = (struct tm){.tm_mday = 1, .tm_year = 70};
    }
    (void)snprintf(text, VAMP_TIME_TEXT_BYTES, "%04d-%02d-%02dT%02d:%02d:%02d.%09dZ",
                   parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                   parts.tm_min, parts.tm_sec, (int)rest);
}

/* ---- of events */

#define WINDOW_NS (5 * VAMP_NS_PER_SECOND)

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
