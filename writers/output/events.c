/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outputs of events: a ring into which events are copied. Each segment begins with the JOINs of
 * the components present, and control events in the target report events that were lost because
 * the ring was full.
 *
 * With `when`, events are written only while one of these alarms fires, and for some time before
 * it, as far as the history reaches. Each such period is a separate, complete recording. Events
 * move from the history to the ring while the ring has capacity.
 */
#include "writers/output/internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/alarms/change.h"
#include "vampire/alarms/firing.h"
#include "vampire/core/event/ring.h"
#include "vampire/core/values.h"
#include "writers/output/joins.h"

/* Maximum time between two flushes of the format's buffer. */
#define FLUSH_NS VAMP_NS_PER_SECOND
/* Limit on the components whose JOINs begin each segment, including components that left. */
#define COMPONENTS_MAX 16384
/* Limit on the control events since the last flush, which are repeated in the segment after a
 * failure. */
#define CONTROLS_MAX 16
/* A control event ends a batch of a recording. At most one control event about excluded events is
 * written in each of these periods of event time. */
#define LEFT_OUT_NS VAMP_NS_PER_SECOND
/* Events become visible to the output's thread after this number, or when no more come for now. */
#define PUBLISH_EVENTS 64

static const struct vamp_opt event_options[] = {
    OUTPUT_NAME_OPTION,
    {"filter", VAMP_OPT_STRING, offsetof(struct vamp_output_settings, filter), "", .max = 60000,
     .help = "An expression of the filter language; only events for which it holds are written, "
             "and joins and leaves, because they provide names"},
    {"buffer", VAMP_OPT_SIZE, offsetof(struct vamp_output_settings, buffer_bytes), "16MiB",
     .min = (uint64_t)64 << 10, .max = (uint64_t)4 << 30,
     .help = "Buffer for events waiting to be written, rounded up to a power of two; when it is "
             "full, events are lost and the file reports them"},
    {"filtered", VAMP_OPT_BOOL, offsetof(struct vamp_output_settings, filtered), "false",
     .help = "Whether events rejected by the filters are written too, so that a replay of a "
             "recording can use other filters"},
    {"when", VAMP_OPT_STRINGS, offsetof(struct vamp_output_settings, when), NULL,
     .max = VAMP_ALARM_NAME_BYTES - 1,
     .help = "Names of alarms: events are written only while one of them fires, to a new file each "
             "time; none: always"},
    {"before", VAMP_OPT_DURATION, offsetof(struct vamp_output_settings, before_ns), "30s",
     .max = (uint64_t)VAMP_NS_PER_SECOND * 86400, .only_with = VAMP_TARGET_BIT(VAMP_WITH_WHEN),
     .help = "How long before the condition began to hold a file begins, as far as events are in "
             "memory"},
    {"concerned", VAMP_OPT_BOOL, offsetof(struct vamp_output_settings, concerned), "false",
     .only_with = VAMP_TARGET_BIT(VAMP_WITH_WHEN),
     .help = "Whether only events of the components and the CDO that the alarm names are written"},
    {"limit", VAMP_OPT_DURATION, offsetof(struct vamp_output_settings, limit_ns), "10min",
     .min = VAMP_NS_PER_SECOND, .max = (uint64_t)VAMP_NS_PER_SECOND * 86400 * 366,
     .only_with = VAMP_TARGET_BIT(VAMP_WITH_WHEN),
     .help = "Event time after which a file ends even if the alarm still fires"},
    {"memory", VAMP_OPT_SIZE, offsetof(struct vamp_output_settings, memory_bytes), "64MiB",
     .min = (uint64_t)64 << 10, .max = (uint64_t)64 << 30,
     .only_with = VAMP_TARGET_BIT(VAMP_WITH_WHEN),
     .help =
         "Memory for the newest events, rounded up to a power of two; all outputs with \"when\" "
         "share one, as large as the largest asked for"},
    {.key = NULL},
};

/* The recording required by the alarms. Private to the submitting thread. */
struct trigger {
    struct vamp_history *history;
    const struct vamp_components *components; /* including components that left */
    void (*say)(void *context, bool error, const char *line);
    void *say_context;

    struct vamp_firing firing;
    struct vamp_firing recorded;     /* alarms that fired since the recording began */
    bool due;                        /* a recording must begin */
    bool writing;                    /* a recording has begun */
    bool goes_on;                    /* the next recording continues one from before a reload */
    int64_t first_ns;                /* start of the next recording */
    struct vamp_history_place place; /* position of the next event */
    bool ending;                     /* the recording ends at the event number `end_number` */
    uint64_t end_number;
    int64_t limit_at_ns;
    bool limited; /* the time limit was reached, and an alarm still fires */
};

struct event_queue {
    struct vamp_ring *ring;

    /* Private to the submitting thread. */
    struct vamp_losses losses;
    /* Number of events excluded since the control event at `reported_ns`. */
    struct vamp_event left_out;
    int64_t reported_ns;
    unsigned unpublished;
    bool (*filter)(void *context, const struct vamp_event *event);
    void *filter_context;
    struct trigger trigger; /* for outputs with `when` */

    /* Private to the output's thread. */
    uint64_t recorded_before;            /* events in earlier recordings */
    char recording[VAMP_ERR_TEXT_BYTES]; /* path of the current recording's first file */
    const struct vamp_event *current;
    struct vamp_components *components; /* present components, according to JOIN and LEAVE events */
    bool joins_due;                     /* JOINs must be written before the next event */
    struct vamp_event controls[CONTROLS_MAX]; /* control events written since the last flush */
    unsigned control_count;
    bool controls_due; /* all of `controls` must be written again before the next element */
};

/* ---- create and free */

VAMP_PRINTF(3, 4)
static void say(const struct vamp_output *output, bool error, const char *format, ...)
{
    const struct trigger *trigger = &((const struct event_queue *)output->queue)->trigger;
    char text[VAMP_ERR_TEXT_BYTES], line[VAMP_ERR_TEXT_BYTES + VAMP_OUTPUT_NAME_BYTES + 16];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)snprintf(line, sizeof line, "output %s: %s", output->settings->name, text);
    trigger->say(trigger->say_context, error, line);
}

/* Enlarges the history to the size that the output requires. */
static int prepare_trigger(struct vamp_output *output, const struct vamp_output_context *context,
                           struct vamp_err *err)
{
    struct trigger *trigger = &((struct event_queue *)output->queue)->trigger;
    assert(context->history != NULL && context->say != NULL);
    trigger->history = context->history;
    trigger->components = context->components;
    trigger->say = context->say;
    trigger->say_context = context->say_context;
    const int code =
        vamp_history_grow(trigger->history, (size_t)output->settings->memory_bytes, err);
    if (code == -EBUSY) {
        say(output, false, "\"memory\" cannot grow while vampire runs; it stays as it was");
        return 0;
    }
    return code;
}

static int event_queue_create(struct vamp_output *output, const struct vamp_output_context *context,
                              struct vamp_err *err)
{
    int code = vamp_worker_init(&output->worker, &(struct vamp_worker_bounds){0}, 1, err);
    struct event_queue *queue = calloc(1, sizeof *queue);
    output->queue = queue;
    if (code != 0) {
        return code;
    }
    if (queue == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "make a queue of events");
    }
    queue->filter = context->filter;
    queue->filter_context = context->filter_context;
    code = vamp_ring_create((size_t)output->settings->buffer_bytes, &queue->ring, err);
    if (code == 0) {
        output->bound = vamp_ring_capacity_bytes(queue->ring);
        output->crowded = output->bound / 2 + 1;
        code = vamp_components_create(COMPONENTS_MAX, &queue->components, err);
    }
    if (code == 0 && context->present != NULL) {
        output_learn_present(queue->components, context->present, INT64_MAX);
    }
    output->opens_later = output->settings->when.count > 0;
    if (code == 0 && output->opens_later) {
        code = prepare_trigger(output, context, err);
    }
    return code;
}

static void event_queue_done(struct vamp_output *output)
{
    struct event_queue *queue = output->queue;
    if (queue != NULL) {
        vamp_components_free(queue->components);
        vamp_ring_free(queue->ring);
        free(queue);
    }
}

/* ---- the submitting thread */

/* Returns whether the event is selected for writing. `passed`: the run's filters accepted it. */
static bool is_selected(const struct vamp_output *output, const struct vamp_event *event,
                        bool passed)
{
    const struct event_queue *queue = output->queue;
    if (event->kind == VAMP_EVENT_JOIN || event->kind == VAMP_EVENT_LEAVE) {
        return true;
    }
    if (!passed && !output->settings->filtered) {
        return false;
    }
    if (output->settings->concerned &&
        !vamp_firing_concerns(&queue->trigger.recorded, queue->trigger.components, event)) {
        return false;
    }
    return queue->filter == NULL || queue->filter(queue->filter_context, event);
}

static void publish_ring(struct event_queue *queue)
{
    vamp_ring_publish(queue->ring);
    queue->unpublished = 0;
}

/* Queues a control event with the number of excluded events, so that a replay reports them. */
static void report_left_out(struct event_queue *queue)
{
    if (queue->left_out.count > 0) {
        vamp_losses_note(&queue->losses, &queue->left_out, VAMP_LOSS_RECORDING);
        queue->reported_ns = queue->left_out.time_ns;
        queue->left_out.count = 0;
    }
}

/* Copies an event to the ring, or counts it as excluded or lost. */
static void queue_event(struct vamp_output *output, const struct vamp_event *event, bool passed)
{
    struct event_queue *queue = output->queue;
    const bool is_control = vamp_event_is_mark(event);
    if (!is_control && !is_selected(output, event, passed)) {
        queue->left_out.kind = VAMP_EVENT_UNWANTED;
        queue->left_out.time_ns = event->time_ns;
        if (event->kind != VAMP_EVENT_SAMPLE) { /* samples are not counted as events */
            queue->left_out.count++;
        }
        return;
    }
    /* Report excluded events with at most one control event per LEFT_OUT_NS. */
    if (event->time_ns / LEFT_OUT_NS != queue->reported_ns / LEFT_OUT_NS) {
        report_left_out(queue);
    }
    output_await_room(output);
    if (!is_control) {
        vamp_worker_count(&output->worker.queued, 1);
    }
    if (vamp_losses_push(&queue->losses, queue->ring, event)) {
        if (++queue->unpublished == PUBLISH_EVENTS) {
            publish_ring(queue);
        }
        return;
    }
    if (!is_control) {
        vamp_worker_count(&output->worker.refused, 1);
    }
    vamp_losses_note(&queue->losses, event, VAMP_LOSS_RECORDING);
}

/* ---- submitting thread, outputs with `when` */

/* Queues the start or end of a recording as an event of kind NONE. The text of a start is a pointer
 * to the components present at `first_ns`, whose ownership passes to the output's thread; NULL if
 * `first_ns` is INT64_MAX: that thread has the components already. An end has no text. */
static void put_border(const struct event_queue *queue, bool begins, int64_t first_ns)
{
    struct vamp_components *present = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    if (begins && first_ns < INT64_MAX &&
        vamp_components_create(vamp_components_count(queue->trigger.components) + 1, &present,
                               &err) == 0) {
        output_learn_present(present, queue->trigger.components, first_ns);
    }
    const struct vamp_event border = {
        .kind = VAMP_EVENT_NONE,
        .name = (const char *)&present,
        .name_length = begins ? sizeof present : 0,
    };
    const bool put = vamp_ring_push(queue->ring, &border);
    assert(put); /* the ring had capacity for an event */
    (void)put;
}

/* Counts events that the recording does not contain, and reports them in the recording. */
static void count_missed(struct vamp_output *output, uint64_t missed, int64_t time_ns)
{
    struct event_queue *queue = output->queue;
    const struct vamp_event control = {
        .kind = VAMP_EVENT_LOST,
        .reason = VAMP_LOSS_RECORDING,
        .count = missed,
        .time_ns = time_ns,
    };
    vamp_worker_count(&output->worker.queued, missed);
    vamp_worker_count(&output->worker.refused, missed);
    if (!vamp_losses_push(&queue->losses, queue->ring, &control)) {
        vamp_losses_note(&queue->losses, &control, VAMP_LOSS_RECORDING);
    }
}

/* Queues the next event of the recording, or its end. False: none in the history yet. */
static bool follow_event(struct vamp_output *output)
{
    struct event_queue *queue = output->queue;
    struct trigger *trigger = &queue->trigger;
    uint64_t missed = 0;
    const bool ends = trigger->ending && trigger->place.number >= trigger->end_number;
    const struct vamp_event *event = NULL;
    if (!ends) {
        event = vamp_history_next(trigger->history, &trigger->place, &missed);
        if (event == NULL) {
            return false;
        }
    }
    /* The end, because it was requested or the limit is reached. */
    if (event == NULL || event->time_ns >= trigger->limit_at_ns) {
        if (!ends) {
            trigger->limited = !trigger->ending;
            say(output, false,
                "the recording ends at its \"limit\" although the alarm still fires");
        }
        trigger->writing = false;
        report_left_out(queue);
        const bool reported = vamp_losses_finish(&queue->losses, queue->ring);
        assert(reported); /* there is capacity, as for the end of a recording */
        (void)reported;
        put_border(queue, false, 0);
        return true;
    }
    if (missed > 0) {
        say(output, true,
            "%" PRIu64 " events are missing in the recording: they came faster than they could be "
            "written; a larger \"memory\" keeps more",
            missed);
        count_missed(output, missed, event->time_ns);
    }
    queue_event(output, event, trigger->place.passed);
    return true;
}

/* Queues events of recordings while the queue is less than half full; the remaining events stay in
 * the history. */
static void follow_alarms(struct vamp_output *output)
{
    struct event_queue *queue = output->queue;
    struct trigger *trigger = &queue->trigger;
    bool more = true;
    while (more) {
        output_await_room(output);
        if (output->kind->used(output) >= output->bound / 2) {
            return;
        }
        if (trigger->due) {
            put_border(queue, true, trigger->goes_on ? INT64_MAX : trigger->first_ns);
            trigger->due = trigger->goes_on = false;
            trigger->writing = true;
        } else {
            more = trigger->writing && follow_event(output);
        }
    }
}

/* Requests a recording that begins at `from_ns`, or at the oldest kept event if that is later. A
 * recording in progress continues, even if its end was already requested. */
static void request_recording(struct vamp_output *output, int64_t from_ns)
{
    struct trigger *trigger = &((struct event_queue *)output->queue)->trigger;
    if (trigger->limited) {
        return; /* the alarm that reached the limit still fires */
    }
    trigger->ending = false;
    if (!trigger->writing && !trigger->due) {
        const int64_t oldest_ns = vamp_history_oldest_ns(trigger->history);
        const bool is_short = oldest_ns != INT64_MAX && oldest_ns > from_ns;
        const int64_t limit_ns = output->settings->limit_ns;
        trigger->due = true;
        trigger->first_ns = is_short ? oldest_ns : from_ns;
        trigger->limit_at_ns = INT64_MAX;
        if (limit_ns < INT64_MAX - trigger->first_ns) {
            trigger->limit_at_ns = trigger->first_ns + limit_ns;
        }
        trigger->place = vamp_history_find(trigger->history, from_ns);
        trigger->recorded = (struct vamp_firing){.count = 0};
        if (is_short && vamp_history_has_dropped(trigger->history)) {
            say(output, false,
                "the recording begins %.1f s later than requested: a larger \"memory\" keeps more "
                "events",
                (double)(oldest_ns - from_ns) / (double)VAMP_NS_PER_SECOND);
        }
    }
}

/* Requests the end of the recording after the newest event. */
static void request_end(struct trigger *trigger)
{
    trigger->limited = false;
    if (!trigger->ending) {
        trigger->ending = true;
        trigger->end_number = vamp_history_end(trigger->history).number;
    }
}

/* Requests a recording when an alarm fires, and its end when none fires any more. */
static void note_alarms(struct vamp_output *output, const struct vamp_bucket *bucket)
{
    struct trigger *trigger = &((struct event_queue *)output->queue)->trigger;
    for (unsigned i = 0; output->opens_later && i < bucket->alarm_count; i++) {
        const struct vamp_alarm_change *change = &bucket->alarms[i];
        const unsigned before = trigger->firing.count;
        if (!vamp_alarm_change_is_of(change, &output->settings->when)) {
            continue;
        }
        vamp_firing_note(&trigger->firing, change);
        if (trigger->firing.count > before) {
            request_recording(output, change->since_ns - output->settings->before_ns);
            vamp_firing_note(&trigger->recorded, change);
        } else if (trigger->firing.count == 0 && before > 0) {
            request_end(trigger);
        }
    }
}

static void submit_event(struct vamp_output *output, const struct vamp_event *event, bool passed)
{
    if (!output->opens_later) {
        queue_event(output, event, passed);
    }
}

static void publish_events(struct vamp_output *output)
{
    if (output->opens_later) {
        follow_alarms(output);
    }
    publish_ring(output->queue);
}

/* Takes over the firing alarms from the trigger before a reload; a recording in progress continues
 * in a new file. */
static void go_on_after(struct vamp_output *output, const struct vamp_output *before)
{
    struct trigger *trigger = &((struct event_queue *)output->queue)->trigger;
    const struct trigger *old = &((const struct event_queue *)before->queue)->trigger;
    if (!output->opens_later || !before->opens_later) {
        return;
    }
    trigger->firing = old->firing;
    trigger->limited = old->limited;
    if (trigger->firing.count > 0 && !trigger->limited) {
        trigger->due = trigger->goes_on = true;
        trigger->limit_at_ns = old->limit_at_ns;
        trigger->place = vamp_history_end(trigger->history);
        trigger->recorded = old->recorded;
    }
}

/* Returns the number of events between the last queued event and the end of the recording. */
static uint64_t rest_of(const struct trigger *trigger)
{
    if (!trigger->due && !trigger->writing) {
        return 0;
    }
    return vamp_minus(trigger->end_number, trigger->place.number);
}

/* Queues the remaining events of a recording. Returns true when all are queued; false: call again.
 * With `over`, drops those that do not fit, counts them as missed and returns true. */
static bool end_recording(struct vamp_output *output, bool over)
{
    struct trigger *trigger = &((struct event_queue *)output->queue)->trigger;
    request_end(trigger);
    publish_events(output);
    if (over && rest_of(trigger) > 0) {
        count_missed(output, rest_of(trigger), vamp_clock_utc_ns(output->clock));
    }
    return over || rest_of(trigger) == 0;
}

static uint64_t events_waiting(const struct vamp_output *output)
{
    return vamp_ring_used_bytes(((const struct event_queue *)output->queue)->ring);
}

/* Queues everything that remains. False, never with `over`: must be called again. */
static bool end_events(struct vamp_output *output, bool over)
{
    struct event_queue *queue = output->queue;
    report_left_out(queue);
    if (output->opens_later && !end_recording(output, over)) {
        return false;
    }
    if (!vamp_losses_finish(&queue->losses, queue->ring) && !over) {
        return false;
    }
    vamp_ring_close(queue->ring);
    return true;
}

/* ---- the output's thread */

static void wait_for_event(struct vamp_output *output)
{
    vamp_ring_wait(((struct event_queue *)output->queue)->ring, FLUSH_NS);
}

/* Begins a recording. Its file is opened at once, so that it exists even if no event follows. */
static void open_recording(struct vamp_output *output, struct vamp_components *present)
{
    struct event_queue *queue = output->queue;
    struct vamp_err err = VAMP_ERR_NONE;
    if (present != NULL) {
        vamp_components_free(queue->components);
        queue->components = present;
    }
    queue->recording[0] = '\0';
    queue->recorded_before = output->written_before;
    output->others_before = output->written_before + atomic_load(&output->worker.lost);
    if (output_open_segment(output, &err) != 0) {
        vamp_worker_say(&output->worker, &err); /* retried with the first event */
    }
}

/* Ends a recording: closes its file and reports the number of events in it. */
static void close_recording(struct vamp_output *output)
{
    struct event_queue *queue = output->queue;
    const struct vamp_ending ending = {
        .time_ns = vamp_clock_utc_ns(output->clock),
        .reason = "alarm resolved",
    };
    if (output->segment.writer != NULL) {
        output_close_segment(output, &ending, false);
    }
    if (queue->recording[0] != '\0') {
        vamp_worker_lock(&output->worker);
        (void)snprintf(output->remark, sizeof output->remark,
                       "recorded %" PRIu64 " events in %.400s",
                       output->written_before - queue->recorded_before, queue->recording);
        vamp_worker_unlock(&output->worker);
    }
}

/* Returns the next event. Processes starts and ends of recordings before it. */
static const struct vamp_event *next_event(struct vamp_output *output)
{
    struct event_queue *queue = output->queue;
    const struct vamp_event *event;
    for (;;) {
        event = vamp_ring_next(queue->ring);
        if (event == NULL || event->kind != VAMP_EVENT_NONE) {
            return event;
        }
        if (event->name_length > 0) {
            struct vamp_components *present;
            memcpy(&present, event->name, sizeof present);
            open_recording(output, present);
        } else {
            close_recording(output);
        }
        vamp_ring_release(queue->ring);
    }
}

static enum output_next take_event(struct vamp_output *output)
{
    struct event_queue *queue = output->queue;
    queue->current = next_event(output);
    if (queue->current == NULL) {
        return vamp_ring_finished(queue->ring) ? OUTPUT_NEVER : OUTPUT_NONE;
    }
    output->current = (struct output_element){.time_ns = queue->current->time_ns,
                                              .counts = !vamp_event_is_mark(queue->current)};
    return OUTPUT_TAKEN;
}

static int repeat_joins(const struct vamp_output *output, struct vamp_err *err)
{
    const struct event_queue *queue = output->queue;
    int code = 0;
    for (size_t i = 1; i < vamp_components_count(queue->components) && code == 0; i++) {
        struct vamp_event join;
        const struct vamp_component *row = vamp_components_row(queue->components, i);
        if (output_join_of(row, output->current.time_ns, &join)) {
            code = output->format->repeat_event(output->segment.writer, &join, err);
            if (code == 0 && output_sample_of(row, &join)) {
                code = output->format->repeat_event(output->segment.writer, &join, err);
            }
        }
    }
    return code;
}

/* Repeats the control events of a failed segment, and writes the JOINs of the components present.
 */
static int write_begin(struct vamp_output *output, struct vamp_err *err)
{
    struct event_queue *queue = output->queue;
    int code = 0;
    for (unsigned i = 0; queue->controls_due && i < queue->control_count && code == 0; i++) {
        code = output->format->write_event(output->segment.writer, &queue->controls[i], err);
    }
    if (code == 0) {
        queue->controls_due = false;
    }
    if (code == 0 && queue->joins_due && output->current.counts) {
        code = repeat_joins(output, err);
        queue->joins_due = code != 0;
    }
    return code;
}

/* Writes the current event after everything that is due before it. */
static int write_event(struct vamp_output *output, struct vamp_err *err)
{
    struct event_queue *queue = output->queue;
    int code = 0;
    const bool is_control = !output->current.counts;
    if (queue->controls_due || queue->joins_due) {
        code = write_begin(output, err);
    }
    /* Flush if the list of control events is full. */
    if (code == 0 && is_control && queue->control_count == CONTROLS_MAX) {
        code = output->format->flush(output->segment.writer, err);
        if (code == 0) {
            queue->control_count = 0;
        }
    }
    if (code == 0) {
        code = output->format->write_event(output->segment.writer, queue->current, err);
    }
    if (code == 0 && is_control) {
        queue->controls[queue->control_count++] = *queue->current;
    }
    return code;
}

static bool changes_components(enum vamp_event_kind kind)
{
    return kind == VAMP_EVENT_JOIN || kind == VAMP_EVENT_LEAVE || kind == VAMP_EVENT_SAMPLE;
}

/* Removes the current event from the queue, after adding it to the components present. */
static void release_event(struct vamp_output *output, bool written)
{
    (void)written;
    struct event_queue *queue = output->queue;
    const struct vamp_event *event = queue->current;
    if (event->kind == VAMP_EVENT_GONE) {
        vamp_components_gone(queue->components, event->time_ns);
    } else if (changes_components(event->kind)) {
        (void)vamp_components_observe(queue->components, event);
    }
    queue->current = NULL;
    vamp_ring_release(queue->ring);
}

/* Drops the control events that were flushed. */
static void events_flushed(struct vamp_output *output)
{
    struct event_queue *queue = output->queue;
    if (!queue->controls_due) {
        queue->control_count = 0;
    }
}

/* Called when a segment was opened: control events that were not flushed, and JOINs, are due. */
static void begin_event_segment(struct vamp_output *output)
{
    struct event_queue *queue = output->queue;
    queue->joins_due = true;
    queue->controls_due = queue->control_count > 0;
    if (queue->recording[0] == '\0') {
        (void)snprintf(queue->recording, sizeof queue->recording, "%s",
                       output->format->path(output->segment.writer));
    }
}

const struct output_kind output_of_events = {
    .unit = "event",
    .bound_unit = "bytes",
    .options = event_options,
    .queue_option = "buffer",
    .create = event_queue_create,
    .done = event_queue_done,
    .bucket = note_alarms,
    .event = submit_event,
    .publish = publish_events,
    .go_on = go_on_after,
    .used = events_waiting,
    .end = end_events,
    .wait = wait_for_event,
    .take = take_event,
    .write = write_event,
    .release = release_event,
    .flushed = events_flushed,
    .begin_segment = begin_event_segment,
};
