/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/event_sink.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vampire/core/clock.h"
#include "vampire/core/components.h"
#include "vampire/core/losses.h"
#include "vampire/core/thread.h"
#include "writers/paths.h"

/* What waits in the writer's own buffer goes out at least this often. */
#define FLUSH_NS VAMP_NS_PER_SECOND
/* How long the caller of finish waits for room for the last marks. */
#define ROOM_NS 200000
/* Components that are told again in each segment, those that left included. */
#define CARRIED_MAX 16384

struct vamp_event_sink {
    const struct vamp_writer_ops *ops;
    const void *options;
    void *writer;
    char *path; /* of the first segment */
    struct vamp_ring *ring;
    pthread_t thread;
    bool started, abandoned;

    /* The thread's: rotation. */
    struct vamp_event_sink_options rotation;
    struct vamp_writer_target target; /* the present segment */
    struct vamp_components *components;
    bool any;                    /* event in this segment */
    bool carry;                  /* the JOINs stand in front of the next event */
    int64_t period;              /* of rotate_ns */
    uint64_t refused_bytes;      /* the size at which no new segment could be made */
    uint64_t written_in_earlier; /* segments */
    uint64_t lost_in_earlier;
    struct vamp_paths paths; /* of the segments; others' when the thread has ended */

    /* The producer's. */
    struct vamp_losses losses;
    uint64_t queued;  /* events handed in and wanted */
    uint64_t refused; /* of them, those that found no room */
    char name[VAMP_OUTPUT_NAME_BYTES];

    /* The thread's, read by others. */
    _Atomic uint64_t written, lost;
    atomic_uint segment;
    atomic_int failure; /* 0: none; -errno */
    atomic_bool told;
    struct vamp_err err; /* unchanged once `failure` is set */
};

/* ---- the thread */

static void note_failure(struct vamp_event_sink *sink, int code, const struct vamp_err *err)
{
    if (code != 0 && atomic_load(&sink->failure) == 0) {
        sink->err = *err;
        atomic_store(&sink->failure, code);
    }
}

static void publish(struct vamp_event_sink *sink)
{
    uint64_t written = 0, lost = 0;
    sink->ops->events->account(sink->writer, &written, &lost);
    atomic_store(&sink->written, sink->written_in_earlier + written);
    atomic_store(&sink->lost, sink->lost_in_earlier + lost);
}

/* ---- rotation */

static int64_t period_of(const struct vamp_event_sink *sink, const struct vamp_event *event)
{
    const int64_t length = sink->rotation.rotate_ns;
    if (length <= 0) {
        return 0;
    }
    return event->time_ns / length - (event->time_ns % length < 0);
}

/* Times may go back and forth a little; a segment never does. */
static bool rotation_is_due(const struct vamp_event_sink *sink, const struct vamp_event *event)
{
    return sink->any && !vamp_event_is_mark(event) &&
           (period_of(sink, event) > sink->period ||
            (sink->rotation.rotate_bytes > 0 &&
             sink->ops->bytes(sink->writer) >= sink->rotation.rotate_bytes + sink->refused_bytes));
}

/* The JOIN of whoever the row says is there, as of `time_ns`. False: it was not seen to join, or
 * has left. */
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

static void carry_joins(struct vamp_event_sink *sink, int64_t time_ns)
{
    for (size_t i = 1; i < vamp_components_count(sink->components); i++) {
        struct vamp_event join;
        if (join_of(vamp_components_row(sink->components, i), time_ns, &join)) {
            struct vamp_err err = VAMP_ERR_NONE;
            note_failure(sink, sink->ops->events->carry(sink->writer, &join, &err), &err);
        }
    }
}

static void learn_present(struct vamp_event_sink *sink, const struct vamp_components *present)
{
    for (size_t i = 1; i < vamp_components_count(present); i++) {
        const struct vamp_component *row = vamp_components_row(present, i);
        struct vamp_event join;
        if (join_of(row, row->joined_ns, &join)) {
            (void)vamp_components_observe(sink->components, &join);
        }
    }
    sink->carry = true;
}

/* Completes the present segment and begins the next one with `event`. */
static void rotate(struct vamp_event_sink *sink, const struct vamp_event *event)
{
    struct vamp_err err = VAMP_ERR_NONE;
    note_failure(sink, sink->ops->events->flush(sink->writer, &err), &err);
    uint64_t written = 0, lost = 0;
    sink->ops->events->account(sink->writer, &written, &lost);
    struct vamp_writer_target target = sink->target;
    target.segment++;
    target.events_before += written + lost;
    void *writer = NULL;
    int code = sink->ops->open(sink->options, &target, &writer, &err);
    if (code != 0) {
        /* Nothing is lost by a file that grows; later there may be room for another. */
        note_failure(sink, code, &err);
        sink->refused_bytes += sink->rotation.rotate_bytes;
        sink->period = period_of(sink, event);
        return;
    }
    note_failure(sink, sink->ops->close(sink->writer, NULL, &err), &err);
    sink->writer = writer;
    sink->target = target;
    atomic_store(&sink->segment, target.segment);
    sink->written_in_earlier += written;
    sink->lost_in_earlier += lost;
    sink->refused_bytes = 0;
    sink->any = false;
    sink->carry = true;
    vamp_paths_add(&sink->paths, sink->ops->path(writer));
}

/* Follows who is there, and begins a new segment before this event if it is time. */
static void prepare(struct vamp_event_sink *sink, const struct vamp_event *event)
{
    if (rotation_is_due(sink, event)) {
        rotate(sink, event);
    }
    if (event->kind == VAMP_EVENT_GONE) {
        vamp_components_gone(sink->components, event->time_ns);
    } else if (!vamp_event_is_mark(event)) {
        if (sink->carry) {
            carry_joins(sink, event->time_ns);
            sink->carry = false;
        }
        (void)vamp_components_observe(sink->components, event);
        sink->period = sink->any ? sink->period : period_of(sink, event);
        sink->any = true;
    }
}

static void take(struct vamp_event_sink *sink, const struct vamp_event *event)
{
    struct vamp_err err = VAMP_ERR_NONE;
    if (sink->components != NULL) {
        prepare(sink, event);
    }
    note_failure(sink, sink->ops->events->record(sink->writer, event, &err), &err);
}

/* ---- the loop */

static void drain(struct vamp_event_sink *sink)
{
    const struct vamp_event *event = NULL;
    while ((event = vamp_ring_next(sink->ring)) != NULL) {
        take(sink, event);
        vamp_ring_release(sink->ring);
    }
}

static void *run_thread(void *context)
{
    struct vamp_event_sink *sink = context;
    while (!vamp_ring_finished(sink->ring)) {
        vamp_ring_wait(sink->ring, FLUSH_NS);
        drain(sink);
        struct vamp_err err = VAMP_ERR_NONE;
        note_failure(sink, sink->ops->events->flush(sink->writer, &err), &err);
        publish(sink);
    }
    return NULL;
}

static int start_thread(struct vamp_event_sink *sink, struct vamp_err *err)
{
    const int code = vamp_thread_start(&sink->thread, sink->name, run_thread, sink, err);
    sink->started = code == 0;
    return code;
}

/* ---- the producer */

static int open_all(struct vamp_event_sink *sink, const struct vamp_writer_target *target,
                    struct vamp_err *err)
{
    int code = vamp_ring_create(sink->ops->events->buffer_bytes(sink->options), &sink->ring, err);
    if (code == 0) {
        code = sink->ops->open(sink->options, target, &sink->writer, err);
    }
    const struct vamp_components *present = sink->rotation.present;
    if (code == 0 &&
        (sink->rotation.rotate_bytes > 0 || sink->rotation.rotate_ns > 0 || present != NULL)) {
        code = vamp_components_create(CARRIED_MAX, &sink->components, err);
    }
    if (code != 0) {
        return code;
    }
    if (present != NULL) {
        learn_present(sink, present);
    }
    sink->path = strdup(sink->ops->path(sink->writer));
    if (sink->path == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "open output \"%s\"", sink->name);
    }
    vamp_paths_add(&sink->paths, sink->path);
    return start_thread(sink, err);
}

int vamp_event_sink_create(const struct vamp_writer_ops *ops, const void *options,
                           const struct vamp_event_sink_options *rotation,
                           const struct vamp_writer_target *target,
                           struct vamp_event_sink **ret_sink, struct vamp_err *err)
{
    struct vamp_event_sink *sink = calloc(1, sizeof *sink);
    if (sink == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "open output \"%s\"", target->name);
    }
    sink->ops = ops;
    sink->options = options;
    sink->rotation = *rotation;
    sink->target = *target;
    atomic_store(&sink->segment, target->segment);
    (void)snprintf(sink->name, sizeof sink->name, "%s", target->name);
    int code = open_all(sink, target, err);
    if (code != 0) {
        vamp_event_sink_free(sink);
        return code;
    }
    *ret_sink = sink;
    return 0;
}

void vamp_event_sink_record(struct vamp_event_sink *sink, const struct vamp_event *event,
                            bool passed)
{
    const bool is_mark = vamp_event_is_mark(event);
    if (!is_mark && !sink->ops->events->wants(sink->options, event, passed)) {
        return;
    }
    sink->queued += !is_mark;
    if (vamp_losses_tell(&sink->losses, sink->ring) && vamp_ring_push(sink->ring, event)) {
        return;
    }
    sink->refused += !is_mark;
    vamp_losses_note(&sink->losses, event, VAMP_LOSS_RECORDING);
}

bool vamp_event_sink_crowded(const struct vamp_event_sink *sink)
{
    return vamp_ring_used_bytes(sink->ring) > vamp_ring_capacity_bytes(sink->ring) / 2;
}

void vamp_event_sink_account(const struct vamp_event_sink *sink,
                             struct vamp_output_account *ret_account)
{
    *ret_account = (struct vamp_output_account){
        .queued = sink->queued,
        .written = atomic_load(&sink->written),
        .lost = sink->refused + atomic_load(&sink->lost),
    };
    ret_account->waiting = ret_account->queued - ret_account->written - ret_account->lost;
    (void)snprintf(ret_account->name, sizeof ret_account->name, "%s", sink->name);
}

bool vamp_event_sink_failure(struct vamp_event_sink *sink, struct vamp_err *ret_err)
{
    if (atomic_load(&sink->failure) == 0 || atomic_exchange(&sink->told, true)) {
        return false;
    }
    *ret_err = sink->err;
    return true;
}

unsigned vamp_event_sink_segment(const struct vamp_event_sink *sink)
{
    return atomic_load(&sink->segment);
}

size_t vamp_event_sink_paths(const struct vamp_event_sink *sink,
                             void (*each)(void *context, const char *path), void *context)
{
    /* Before, the thread may still own them. */
    return sink->started ? 0 : vamp_paths_each(&sink->paths, each, context);
}

/* ---- the end */

static bool join_in_time(struct vamp_event_sink *sink, int64_t deadline_ns)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(deadline_ns / VAMP_NS_PER_SECOND);
    /* The thread empties the ring, so there will be room; else it is stuck. */
    const struct timespec pause = {.tv_nsec = ROOM_NS};
    struct timespec now = until;
    while (!vamp_losses_tell(&sink->losses, sink->ring)) {
        (void)nanosleep(&pause, NULL);
        (void)clock_gettime(CLOCK_REALTIME, &now);
        if (now.tv_sec > until.tv_sec) {
            return false;
        }
    }
    vamp_ring_close(sink->ring);
    return pthread_timedjoin_np(sink->thread, NULL, &until) == 0;
}

int vamp_event_sink_finish(struct vamp_event_sink *sink, const struct vamp_ending *ending,
                           int64_t deadline_ns, struct vamp_err *err)
{
    if (!join_in_time(sink, deadline_ns)) {
        sink->abandoned = true;
        return vamp_err_set(err, -ETIMEDOUT, "%s could not be completed in time", sink->path);
    }
    sink->started = false;
    struct vamp_err close_err = VAMP_ERR_NONE;
    note_failure(sink, sink->ops->close(sink->writer, ending, &close_err), &close_err);
    sink->writer = NULL;
    struct vamp_output_account account;
    vamp_event_sink_account(sink, &account);
    const int failure = atomic_load(&sink->failure);
    if (failure != 0) {
        return vamp_err_set(err, failure, "%" PRIu64 " events are lost: %.400s", account.lost,
                            sink->err.text);
    }
    return account.lost == 0 ? 0
                             : vamp_err_set(err, -ENOBUFS,
                                            "%" PRIu64 " events found no room and are lost; a "
                                            "larger \"buffer\" may help",
                                            account.lost);
}

void vamp_event_sink_free(struct vamp_event_sink *sink)
{
    if (sink == NULL || sink->abandoned) {
        return;
    }
    if (sink->started) {
        vamp_ring_close(sink->ring);
        (void)pthread_join(sink->thread, NULL);
    }
    struct vamp_err ignored = VAMP_ERR_NONE;
    const struct vamp_ending given_up = {.reason = "given up"}; /* no other segment follows */
    if (sink->writer != NULL) {
        (void)sink->ops->close(sink->writer, &given_up, &ignored);
    }
    vamp_paths_done(&sink->paths);
    vamp_components_free(sink->components);
    vamp_ring_free(sink->ring);
    free(sink->path);
    free(sink);
}
