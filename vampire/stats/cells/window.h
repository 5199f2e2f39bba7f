/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bucket an event belongs to, and when buckets close: the rules of stats.h. Private to the
 * statistics; worker thread.
 */
#pragma once

#include "vampire/stats/cells/cells.h"

/* Time has reached the end of the bucket that begins at `start_ns`, or `now_ns`, after which it
 * goes no further in this bucket: the stream ended, or its clock was set back. Called once for
 * every bucket, in order, before anything is observed after it and before it closes. */
typedef void vamp_window_end_fn(void *context, struct vamp_slot *slot, int64_t start_ns,
                                int64_t now_ns);

struct vamp_window {
    struct vamp_cells *cells;
    vamp_window_end_fn *end; /* NULL: nothing is taken then */
    void *end_context;
    struct vamp_components *components;
    vamp_bucket_fn *emit;
    void *emit_context;
    int64_t bucket_ns, lateness_ns, max_empty;
    bool started;
    int64_t base;           /* the bucket in slot 0 */
    int64_t oldest, newest; /* open buckets: start time over bucket_ns */
    uint64_t set_backs;     /* of the events' clock, that were recognised */
    unsigned late_run;      /* late events since the last that was not: 0 if the last was not */
    /* Times from `easy_from` to before `easy_to` count in `easy` and close nothing: most events are
     * of the same bucket as the one before, and need no division. Forgotten when a bucket closes.
     */
    struct vamp_slot *easy;
    int64_t easy_from, easy_to;
    uint64_t emitted;
    uint64_t without_memory; /* buckets that could not be built */
};

/* Slots needed so that every bucket not yet closed has one. */
unsigned vamp_window_slots(const struct vamp_stats_options *options);
void vamp_window_init(struct vamp_window *window, const struct vamp_stats_options *options,
                      struct vamp_cells *cells, struct vamp_components *components,
                      vamp_bucket_fn *emit, void *emit_context);

/* Times that are easy are valid. */
static inline bool vamp_window_is_easy(const struct vamp_window *window, int64_t time_ns)
{
    return time_ns >= window->easy_from && time_ns < window->easy_to;
}
/* For vamp_window_place, of a time that is not easy. */
struct vamp_slot *vamp_window_find_place(struct vamp_window *window, int64_t time_ns);
/* Moves time to `time_ns`, emitting what closes. The slot of that time's bucket; a later one, and
 * `late_run` is not 0, when that bucket is closed. */
static inline struct vamp_slot *vamp_window_place(struct vamp_window *window, int64_t time_ns)
{
    if (vamp_window_is_easy(window, time_ns)) {
        window->late_run = 0;
        return window->easy;
    }
    return vamp_window_find_place(window, time_ns);
}
/* Time without an event; an earlier time than known is ignored. */
void vamp_window_tick(struct vamp_window *window, int64_t now_ns);
/* The bucket that closes next, or will be the first. */
struct vamp_slot *vamp_window_oldest(const struct vamp_window *window);
/* The newest open one. */
struct vamp_slot *vamp_window_newest(const struct vamp_window *window);
/* The open bucket nearest to this time. */
struct vamp_slot *vamp_window_at(const struct vamp_window *window, int64_t time_ns);
/* Emits all that is open; one bucket more when the last could not be built, to say so. The stream
 * went on until `last_ns`. */
void vamp_window_finish(struct vamp_window *window, int64_t last_ns);
