/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/cells/window.h"

#include <assert.h>

#include "vampire/stats/cells/close.h"

static int64_t floor_div(int64_t value, int64_t by)
{
    int64_t quotient = value / by;
    return value % by < 0 ? quotient - 1 : quotient;
}

static int64_t bounded_time(int64_t time_ns)
{
    return time_ns > VAMP_TIME_MAX   ? VAMP_TIME_MAX
           : time_ns < VAMP_TIME_MIN ? VAMP_TIME_MIN
                                     : time_ns;
}

unsigned vamp_window_slots(const struct vamp_stats_options *options)
{
    int64_t lateness = options->lateness_ns < 0 ? options->bucket_ns : options->lateness_ns;
    return (unsigned)((lateness + options->bucket_ns - 1) / options->bucket_ns) + 1;
}

void vamp_window_init(struct vamp_window *window, const struct vamp_stats_options *options,
                      struct vamp_cells *cells, struct vamp_components *components,
                      vamp_bucket_fn *emit, void *emit_context)
{
    *window = (struct vamp_window){
        .cells = cells,
        .components = components,
        .emit = emit,
        .emit_context = emit_context,
        .bucket_ns = options->bucket_ns,
        .lateness_ns = options->lateness_ns < 0 ? options->bucket_ns : options->lateness_ns,
        .max_empty = options->max_empty == 0 ? VAMP_MAX_EMPTY_DEFAULT : (int64_t)options->max_empty,
    };
}

static struct vamp_slot *slot_of(const struct vamp_window *window, int64_t bucket)
{
    assert(bucket >= window->base);
    uint64_t offset = (uint64_t)bucket - (uint64_t)window->base;
    return &window->cells->slots[offset % window->cells->slot_count];
}

struct vamp_slot *vamp_window_oldest(const struct vamp_window *window)
{
    return slot_of(window, window->oldest);
}

struct vamp_slot *vamp_window_newest(const struct vamp_window *window)
{
    return slot_of(window, window->newest);
}

struct vamp_slot *vamp_window_at(const struct vamp_window *window, int64_t time_ns)
{
    const int64_t bucket = floor_div(bounded_time(time_ns), window->bucket_ns);
    return slot_of(window, bucket < window->oldest   ? window->oldest
                           : bucket > window->newest ? window->newest
                                                     : bucket);
}

static void forget_easy(struct vamp_window *window)
{
    window->easy_to = window->easy_from;
}

/* After time has moved to the newest bucket. */
static void note_easy(struct vamp_window *window)
{
    const int64_t end_ns = (window->newest + 1) * window->bucket_ns;
    const int64_t close_ns = (window->oldest + 1) * window->bucket_ns + window->lateness_ns;
    window->easy = vamp_window_newest(window);
    window->easy_from = window->newest * window->bucket_ns;
    window->easy_to = end_ns < close_ns ? end_ns : close_ns;
}

static void close_oldest(struct vamp_window *window)
{
    forget_easy(window);
    struct vamp_slot *slot = vamp_window_oldest(window);
    const int64_t start_ns = window->oldest * window->bucket_ns;
    const struct vamp_bucket *bucket =
        vamp_close_bucket(window->cells, slot, window->emitted, start_ns, window->components);
    window->oldest++;
    if (bucket != NULL) {
        window->emitted++;
        window->emit(window->emit_context, bucket);
        return;
    }
    window->without_memory++;
    const struct vamp_gap gap = {start_ns, start_ns + window->bucket_ns, VAMP_GAP_MEMORY, 0};
    vamp_cells_gap(vamp_window_oldest(window), &gap);
}

static void close_all(struct vamp_window *window)
{
    while (window->oldest <= window->newest) {
        close_oldest(window);
    }
}

/* Of the newest bucket; time went on until `now_ns`, and further if that is after its end. */
static void end_newest(struct vamp_window *window, int64_t now_ns)
{
    const int64_t start_ns = window->newest * window->bucket_ns;
    const int64_t end_ns = start_ns + window->bucket_ns;
    if (window->end != NULL) {
        now_ns = now_ns < start_ns ? start_ns : now_ns > end_ns ? end_ns : now_ns;
        window->end(window->end_context, vamp_window_newest(window), start_ns, now_ns);
    }
}

static void close_until(struct vamp_window *window, int64_t time_ns)
{
    while ((window->oldest + 1) * window->bucket_ns + window->lateness_ns <= time_ns) {
        close_oldest(window);
    }
}

static void restart_at(struct vamp_window *window, int64_t bucket)
{
    end_newest(window, bucket * window->bucket_ns);
    close_all(window);
    forget_easy(window);
    /* A gap for want of memory may lie in the slot that would have been next. */
    struct vamp_slot *next = vamp_window_oldest(window);
    const struct vamp_gap leap = {
        .start_ns = window->oldest * window->bucket_ns,
        .end_ns = bucket * window->bucket_ns,
        .reason = VAMP_GAP_LEAP,
    };
    vamp_cells_gap(next, &leap);
    window->base = bucket - (int64_t)(next - window->cells->slots);
    window->oldest = bucket;
    window->newest = bucket;
    window->late_run = 0;
}

static void begin_at(struct vamp_window *window, int64_t bucket)
{
    /* Slot 0 may hold values of vampire itself from before the first event. */
    window->started = true;
    window->base = bucket;
    window->oldest = bucket;
    window->newest = bucket;
}

/* Time goes on to this bucket, which is not before the newest one. */
static void move_to(struct vamp_window *window, int64_t bucket, int64_t time_ns)
{
    if ((uint64_t)bucket - (uint64_t)window->newest > (uint64_t)window->max_empty + 1) {
        restart_at(window, bucket);
        return;
    }
    while (window->newest < bucket) {
        end_newest(window, time_ns);
        window->newest++;
        close_until(window, window->newest * window->bucket_ns);
    }
    close_until(window, time_ns);
}

struct vamp_slot *vamp_window_find_place(struct vamp_window *window, int64_t time_ns)
{
    assert(vamp_time_is_valid(time_ns));
    const int64_t bucket = floor_div(time_ns, window->bucket_ns);
    if (!window->started) {
        begin_at(window, bucket);
    }
    if (bucket >= window->oldest) {
        window->late_run = 0;
        if (bucket >= window->newest) {
            move_to(window, bucket, time_ns);
            note_easy(window);
        }
        return slot_of(window, bucket);
    }
    window->late_run++;
    if (window->late_run >= VAMP_LATE_RUN_MAX) {
        restart_at(window, bucket);
        return slot_of(window, bucket);
    }
    return vamp_window_oldest(window);
}

void vamp_window_tick(struct vamp_window *window, int64_t now_ns)
{
    now_ns = bounded_time(now_ns);
    const int64_t bucket = floor_div(now_ns, window->bucket_ns);
    if (!window->started) {
        begin_at(window, bucket);
    }
    if (bucket >= window->newest) {
        move_to(window, bucket, now_ns);
    }
}

void vamp_window_finish(struct vamp_window *window, int64_t last_ns)
{
    if (!window->started) {
        return;
    }
    end_newest(window, last_ns);
    const uint64_t before = window->without_memory;
    close_all(window);
    if (window->without_memory != before && vamp_window_oldest(window)->gap_count > 0) {
        window->newest = window->oldest;
        close_all(window);
    }
}
