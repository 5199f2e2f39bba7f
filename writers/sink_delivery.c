/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/sink_internal.h"

#include <stdlib.h>
#include <string.h>

#define PAUSE_FIRST_NS INT64_C(100000000)
#define PAUSE_LONGEST_NS (5 * VAMP_NS_PER_SECOND)
#define FRESH_SEGMENTS_MAX 5

/* Waits for at most `pause_ns`, less when finish is called meanwhile. False: give up. */
static bool pause_thread(struct vamp_sink *sink, int64_t pause_ns)
{
    (void)pthread_mutex_lock(&sink->lock);
    const bool was_finishing = sink->finishing;
    int64_t until = vamp_sink_now_ns() + pause_ns;
    while (vamp_sink_now_ns() < until && vamp_sink_now_ns() < sink->give_up_ns &&
           sink->finishing == was_finishing) {
        vamp_sink_wait_until(sink, until < sink->give_up_ns ? until : sink->give_up_ns);
    }
    bool go_on = vamp_sink_now_ns() < sink->give_up_ns;
    (void)pthread_mutex_unlock(&sink->lock);
    return go_on;
}

static bool must_give_up(struct vamp_sink *sink)
{
    (void)pthread_mutex_lock(&sink->lock);
    bool give_up = vamp_sink_now_ns() >= sink->give_up_ns;
    (void)pthread_mutex_unlock(&sink->lock);
    return give_up;
}

int vamp_sink_open_segment(struct vamp_sink *sink, const struct vamp_delivery *first,
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
        sink->segment_blind = first == NULL;
        vamp_carry_renew(&sink->carry);
        vamp_paths_add(&sink->paths, sink->ops->path(sink->writer));
    } else {
        sink->writer = NULL;
    }
    return code;
}

int vamp_sink_close_segment(struct vamp_sink *sink, const struct vamp_ending *ending, bool failed)
{
    struct vamp_err err = VAMP_ERR_NONE;
    void *writer = sink->writer;
    sink->writer = NULL;
    int code = sink->ops->close(writer, ending, &err);
    if (failed) {
        if (sink->segment_buckets == 0) {
            vamp_paths_drop(&sink->paths); /* it is gone */
        }
        return 0; /* what failed was told already */
    }
    if (code != 0) {
        vamp_sink_note_failure(sink, &err);
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

static void take_remark(struct vamp_sink *sink)
{
    char text[VAMP_ERR_TEXT_BYTES];
    if (sink->ops->remark != NULL && sink->ops->remark(sink->writer, text)) {
        (void)pthread_mutex_lock(&sink->lock);
        memcpy(sink->remark, text, sizeof sink->remark);
        (void)pthread_mutex_unlock(&sink->lock);
    }
}

/* What one attempt to write a bucket came to. */
enum attempt { ATTEMPT_WRITTEN, ATTEMPT_AGAIN, ATTEMPT_NEXT_SEGMENT, ATTEMPT_FAILED };

static enum attempt attempt_open(struct vamp_sink *sink, const struct vamp_bucket *bucket)
{
    struct vamp_delivery delivery;
    struct vamp_err err = VAMP_ERR_NONE;
    vamp_carry_renew(&sink->carry);
    make_delivery(sink, bucket, &delivery);
    if (vamp_sink_open_segment(sink, &delivery, &err) != 0) {
        vamp_sink_note_failure(sink, &err);
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
        take_remark(sink);
        return ATTEMPT_WRITTEN;
    }
    if (code == -EAGAIN) {
        vamp_sink_note_failure(sink, &err);
        return ATTEMPT_AGAIN;
    }
    /* Outgrown is normal, unless the segment was made for this very bucket. */
    if (code == -ENOBUFS && (sink->segment_buckets > 0 || sink->segment_blind)) {
        (void)vamp_sink_close_segment(sink, NULL, false);
        return ATTEMPT_NEXT_SEGMENT;
    }
    vamp_sink_note_failure(sink, &err);
    bool fresh = sink->segment_buckets == 0;
    (void)vamp_sink_close_segment(sink, NULL, true);
    return fresh ? ATTEMPT_FAILED : ATTEMPT_NEXT_SEGMENT;
}

/* Until the bucket is in a target or hope is lost. */
bool vamp_sink_deliver(struct vamp_sink *sink, const struct vamp_bucket *bucket)
{
    int64_t pause = PAUSE_FIRST_NS;
    unsigned failures = 0;
    while (!must_give_up(sink) && failures < FRESH_SEGMENTS_MAX) {
        enum attempt result;
        bool opening = sink->writer == NULL;
        if (!opening && rotation_is_due(sink, bucket)) {
            (void)vamp_sink_close_segment(sink, NULL, false);
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
