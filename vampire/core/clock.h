/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Clocks. Code that needs time gets a `const struct vamp_clock *`, so that tests can control it.
 * All values are nanoseconds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define VAMP_NS_PER_SECOND INT64_C(1000000000)

struct vamp_clock {
    int64_t (*utc_ns)(void *self);       /* since 1970-01-01T00:00:00Z, may be stepped */
    int64_t (*monotonic_ns)(void *self); /* since an arbitrary moment, never goes back */
    void *self;
};

/* The machine's clocks. A constant: never freed, usable from every thread. */
extern const struct vamp_clock vamp_clock_system;

/* Shorthand. */
int64_t vamp_clock_utc_ns(const struct vamp_clock *clock);
int64_t vamp_clock_monotonic_ns(const struct vamp_clock *clock);

/* Converts a duration, or a time of a clock that begins at 0. */
static inline struct timespec vamp_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / VAMP_NS_PER_SECOND),
                             .tv_nsec = (long)(ns % VAMP_NS_PER_SECOND)};
}
/* Sleeps, or until a signal handler ran; not at all if `ns` is 0 or less. */
void vamp_sleep_ns(int64_t ns);

/* RFC 3339 in UTC with nanoseconds ("2026-11-21T03:44:00.000000000Z"), always 30 characters
 * for years 0000 to 9999, terminated. */
#define VAMP_TIME_TEXT_BYTES 88
void vamp_time_text(int64_t utc_ns, char text[static VAMP_TIME_TEXT_BYTES]);

/*
 *  * Estimates the time of the event stream while no event arrives. Event times are those of the
 * pool manager's clock, which may differ from ours and be stepped. The estimate is our monotonic
 * clock plus the largest lead of event times over it (that of the fastest delivery) in the last two
 * windows of some seconds. One thread at a time: the source has one, for gaps of a pool that is
 * gone, and the worker another one, for the buckets. All zero: no event was seen yet.
 */
struct vamp_event_clock {
    int64_t lead_ns[2]; /* event time minus monotonic time: this window and the one before */
    bool known[2];
    int64_t window_start_ns; /* monotonic */
};

/* Observes an event with this time at this monotonic time. Impossible times are ignored. */
void vamp_event_clock_observe(struct vamp_event_clock *clock, int64_t event_ns,
                              int64_t monotonic_ns);
/* The estimate; false while no event was seen yet. */
bool vamp_event_clock_now(const struct vamp_event_clock *clock, int64_t monotonic_ns,
                          int64_t *ret_event_ns);
