/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assigns events to buckets and closes buckets according to the rules in stats.h. Private to the
 * statistics; worker thread.
 */
#pragma once

#include "vampire/stats/cells/cells.h"

/* Called once for every bucket, in order, when time has reached the end of the bucket that starts
 * at `start_ns`; or when the bucket ends early, at `now_ns`, because the stream ended or its clock
 * was set back. The call precedes the close of the bucket and the counting of later events. */
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
    int64_t base; /* number of the bucket in slot 0 */
    /* Open buckets; the number of a bucket is its start time divided by bucket_ns. */
    int64_t oldest, newest;
    uint64_t set_backs; /* detected set-backs of the events' clock */
    unsigned late_run;  /* number of consecutive late events up to now */
    bool placed; /* an event was placed; before that, time was only an assumption of the caller */
    /* Cache of the last bucket, reset when a bucket closes: a time from `easy_from` to before
     * `easy_to` belongs to the bucket in slot `easy` and does not close a bucket. */
    struct vamp_slot *easy;
    int64_t easy_from, easy_to;
    uint64_t emitted;
    uint64_t without_memory; /* buckets lost because memory was exhausted */
};

/* Returns the maximum number of open buckets. */
unsigned vamp_window_slots(const struct vamp_stats_options *options);
void vamp_window_init(struct vamp_window *window, const struct vamp_stats_options *options,
                      struct vamp_cells *cells, struct vamp_components *components,
                      vamp_bucket_fn *emit, void *emit_context);

/* Returns whether the cached bucket contains the time. Such times are valid. */
static inline bool vamp_window_is_easy(const struct vamp_window *window, int64_t time_ns)
{
    return time_ns >= window->easy_from && time_ns < window->easy_to;
}
/* The slow path of vamp_window_place. */
struct vamp_slot *vamp_window_find_place(struct vamp_window *window, int64_t time_ns);
/* Advances time to `time_ns` and emits the buckets that close. Returns the slot of the bucket that
 * contains the time; if that bucket is closed, returns the slot of a later bucket, and `late_run`
 * is not 0. */
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
/* Returns the slot of the bucket that closes next, or that will be the first one. */
struct vamp_slot *vamp_window_oldest(const struct vamp_window *window);
/* Returns the slot of the newest open bucket. */
struct vamp_slot *vamp_window_newest(const struct vamp_window *window);
/* Returns the slot of the open bucket nearest to this time. */
struct vamp_slot *vamp_window_at(const struct vamp_window *window, int64_t time_ns);
/* Emits all open buckets, and an additional one with a gap if the last bucket could not be built.
 * The stream ended at `last_ns`. */
void vamp_window_finish(struct vamp_window *window, int64_t last_ns);
