/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/sink.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "writers/sink_carry.h"

#define PAUSE_FIRST_NS INT64_C(100000000)
#define PAUSE_LONGEST_NS (5 * VAMP_NS_PER_SECOND)
#define FRESH_SEGMENTS_MAX 5
/* Beyond the deadline, for a writer that is just giving up and closing. */
#define STUCK_NS (2 * VAMP_NS_PER_SECOND)
#define NEVER_NS INT64_MAX

struct entry {
    const struct vamp_bucket *bucket;
    uint64_t lost_before; /* refused just before this one */
};

struct vamp_sink {
    const struct vamp_writer_ops *ops;
    const void *writer_options;
    const struct vamp_run *run;
    const struct vamp_schema *schema;
    const struct vamp_clock *clock;
    struct vamp_sink_options options; /* name points to `account.name` */
    pthread_t thread;
    bool started;

    pthread_mutex_t lock; /* everything down to `thread-private` */
    pthread_cond_t changed;
    struct entry *queue; /* a ring of options.queue_length */
    unsigned first, queued;
    struct vamp_output_account account;
    uint64_t refused; /* since the last accepted bucket */
    struct vamp_carry missed;
    int64_t commit_ns;
    struct vamp_err newest_failure, first_failure;
    bool has_news;
    int64_t give_up_ns; /* monotonic; NEVER_NS until finish */
    struct vamp_ending ending;
    char reason[128];
    bool finishing, has_ending, done, abandoned;
    int close_code;

    /* thread-private */
    void *writer; /* NULL: none open */
    unsigned segment, segment_buckets;
    int64_t segment_period; /* of rotate_ns */
    struct vamp_carry carry;
    uint64_t lost_before; /* not yet told to a target */
    char **paths;
    size_t path_count;
};

/* Real time even in tests with a clock of their own: pthread waits with it. */
static int64_t now_ns(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

/* ---- things under the lock */

static void note_failure(struct vamp_sink *sink, const struct vamp_err *failure)
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

static void wait_until(struct vamp_sink *sink, int64_t until_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(until_ns / VAMP_NS_PER_SECOND),
                                   .tv_nsec = (long)(until_ns % VAMP_NS_PER_SECOND)};
    (void)pthread_cond_timedwait(&sink->changed, &sink->lock, &until);
}

/* Waits for at most `pause_ns`, less when finish is called meanwhile. False: give up. */
static bool pause_thread(struct vamp_sink *sink, int64_t pause_ns)
{
    (void)pthread_mutex_lock(&sink->lock);
    const bool was_finishing = sink->finishing;
    int64_t until = now_ns() + pause_ns;
    while (now_ns() < until && now_ns() < sink->give_up_ns && sink->finishing == was_finishing) {
        wait_until(sink, until < sink->give_up_ns ? until : sink->give_up_ns);
    }
    bool go_on = now_ns() < sink->give_up_ns;
    (void)pthread_mutex_unlock(&sink->lock);
    return go_on;
}

static bool must_give_up(struct vamp_sink *sink)
{
    (void)pthread_mutex_lock(&sink->lock);
    bool give_up = now_ns() >= sink->give_up_ns;
    (void)pthread_mutex_unlock(&sink->lock);
    return give_up;
}

/* ---- segments; the sink's thread, and the creator for the first one */

static void remember_path(struct vamp_sink *sink)
{
    char **paths = realloc(sink->paths, (sink->path_count + 1) * sizeof *paths);
    if (paths == NULL) {
        return; /* only the summary misses it */
    }
    sink->paths = paths;
    char *path = strdup(sink->ops->path(sink->writer));
    if (path != NULL) {
        sink->paths[sink->path_count++] = path;
    }
}

/* A target that failed before its first bucket is gone. */
static void forget_path(struct vamp_sink *sink)
{
    if (sink->path_count > 0) {
        free(sink->paths[--sink->path_count]);
    }
}

static int open_segment(struct vamp_sink *sink, const struct vamp_delivery *first,
                        struct vamp_err *err)
{
    const struct vamp_writer_target target = {
        .run = sink->run,
        .schema = sink->schema,
        .name = sink->account.name,
        .segment = sink->segment + 1,
        .first = first,
    };
    int code = sink->ops->open(sink->writer_options, &target, &sink->writer, err);
    /* A name that is taken stays taken: the next attempt has the next number. Not so for the first
     * one, which shall tell that something is wrong. */
    if (code == 0 || (code == -EEXIST && sink->segment > 0)) {
        sink->segment++;
    }
    if (code == 0) {
        sink->segment_buckets = 0;
        vamp_carry_renew(&sink->carry);
        remember_path(sink);
    } else {
        sink->writer = NULL;
    }
    return code;
}

static int close_segment(struct vamp_sink *sink, const struct vamp_ending *ending, bool failed)
{
    struct vamp_err err = VAMP_ERR_NONE;
    void *writer = sink->writer;
    sink->writer = NULL;
    int code = sink->ops->close(writer, ending, &err);
    if (failed) {
        if (sink->segment_buckets == 0) {
            forget_path(sink);
        }
        return 0; /* what failed was told already */
    }
    if (code != 0) {
        note_failure(sink, &err);
    }
    return code;
}

/* Bucket time in whole rotate_ns, rounded down. */
static int64_t period_of(const struct vamp_sink *sink, const struct vamp_bucket *bucket)
{
    if (sink->options.rotate_ns <= 0) {
        return 0;
    }
    int64_t period = bucket->start_ns / sink->options.rotate_ns;
    return bucket->start_ns % sink->options.rotate_ns < 0 ? period - 1 : period;
}

static bool rotation_is_due(const struct vamp_sink *sink, const struct vamp_bucket *bucket)
{
    if (sink->segment_buckets == 0) {
        return false;
    }
    return period_of(sink, bucket) != sink->segment_period ||
           (sink->options.rotate_bytes > 0 &&
            sink->ops->bytes(sink->writer) >= sink->options.rotate_bytes);
}

static void make_delivery(struct vamp_sink *sink, const struct vamp_bucket *bucket,
                          struct vamp_delivery *ret)
{
    *ret = (struct vamp_delivery){
        .bucket = bucket,
        .gaps = sink->carry.gaps,
        .gap_count = sink->carry.gap_count,
        .lost_before = sink->lost_before,
    };
    ret->component_count = vamp_carry_rows(&sink->carry, &ret->components);
}

static void commit(struct vamp_sink *sink, const struct vamp_bucket *bucket, int64_t took_ns)
{
    if (sink->segment_buckets++ == 0) {
        sink->segment_period = period_of(sink, bucket);
    }
    vamp_carry_told(&sink->carry);
    sink->lost_before = 0;
    (void)pthread_mutex_lock(&sink->lock);
    if (!sink->abandoned) {
        sink->account.written++;
        sink->account.waiting--;
        sink->commit_ns = took_ns > 0 ? took_ns : 1;
    }
    (void)pthread_mutex_unlock(&sink->lock);
}

/* What one attempt to write a bucket came to. */
enum attempt { ATTEMPT_WRITTEN, ATTEMPT_AGAIN, ATTEMPT_NEXT_SEGMENT, ATTEMPT_FAILED };

static enum attempt attempt_open(struct vamp_sink *sink, const struct vamp_bucket *bucket)
{
    struct vamp_delivery delivery;
    struct vamp_err err = VAMP_ERR_NONE;
    vamp_carry_renew(&sink->carry);
    make_delivery(sink, bucket, &delivery);
    if (open_segment(sink, &delivery, &err) != 0) {
        note_failure(sink, &err);
        return ATTEMPT_AGAIN;
    }
    return ATTEMPT_NEXT_SEGMENT;
}

static enum attempt attempt_write(struct vamp_sink *sink, const struct vamp_bucket *bucket)
{
    struct vamp_delivery delivery;
    struct vamp_err err = VAMP_ERR_NONE;
    make_delivery(sink, bucket, &delivery);
    int64_t began = vamp_clock_monotonic_ns(sink->clock);
    int code = sink->ops->write(sink->writer, &delivery, &err);
    if (code == 0) {
        commit(sink, bucket, vamp_clock_monotonic_ns(sink->clock) - began);
        return ATTEMPT_WRITTEN;
    }
    if (code == -EAGAIN) {
        note_failure(sink, &err);
        return ATTEMPT_AGAIN;
    }
    /* Outgrown is normal, unless the segment was made for this very bucket. */
    if (code == -ENOBUFS && sink->segment_buckets > 0) {
        (void)close_segment(sink, NULL, false);
        return ATTEMPT_NEXT_SEGMENT;
    }
    note_failure(sink, &err);
    bool fresh = sink->segment_buckets == 0;
    (void)close_segment(sink, NULL, true);
    return fresh ? ATTEMPT_FAILED : ATTEMPT_NEXT_SEGMENT;
}

/* Until the bucket is in a target or hope is lost. */
static bool deliver(struct vamp_sink *sink, const struct vamp_bucket *bucket)
{
    int64_t pause = PAUSE_FIRST_NS;
    unsigned failures = 0;
    while (!must_give_up(sink) && failures < FRESH_SEGMENTS_MAX) {
        enum attempt result;
        bool opening = sink->writer == NULL;
        if (!opening && rotation_is_due(sink, bucket)) {
            (void)close_segment(sink, NULL, false);
            continue;
        }
        result = opening ? attempt_open(sink, bucket) : attempt_write(sink, bucket);
        switch (result) {
        case ATTEMPT_WRITTEN:
            return true;
        case ATTEMPT_NEXT_SEGMENT:
            break;
        case ATTEMPT_FAILED:
            failures++;
            (void)pause_thread(sink, PAUSE_FIRST_NS);
            break;
        case ATTEMPT_AGAIN:
            (void)pause_thread(sink, opening ? pause : PAUSE_FIRST_NS);
            pause = opening && pause < PAUSE_LONGEST_NS ? pause * 2 : pause;
            break;
        }
    }
    return false;
}

/* ---- the thread */

/* Waits for the next bucket; false: there will be none. */
static bool take(struct vamp_sink *sink, struct entry *ret_entry)
{
    (void)pthread_mutex_lock(&sink->lock);
    while (sink->queued == 0 && !sink->finishing) {
        (void)pthread_cond_wait(&sink->changed, &sink->lock);
    }
    bool found = sink->queued > 0 && !sink->abandoned;
    if (found) {
        *ret_entry = sink->queue[sink->first];
        sink->first = (sink->first + 1) % sink->options.queue_length;
        sink->queued--;
        if (ret_entry->lost_before > 0) {
            vamp_carry_move(&sink->carry, &sink->missed);
        }
    }
    (void)pthread_mutex_unlock(&sink->lock);
    return found;
}

static void count_lost(struct vamp_sink *sink)
{
    sink->lost_before++;
    (void)pthread_mutex_lock(&sink->lock);
    if (!sink->abandoned) {
        sink->account.lost++;
        sink->account.waiting--;
    }
    (void)pthread_mutex_unlock(&sink->lock);
}

static bool is_abandoned(struct vamp_sink *sink)
{
    (void)pthread_mutex_lock(&sink->lock);
    bool abandoned = sink->abandoned;
    (void)pthread_mutex_unlock(&sink->lock);
    return abandoned;
}

static void close_last(struct vamp_sink *sink)
{
    if (sink->writer == NULL) {
        return;
    }
    for (unsigned i = 0; i < sink->ending.accounting.output_count; i++) {
        if (strcmp(sink->ending.accounting.outputs[i].name, sink->account.name) == 0) {
            vamp_sink_account(sink, &sink->ending.accounting.outputs[i]);
        }
    }
    sink->close_code = close_segment(sink, sink->has_ending ? &sink->ending : NULL, false);
}

static void *run_thread(void *context)
{
    struct vamp_sink *sink = context;
    struct entry entry;
    while (take(sink, &entry)) {
        sink->lost_before += entry.lost_before;
        vamp_carry_add_bucket(&sink->carry, entry.bucket);
        bool written = deliver(sink, entry.bucket);
        if (is_abandoned(sink)) {
            return NULL; /* whoever owned the rest may be gone; the process is ending */
        }
        if (!written) {
            count_lost(sink);
        }
        vamp_bucket_release(entry.bucket);
    }
    close_last(sink);
    (void)pthread_mutex_lock(&sink->lock);
    sink->done = true;
    (void)pthread_cond_broadcast(&sink->changed);
    (void)pthread_mutex_unlock(&sink->lock);
    return NULL;
}

/* Signals belong to the program's own threads; SIGPIPE becomes EPIPE. */
static int start_thread(struct vamp_sink *sink, struct vamp_err *err)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&sink->thread, NULL, run_thread, sink);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) {
        return vamp_err_set_errno(err, code, "start the thread of output \"%s\"",
                                  sink->account.name);
    }
    sink->started = true;
    return 0;
}

/* ---- the interface */

static void release_all(struct vamp_sink *sink)
{
    for (unsigned i = 0; i < sink->queued; i++) {
        vamp_bucket_release(sink->queue[(sink->first + i) % sink->options.queue_length].bucket);
    }
    for (size_t i = 0; i < sink->path_count; i++) {
        free(sink->paths[i]);
    }
    free(sink->paths);
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
                     const struct vamp_sink_options *options, const struct vamp_run *run,
                     const struct vamp_schema *schema, const struct vamp_clock *clock,
                     struct vamp_sink **ret_sink, struct vamp_err *err)
{
    struct vamp_sink *sink = calloc(1, sizeof *sink);
    if (sink == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "output \"%s\"", options->name);
    }
    sink->ops = ops;
    sink->writer_options = writer_options;
    sink->run = run;
    sink->schema = schema;
    sink->clock = clock;
    sink->options = *options;
    sink->options.queue_length = options->queue_length > 0 ? options->queue_length : 1;
    sink->give_up_ns = NEVER_NS;
    (void)snprintf(sink->account.name, sizeof sink->account.name, "%s", options->name);
    int code = prepare(sink, err);
    if (code == 0) {
        code = open_segment(sink, NULL, err);
    }
    if (code == 0) {
        code = start_thread(sink, err);
        if (code != 0) {
            (void)close_segment(sink, NULL, true);
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
        sink->queue[at] = (struct entry){.bucket = bucket, .lost_before = sink->refused};
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

void vamp_sink_paths(const struct vamp_sink *sink, void (*each)(void *context, const char *path),
                     void *context)
{
    if (!sink->done) {
        return; /* the thread may still own them */
    }
    for (size_t i = 0; i < sink->path_count; i++) {
        each(context, sink->paths[i]);
    }
}

/* True: the thread has ended and was joined. False: it is stuck and on its own now. */
static bool stop_thread(struct vamp_sink *sink, const struct vamp_ending *ending,
                        int64_t deadline_ns)
{
    (void)pthread_mutex_lock(&sink->lock);
    sink->finishing = true;
    sink->give_up_ns = now_ns() + (deadline_ns > 0 ? deadline_ns : 0);
    if (ending != NULL) {
        sink->ending = *ending;
        (void)snprintf(sink->reason, sizeof sink->reason, "%s", ending->reason);
        sink->ending.reason = sink->reason;
        sink->has_ending = true;
    }
    (void)pthread_cond_broadcast(&sink->changed);
    const int64_t stuck = sink->give_up_ns + STUCK_NS;
    while (!sink->done && now_ns() < stuck) {
        wait_until(sink, stuck);
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
                            "output \"%s\" is stuck in the operating system: %" PRIu64 " of %" PRIu64
                            " buckets are lost, the file may lack its end",
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
