/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/event_sink.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vampire/core/clock.h"
#include "vampire/core/losses.h"

/* What waits in the writer's own buffer goes out at least this often. */
#define FLUSH_NS VAMP_NS_PER_SECOND
/* How long the caller of finish waits for room for the last marks. */
#define ROOM_NS 200000

struct vamp_event_sink {
    const struct vamp_writer_ops *ops;
    const void *options;
    void *writer;
    char *path;
    struct vamp_ring *ring;
    pthread_t thread;
    bool started, abandoned;

    /* The producer's. */
    struct vamp_losses losses;
    uint64_t queued;  /* events handed in and wanted */
    uint64_t refused; /* of them, those that found no room */
    char name[VAMP_OUTPUT_NAME_BYTES];

    /* The thread's, read by others. */
    _Atomic uint64_t written, lost;
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
    atomic_store(&sink->written, written);
    atomic_store(&sink->lost, lost);
}

static void drain(struct vamp_event_sink *sink)
{
    const struct vamp_event *event = NULL;
    while ((event = vamp_ring_next(sink->ring)) != NULL) {
        struct vamp_err err = VAMP_ERR_NONE;
        note_failure(sink, sink->ops->events->record(sink->writer, event, &err), &err);
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

/* Signals belong to the program's own threads. */
static int start_thread(struct vamp_event_sink *sink, struct vamp_err *err)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&sink->thread, NULL, run_thread, sink);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) {
        return vamp_err_set_errno(err, code, "start the thread of output \"%s\"", sink->name);
    }
    sink->started = true;
    return 0;
}

/* ---- the producer */

static int open_all(struct vamp_event_sink *sink, const struct vamp_writer_target *target,
                    struct vamp_err *err)
{
    int code = vamp_ring_create(sink->ops->events->buffer_bytes(sink->options), &sink->ring, err);
    if (code == 0) {
        code = sink->ops->open(sink->options, target, &sink->writer, err);
    }
    if (code != 0) {
        return code;
    }
    sink->path = strdup(sink->ops->path(sink->writer));
    if (sink->path == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "open output \"%s\"", sink->name);
    }
    return start_thread(sink, err);
}

int vamp_event_sink_create(const struct vamp_writer_ops *ops, const void *options,
                           const struct vamp_writer_target *target,
                           struct vamp_event_sink **ret_sink, struct vamp_err *err)
{
    struct vamp_event_sink *sink = calloc(1, sizeof *sink);
    if (sink == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "open output \"%s\"", target->name);
    }
    sink->ops = ops;
    sink->options = options;
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

const char *vamp_event_sink_path(const struct vamp_event_sink *sink)
{
    return sink->path;
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
    if (sink->writer != NULL) {
        (void)sink->ops->close(sink->writer, NULL, &ignored);
    }
    vamp_ring_free(sink->ring);
    free(sink->path);
    free(sink);
}
