/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only way to read the time. Code that needs the time gets a `const struct vamp_clock *`, so
 * that tests can control it. All values are nanoseconds.
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

/* Call the functions of a clock with its `self`. */
int64_t vamp_clock_utc_ns(const struct vamp_clock *clock);
int64_t vamp_clock_monotonic_ns(const struct vamp_clock *clock);

/* Converts a duration, or a time of a clock that starts at 0, for system calls. */
static inline struct timespec vamp_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / VAMP_NS_PER_SECOND),
                             .tv_nsec = (long)(ns % VAMP_NS_PER_SECOND)};
}
/* Sleeps for `ns`, or until a signal handler has run; returns at once if `ns` is 0 or less. */
void vamp_sleep_ns(int64_t ns);

/* Writes a time as RFC 3339 in UTC with nanoseconds ("2026-11-21T03:44:00.000000000Z"), terminated;
 * 30 characters for years 0000 to 9999. */
#define VAMP_TIME_TEXT_BYTES 88
void vamp_time_text(int64_t utc_ns, char text[static VAMP_TIME_TEXT_BYTES]);

/*
 * Estimates the time of the event stream while no events arrive. Event times are read from the pool
 * manager's clock, which may differ from the clock of this machine and may be stepped. The estimate
 * is this machine's monotonic time plus the maximum lead of event times over it in the last two
 * windows of a few seconds. (The maximum lead belongs to the fastest delivery; other events may
 * have arrived late.) One thread: the source has one clock, for gaps while a pool is gone, and the
 * worker has another one, for its buckets.
 */
/* Zero-initialised: no event was observed. */
struct vamp_event_clock {
    int64_t
        lead_ns[2]; /* maximum of event time minus monotonic time: this and the previous window */
    bool known[2];
    int64_t window_start_ns; /* monotonic time */
};

/* Records that an event with this time arrived at this monotonic time. Times outside the range of
 * event times are ignored. */
void vamp_event_clock_observe(struct vamp_event_clock *clock, int64_t event_ns,
                              int64_t monotonic_ns);
/* Sets `*ret_ns` to the estimate. Returns false if no event was observed yet. */
bool vamp_event_clock_now(const struct vamp_event_clock *clock, int64_t monotonic_ns,
                          int64_t *ret_event_ns);
