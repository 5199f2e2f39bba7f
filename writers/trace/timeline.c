/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/trace/timeline.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

#include "vampire/core/values.h"
#include "vampire/stats/pairing/track.h"

/* Limits on pending CDOs, waits and transports. Their memory is reserved up front and used as they
 * fill. */
#define CDOS_MAX (UINT64_C(1) << 18)
#define PENDING_MAX (UINT64_C(1) << 18)
#define COMPONENTS_MAX UINT64_C(16384)

/* The run is process 0; components have a process per name, from 1 on. */
#define RUN_PROCESS 0
#define PROCESSES_MAX (vamp_components_names_max(COMPONENTS_MAX) + 1)

/* Two spans and both ends of an arrow. */
#define TRANSPORT_ENTRIES 4

/* A span is placed on the track of its process and kind whose last span has the latest end before
 * the span's start, or on a new track. Spans come in the order of their ends, so spans on a track
 * never overlap. */
struct track {
    struct vamp_trace_track shown;
    uint32_t next; /* next track of the same process and kind: its number plus 1; 0: none */
};

struct vamp_timeline {
    const struct vamp_timeline_options *options;
    const struct vamp_trace_sink_ops *sink;
    void *sink_self;
    struct vamp_components *components;
    struct vamp_tracker tracker;
    struct vamp_observation seen;
    struct vamp_slot slot;     /* only for the CDOs whose record ended */
    struct vamp_trace_end end; /* totals of the trace; begin_ns is set before anything is drawn */
    struct track *tracks;      /* array of options->max_tracks, of which track_count are used */
    uint32_t track_count;
    /* First track by process and kind, encoded like `next`. */
    uint32_t (*first)[VAMP_TRACE_KIND_COUNT];
    uint64_t *waited_ns; /* waiting time within the range, by process */
    uint64_t arrows;
    bool full;
    /* The first failure of the current call and its text. After a failure nothing more is drawn. */
    int code;
    struct vamp_err *err;
};

int vamp_timeline_create(const struct vamp_timeline_options *options,
                         const struct vamp_trace_sink_ops *sink, void *sink_self,
                         struct vamp_timeline **ret_timeline, struct vamp_err *err)
{
    const struct vamp_stats_options pairing = {
        .level = VAMP_LEVEL_CDO,
        .max_components = COMPONENTS_MAX,
        .max_cdos = CDOS_MAX,
        .max_pending = PENDING_MAX,
    };
    struct vamp_timeline *timeline = calloc(1, sizeof *timeline);
    if (timeline == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "make a timeline");
    }
    timeline->options = options;
    timeline->sink = sink;
    timeline->sink_self = sink_self;
    timeline->end.begin_ns = INT64_MIN;
    timeline->end.is_part =
        options->from_ns > 0 || options->length_ns > 0 || options->components.count > 0;
    timeline->seen.slot = &timeline->slot;
    timeline->slot.cdos = calloc(VAMP_CDO_ROWS_MAX, sizeof *timeline->slot.cdos);
    timeline->tracks = calloc(options->max_tracks, sizeof *timeline->tracks);
    timeline->first = calloc(PROCESSES_MAX, sizeof *timeline->first);
    timeline->waited_ns = calloc(PROCESSES_MAX, sizeof *timeline->waited_ns);
    int code = 0;
    if (timeline->slot.cdos == NULL || timeline->tracks == NULL || timeline->first == NULL ||
        timeline->waited_ns == NULL) {
        code = vamp_err_set_errno(err, ENOMEM, "make a timeline");
    }
    if (code == 0) {
        code = vamp_components_create(COMPONENTS_MAX, &timeline->components, err);
    }
    if (code == 0) {
        code = vamp_tracker_init(&timeline->tracker, &pairing, timeline->components, err);
    }
    if (code != 0) {
        vamp_timeline_free(timeline);
        return code;
    }
    *ret_timeline = timeline;
    return 0;
}

void vamp_timeline_free(struct vamp_timeline *timeline)
{
    if (timeline == NULL) {
        return;
    }
    vamp_tracker_done(&timeline->tracker);
    vamp_components_free(timeline->components);
    free(timeline->tracks);
    free(timeline->first);
    free(timeline->waited_ns);
    free(timeline->slot.cdos);
    free(timeline);
}

void vamp_timeline_describe(const struct vamp_timeline *timeline, struct vamp_trace_end *ret_end)
{
    *ret_end = timeline->end;
}

/* ---- drawing: time range, selected components, limits, and the track of each span */

/* Cuts a span and the `count` - 1 spans in it to the selected time range. Returns the number of
 * remaining spans. Times more than 292 years after the begin cannot be represented: such spans are
 * counted as `entries` dropped. */
static unsigned cut_to_range(struct vamp_timeline *timeline, struct vamp_trace_span *spans,
                             unsigned count, unsigned entries)
{
    const struct vamp_timeline_options *options = timeline->options;
    const int64_t begin_ns = timeline->end.begin_ns;
    int64_t ignored, first_ns = INT64_MIN, last_ns = INT64_MAX;
    unsigned left = 0;
    const bool overflows = __builtin_sub_overflow(spans->start_ns, begin_ns, &ignored) ||
                           __builtin_sub_overflow(spans->end_ns, begin_ns, &ignored) ||
                           __builtin_sub_overflow(spans->end_ns, spans->start_ns, &ignored);
    if (overflows) {
        timeline->end.left_out += entries;
        return 0;
    }
    if (options->from_ns > 0 && __builtin_add_overflow(begin_ns, options->from_ns, &first_ns)) {
        return 0;
    }
    if (options->length_ns > 0 &&
        __builtin_add_overflow(begin_ns + options->from_ns, options->length_ns, &last_ns)) {
        last_ns = INT64_MAX;
    }
    for (unsigned i = 0; i < count; i++) {
        if (i > 0 && left == 0) {
            break; /* without the outer span there are no inner ones */
        }
        struct vamp_trace_span span = spans[i];
        const bool is_cut = span.start_ns < first_ns || span.end_ns > last_ns;
        span.whole_ns = is_cut ? span.end_ns - span.start_ns : 0;
        span.start_ns = VAMP_MAX(span.start_ns, first_ns);
        span.end_ns = VAMP_MIN(span.end_ns, last_ns);
        /* A span that only touches the range is outside of it. */
        const bool is_whole_instant = span.start_ns == span.end_ns && !is_cut;
        if (span.start_ns < span.end_ns || is_whole_instant) {
            spans[left++] = span;
        }
    }
    return left;
}

static bool is_selected(const struct vamp_timeline *timeline, const char *component)
{
    const struct vamp_strings *patterns = &timeline->options->components;
    bool selected = patterns->count == 0;
    for (size_t i = 0; i < patterns->count && !selected; i++) {
        selected = fnmatch(patterns->items[i], component, 0) == 0;
    }
    return selected;
}

/* Reserves `count` more entries, or counts them as dropped and returns false. */
static bool reserve(struct vamp_timeline *timeline, unsigned count)
{
    struct vamp_trace_end *end = &timeline->end;
    timeline->full = timeline->full || timeline->options->max_events - end->written < count;
    if (timeline->full) {
        end->left_out += count;
    }
    return !timeline->full;
}

static uint32_t process_of(uint32_t name)
{
    return name + 1;
}

/* Returns the track of this process and kind for the span; adds a track if none is free. Returns
 * NULL if the limit on tracks is reached. */
static const struct vamp_trace_track *find_or_add_track(struct vamp_timeline *timeline,
                                                        uint32_t process, enum vamp_trace_kind kind,
                                                        const struct vamp_trace_span *span)
{
    assert(process < PROCESSES_MAX);
    uint32_t *const first = timeline->first[process];
    struct track *best = NULL;
    unsigned lanes = 0;
    bool is_first = true;
    /* Search the tracks of this process and kind. */
    for (uint32_t i = first[kind]; i != 0; i = timeline->tracks[i - 1].next, lanes++) {
        struct track *track = &timeline->tracks[i - 1];
        if (track->shown.end_ns <= span->start_ns &&
            (best == NULL || track->shown.end_ns > best->shown.end_ns)) {
            best = track;
        }
    }
    if (best == NULL) {
        /* The last quarter is reserved for waits, which are the main purpose of a trace. */
        uint64_t most = timeline->options->max_tracks;
        if (kind != VAMP_TRACE_WAITS) {
            most -= most / 4;
        }
        if (lanes == VAMP_TRACE_LANES_MAX || timeline->track_count >= most) {
            return NULL;
        }
        /* Add a track. */
        for (unsigned i = 0; i < VAMP_TRACE_KIND_COUNT; i++) {
            is_first = is_first && first[i] == 0;
        }
        best = &timeline->tracks[timeline->track_count];
        *best = (struct track){
            .shown = {.number = timeline->track_count,
                      .process = process,
                      .name = "events",
                      .lane = lanes,
                      .kind = kind,
                      .is_first = is_first},
            .next = first[kind],
        };
        if (process != RUN_PROCESS) {
            best->shown.name = vamp_components_name(timeline->components, process - 1);
        }
        first[kind] = ++timeline->track_count;
        timeline->code = timeline->sink->track(timeline->sink_self, &best->shown, timeline->err);
    }
    best->shown.end_ns = span->end_ns;
    return &best->shown;
}

/* Passes spans to the sink and counts them. */
static void write_spans(struct vamp_timeline *timeline, const struct vamp_trace_track *track,
                        const struct vamp_trace_span *spans, unsigned count)
{
    if (timeline->code == 0) {
        timeline->code =
            timeline->sink->spans(timeline->sink_self, track, spans, count, timeline->err);
        if (timeline->code == 0) {
            timeline->end.written += count + (spans[0].arrow != VAMP_TRACE_NO_ARROW);
        }
    }
}

/* Draws a span and the `count` - 1 spans in it on a track of the process. */
static void draw(struct vamp_timeline *timeline, uint32_t process, enum vamp_trace_kind kind,
                 struct vamp_trace_span *spans, unsigned count)
{
    if (timeline->code != 0) {
        return;
    }
    count = cut_to_range(timeline, spans, count, count);
    if (count == 0) {
        return;
    }
    if (process != RUN_PROCESS &&
        !is_selected(timeline, vamp_components_name(timeline->components, process - 1))) {
        return;
    }
    if (kind == VAMP_TRACE_WAITS) {
        timeline->waited_ns[process] += (uint64_t)(spans->end_ns - spans->start_ns);
    }
    if (!reserve(timeline, count)) {
        return;
    }
    const struct vamp_trace_track *track = find_or_add_track(timeline, process, kind, &spans[0]);
    if (track != NULL) {
        write_spans(timeline, track, spans, count);
    } else {
        timeline->end.crowded += count;
    }
}

/* Draws a transport between two components: a span on a track of each, and an arrow. */
static void draw_arrow(struct vamp_timeline *timeline, uint32_t source, uint32_t sink,
                       struct vamp_trace_span *receive)
{
    const char *source_name = vamp_components_name(timeline->components, source);
    const char *sink_name = vamp_components_name(timeline->components, sink);
    if (timeline->code != 0 || cut_to_range(timeline, receive, 1, TRANSPORT_ENTRIES) == 0) {
        return;
    }
    const bool selected = is_selected(timeline, sink_name) || is_selected(timeline, source_name);
    if (!selected || !reserve(timeline, TRANSPORT_ENTRIES)) {
        return;
    }
    const struct vamp_trace_track *receives =
        find_or_add_track(timeline, process_of(sink), VAMP_TRACE_RECEIVES, receive);
    if (timeline->code != 0) {
        return;
    }
    const struct vamp_trace_track *sends =
        find_or_add_track(timeline, process_of(source), VAMP_TRACE_SENDS, receive);
    if (receives == NULL || sends == NULL) {
        if (timeline->code == 0) {
            timeline->end.crowded += TRANSPORT_ENTRIES;
        }
        return;
    }
    struct vamp_trace_span send = *receive;
    send.what = VAMP_TRACE_SEND;
    send.peer = sink_name;
    receive->peer = source_name;
    send.arrow = VAMP_TRACE_ARROW_BEGINS;
    receive->arrow = VAMP_TRACE_ARROW_ENDS;
    send.arrow_id = receive->arrow_id = ++timeline->arrows;
    send.arrow_track = receives->number;
    receive->arrow_track = sends->number;
    write_spans(timeline, sends, &send, 1);
    write_spans(timeline, receives, receive, 1);
}

/* ---- from observations to spans */

/* Returns a span of `length_ns` that ends at the event. */
static struct vamp_trace_span span_until_now(struct vamp_timeline *timeline,
                                             enum vamp_trace_what what, uint64_t length_ns)
{
    const struct vamp_observation *seen = &timeline->seen;
    const struct vamp_event *event = seen->event;
    return (struct vamp_trace_span){
        .what = what,
        .start_ns = (int64_t)((uint64_t)event->time_ns - length_ns),
        .end_ns = event->time_ns,
        .cdo = vamp_track_cdo_name(&timeline->tracker, event),
        .id = event->cdo_id,
        .id_known = vamp_event_has(event, VAMP_HAS_CDO_ID),
        .size_bytes = seen->size_bytes,
        .size_known = seen->size_known,
    };
}

/* Determines the parts of a demand's wait, in order, without those of length 0. Returns their
 * number. */
static unsigned parts_of(const struct vamp_timeline *timeline, const struct vamp_trace_span *demand,
                         struct vamp_trace_span parts[static VAMP_WAIT_PART_COUNT])
{
    const struct vamp_observation *seen = &timeline->seen;
    parts[0] = *demand;
    parts[0].what = VAMP_TRACE_PART;
    parts[0].part = VAMP_WAIT_UNKNOWN;
    parts[0].word = vamp_wait_part_name(VAMP_WAIT_UNKNOWN);
    parts[0].peer = vamp_components_name(timeline->components, seen->producer);
    if (!seen->parts_known) {
        return 1;
    }
    unsigned count = 0;
    uint64_t from = (uint64_t)demand->start_ns;
    for (unsigned part = 0; part < VAMP_WAIT_UNKNOWN; part++) {
        if (seen->part_ns[part] > 0) {
            parts[count] = parts[0];
            parts[count].part = part;
            parts[count].word = vamp_wait_part_name(part);
            parts[count].start_ns = (int64_t)from;
            parts[count++].end_ns = (int64_t)(from + seen->part_ns[part]);
        }
        from += seen->part_ns[part];
    }
    return count;
}

/* Draws on a track of the component that caused the event. */
static void draw_own(struct vamp_timeline *timeline, enum vamp_trace_kind kind,
                     struct vamp_trace_span *spans, unsigned count)
{
    draw(timeline, process_of(timeline->seen.labels.value[VAMP_LABEL_COMPONENT]), kind, spans,
         count);
}

/* Draws a wait that ended with this event, if one did; a demand with the parts of its wait. */
static void draw_wait(struct vamp_timeline *timeline, enum vamp_interval interval,
                      enum vamp_trace_what what)
{
    const struct vamp_observation *seen = &timeline->seen;
    if (vamp_observed(seen, interval)) {
        struct vamp_trace_span spans[1 + VAMP_WAIT_PART_COUNT] = {
            span_until_now(timeline, what, seen->interval_ns[interval])};
        unsigned count = 1;
        if (what == VAMP_TRACE_DEMAND) {
            count += parts_of(timeline, &spans[0], spans + 1);
        }
        draw_own(timeline, VAMP_TRACE_WAITS, spans, count);
    }
}

/* Draws both ends of a transport and the arrow, or only the sink's end if the source is unknown. */
static void draw_transport(struct vamp_timeline *timeline)
{
    const struct vamp_observation *seen = &timeline->seen;
    if (!vamp_observed(seen, VAMP_INTERVAL_TRANSPORT)) {
        return;
    }
    const uint32_t source = seen->labels.value[VAMP_LABEL_SOURCE];
    const uint32_t sink = seen->labels.value[VAMP_LABEL_SINK];
    struct vamp_trace_span receive =
        span_until_now(timeline, VAMP_TRACE_RECEIVE, seen->interval_ns[VAMP_INTERVAL_TRANSPORT]);
    if (source == VAMP_NAME_UNKNOWN) {
        draw(timeline, process_of(sink), VAMP_TRACE_RECEIVES, &receive, 1);
    } else {
        draw_arrow(timeline, source, sink, &receive);
    }
}

static void draw_anomalies(struct vamp_timeline *timeline)
{
    const struct vamp_observation *seen = &timeline->seen;
    for (unsigned i = 0; (seen->found & VAMP_FOUND_ANOMALY) != 0 && i < VAMP_ANOMALY_COUNT; i++) {
        if (seen->anomalies[i] > 0) {
            struct vamp_trace_span mark = span_until_now(timeline, VAMP_TRACE_MARK, 0);
            mark.word = vamp_anomaly_name(i);
            mark.count = seen->anomalies[i];
            draw_own(timeline, VAMP_TRACE_MARKS, &mark, 1);
        }
    }
}

/* Draws the demands of a component (VAMP_ALL_ROWS: of all) that can no longer be satisfied. */
static void draw_pending(struct vamp_timeline *timeline, uint32_t row, int64_t now_ns,
                         enum vamp_cdo_end end)
{
    struct vamp_pending_demand demand;
    uint32_t position = 0;
    while (vamp_track_next_demand(&timeline->tracker, row, &position, &demand)) {
        struct vamp_trace_span span = {
            .what = VAMP_TRACE_PENDING,
            .start_ns = VAMP_MIN(demand.since_ns, now_ns),
            .end_ns = now_ns,
            .cdo = demand.cdo,
            .id = demand.id,
            .id_known = demand.id_known,
            .size_bytes = demand.size_bytes,
            .size_known = demand.size_known,
            .peer = vamp_components_name(timeline->components, demand.producer),
            .end = vamp_cdo_end_name(end),
        };
        uint32_t name = VAMP_NAME_UNKNOWN;
        if (demand.row != 0) {
            name = vamp_components_row(timeline->components, demand.row)->name_number;
        }
        draw(timeline, process_of(name), VAMP_TRACE_WAITS, &span, 1);
    }
}

/* Returns a span from the first known time of the CDO to the last one, or to the end of its record.
 */
static struct vamp_trace_span life_of(const struct vamp_cdo_row *row, int64_t now_ns)
{
    struct vamp_trace_span life = {
        .what = VAMP_TRACE_LIFE,
        .start_ns = now_ns,
        .end_ns = now_ns,
        .cdo = row->name,
        .id = row->id,
        .id_known = row->id_known,
        .size_bytes = row->size_bytes,
        .size_known = row->size_known,
        .end = vamp_cdo_end_name(row->end),
    };
    int64_t last_ns = INT64_MIN;
    for (unsigned i = 0; i < VAMP_CDO_TIME_COUNT; i++) {
        const int64_t time_ns = row->times_ns[i];
        if (time_ns != INT64_MIN) {
            life.start_ns = VAMP_MIN(life.start_ns, time_ns);
            last_ns = VAMP_MAX(last_ns, time_ns);
        }
    }
    if (row->end == VAMP_CDO_END_DISPOSED && last_ns != INT64_MIN) {
        life.end_ns = last_ns;
    }
    return life;
}

/* Draws the lifecycle of a CDO and, inside of it, the time in the pool. */
static void draw_life(struct vamp_timeline *timeline, const struct vamp_cdo_row *row,
                      int64_t now_ns)
{
    struct vamp_trace_span spans[2] = {life_of(row, now_ns)};
    const int64_t offered_ns = row->times_ns[VAMP_CDO_TIME_OFFERED];
    const int64_t withdrawn_ns = row->times_ns[VAMP_CDO_TIME_WITHDRAWN];
    const bool in_pool = offered_ns != INT64_MIN && offered_ns <= spans[0].end_ns;
    if (in_pool) {
        spans[1] = spans[0];
        spans[1].what = VAMP_TRACE_IN_POOL;
        spans[1].start_ns = offered_ns;
        if (withdrawn_ns >= offered_ns) {
            spans[1].end_ns = VAMP_MIN(withdrawn_ns, spans[0].end_ns);
        }
        spans[1].end = NULL;
    }
    draw(timeline, process_of(row->producer_number), VAMP_TRACE_LIVES, spans, in_pool ? 2 : 1);
}

/* Draws the CDOs whose record ended with this event. */
static void draw_lives(struct vamp_timeline *timeline, int64_t now_ns)
{
    struct vamp_slot *slot = &timeline->slot;
    for (unsigned i = 0; i < slot->cdo_count; i++) {
        draw_life(timeline, &slot->cdos[i], now_ns);
    }
    timeline->end.left_out += slot->cdos_unlisted;
    slot->cdo_count = 0;
    slot->cdos_unlisted = 0;
}

static void draw_observation(struct vamp_timeline *timeline)
{
    timeline->end.evicted += timeline->seen.evicted;
    draw_transport(timeline);
    draw_wait(timeline, VAMP_INTERVAL_DEMAND_WAIT, VAMP_TRACE_DEMAND);
    draw_wait(timeline, VAMP_INTERVAL_WITHDRAW_WAIT, VAMP_TRACE_WITHDRAW);
    draw_wait(timeline, VAMP_INTERVAL_LEAVE_WAIT, VAMP_TRACE_LEAVE);
    draw_anomalies(timeline);
    draw_lives(timeline, timeline->seen.event->time_ns);
}

/* ---- the stream */

/* Draws the demands of components that end with this event, before the demands are released. */
static void draw_pending_of_ended(struct vamp_timeline *timeline, const struct vamp_event *event)
{
    const bool handled = event->phase == VAMP_PHASE_AFTER;
    uint32_t row = 0;
    if (event->kind == VAMP_EVENT_GONE) {
        row = VAMP_ALL_ROWS;
    } else if (event->kind == VAMP_EVENT_JOIN && handled) {
        row = vamp_components_replaced(timeline->components);
    } else if (event->kind == VAMP_EVENT_LEAVE && handled && vamp_event_has(event, VAMP_HAS_APP)) {
        const struct vamp_component *component =
            vamp_components_find(timeline->components, event->app_id);
        if (component != NULL) {
            row = component->index;
        }
    }
    if (row != 0) {
        draw_pending(timeline, row, event->time_ns, VAMP_CDO_END_LEFT);
    }
}

/* Draws all spans that end with this event, including those of components without a LEAVE. */
static void draw_ended(struct vamp_timeline *timeline, const struct vamp_event *event)
{
    struct vamp_event leave;
    uint32_t position = 0;
    draw_pending_of_ended(timeline, event);
    while (vamp_track_next_ended(&timeline->tracker, event, &position, &leave, &timeline->seen)) {
        draw_observation(timeline);
    }
}

/* Draws a control event as an instant of the run. GONE ends all components. */
static void draw_control(struct vamp_timeline *timeline, const struct vamp_event *event)
{
    static const char *const words[] = {
        [VAMP_EVENT_GONE] = "pool manager gone",
        [VAMP_EVENT_UNWATCHED] = "pool manager back",
        [VAMP_EVENT_LOST] = "events lost",
        [VAMP_EVENT_REJECTED] = "events not understood",
    };
    assert(event->kind <= VAMP_EVENT_REJECTED && words[event->kind] != NULL);
    struct vamp_trace_span mark = {
        .what = VAMP_TRACE_MARK,
        .start_ns = event->time_ns,
        .end_ns = event->time_ns,
        .word = words[event->kind],
        .cdo = "",
        .count = event->count,
    };
    draw(timeline, RUN_PROCESS, VAMP_TRACE_MARKS, &mark, 1);
    if (event->kind == VAMP_EVENT_GONE) {
        draw_ended(timeline, event);
        vamp_components_gone(timeline->components, event->time_ns);
    }
}

static bool is_never_drawn(enum vamp_event_kind kind)
{
    return kind == VAMP_EVENT_TIME || kind == VAMP_EVENT_SAMPLE || kind == VAMP_EVENT_UNWANTED;
}

int vamp_timeline_event(struct vamp_timeline *timeline, const struct vamp_event *event,
                        struct vamp_err *err)
{
    struct vamp_trace_end *end = &timeline->end;
    struct vamp_event control;
    timeline->code = 0;
    timeline->err = err;
    if (is_never_drawn(event->kind)) {
        return 0;
    }
    if (!vamp_time_is_valid(event->time_ns)) {
        if (!vamp_event_is_mark(event) || end->begin_ns == INT64_MIN) {
            return 0; /* the statistics reject this event */
        }
        control = *event; /* a control event without a time has that of the newest event */
        control.time_ns = end->end_ns;
        event = &control;
    }
    if (end->begin_ns == INT64_MIN) {
        end->begin_ns = end->end_ns = event->time_ns;
        if (timeline->sink->begin != NULL) {
            timeline->code = timeline->sink->begin(timeline->sink_self, event->time_ns, err);
        }
    }
    end->end_ns = VAMP_MAX(end->end_ns, event->time_ns);
    if (vamp_event_is_mark(event)) {
        draw_control(timeline, event);
        return timeline->code;
    }
    (void)vamp_components_observe(timeline->components, event);
    draw_ended(timeline, event);
    vamp_track(&timeline->tracker, event, &timeline->seen);
    draw_observation(timeline);
    return timeline->code;
}

/* Compares two processes by their waiting time, longest first, for qsort_r. */
static int compare_waits(const void *left, const void *right, void *context)
{
    const uint64_t *waited_ns = context;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (waited_ns[a] != waited_ns[b]) {
        return waited_ns[a] < waited_ns[b] ? 1 : -1;
    }
    return (a > b) - (a < b);
}

/* Orders the run first, then the processes by their waiting time, longest first. */
static void order_processes(struct vamp_timeline *timeline)
{
    uint32_t *processes = calloc((size_t)timeline->track_count + 1, sizeof *processes);
    size_t count = 0;
    if (processes == NULL) {
        timeline->code = vamp_err_set_errno(timeline->err, ENOMEM, "order the tracks");
        return;
    }
    for (uint32_t i = 0; i < timeline->track_count; i++) {
        if (timeline->tracks[i].shown.is_first) {
            processes[count++] = timeline->tracks[i].shown.process;
        }
    }
    timeline->waited_ns[RUN_PROCESS] = UINT64_MAX;
    qsort_r(processes, count, sizeof *processes, compare_waits, timeline->waited_ns);
    timeline->code = timeline->sink->order(timeline->sink_self, processes, count, timeline->err);
    free(processes);
}

int vamp_timeline_finish(struct vamp_timeline *timeline, struct vamp_err *err)
{
    const int64_t now_ns = timeline->end.end_ns;
    timeline->code = 0;
    timeline->err = err;
    vamp_track_finish(&timeline->tracker, &timeline->slot);
    draw_pending(timeline, VAMP_ALL_ROWS, now_ns, VAMP_CDO_END_RUN);
    draw_lives(timeline, now_ns);
    if (timeline->code == 0 && timeline->sink->order != NULL) {
        order_processes(timeline);
    }
    return timeline->code;
}
