/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs of events: a ring into which events are copied; each segment begins with the JOINs of the
 * components that are present, and a mark in the target itself reports events that found no
 * room. */
#include "writers/output/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vampire/core/event/ring.h"

/* The format's own buffer is flushed at least this often. */
#define FLUSH_NS VAMP_NS_PER_SECOND
/* Pause between two attempts to find room for the last marks at the end. */
#define ROOM_NS 200000
/* Components whose JOINs stand in each segment, those that left included. */
#define COMPONENTS_MAX 16384
/* Marks since the last flush, which the next segment repeats when this one fails. */
#define MARKS_MAX 16
/* The output's thread sees events after this many, or when no more come for now. */
#define PUBLISH_EVENTS 64

static const struct vamp_opt event_options[] = {
    OUTPUT_NAME_OPTION,
    {.key = "filter",
     .type = VAMP_OPT_STRING,
     .preset = "",
     .max = 60000,
     .offset = offsetof(struct vamp_output_settings, filter),
     .help = "An expression of the filter language; only events for which it holds are written, "
             "and joins and leaves, because they provide names"},
    {.key = "buffer",
     .type = VAMP_OPT_SIZE,
     .preset = "16MiB",
     .min = (uint64_t)64 << 10,
     .max = (uint64_t)4 << 30,
     .offset = offsetof(struct vamp_output_settings, buffer_bytes),
     .help = "Buffer for events waiting to be written, rounded up to a power of two; when it is "
             "full, events are lost and the file reports them"},
    {.key = "filtered",
     .type = VAMP_OPT_BOOL,
     .preset = "false",
     .offset = offsetof(struct vamp_output_settings, filtered),
     .help = "Whether events rejected by the filters are written too, so that a replay of a "
             "recording can use other filters"},
    OUTPUT_FINISH_OPTION,
    {.key = NULL},
};

struct event_queue {
    struct vamp_ring *ring;

    /* The submitting thread's. */
    struct vamp_losses losses;
    unsigned unpublished;
    bool (*filter)(void *context, const struct vamp_event *event);
    void *filter_context;

    /* The output's thread's. */
    const struct vamp_event *current;
    struct vamp_components *components; /* components present, from JOIN and LEAVE */
    bool joins_due;                     /* before the next event */
    struct vamp_event marks[MARKS_MAX]; /* taken by the format since the last flush */
    unsigned mark_count;
    bool marks_due; /* of these all, before the next element */
};

/* ---- create and free */

/* The JOIN of the component in this row, as of `time_ns`. False: it was not seen to join, or has
 * left. */
static bool join_of(const struct vamp_component *row, int64_t time_ns, struct vamp_event *ret_join)
{
    *ret_join = (struct vamp_event){
        .kind = VAMP_EVENT_JOIN,
        .phase = VAMP_PHASE_AFTER,
        .time_ns = time_ns,
        .app_id = row->app_id,
        .name = row->name,
        .name_length = (uint32_t)strlen(row->name),
        .present = VAMP_HAS_TIME | VAMP_HAS_APP | VAMP_HAS_COMPONENT_NAME,
    };
    return row->left_ns == INT64_MIN && row->joined_ns != INT64_MIN;
}

static void learn_present(struct event_queue *queue, const struct vamp_components *present)
{
    for (size_t i = 1; i < vamp_components_count(present); i++) {
        const struct vamp_component *row = vamp_components_row(present, i);
        struct vamp_event join;
        if (join_of(row, row->joined_ns, &join)) {
            (void)vamp_components_observe(queue->components, &join);
        }
    }
}

static int event_queue_create(struct vamp_output *output, const struct vamp_output_context *context,
                              struct vamp_err *err)
{
    int code = vamp_worker_init(&output->worker, &(struct vamp_worker_bounds){0}, 1, err);
    struct event_queue *queue = calloc(1, sizeof *queue);
    output->queue = queue;
    if (code != 0 || queue == NULL) {
        return code != 0 ? code : vamp_err_set_errno(err, ENOMEM, "make a queue of events");
    }
    output->usually_waiting = 100000; /* which a disk takes in an instant */
    queue->filter = context->filter;
    queue->filter_context = context->filter_context;
    code = vamp_ring_create((size_t)output->settings->buffer_bytes, &queue->ring, err);
    if (code == 0) {
        output->bound = vamp_ring_capacity_bytes(queue->ring);
        output->crowded = output->bound / 2 + 1;
        code = vamp_components_create(COMPONENTS_MAX, &queue->components, err);
    }
    if (code == 0 && context->present != NULL) {
        learn_present(queue, context->present);
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

static bool wants(const struct vamp_output *output, const struct vamp_event *event, bool passed)
{
    const struct event_queue *queue = output->queue;
    return event->kind == VAMP_EVENT_JOIN || event->kind == VAMP_EVENT_LEAVE ||
           ((passed || output->settings->filtered) &&
            (queue->filter == NULL || queue->filter(queue->filter_context, event)));
}

static void publish_events(struct vamp_output *output)
{
    struct event_queue *queue = output->queue;
    vamp_ring_publish(queue->ring);
    queue->unpublished = 0;
}

static void submit_event(struct vamp_output *output, const struct vamp_event *event, bool passed)
{
    struct event_queue *queue = output->queue;
    const bool is_mark = vamp_event_is_mark(event);
    if (!is_mark && !wants(output, event, passed)) {
        return;
    }
    output_await_room(output);
    if (!is_mark) {
        vamp_worker_count(&output->worker.queued, 1);
    }
    if (vamp_losses_push(&queue->losses, queue->ring, event)) {
        if (++queue->unpublished == PUBLISH_EVENTS) {
            publish_events(output);
        }
        return;
    }
    if (!is_mark) {
        vamp_worker_count(&output->worker.refused, 1);
    }
    vamp_losses_note(&queue->losses, event, VAMP_LOSS_RECORDING);
}

static uint64_t events_waiting(const struct vamp_output *output)
{
    return vamp_ring_used_bytes(((const struct event_queue *)output->queue)->ring);
}

static void end_events(struct vamp_output *output, int64_t until_ns)
{
    struct event_queue *queue = output->queue;
    const struct timespec pause = {.tv_nsec = ROOM_NS};
    while (!vamp_losses_finish(&queue->losses, queue->ring) && vamp_worker_now_ns() < until_ns) {
        (void)nanosleep(&pause, NULL);
    }
    vamp_ring_close(queue->ring);
}

/* ---- the output's thread */

static void wait_for_event(struct vamp_output *output)
{
    vamp_ring_wait(((struct event_queue *)output->queue)->ring, FLUSH_NS);
}

static enum output_next take_event(struct vamp_output *output)
{
    struct event_queue *queue = output->queue;
    queue->current = vamp_ring_next(queue->ring);
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
        if (join_of(vamp_components_row(queue->components, i), output->current.time_ns, &join)) {
            code = output->format->repeat_event(output->segment.writer, &join, err);
        }
    }
    return code;
}

/* Marks of the segment that failed, and the JOINs of the components that are present. */
static int write_begin(struct vamp_output *output, struct vamp_err *err)
{
    struct event_queue *queue = output->queue;
    int code = 0;
    for (unsigned i = 0; queue->marks_due && i < queue->mark_count && code == 0; i++) {
        code = output->format->write_event(output->segment.writer, &queue->marks[i], err);
    }
    queue->marks_due = queue->marks_due && code != 0;
    if (code == 0 && queue->joins_due && output->current.counts) {
        code = repeat_joins(output, err);
        queue->joins_due = code != 0;
    }
    return code;
}

static int write_event(struct vamp_output *output, struct vamp_err *err)
{
    struct event_queue *queue = output->queue;
    int code = queue->marks_due || queue->joins_due ? write_begin(output, err) : 0;
    if (code == 0 && !output->current.counts && queue->mark_count == MARKS_MAX) {
        code = output->format->flush(output->segment.writer, err);
        queue->mark_count = code == 0 ? 0 : queue->mark_count;
    }
    if (code == 0) {
        code = output->format->write_event(output->segment.writer, queue->current, err);
    }
    if (code == 0 && !output->current.counts) {
        queue->marks[queue->mark_count++] = *queue->current;
    }
    return code;
}

static void release_event(struct vamp_output *output, bool written)
{
    (void)written;
    struct event_queue *queue = output->queue;
    const struct vamp_event *event = queue->current;
    if (event->kind == VAMP_EVENT_GONE) {
        vamp_components_gone(queue->components, event->time_ns);
    } else if (event->kind == VAMP_EVENT_JOIN || event->kind == VAMP_EVENT_LEAVE) {
        (void)vamp_components_observe(queue->components, event);
    }
    queue->current = NULL;
    vamp_ring_release(queue->ring);
}

static void events_flushed(struct vamp_output *output)
{
    struct event_queue *queue = output->queue;
    queue->mark_count = queue->marks_due ? queue->mark_count : 0;
}

static void begin_event_segment(struct vamp_output *output)
{
    struct event_queue *queue = output->queue;
    queue->joins_due = true;
    queue->marks_due = queue->mark_count > 0;
}

const struct output_kind output_of_events = {
    .unit = "event",
    .bound_unit = "bytes",
    .options = event_options,
    .queue_option = "buffer",
    .create = event_queue_create,
    .done = event_queue_done,
    .event = submit_event,
    .publish = publish_events,
    .used = events_waiting,
    .end = end_events,
    .wait = wait_for_event,
    .take = take_event,
    .write = write_event,
    .release = release_event,
    .flushed = events_flushed,
    .begin_segment = begin_event_segment,
};
