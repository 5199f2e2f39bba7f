/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/stats.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "vampire/stats/cells/self.h"
#include "vampire/stats/cells/window.h"
#include "vampire/stats/metrics/statistic.h"
#include "vampire/stats/pairing/arrivals.h"
#include "vampire/stats/pairing/blocked.h"
#include "vampire/stats/pairing/track.h"
#include "vampire/stats/sampled.h"

struct vamp_stats {
    struct vamp_cells cells;
    struct vamp_window window;
    struct vamp_tracker tracker;
    /* Enabled statistics as bits, by enum vamp_statistic: those that are called for events of a
     * phase and kind, and those that count one of the enum vamp_found bits. */
    unsigned of_kind[2][VAMP_EVENT_KIND_COUNT];
    unsigned of_found[VAMP_FOUND_ALL + 1];
    vamp_observe_fn *on_event[VAMP_STATISTIC_COUNT]; /* as in vamp_statistics */
    struct vamp_observation seen;
    vamp_exclude_fn *exclude; /* NULL: none */
    void *exclude_context;
    vamp_read_attributes_fn *read_attributes;
    void *read_context;
    bool needs_details;    /* attributes, times of arrival or filters of metrics are used */
    int64_t previous_ns;   /* time of the previous event */
    int64_t gone_ns;       /* last known time, if `gone` */
    uint64_t unwatched_ns; /* total duration of the gaps while the pool manager was gone */
    uint64_t unnamed; /* number of unnamed components that are already included in the accounting */
    int64_t ticked_ns;              /* last time received without an event */
    struct vamp_sampled *sampled;   /* owned */
    struct vamp_arrivals *arrivals; /* owned; NULL: events have times */
    unsigned unwatched;             /* number of the gaps while the pool manager was gone */
    bool enabled[VAMP_STATISTIC_COUNT];
    bool takes; /* operations in flight are measured at the end of each bucket */
    bool any_event;
    bool gone; /* the pool manager is gone, since the last event */
};

/* ---- options */

#define BUCKET_NS_MAX (INT64_C(86400) * VAMP_NS_PER_SECOND)
#define SERIES_MAX (UINT64_C(1) << 20)
#define HISTOGRAM_BYTES_MIN (UINT64_C(1) << 20)

/* Returns 0, or -EINVAL for an option that is out of range or contradicts another option. */
static int check_options(const struct vamp_stats_options *options, struct vamp_err *err)
{
    const struct {
        const char *name;
        uint64_t value, least, most;
    } numbers[] = {
        {"bucket_ns", (uint64_t)options->bucket_ns, 1, (uint64_t)BUCKET_NS_MAX},
        {"level", options->level, 0, VAMP_LEVEL_CDO},
        {"sub_bits", options->sub_bits, 2, 4},
        {"max_series", options->max_series, 2, SERIES_MAX},
        {"max_histogram_bytes", options->max_histogram_bytes, HISTOGRAM_BYTES_MIN, UINT64_MAX},
        {"max_components", options->max_components, 2, VAMP_COMPONENTS_MAX},
        {"max_cdos", options->max_cdos, 1, VAMP_TABLE_MAX},
        {"max_pending", options->max_pending, 1, VAMP_TABLE_MAX},
        {"max_empty", options->max_empty, 0, (uint64_t)INT32_MAX},
    };
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].value < numbers[i].least || numbers[i].value > numbers[i].most) {
            return vamp_err_set(err, -EINVAL, "statistics: %s is %llu; allowed are %llu to %llu",
                                numbers[i].name, (unsigned long long)numbers[i].value,
                                (unsigned long long)numbers[i].least,
                                (unsigned long long)numbers[i].most);
        }
    }
    if (options->lateness_ns < 0 ||
        options->lateness_ns / options->bucket_ns < VAMP_OPEN_BUCKETS_MAX) {
        return 0;
    }
    return vamp_err_set(err, -EINVAL,
                        "statistics: lateness %lld ns; allowed is less than %d buckets of %lld ns: "
                        "use wider buckets or a smaller lateness",
                        (long long)options->lateness_ns, VAMP_OPEN_BUCKETS_MAX,
                        (long long)options->bucket_ns);
}

static bool is_wanted(const struct vamp_cells *cells, const struct vamp_statistic_ops *ops)
{
    for (const enum vamp_metric_id *id = ops->metrics; *id != VAMP_METRIC_NONE; id++) {
        if (cells->range[*id].enabled) {
            return true;
        }
    }
    return false;
}

_Static_assert(VAMP_STATISTIC_COUNT <= 8 * sizeof(unsigned), "one bit each");

static void enable_statistic(struct vamp_stats *stats, unsigned number)
{
    const struct vamp_statistic_ops *ops = &vamp_statistics[number];
    stats->enabled[number] = true;
    stats->on_event[number] = ops->on_event;
    for (unsigned kind = 0; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        stats->of_kind[VAMP_PHASE_AFTER][kind] |= (ops->after >> kind & 1U) << number;
        stats->of_kind[VAMP_PHASE_BEFORE][kind] |= (ops->before >> kind & 1U) << number;
    }
    for (unsigned found = 0; found <= VAMP_FOUND_ALL; found++) {
        if ((ops->found & found) != 0) {
            stats->of_found[found] |= 1U << number;
        }
    }
}

static void enable_statistics(struct vamp_stats *stats)
{
    for (unsigned i = 0; i < VAMP_STATISTIC_COUNT; i++) {
        if (is_wanted(&stats->cells, &vamp_statistics[i])) {
            enable_statistic(stats, i);
        }
    }
}

/* Adds the values that were counted in `(other)` or in a coarser series since the last call to the
 * accounting of the bucket in which they are counted. */
static void book_bounds(struct vamp_stats *stats, struct vamp_slot *slot)
{
    struct vamp_series_table *series = &stats->cells.series;
    if ((series->overflow | series->labels_given_up) != 0) {
        slot->account.overflow += series->overflow;
        slot->account.labels_given_up += series->labels_given_up;
        series->overflow = 0;
        series->labels_given_up = 0;
    }
}

/* Adds components whose name could not be stored (out of memory) to the accounting of the bucket of
 * their JOIN. */
static void book_unnamed(struct vamp_stats *stats, struct vamp_slot *slot)
{
    const uint64_t unnamed = vamp_components_unnamed(stats->cells.series.components);
    slot->account.overflow += unnamed - stats->unnamed;
    stats->unnamed = unnamed;
}

static void end_bucket(void *context, struct vamp_slot *slot, int64_t start_ns, int64_t now_ns)
{
    struct vamp_stats *stats = context;
    if (stats->takes) {
        vamp_in_flight_take(&stats->cells, slot, &stats->tracker, start_ns, now_ns);
    }
    if (stats->tracker.blocked != NULL) {
        vamp_blocked_end_bucket(&stats->cells, slot, &stats->tracker, now_ns);
    }
    book_bounds(stats, slot);
    vamp_track_give_up_rows(&stats->tracker, stats->window.components);
}

int vamp_stats_create(const struct vamp_stats_options *options, const char *series_space,
                      struct vamp_components *components, vamp_bucket_fn *emit, void *emit_context,
                      struct vamp_stats **ret_stats, struct vamp_err *err)
{
    int status = check_options(options, err);
    if (status != 0) {
        return status;
    }
    struct vamp_stats *stats = calloc(1, sizeof *stats);
    if (stats == NULL) {
        return vamp_err_set(err, -ENOMEM, "statistics: out of memory");
    }
    status = vamp_cells_init(&stats->cells, options, series_space, components,
                             vamp_window_slots(options), err);
    if (status == 0) {
        status = vamp_tracker_init(&stats->tracker, options, components, err);
    }
    if (status == 0 && vamp_stats_by_arrival(options)) {
        stats->arrivals = calloc(1, sizeof *stats->arrivals);
        if (stats->arrivals == NULL) {
            status = vamp_err_set(err, -ENOMEM, "statistics: out of memory");
        }
    }
    if (status == 0) {
        status = vamp_sampled_create(&stats->cells, components, &stats->sampled, err);
    }
    if (status != 0) {
        vamp_stats_free(stats);
        return status;
    }
    enable_statistics(stats);
    vamp_window_init(&stats->window, options, &stats->cells, components, emit, emit_context);
    if (stats->tracker.blocked != NULL) {
        stats->tracker.blocked->newest = &stats->window.newest;
    }
    stats->takes = vamp_taken_any(&stats->cells);
    stats->window.end = end_bucket;
    stats->window.end_context = stats;
    stats->needs_details = stats->tracker.has_attributes || stats->arrivals != NULL;
    *ret_stats = stats;
    return 0;
}

void vamp_stats_free(struct vamp_stats *stats)
{
    if (stats == NULL) {
        return;
    }
    vamp_sampled_free(stats->sampled);
    vamp_tracker_done(&stats->tracker);
    vamp_cells_done(&stats->cells);
    free(stats->arrivals);
    free(stats);
}

void vamp_stats_learn(struct vamp_stats *stats, uint32_t unknown)
{
    atomic_store(&stats->cells.coverage.learned, unknown);
}

const struct vamp_schema *vamp_stats_schema(const struct vamp_stats *stats)
{
    return &stats->cells.schema;
}

void vamp_stats_select(struct vamp_stats *stats, vamp_select_fn *select, void *context)
{
    stats->tracker.select = select;
    stats->tracker.select_context = context;
}

static uint32_t number_attributes(void *context, const struct vamp_event *event)
{
    struct vamp_stats *stats = context;
    struct vamp_attribute_texts texts = {.items = {{.length = 0}}};
    stats->read_attributes(stats->read_context, event, &texts);
    return vamp_attributes_number(&stats->cells.series.attributes, &texts);
}

void vamp_stats_read_attributes(struct vamp_stats *stats, vamp_read_attributes_fn *read,
                                void *context)
{
    stats->read_attributes = read;
    stats->read_context = context;
    stats->tracker.read_attributes = number_attributes;
    stats->tracker.read_context = stats;
}

static void count_mark(struct vamp_stats *stats, struct vamp_slot *slot,
                       const struct vamp_event *mark)
{
    vamp_track_lost(&stats->tracker);
    if (mark->kind == VAMP_EVENT_REJECTED) {
        slot->account.rejected += mark->count;
        return;
    }
    struct vamp_gap gap = {
        .start_ns = mark->time_ns,
        .end_ns = mark->time_ns,
        .reason = mark->reason,
        .events = mark->count,
    };
    if (mark->reason >= VAMP_LOSS_COUNT) {
        gap.reason = VAMP_LOSS_RECORDING;
    }
    if (stats->any_event) {
        gap.start_ns = stats->previous_ns;
    }
    slot->account.lost[gap.reason] += mark->count;
    vamp_cells_gap(slot, &gap);
}

/* Releases components whose stay ended without a LEAVE, at a GONE or a JOIN. Does not count an
 * operation. */
static __attribute__((noinline)) void
release_ended(struct vamp_stats *stats, struct vamp_slot *slot, const struct vamp_event *event)
{
    struct vamp_observation *seen = &stats->seen;
    struct vamp_event leave;
    uint32_t position = 0;
    seen->slot = slot;
    while (vamp_track_next_ended(&stats->tracker, event, &position, &leave, seen)) {
        if (stats->exclude != NULL) {
            stats->exclude(stats->exclude_context, &leave, stats->cells.excluded);
        }
        for (unsigned s = 0; s < VAMP_STATISTIC_COUNT; s++) {
            if (stats->enabled[s] && vamp_statistics[s].on_gone != NULL) {
                vamp_statistics[s].on_gone(&stats->cells, seen);
            }
        }
        vamp_cells_change(&stats->cells, slot, VAMP_METRIC_VAMPIRE_TRACKED_CDOS, &seen->labels,
                          seen->tracked);
        book_bounds(stats, slot);
    }
}

static void gap_of_gone(struct vamp_stats *stats, struct vamp_slot *slot, int64_t end_ns)
{
    const struct vamp_gap gap = {
        .start_ns = stats->previous_ns,
        .end_ns = end_ns,
        .reason = VAMP_GAP_POOL_GONE,
    };
    vamp_cells_gap(slot, &gap);
    stats->gone = false;
    stats->unwatched++;
    /* if the clock was set back meanwhile, the length is unknown */
    if (gap.end_ns > gap.start_ns) {
        stats->unwatched_ns += (uint64_t)gap.end_ns - (uint64_t)gap.start_ns;
    }
}

static void observe_gone(struct vamp_stats *stats, const struct vamp_event *mark)
{
    struct vamp_slot *slot = vamp_window_place(&stats->window, mark->time_ns);
    if (!stats->any_event) {
        stats->previous_ns = mark->time_ns;
        stats->any_event = true;
    }
    if (mark->kind == VAMP_EVENT_UNWATCHED) {
        gap_of_gone(stats, slot, mark->time_ns);
        stats->previous_ns = mark->time_ns;
        return;
    }
    release_ended(stats, slot, mark);
    stats->gone = true;
    stats->gone_ns = mark->time_ns;
}

static void account_event(struct vamp_slot_account *account, const struct vamp_event *event,
                          enum vamp_verdict verdict, bool late)
{
    if (verdict == VAMP_PASSED) {
        account->counted++;
        if (late) {
            account->late++;
        }
        if (!vamp_event_has(event, VAMP_HAS_CDO_ID) || event->kind == VAMP_EVENT_JOIN ||
            event->kind == VAMP_EVENT_LEAVE) {
            account->never_sampled++;
        }
        return;
    }
    account->filtered++;
    account->sampled_out += verdict == VAMP_SAMPLED_OUT;
}

/* Work that only few configurations need: attributes, resolution of arrival times, filters of
 * metrics. Not inlined, so that other configurations only execute a branch. */
static __attribute__((noinline)) void observe_details(struct vamp_stats *stats,
                                                      const struct vamp_event *event)
{
    struct vamp_observation *seen = &stats->seen;
    if (stats->tracker.has_attributes) {
        struct vamp_series_table *series = &stats->cells.series;
        series->labels_given_up += vamp_attributes_given_up(
            &series->attributes, seen->labels.value[VAMP_PLACE_OF_ATTRIBUTES]);
    }
    if (stats->arrivals != NULL) {
        vamp_arrivals_blur(stats->arrivals, seen);
    }
    if (stats->exclude != NULL) {
        stats->exclude(stats->exclude_context, event, stats->cells.excluded);
    }
}

/* Tracks the event and counts the resulting observation. */
static void count_event(struct vamp_stats *stats, struct vamp_slot *slot,
                        const struct vamp_event *event)
{
    struct vamp_observation *seen = &stats->seen;
    seen->slot = slot;
    vamp_track(&stats->tracker, event, seen);
    if (__builtin_expect(stats->tracker.blocked_due, 0)) {
        vamp_blocked_count(&stats->cells, slot, &stats->tracker, event->time_ns);
    }
    if (__builtin_expect(stats->needs_details, 0)) {
        observe_details(stats, event);
    }
    unsigned left = stats->of_kind[event->phase][event->kind] & stats->of_found[seen->found];
    for (; left != 0; left &= left - 1) {
        stats->on_event[__builtin_ctz(left)](&stats->cells, seen);
    }
    slot->account.evicted += seen->evicted;
    vamp_cells_change(&stats->cells, slot, VAMP_METRIC_VAMPIRE_TRACKED_CDOS, &seen->labels,
                      seen->tracked);
    book_bounds(stats, slot);
}

void vamp_stats_tick(struct vamp_stats *stats, int64_t now_ns)
{
    vamp_window_tick(&stats->window, now_ns);
    stats->ticked_ns = now_ns;
}

/* Handles an event with an invalid time: it is counted as rejected in the newest bucket. A control
 * event is assumed to have the time of the previous event; in this case returns true and the
 * control event that is to be observed instead. */
static bool place_mark(struct vamp_stats *stats, const struct vamp_event *event,
                       struct vamp_event *ret_mark)
{
    if (!vamp_event_is_mark(event)) {
        struct vamp_slot *slot = vamp_window_newest(&stats->window);
        slot->account.rejected++;
        vamp_track_lost(&stats->tracker);
        return false;
    }
    *ret_mark = *event;
    ret_mark->time_ns = stats->previous_ns;
    return event->kind != VAMP_EVENT_TIME;
}

static void observe_mark(struct vamp_stats *stats, const struct vamp_event *mark)
{
    if (mark->kind == VAMP_EVENT_TIME) {
        vamp_stats_tick(stats, mark->time_ns);
        if (stats->arrivals != NULL) {
            stats->arrivals->empty_ns = mark->time_ns;
        }
        stats->gone_ns = VAMP_MAX(stats->gone_ns, mark->time_ns);
        return;
    }
    if (mark->kind == VAMP_EVENT_GONE || mark->kind == VAMP_EVENT_UNWATCHED) {
        observe_gone(stats, mark);
        return;
    }
    if (mark->kind == VAMP_EVENT_UNWANTED && stats->window.started) {
        /* Events that are not counted do not advance time. */
        vamp_window_at(&stats->window, mark->time_ns)->account.not_subscribed += mark->count;
        return;
    }
    struct vamp_slot *slot = vamp_window_place(&stats->window, mark->time_ns);
    if (mark->kind == VAMP_EVENT_UNWANTED) {
        slot->account.not_subscribed += mark->count;
        return;
    }
    count_mark(stats, slot, mark);
    stats->previous_ns = mark->time_ns;
    stats->any_event = true;
}

/* Handles a control event, or an event with an invalid time. Not inlined, so that other events need
 * no stack frame. */
static __attribute__((noinline)) void observe_uncounted(struct vamp_stats *stats,
                                                        const struct vamp_event *event)
{
    struct vamp_event mark;
    if (!vamp_time_is_valid(event->time_ns)) {
        if (!place_mark(stats, event, &mark)) {
            return;
        }
        event = &mark;
    }
    observe_mark(stats, event);
}

void vamp_stats_observe(struct vamp_stats *stats, const struct vamp_event *event,
                        enum vamp_verdict verdict)
{
    const bool valid =
        vamp_window_is_easy(&stats->window, event->time_ns) || vamp_time_is_valid(event->time_ns);
    if (__builtin_expect(vamp_event_is_mark(event) || !valid, 0)) {
        observe_uncounted(stats, event);
        return;
    }
    struct vamp_slot *slot = vamp_window_place(&stats->window, event->time_ns);
    account_event(&slot->account, event, verdict, stats->window.late_run != 0);
    stats->previous_ns = event->time_ns;
    stats->any_event = true;
    if (event->kind == VAMP_EVENT_JOIN) {
        book_unnamed(stats, slot);
        if (verdict == VAMP_PASSED) {
            release_ended(stats, slot, event);
        }
    }
    if (verdict != VAMP_PASSED) {
        if (verdict != VAMP_FILTERED) {
            vamp_track_lost(&stats->tracker);
        }
        return;
    }
    if (event->kind < VAMP_EVENT_KIND_COUNT && event->phase <= VAMP_PHASE_BEFORE) {
        count_event(stats, slot, event);
    }
}

void vamp_stats_sample(struct vamp_stats *stats, const struct vamp_event *sample)
{
    const struct vamp_window *window = &stats->window;
    struct vamp_slot *slot = vamp_window_at(window, sample->time_ns);
    const bool late = window->started && sample->time_ns < window->oldest * window->bucket_ns;
    if (stats->exclude != NULL) {
        stats->exclude(stats->exclude_context, sample, stats->cells.excluded);
    }
    vamp_sampled_observe(stats->sampled, slot, sample, late);
    book_bounds(stats, slot);
}

const struct vamp_sampled_account *vamp_stats_samples(const struct vamp_stats *stats)
{
    return vamp_sampled_account(stats->sampled);
}

bool vamp_stats_next_close(const struct vamp_stats *stats, int64_t *ret_ns)
{
    const struct vamp_window *window = &stats->window;
    *ret_ns = (window->oldest + 1) * window->bucket_ns + window->lateness_ns;
    return window->started;
}

void vamp_stats_look_ahead(struct vamp_stats *stats, const struct vamp_event *const *events,
                           unsigned count)
{
    vamp_track_prefetch(&stats->tracker, events, count);
}

void vamp_stats_sampling(struct vamp_stats *stats, double weight)
{
    stats->cells.weight = weight;
}

void vamp_stats_exclude(struct vamp_stats *stats, vamp_exclude_fn *exclude, void *context)
{
    stats->exclude = exclude;
    stats->needs_details |= exclude != NULL;
    stats->exclude_context = context;
    memset(stats->cells.excluded, 0, sizeof stats->cells.excluded);
}

void vamp_stats_outputs(struct vamp_stats *stats, const struct vamp_output_account *outputs,
                        unsigned count)
{
    vamp_self_outputs(&stats->cells, outputs, count);
}

void vamp_stats_self(struct vamp_stats *stats, enum vamp_metric_id id, unsigned output,
                     int64_t value)
{
    vamp_self_report(&stats->cells, vamp_window_oldest(&stats->window), id, output, value);
}

/* Counts the CDOs whose size was never reported, at the end of the run. */
static void count_rest(struct vamp_stats *stats)
{
    memset(stats->cells.excluded, 0, sizeof stats->cells.excluded);
    struct vamp_labels labels = {{0}};
    labels.value[VAMP_LABEL_SIZE_CLASS] = VAMP_SIZE_CLASS_UNKNOWN;
    uint32_t position = 0;
    struct vamp_slot *slot = vamp_window_newest(&stats->window);
    while (vamp_track_rest(&stats->tracker, slot, &position, &labels.value[VAMP_LABEL_COMPONENT])) {
        vamp_cells_count(&stats->cells, slot, VAMP_METRIC_CDOS_CREATED, &labels, 1);
    }
    book_bounds(stats, slot);
}

void vamp_stats_finish(struct vamp_stats *stats)
{
    if (stats->gone) {
        gap_of_gone(stats, vamp_window_newest(&stats->window), stats->gone_ns);
    }
    count_rest(stats);
    vamp_track_finish(&stats->tracker, vamp_window_newest(&stats->window));
    int64_t last_ns = stats->previous_ns;
    /* A later time was received before the clock was set back. */
    if (stats->ticked_ns < (stats->window.newest + 1) * stats->window.bucket_ns) {
        last_ns = VAMP_MAX(last_ns, stats->ticked_ns);
    }
    vamp_window_finish(&stats->window, last_ns);
}

void vamp_stats_inherit(struct vamp_stats *stats, const struct vamp_stats *before)
{
    assert(!stats->window.started);
    vamp_cells_inherit(&stats->cells, &before->cells);
    stats->window.emitted = before->window.emitted;
    stats->window.without_memory = before->window.without_memory;
    stats->window.set_backs = before->window.set_backs;
    stats->window.placed = before->window.placed;
    stats->unwatched = before->unwatched;
    stats->unwatched_ns = before->unwatched_ns;
    stats->unnamed = before->unnamed;
}

void vamp_stats_totals(struct vamp_stats *stats, struct vamp_totals *ret_totals)
{
    memset(ret_totals, 0, sizeof *ret_totals);
    vamp_cells_totals(&stats->cells, ret_totals);
    ret_totals->buckets_without_memory = stats->window.without_memory;
    ret_totals->unwatched = stats->unwatched;
    ret_totals->unwatched_ns = stats->unwatched_ns;
}

static struct vamp_fill fill_of(const struct vamp_tracker *tracker, enum vamp_pending_class class)
{
    return (struct vamp_fill){tracker->classes[class].count, tracker->max_pending};
}

void vamp_stats_state(const struct vamp_stats *stats, struct vamp_stats_state *ret_state)
{
    const struct vamp_window *window = &stats->window;
    const struct vamp_series_table *series = &stats->cells.series;
    const struct vamp_tracker *tracker = &stats->tracker;
    *ret_state = (struct vamp_stats_state){
        .started = window->started,
        .oldest_ns = window->oldest * window->bucket_ns,
        .newest_ns = window->newest * window->bucket_ns,
        .closed = window->emitted,
        .set_backs = window->set_backs,
        .cdos = {tracker->tracked.count, tracker->max_cdos},
        .received = fill_of(tracker, VAMP_CLASS_RECEIVED),
        .demands = fill_of(tracker, VAMP_CLASS_DEMANDS),
        .transports = fill_of(tracker, VAMP_CLASS_TRANSPORTS),
        .components = {vamp_components_listed(series->components),
                       stats->cells.schema.max_components},
        .label_set_count = series->set_count,
        .gone = stats->gone,
    };
    for (unsigned i = 0; i < series->set_count; i++) {
        ret_state->label_set_names[i] = series->descriptions[i].name;
        ret_state->series[i] =
            (struct vamp_fill){series->sets[i].count, series->descriptions[i].max_series};
    }
}
