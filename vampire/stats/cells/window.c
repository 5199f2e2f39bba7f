/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/cells/window.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/stats/cells/self.h"

static uint32_t series_count(const struct vamp_cells *cells, enum vamp_metric_id id)
{
    return cells->range[id].set->count;
}

static const struct vamp_counter_value *copy_counters(const struct vamp_cells *cells,
                                                      const struct vamp_slot *slot,
                                                      struct vamp_bucket_block *block,
                                                      enum vamp_metric_id id)
{
    const uint32_t first = cells->range[id].first;
    const uint32_t count = series_count(cells, id);
    struct vamp_counter_value *restrict values = vamp_bucket_cut(block, count * sizeof *values);
    const uint64_t *restrict deltas = slot->counters + first;
    const uint64_t *restrict totals = cells->counter_totals + first;
    if (values !=
        NULL) { /* tested outside the loop's condition, so that the compiler vectorizes the loop */
        for (uint32_t i = 0; i < count; i++) {
            values[i].delta = deltas[i];
            values[i].value = totals[i];
        }
    }
    return values;
}

static const struct vamp_gauge_value *copy_gauges(const struct vamp_cells *cells,
                                                  const struct vamp_slot *slot,
                                                  struct vamp_bucket_block *block,
                                                  enum vamp_metric_id id)
{
    const uint32_t first = cells->range[id].first;
    const uint32_t count = series_count(cells, id);
    struct vamp_gauge_value *values = vamp_bucket_cut(block, count * sizeof *values);
    for (uint32_t i = 0; values != NULL && i < count; i++) {
        const struct vamp_gauge_change *change = &slot->gauges[first + i];
        const uint64_t end = (uint64_t)cells->gauge_values[first + i];
        const uint64_t begin = end - (uint64_t)change->net;
        values[i].value = (int64_t)end;
        values[i].min = (int64_t)(begin + (uint64_t)change->min);
        values[i].max = (int64_t)(begin + (uint64_t)change->max);
    }
    return values;
}

/* `*used`: index of the metric's first entry in the list of used cells; advanced to that of the
 * next metric. */
static const struct vamp_histogram_value *copy_histograms(const struct vamp_cells *cells,
                                                          const struct vamp_slot *slot,
                                                          struct vamp_bucket_block *block,
                                                          enum vamp_metric_id id,
                                                          const uint32_t **used, unsigned *count)
{
    const uint32_t first = cells->range[id].first;
    const uint32_t end = first + series_count(cells, id);
    const uint32_t *cell = *used;
    while (**used < end) {
        ++*used;
    }
    *count = (unsigned)(*used - cell);
    struct vamp_histogram_value *values = vamp_bucket_cut(block, *count * sizeof *values);
    for (unsigned i = 0; i < *count; i++) {
        const struct vamp_open_histogram *open = slot->histograms[cell[i]];
        __builtin_prefetch(slot->histograms[cell[i + VAMP_HISTOGRAMS_AHEAD]]);
        struct vamp_bucket_histogram *histogram = vamp_bucket_cut(
            block,
            vamp_bucket_histogram_bytes(vamp_open_bins_at_most(&cells->open_histograms, open)));
        if (histogram != NULL) {
            vamp_open_copy(&cells->open_histograms, open, histogram);
            values[i] =
                (struct vamp_histogram_value){.series = cell[i] - first, .histogram = histogram};
        }
    }
    return values;
}

static const struct vamp_metric_values *copy_values(const struct vamp_cells *cells,
                                                    const struct vamp_slot *slot,
                                                    struct vamp_bucket_block *block)
{
    const uint32_t *used = cells->used;
    struct vamp_metric_values measured,
        *values = vamp_bucket_cut(block, cells->schema.metric_count * sizeof *values);
    for (unsigned i = 0; i < cells->schema.metric_count; i++) {
        const enum vamp_metric_id id = cells->metrics[i].id;
        struct vamp_metric_values *to = &measured;
        if (values != NULL) {
            to = &values[i];
        }
        to->count = series_count(cells, id);
        switch (vamp_metrics[id].kind) {
        case VAMP_COUNTER:
            to->counters = copy_counters(cells, slot, block, id);
            break;
        case VAMP_GAUGE:
            to->gauges = copy_gauges(cells, slot, block, id);
            break;
        case VAMP_HISTOGRAM:
            to->histograms = copy_histograms(cells, slot, block, id, &used, &to->count);
            break;
        }
    }
    return values;
}

/* Copies the rows that have changed. */
static const struct vamp_component_row *copy_rows(const struct vamp_components *components,
                                                  struct vamp_bucket_block *block, unsigned *count)
{
    *count = 0;
    for (size_t i = 0; i < vamp_components_listed(components); i++) {
        *count += vamp_components_row(components, i)->changed;
    }
    struct vamp_component_row *rows = vamp_bucket_cut(block, *count * sizeof *rows);
    struct vamp_component_row *next = rows;
    for (size_t i = 0; rows != NULL && i < vamp_components_listed(components); i++) {
        const struct vamp_component *row = vamp_components_row(components, i);
        if (row->changed) {
            next->index = (unsigned)i;
            next++->component = *row;
        }
    }
    return rows;
}

static const struct vamp_bucket *build_bucket(const struct vamp_cells *cells,
                                              const struct vamp_slot *slot, uint64_t number,
                                              int64_t start_ns,
                                              const struct vamp_components *components,
                                              struct vamp_bucket_block *block)
{
    struct vamp_bucket measured, *bucket = vamp_bucket_cut(block, sizeof *bucket);
    unsigned *counts = vamp_bucket_cut(block, cells->series.set_count * sizeof *counts);
    for (unsigned i = 0; counts != NULL && i < cells->series.set_count; i++) {
        counts[i] = cells->series.sets[i].count;
    }
    *(bucket != NULL ? bucket : &measured) = (struct vamp_bucket){
        .number = number,
        .buckets = 1,
        .start_ns = start_ns,
        .width_ns = cells->schema.bucket_ns,
        .schema = &cells->schema,
        .series_count = counts,
        .series = cells->series_arrays,
        .accounting = cells->accounting,
        .gaps = vamp_bucket_copy(block, slot->gaps, slot->gap_count * sizeof *slot->gaps),
        .gap_count = slot->gap_count,
        .cdos = vamp_bucket_copy(block, slot->cdos, slot->cdo_count * sizeof *slot->cdos),
        .cdo_count = slot->cdo_count,
        .cdos_unlisted = slot->cdos_unlisted,
        .anomalies =
            vamp_bucket_copy(block, slot->anomalies, slot->anomaly_count * sizeof *slot->anomalies),
        .anomaly_count = slot->anomaly_count,
        .anomalies_unlisted = slot->anomalies_unlisted,
        .demands =
            vamp_bucket_copy(block, slot->demands, slot->demand_count * sizeof *slot->demands),
        .demand_count = slot->demand_count,
        .demands_pending = slot->demands_pending,
        .oldest = vamp_bucket_copy(block, slot->oldest, slot->oldest_count * sizeof *slot->oldest),
        .oldest_count = slot->oldest_count,
        .holders = 1,
    };
    unsigned changed = 0;
    const struct vamp_metric_values *values = copy_values(cells, slot, block);
    const struct vamp_component_row *rows = copy_rows(components, block, &changed);
    if (bucket != NULL) {
        bucket->values = values;
        bucket->components = rows;
        bucket->component_count = changed;
    }
    return bucket;
}

/* Adds the values of a slot that is being closed to the totals. */
static void add_to_totals(struct vamp_cells *cells, const struct vamp_slot *slot)
{
    for (unsigned i = 0; i < cells->schema.metric_count; i++) {
        enum vamp_metric_id id = cells->metrics[i].id;
        const uint32_t first = cells->range[id].first;
        const uint32_t end = first + series_count(cells, id);
        switch (vamp_metrics[id].kind) {
        case VAMP_COUNTER:
            for (uint32_t k = first; k < end; k++) {
                cells->counter_totals[k] += slot->counters[k];
            }
            break;
        case VAMP_GAUGE: /* unsigned, since a change from VAMP_GAUGE_NONE may overflow */
            for (uint32_t k = first; k < end; k++) {
                cells->gauge_values[k] =
                    (int64_t)((uint64_t)cells->gauge_values[k] + (uint64_t)slot->gauges[k].net);
            }
            break;
        case VAMP_HISTOGRAM: /* added below, for the metrics of the summary */
            break;
        }
    }
    for (unsigned i = 0; i < VAMP_HISTOGRAM_SUMS; i++) {
        const struct vamp_histogram_sum *sum = &cells->histogram_sums[i];
        if (sum->closed != NULL) {
            vamp_cells_merge_histograms(cells, slot, sum->metric, sum->closed);
        }
    }
}

/* Adds the slot to the totals, copies it into an immutable bucket with one reference, and clears
 * it. The bucket includes the changed rows of `components`. Returns NULL if out of memory; the
 * totals are still correct. */
static const struct vamp_bucket *close_bucket(struct vamp_cells *cells, struct vamp_slot *slot,
                                              uint64_t number, int64_t start_ns,
                                              struct vamp_components *components)
{
    vamp_cells_settle(cells);
    vamp_self_fold(cells, slot);
    vamp_cells_find_used(cells, slot);
    add_to_totals(cells, slot);
    struct vamp_bucket_block block = {NULL, 0};
    const struct vamp_bucket *bucket = NULL;
    (void)build_bucket(cells, slot, number, start_ns, components, &block);
    const size_t bytes = block.used;
    if (vamp_bucket_block_take(&block)) {
        bucket = build_bucket(cells, slot, number, start_ns, components, &block);
        assert(block.used == bytes);
        for (size_t i = 0; i < vamp_components_listed(components); i++) {
            vamp_components_changed_clear(components, i);
        }
    }
    vamp_cells_clear(cells, slot);
    return bucket;
}

/* ---- open buckets */

static int64_t floor_div(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return VAMP_MAX(least, VAMP_MIN(value, most));
}

static int64_t bounded_time(int64_t time_ns)
{
    return clamp(time_ns, VAMP_TIME_MIN, VAMP_TIME_MAX);
}

static int64_t lateness_of(const struct vamp_stats_options *options)
{
    return options->lateness_ns < 0 ? options->bucket_ns : options->lateness_ns;
}

unsigned vamp_window_slots(const struct vamp_stats_options *options)
{
    return (unsigned)((lateness_of(options) + options->bucket_ns - 1) / options->bucket_ns) + 1;
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
        .lateness_ns = lateness_of(options),
        .max_empty = (int64_t)options->max_empty,
    };
    if (window->max_empty == 0) {
        window->max_empty = VAMP_MAX_EMPTY_DEFAULT;
    }
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
    return slot_of(window, clamp(bucket, window->oldest, window->newest));
}

static void forget_easy(struct vamp_window *window)
{
    window->easy_to = window->easy_from;
}

/* Updates the cache. Called when time is in the newest bucket. */
static void note_easy(struct vamp_window *window)
{
    const int64_t end_ns = (window->newest + 1) * window->bucket_ns;
    const int64_t close_ns = (window->oldest + 1) * window->bucket_ns + window->lateness_ns;
    window->easy = vamp_window_newest(window);
    window->easy_from = bounded_time(window->newest * window->bucket_ns);
    window->easy_to = bounded_time(VAMP_MIN(end_ns, close_ns));
}

static void close_oldest(struct vamp_window *window)
{
    assert(window->started && window->oldest <= window->newest);
    forget_easy(window);
    struct vamp_slot *slot = vamp_window_oldest(window);
    const int64_t start_ns = window->oldest * window->bucket_ns;
    const struct vamp_bucket *bucket =
        close_bucket(window->cells, slot, window->emitted, start_ns, window->components);
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

/* Ends the newest bucket, when time has reached `now_ns`. */
static void end_newest(struct vamp_window *window, int64_t now_ns)
{
    const int64_t start_ns = window->newest * window->bucket_ns;
    const int64_t end_ns = start_ns + window->bucket_ns;
    if (window->end != NULL) {
        window->end(window->end_context, vamp_window_newest(window), start_ns,
                    clamp(now_ns, start_ns, end_ns));
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
    /* the next slot may already have a gap with reason VAMP_GAP_MEMORY */
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
    /* slot 0 may already contain values reported by the program */
    window->started = true;
    window->base = bucket;
    window->oldest = bucket;
    window->newest = bucket;
}

/* Advances time to this bucket, which must not be before the newest one. */
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
    const bool is_first = !window->placed;
    window->placed = true;
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
    if (is_first || window->late_run >= VAMP_LATE_RUN_MAX) {
        restart_at(window, bucket);
        window->set_backs++;
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
