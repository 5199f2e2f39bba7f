/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Assigns events to buckets and closes buckets, by the rules of stats.h. Private to the
 * statistics; worker thread.
 */
#pragma once

#include "vampire/stats/cells/cells.h"

/* Time has reached the end of the bucket that begins at `start_ns`, or ends at `now_ns` within it,
 * because the stream ended or its clock was set back. Called once for every bucket, in order,
 * before the bucket closes and before later events are counted. */
typedef void vamp_window_end_fn(void *context, struct vamp_slot *slot, int64_t start_ns,
                                int64_t now_ns);

struct vamp_window {
    struct vamp_cells *cells;
    vamp_window_end_fn *end; /* may be NULL */
    void *end_context;
    struct vamp_components *components;
    vamp_bucket_fn *emit;
    void *emit_context;
    int64_t bucket_ns, lateness_ns, max_empty;
    bool started;
    int64_t base;           /* the bucket in slot 0 */
    int64_t oldest, newest; /* open buckets: start time over bucket_ns */
    uint64_t set_backs;     /* detected, of the events' clock */
    unsigned late_run;      /* late events since the last event that was in time */
    /* Cache of the last bucket, reset when a bucket closes: times from `easy_from` to before
     * `easy_to` belong to `easy` and close nothing. */
    struct vamp_slot *easy;
    int64_t easy_from, easy_to;
    uint64_t emitted;
    uint64_t without_memory; /* buckets that could not be built */
};

/* The largest number of open buckets. */
unsigned vamp_window_slots(const struct vamp_stats_options *options);
void vamp_window_init(struct vamp_window *window, const struct vamp_stats_options *options,
                      struct vamp_cells *cells, struct vamp_components *components,
                      vamp_bucket_fn *emit, void *emit_context);

/* Whether the time is in the cache. Such times are valid. */
static inline bool vamp_window_is_easy(const struct vamp_window *window, int64_t time_ns)
{
    return time_ns >= window->easy_from && time_ns < window->easy_to;
}
/* The slow path of vamp_window_place. */
struct vamp_slot *vamp_window_find_place(struct vamp_window *window, int64_t time_ns);
/* Advances time to `time_ns` and emits the buckets that close. Returns the slot of that time's
 * bucket; if it is closed, that of a later bucket, and `late_run` is not 0. */
static inline struct vamp_slot *vamp_window_place(struct vamp_window *window, int64_t time_ns)
{
    if (vamp_window_is_easy(window, time_ns)) {
        window->late_run = 0;
        return window->easy;
    }
    return vamp_window_find_place(window, time_ns);
}
/* Advances time without an event; an earlier time is ignored. */
void vamp_window_tick(struct vamp_window *window, int64_t now_ns);
/* The bucket that closes next, or will be the first. */
struct vamp_slot *vamp_window_oldest(const struct vamp_window *window);
/* The newest open bucket. */
struct vamp_slot *vamp_window_newest(const struct vamp_window *window);
/* The open bucket nearest to this time. */
struct vamp_slot *vamp_window_at(const struct vamp_window *window, int64_t time_ns);
/* Emits all open buckets; one bucket more, with a gap, if the last could not be built. The stream
 * ended at `last_ns`. */
void vamp_window_finish(struct vamp_window *window, int64_t last_ns);
