/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/sink_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Beyond the deadline, for a writer that is just giving up and closing. */
#define STUCK_NS (2 * VAMP_NS_PER_SECOND)

int64_t vamp_sink_now_ns(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

void vamp_sink_note_failure(struct vamp_sink *sink, const struct vamp_err *failure)
{
    (void)pthread_mutex_lock(&sink->lock);
    if (!sink->abandoned) {
        sink->newest_failure = *failure;
        sink->has_news = true;
        if (sink->first_failure.code == 0) {
            sink->first_failure = *failure;
        }
    }
    (void)pthread_mutex_unlock(&sink->lock);
}

void vamp_sink_wait_until(struct vamp_sink *sink, int64_t until_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(until_ns / VAMP_NS_PER_SECOND),
                                   .tv_nsec = (long)(until_ns % VAMP_NS_PER_SECOND)};
    (void)pthread_cond_timedwait(&sink->changed, &sink->lock, &until);
}

static void release_all(struct vamp_sink *sink)
{
    for (unsigned i = 0; i < sink->queued; i++) {
        vamp_bucket_release(sink->queue[(sink->first + i) % sink->options.queue_length].bucket);
    }
    vamp_paths_done(&sink->paths);
    free(sink->queue);
    vamp_carry_done(&sink->carry);
    vamp_carry_done(&sink->missed);
    (void)pthread_cond_destroy(&sink->changed);
    (void)pthread_mutex_destroy(&sink->lock);
    free(sink);
}

static int prepare(struct vamp_sink *sink, struct vamp_err *err)
{
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&sink->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&sink->lock, NULL);
    sink->queue = calloc(sink->options.queue_length, sizeof *sink->queue);
    if (sink->queue == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "queue of %u buckets", sink->options.queue_length);
    }
    int code = vamp_carry_init(&sink->carry, sink->schema->max_components, err);
    return code != 0 ? code : vamp_carry_init(&sink->missed, sink->schema->max_components, err);
}

int vamp_sink_create(const struct vamp_writer_ops *ops, const void *writer_options,
                     const struct vamp_sink_options *options,
                     const struct vamp_sink_surroundings *surroundings, struct vamp_sink **ret_sink,
                     struct vamp_err *err)
{
    struct vamp_sink *sink = calloc(1, sizeof *sink);
    if (sink == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "output \"%s\"", options->name);
    }
    sink->ops = ops;
    sink->writer_options = writer_options;
    sink->run = surroundings->run;
    sink->schema = surroundings->schema;
    sink->clock = surroundings->clock;
    sink->options = *options;
    sink->options.queue_length = options->queue_length > 0 ? options->queue_length : 1;
    sink->give_up_ns = VAMP_SINK_NEVER_NS;
    atomic_init(&sink->segment, options->segments_before);
    (void)snprintf(sink->account.name, sizeof sink->account.name, "%s", options->name);
    int code = prepare(sink, err);
    if (code == 0) {
        code = vamp_sink_open_segment(sink, NULL, err);
    }
    if (code == 0) {
        code = vamp_sink_start_thread(sink, err);
        if (code != 0) {
            (void)vamp_sink_close_segment(sink, NULL, true);
        }
    }
    if (code != 0) {
        release_all(sink);
        return vamp_err_wrap(err, "output \"%s\"", options->name);
    }
    *ret_sink = sink;
    return 0;
}

void vamp_sink_submit(struct vamp_sink *sink, const struct vamp_bucket *bucket)
{
    (void)pthread_mutex_lock(&sink->lock);
    sink->account.queued++;
    bool accepted = sink->queued < sink->options.queue_length && !sink->finishing;
    if (accepted) {
        unsigned at = (sink->first + sink->queued++) % sink->options.queue_length;
        sink->queue[at] = (struct vamp_sink_entry){.bucket = bucket, .lost_before = sink->refused};
        sink->refused = 0;
        sink->account.waiting++;
        (void)pthread_cond_signal(&sink->changed);
    } else {
        vamp_carry_add_bucket(&sink->missed, bucket);
        sink->refused++;
        sink->account.lost++;
    }
    (void)pthread_mutex_unlock(&sink->lock);
    if (!accepted) {
        vamp_bucket_release(bucket);
    }
}

unsigned vamp_sink_segment(const struct vamp_sink *sink)
{
    return atomic_load_explicit(&sink->segment, memory_order_relaxed);
}

void vamp_sink_account(struct vamp_sink *sink, struct vamp_output_account *ret_account)
{
    (void)pthread_mutex_lock(&sink->lock);
    *ret_account = sink->account;
    (void)pthread_mutex_unlock(&sink->lock);
}

int64_t vamp_sink_commit_ns(struct vamp_sink *sink)
{
    (void)pthread_mutex_lock(&sink->lock);
    int64_t commit_ns = sink->commit_ns;
    sink->commit_ns = 0;
    (void)pthread_mutex_unlock(&sink->lock);
    return commit_ns;
}

bool vamp_sink_failure(struct vamp_sink *sink, struct vamp_err *ret_err)
{
    (void)pthread_mutex_lock(&sink->lock);
    bool news = sink->has_news;
    if (news) {
        *ret_err = sink->newest_failure;
    }
    sink->has_news = false;
    (void)pthread_mutex_unlock(&sink->lock);
    return news;
}

bool vamp_sink_remark(struct vamp_sink *sink, char text[static VAMP_ERR_TEXT_BYTES])
{
    (void)pthread_mutex_lock(&sink->lock);
    const bool news = sink->remark[0] != '\0';
    if (news) {
        memcpy(text, sink->remark, sizeof sink->remark);
    }
    sink->remark[0] = '\0';
    (void)pthread_mutex_unlock(&sink->lock);
    return news;
}

size_t vamp_sink_paths(const struct vamp_sink *sink, void (*each)(void *context, const char *path),
                       void *context)
{
    /* Before, the thread may still own them. */
    return sink->done ? vamp_paths_each(&sink->paths, each, context) : 0;
}

/* True: the thread has ended and was joined. False: it is stuck and on its own now. */
static bool stop_thread(struct vamp_sink *sink, const struct vamp_ending *ending,
                        int64_t deadline_ns)
{
    (void)pthread_mutex_lock(&sink->lock);
    sink->finishing = true;
    sink->give_up_ns = vamp_sink_now_ns() + (deadline_ns > 0 ? deadline_ns : 0);
    if (ending != NULL) {
        sink->ending = *ending;
        (void)snprintf(sink->reason, sizeof sink->reason, "%s", ending->reason);
        sink->ending.reason = sink->reason;
        sink->has_ending = true;
    }
    (void)pthread_cond_broadcast(&sink->changed);
    const int64_t stuck = sink->give_up_ns + STUCK_NS;
    while (!sink->done && vamp_sink_now_ns() < stuck) {
        vamp_sink_wait_until(sink, stuck);
    }
    bool done = sink->done;
    if (!done) {
        sink->abandoned = true;
        sink->account.lost += sink->account.waiting;
        sink->account.waiting = 0;
    }
    (void)pthread_mutex_unlock(&sink->lock);
    if (done) {
        (void)pthread_join(sink->thread, NULL);
    } else {
        (void)pthread_detach(sink->thread);
    }
    sink->started = false;
    return done;
}

int vamp_sink_finish(struct vamp_sink *sink, const struct vamp_ending *ending, int64_t deadline_ns,
                     struct vamp_err *err)
{
    if (sink->started && !stop_thread(sink, ending, deadline_ns)) {
        return vamp_err_set(err, -ETIMEDOUT,
                            "output \"%s\" is stuck in the operating system: %" PRIu64
                            " of %" PRIu64 " buckets are lost, the file may lack its end",
                            sink->account.name, sink->account.lost, sink->account.queued);
    }
    int first = sink->first_failure.code;
    if (sink->account.lost > 0) {
        return vamp_err_set(err, first != 0 ? first : -ENOBUFS,
                            "output \"%s\": %" PRIu64 " of %" PRIu64 " buckets are lost: %s",
                            sink->account.name, sink->account.lost, sink->account.queued,
                            first != 0 ? sink->first_failure.text
                                       : "they came faster than they could be written");
    }
    if (sink->close_code != 0) {
        return vamp_err_set(err, sink->close_code, "output \"%s\": %s", sink->account.name,
                            sink->newest_failure.text);
    }
    return 0;
}

void vamp_sink_free(struct vamp_sink *sink)
{
    if (sink == NULL) {
        return;
    }
    if (sink->started) {
        (void)stop_thread(sink, NULL, 0);
    }
    if (!sink->abandoned) {
        release_all(sink); /* else the stuck thread still looks at it */
    }
}
