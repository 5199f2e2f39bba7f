/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/trace/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "vampire/stats/pairing/track.h"
#include "writers/trace/drawing.h"

/* What is paired at the same time; reserved, and touched as it fills. */
#define CDOS_MAX (UINT64_C(1) << 18)
#define PENDING_MAX (UINT64_C(1) << 18)
#define COMPONENTS_MAX UINT64_C(16384)

struct vamp_timeline {
    struct vamp_components *components;
    struct vamp_tracker tracker;
    struct vamp_observation seen;
    struct vamp_slot slot; /* only for the CDOs whose record ended */
    struct vamp_trace_drawing drawing;
};

int vamp_timeline_create(const struct vamp_timeline_options *options,
                         const struct vamp_trace_sink_ops *sink, void *sink_self,
                         struct vamp_timeline **ret_timeline, struct vamp_err *err)
{
    struct vamp_timeline *timeline = calloc(1, sizeof *timeline);
    if (timeline == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "make a timeline");
    }
    timeline->drawing = (struct vamp_trace_drawing){
        .options = options, .sink = sink, .sink_self = sink_self, .end.begin_ns = INT64_MIN};
    timeline->seen.slot = &timeline->slot;
    timeline->slot.cdos = calloc(VAMP_CDO_ROWS_MAX, sizeof *timeline->slot.cdos);
    const struct vamp_stats_options pairing = {
        .level = VAMP_LEVEL_CDO,
        .max_components = COMPONENTS_MAX,
        .max_cdos = CDOS_MAX,
        .max_pending = PENDING_MAX,
    };
    int code = timeline->slot.cdos != NULL ? 0 : vamp_err_set_errno(err, ENOMEM, "make a timeline");
    if (code == 0) {
        code = vamp_components_create(COMPONENTS_MAX, &timeline->components, err);
        timeline->drawing.components = timeline->components;
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
    vamp_trace_tracks_done(&timeline->drawing.tracks);
    free(timeline->slot.cdos);
    free(timeline);
}

void vamp_timeline_describe(const struct vamp_timeline *timeline, struct vamp_trace_end *ret_end)
{
    *ret_end = timeline->drawing.end;
}

/* ---- what an event means */

/* From so long ago until the event. */
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

/* The parts of a demand's wait, one after the other; those without length are not drawn. Returns
 * how many there are. */
static unsigned parts_of(const struct vamp_timeline *timeline, const struct vamp_trace_span *demand,
                         struct vamp_trace_span parts[static VAMP_WAIT_PART_COUNT])
{
    const struct vamp_observation *seen = &timeline->seen;
    parts[0] = *demand;
    parts[0].what = VAMP_TRACE_PART;
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
            parts[count].word = vamp_wait_part_name(part);
            parts[count].start_ns = (int64_t)from;
            parts[count++].end_ns = (int64_t)(from + seen->part_ns[part]);
        }
        from += seen->part_ns[part];
    }
    return count;
}

static int draw_demand(struct vamp_timeline *timeline, struct vamp_err *err)
{
    const struct vamp_observation *seen = &timeline->seen;
    if (!vamp_observed(seen, VAMP_INTERVAL_DEMAND_WAIT)) {
        return 0;
    }
    struct vamp_trace_span spans[1 + VAMP_WAIT_PART_COUNT] = {
        span_until_now(timeline, VAMP_TRACE_DEMAND, seen->interval_ns[VAMP_INTERVAL_DEMAND_WAIT])};
    const unsigned count = 1 + parts_of(timeline, &spans[0], spans + 1);
    return vamp_trace_draw(&timeline->drawing,
                           vamp_trace_process_of(seen->labels.value[VAMP_LABEL_COMPONENT]),
                           VAMP_TRACE_WAITS, spans, count, err);
}

static int draw_wait(struct vamp_timeline *timeline, enum vamp_interval interval,
                     enum vamp_trace_what what, struct vamp_err *err)
{
    const struct vamp_observation *seen = &timeline->seen;
    if (!vamp_observed(seen, interval)) {
        return 0;
    }
    struct vamp_trace_span span = span_until_now(timeline, what, seen->interval_ns[interval]);
    return vamp_trace_draw(&timeline->drawing,
                           vamp_trace_process_of(seen->labels.value[VAMP_LABEL_COMPONENT]),
                           VAMP_TRACE_WAITS, &span, 1, err);
}

/* Both ends of a transport, and the arrow between them; of an unknown source only the sink's. */
static int draw_transport(struct vamp_timeline *timeline, struct vamp_err *err)
{
    const struct vamp_observation *seen = &timeline->seen;
    if (!vamp_observed(seen, VAMP_INTERVAL_TRANSPORT)) {
        return 0;
    }
    const uint32_t source = seen->labels.value[VAMP_LABEL_SOURCE];
    const uint32_t sink = seen->labels.value[VAMP_LABEL_SINK];
    struct vamp_trace_span receive =
        span_until_now(timeline, VAMP_TRACE_RECEIVE, seen->interval_ns[VAMP_INTERVAL_TRANSPORT]);
    if (source == VAMP_NAME_UNKNOWN) {
        return vamp_trace_draw(&timeline->drawing, vamp_trace_process_of(sink), VAMP_TRACE_RECEIVES,
                               &receive, 1, err);
    }
    return vamp_trace_draw_transport(&timeline->drawing, source, sink, &receive, err);
}

static int draw_anomalies(struct vamp_timeline *timeline, struct vamp_err *err)
{
    const struct vamp_observation *seen = &timeline->seen;
    int code = 0;
    for (unsigned i = 0;
         (seen->found & VAMP_FOUND_ANOMALY) != 0 && i < VAMP_ANOMALY_COUNT && code == 0; i++) {
        if (seen->anomalies[i] > 0) {
            struct vamp_trace_span mark = span_until_now(timeline, VAMP_TRACE_MARK, 0);
            mark.word = vamp_anomaly_name(i);
            mark.count = seen->anomalies[i];
            code = vamp_trace_draw(&timeline->drawing,
                                   vamp_trace_process_of(seen->labels.value[VAMP_LABEL_COMPONENT]),
                                   VAMP_TRACE_MARKS, &mark, 1, err);
        }
    }
    return code;
}

/* The demands of the component of this row, or of VAMP_ALL_ROWS, that nothing will satisfy any
 * more.
 */
static int draw_pending(struct vamp_timeline *timeline, uint32_t row, int64_t now_ns,
                        enum vamp_cdo_end end, struct vamp_err *err)
{
    struct vamp_pending_demand demand;
    uint32_t position = 0;
    int code = 0;
    while (code == 0 && vamp_track_next_demand(&timeline->tracker, row, &position, &demand)) {
        const struct vamp_trace_span span = {
            .what = VAMP_TRACE_PENDING,
            .start_ns = demand.since_ns < now_ns ? demand.since_ns : now_ns,
            .end_ns = now_ns,
            .cdo = demand.cdo,
            .id = demand.id,
            .id_known = demand.id_known,
            .size_bytes = demand.size_bytes,
            .size_known = demand.size_known,
            .peer = vamp_components_name(timeline->components, demand.producer),
            .end = vamp_cdo_end_name(end),
        };
        const uint32_t name =
            demand.row == 0 ? VAMP_NAME_UNKNOWN
                            : vamp_components_row(timeline->components, demand.row)->name_number;
        code = vamp_trace_draw(&timeline->drawing, vamp_trace_process_of(name), VAMP_TRACE_WAITS,
                               &span, 1, err);
    }
    return code;
}

/* The first time of the CDO that is known; the last one, or when its record ended. */
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
            life.start_ns = time_ns < life.start_ns ? time_ns : life.start_ns;
            last_ns = time_ns > last_ns ? time_ns : last_ns;
        }
    }
    life.end_ns = row->end == VAMP_CDO_END_DISPOSED && last_ns != INT64_MIN ? last_ns : now_ns;
    return life;
}

static int draw_life(struct vamp_timeline *timeline, const struct vamp_cdo_row *row, int64_t now_ns,
                     struct vamp_err *err)
{
    struct vamp_trace_span spans[2] = {life_of(row, now_ns)};
    const int64_t offered_ns = row->times_ns[VAMP_CDO_TIME_OFFERED];
    const int64_t withdrawn_ns = row->times_ns[VAMP_CDO_TIME_WITHDRAWN];
    unsigned count = 1;
    if (offered_ns != INT64_MIN && offered_ns <= spans[0].end_ns) {
        spans[count] = spans[0];
        spans[count].what = VAMP_TRACE_IN_POOL;
        spans[count].start_ns = offered_ns;
        spans[count].end_ns = withdrawn_ns >= offered_ns && withdrawn_ns < spans[0].end_ns
                                  ? withdrawn_ns
                                  : spans[0].end_ns;
        spans[count].end = NULL;
        count++;
    }
    return vamp_trace_draw(&timeline->drawing, vamp_trace_process_of(row->producer_number),
                           VAMP_TRACE_LIVES, spans, count, err);
}

/* The CDOs whose record this event has ended. */
static int draw_lives(struct vamp_timeline *timeline, int64_t now_ns, struct vamp_err *err)
{
    struct vamp_slot *slot = &timeline->slot;
    int code = 0;
    for (unsigned i = 0; i < slot->cdo_count && code == 0; i++) {
        code = draw_life(timeline, &slot->cdos[i], now_ns, err);
    }
    timeline->drawing.end.left_out += slot->cdos_unlisted;
    slot->cdo_count = 0;
    slot->cdos_unlisted = 0;
    return code;
}

static int draw_observation(struct vamp_timeline *timeline, struct vamp_err *err)
{
    const int64_t now_ns = timeline->seen.event->time_ns;
    timeline->drawing.end.evicted += timeline->seen.evicted;
    int code = draw_transport(timeline, err);
    code = code != 0 ? code : draw_demand(timeline, err);
    code = code != 0 ? code
                     : draw_wait(timeline, VAMP_INTERVAL_WITHDRAW_WAIT, VAMP_TRACE_WITHDRAW, err);
    code = code != 0 ? code : draw_wait(timeline, VAMP_INTERVAL_LEAVE_WAIT, VAMP_TRACE_LEAVE, err);
    code = code != 0 ? code : draw_anomalies(timeline, err);
    return code != 0 ? code : draw_lives(timeline, now_ns, err);
}

/* ---- the stream */

/* The demands of the components whose stays end by this event; before they are released. */
static int draw_pending_of_ended(struct vamp_timeline *timeline, const struct vamp_event *event,
                                 struct vamp_err *err)
{
    uint32_t row = 0;
    if (event->kind == VAMP_EVENT_GONE) {
        row = VAMP_ALL_ROWS;
    } else if (event->kind == VAMP_EVENT_JOIN && event->phase == VAMP_PHASE_AFTER) {
        row = vamp_components_replaced(timeline->components);
    } else if (event->kind == VAMP_EVENT_LEAVE && event->phase == VAMP_PHASE_AFTER &&
               vamp_event_has(event, VAMP_HAS_APP)) {
        const struct vamp_component *component =
            vamp_components_find(timeline->components, event->app_id);
        row = component != NULL ? component->index : 0;
    }
    return row != 0 ? draw_pending(timeline, row, event->time_ns, VAMP_CDO_END_LEFT, err) : 0;
}

/* What ends by this event, those stays included that have no LEAVE. */
static int draw_ended(struct vamp_timeline *timeline, const struct vamp_event *event,
                      struct vamp_err *err)
{
    struct vamp_event leave;
    uint32_t position = 0;
    int code = draw_pending_of_ended(timeline, event, err);
    while (code == 0 &&
           vamp_track_next_ended(&timeline->tracker, event, &position, &leave, &timeline->seen)) {
        code = draw_observation(timeline, err);
    }
    return code;
}

static int draw_mark(struct vamp_timeline *timeline, const struct vamp_event *event,
                     const char *word, struct vamp_err *err)
{
    const struct vamp_trace_span mark = {
        .what = VAMP_TRACE_MARK,
        .start_ns = event->time_ns,
        .end_ns = event->time_ns,
        .word = word,
        .cdo = "",
        .count = event->count,
    };
    return vamp_trace_draw(&timeline->drawing, VAMP_TRACE_RUN_PROCESS, VAMP_TRACE_MARKS, &mark, 1,
                           err);
}

static int take_mark(struct vamp_timeline *timeline, const struct vamp_event *mark,
                     struct vamp_err *err)
{
    int code = 0;
    switch (mark->kind) {
    case VAMP_EVENT_LOST:
        return draw_mark(timeline, mark, "events lost", err);
    case VAMP_EVENT_REJECTED:
        return draw_mark(timeline, mark, "events not understood", err);
    case VAMP_EVENT_GONE:
        code = draw_mark(timeline, mark, "pool manager gone", err);
        code = code != 0 ? code : draw_ended(timeline, mark, err);
        vamp_components_gone(timeline->components, mark->time_ns);
        return code;
    case VAMP_EVENT_UNWATCHED:
        return draw_mark(timeline, mark, "pool manager back", err);
    default:
        return 0;
    }
}

static int take_operation(struct vamp_timeline *timeline, const struct vamp_event *event,
                          struct vamp_err *err)
{
    (void)vamp_components_observe(timeline->components, event);
    const int code = draw_ended(timeline, event, err);
    if (code != 0) {
        return code;
    }
    vamp_track(&timeline->tracker, event, &timeline->seen);
    return draw_observation(timeline, err);
}

static int begin_at(struct vamp_timeline *timeline, int64_t time_ns, struct vamp_err *err)
{
    struct vamp_trace_end *end = &timeline->drawing.end;
    if (end->begin_ns != INT64_MIN) {
        end->end_ns = time_ns > end->end_ns ? time_ns : end->end_ns;
        return 0;
    }
    end->begin_ns = end->end_ns = time_ns;
    return timeline->drawing.sink->begin(timeline->drawing.sink_self, time_ns, err);
}

int vamp_timeline_event(struct vamp_timeline *timeline, const struct vamp_event *event,
                        struct vamp_err *err)
{
    struct vamp_event mark;
    if (event->kind == VAMP_EVENT_TIME) {
        return 0;
    }
    if (!vamp_time_is_valid(event->time_ns)) {
        if (!vamp_event_is_mark(event) || timeline->drawing.end.begin_ns == INT64_MIN) {
            return 0; /* the statistics reject it */
        }
        mark = *event;
        mark.time_ns = timeline->drawing.end.end_ns;
        event = &mark;
    }
    const int code = begin_at(timeline, event->time_ns, err);
    if (code != 0) {
        return code;
    }
    return vamp_event_is_mark(event) ? take_mark(timeline, event, err)
                                     : take_operation(timeline, event, err);
}

int vamp_timeline_finish(struct vamp_timeline *timeline, struct vamp_err *err)
{
    const int64_t now_ns = timeline->drawing.end.end_ns;
    vamp_track_finish(&timeline->tracker, &timeline->slot);
    const int code = draw_pending(timeline, VAMP_ALL_ROWS, now_ns, VAMP_CDO_END_RUN, err);
    return code != 0 ? code : draw_lives(timeline, now_ns, err);
}
