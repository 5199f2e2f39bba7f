/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only way to read time. Code that needs time is passed a `const struct vamp_clock *`, so that
 * tests step it. All values are nanoseconds.
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

/* A length of time, or a moment of a clock that begins at 0, as the system takes it. */
static inline struct timespec vamp_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / VAMP_NS_PER_SECOND),
                             .tv_nsec = (long)(ns % VAMP_NS_PER_SECOND)};
}
/* Sleeps so long, or until a signal handler ran; not at all when `ns` is 0 or less. */
void vamp_sleep_ns(int64_t ns);

/* RFC 3339 in UTC with nanoseconds ("2026-11-21T03:44:00.000000000Z"), always 30 characters
 * for years 0000 to 9999, terminated. */
#define VAMP_TIME_TEXT_BYTES 88
void vamp_time_text(int64_t utc_ns, char text[static VAMP_TIME_TEXT_BYTES]);

/*
 * Estimates the time of the event stream while no event comes. Event times are the pool manager's
 * clock, which need not agree with ours and may be stepped. So it records how far events run ahead
 * of our monotonic clock (the largest lead, that of the fastest delivery; others may be late,
 * because we were stopped) over the last two windows of some seconds, and add it to the monotonic
 * time. For one thread at a time: the source has one, for gaps of a pool that is gone, and the
 * worker another, for the buckets.
 */
/* All zero: no event was seen yet. */
struct vamp_event_clock {
    int64_t lead_ns[2]; /* event time minus monotonic time: this window and the one before */
    bool known[2];
    int64_t window_start_ns; /* monotonic */
};

/* An event of this time was seen at this monotonic time. A time that no real clock gives is
 * ignored. */
void vamp_event_clock_observe(struct vamp_event_clock *clock, int64_t event_ns,
                              int64_t monotonic_ns);
/* The estimate; false while no event was seen yet. */
bool vamp_event_clock_now(const struct vamp_event_clock *clock, int64_t monotonic_ns,
                          int64_t *ret_event_ns);
