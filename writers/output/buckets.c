/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs of buckets: a ring of pointers; each segment begins with all rows of the component table,
 * and gaps and rows of lost buckets reach the next one. */
#include "writers/output/internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "writers/output/subset.h"
#include "writers/output/unwritten.h"

static const struct vamp_opt bucket_options[] = {
    OUTPUT_NAME_OPTION,
    {.key = "metrics",
     .type = VAMP_OPT_STRINGS,
     .max = 256,
     .offset = offsetof(struct vamp_output_settings, metrics),
     .help = "Names of metrics, or glob patterns such as \"transport*\": this output receives only "
             "these; none: all that are computed"},
    {.key = "series",
     .type = VAMP_OPT_STRINGS,
     .max = 256,
     .offset = offsetof(struct vamp_output_settings, series),
     .help = "LABEL=PATTERN, such as \"component=IFS*\": of metrics with this label, this output "
             "receives only series that match one pattern for each label named, and (other); none: "
             "all"},
    {.key = "queue",
     .type = VAMP_OPT_UINT,
     .preset = "64",
     .min = 1,
     .max = 65536,
     .offset = offsetof(struct vamp_output_settings, queue),
     .help = "Number of buckets that can wait for this output; further ones are lost and counted "
             "as lost"},
    {.key = NULL},
};

struct waiting_bucket {
    const struct vamp_bucket *bucket;
    uint64_t lost_before; /* refused just before this one */
};

struct bucket_queue {
    struct vamp_subset *subset; /* NULL: the output gets everything */

    /* With the output's lock. */
    struct waiting_bucket *waiting; /* a ring of `length` */
    unsigned length, first, count;
    uint64_t refused;                 /* since the last accepted bucket */
    struct vamp_unwritten of_refused; /* what they would have brought */

    /* The output's thread's. */
    const struct vamp_bucket *current;
    struct vamp_unwritten unwritten; /* in the present segment */
    uint64_t lost_before;            /* buckets lost since the last delivery */
    struct vamp_delivery delivery;
};

/* ---- create and free */

static int make_subset(struct vamp_output *output, struct vamp_err *err)
{
    struct bucket_queue *queue = output->queue;
    const struct vamp_output_settings *settings = output->settings;
    if (settings->metrics.count == 0 && settings->series.count == 0) {
        return 0;
    }
    const struct vamp_subset_choice choice = {
        .metrics = &settings->metrics,
        .series = &settings->series,
    };
    /* Those in the queue, one being written, one being submitted. */
    const int code =
        vamp_subset_create(&choice, output->schema, queue->length + 2, &queue->subset, err);
    if (code == 0) {
        output->schema = vamp_subset_schema(queue->subset);
    }
    return code;
}

static int bucket_queue_create(struct vamp_output *output,
                               const struct vamp_output_context *context, struct vamp_err *err)
{
    (void)context;
    const uint64_t length = output->settings->queue > 0 ? output->settings->queue : 1;
    struct bucket_queue *queue = calloc(1, sizeof *queue);
    output->queue = queue;
    if (queue != NULL) {
        queue->length = (unsigned)length;
        queue->waiting = calloc(length, sizeof *queue->waiting);
    }
    if (queue == NULL || queue->waiting == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "make a queue of %" PRIu64 " buckets", length);
    }
    int code = make_subset(output, err);
    if (code == 0) {
        code = vamp_unwritten_init(&queue->unwritten, output->schema->max_components, err);
    }
    return code != 0 ? code
                     : vamp_unwritten_init(&queue->of_refused, output->schema->max_components, err);
}

static void bucket_queue_done(struct vamp_output *output)
{
    struct bucket_queue *queue = output->queue;
    if (queue == NULL) {
        return;
    }
    for (unsigned i = 0; i < queue->count; i++) {
        vamp_bucket_release(queue->waiting[(queue->first + i) % queue->length].bucket);
    }
    free(queue->waiting);
    vamp_unwritten_done(&queue->unwritten);
    vamp_unwritten_done(&queue->of_refused);
    vamp_subset_free(queue->subset);
    free(queue);
}

/* ---- the submitting thread */

/* Called with the lock. */
static bool append(struct vamp_output *output, const struct vamp_bucket *bucket)
{
    struct bucket_queue *queue = output->queue;
    if (bucket == NULL || queue->count == queue->length || output->finishing) {
        return false;
    }
    queue->waiting[(queue->first + queue->count++) % queue->length] =
        (struct waiting_bucket){.bucket = bucket, .lost_before = queue->refused};
    queue->refused = 0;
    return true;
}

static void submit_bucket(struct vamp_output *output, const struct vamp_bucket *whole)
{
    struct bucket_queue *queue = output->queue;
    output_await_room(output);
    const struct vamp_bucket *bucket =
        queue->subset != NULL ? vamp_subset_bucket(queue->subset, whole) : vamp_bucket_hold(whole);
    (void)pthread_mutex_lock(&output->lock);
    output_count(&output->queued);
    const bool accepted = append(output, bucket);
    if (accepted) {
        (void)pthread_cond_signal(&output->changed);
    } else {
        vamp_unwritten_add(&queue->of_refused, whole);
        queue->refused++;
        output_count(&output->refused);
    }
    (void)pthread_mutex_unlock(&output->lock);
    if (!accepted && bucket != NULL) {
        vamp_bucket_release(bucket);
    }
}

static void bucket_fill(const struct vamp_output *output, struct vamp_output_fill *ret_fill)
{
    struct vamp_output_account account;
    vamp_output_account(output, &account);
    const struct bucket_queue *queue = output->queue;
    *ret_fill = (struct vamp_output_fill){
        .used = account.waiting, .bound = queue->length, .unit = "buckets"};
}

static bool bucket_queue_crowded(const struct vamp_output *output)
{
    struct vamp_output_fill fill;
    bucket_fill(output, &fill);
    return fill.used >= fill.bound;
}

static void end_buckets(struct vamp_output *output, int64_t until_ns)
{
    (void)output; /* `finishing` is enough */
    (void)until_ns;
}

/* ---- the output's thread */

static void wait_for_bucket(struct vamp_output *output)
{
    const struct bucket_queue *queue = output->queue;
    (void)pthread_mutex_lock(&output->lock);
    while (queue->count == 0 && !output->finishing) {
        (void)pthread_cond_wait(&output->changed, &output->lock);
    }
    (void)pthread_mutex_unlock(&output->lock);
}

static bool take_bucket(struct vamp_output *output)
{
    struct bucket_queue *queue = output->queue;
    struct waiting_bucket oldest = {.bucket = NULL};
    (void)pthread_mutex_lock(&output->lock);
    if (queue->count > 0) {
        oldest = queue->waiting[queue->first];
        queue->first = (queue->first + 1) % queue->length;
        queue->count--;
        if (oldest.lost_before > 0) {
            vamp_unwritten_move(&queue->unwritten, &queue->of_refused);
        }
    }
    (void)pthread_mutex_unlock(&output->lock);
    queue->current = oldest.bucket;
    if (oldest.bucket == NULL) {
        return false;
    }
    queue->lost_before += oldest.lost_before;
    vamp_unwritten_add(&queue->unwritten, oldest.bucket);
    output->current = (struct output_element){.time_ns = oldest.bucket->start_ns, .counts = true};
    return true;
}

/* `whole`: with all rows, as the first of a segment. */
static const struct vamp_delivery *deliver_current(struct bucket_queue *queue, bool whole)
{
    queue->delivery = (struct vamp_delivery){
        .bucket = queue->current,
        .gaps = queue->unwritten.gaps,
        .gap_count = queue->unwritten.gap_count,
        .lost_before = queue->lost_before,
    };
    queue->delivery.component_count =
        vamp_unwritten_rows(&queue->unwritten, whole, &queue->delivery.components);
    return &queue->delivery;
}

static const struct vamp_delivery *first_bucket(struct vamp_output *output)
{
    return deliver_current(output->queue, true);
}

static int write_bucket(struct vamp_output *output, struct vamp_err *err)
{
    struct bucket_queue *queue = output->queue;
    const struct vamp_delivery *delivery = deliver_current(queue, false);
    const int64_t began_ns = vamp_clock_monotonic_ns(output->clock);
    const int code = output->format->write_bucket(output->segment.writer, delivery, err);
    if (code == 0) {
        const int64_t took_ns = vamp_clock_monotonic_ns(output->clock) - began_ns;
        atomic_store(&output->commit_ns, took_ns > 0 ? took_ns : 1);
        vamp_unwritten_clear(&queue->unwritten);
        queue->lost_before = 0;
    }
    return code;
}

static void release_bucket(struct vamp_output *output, bool written)
{
    struct bucket_queue *queue = output->queue;
    queue->lost_before += !written;
    vamp_bucket_release(queue->current);
    queue->current = NULL;
}

static bool buckets_finished(struct vamp_output *output)
{
    const struct bucket_queue *queue = output->queue;
    (void)pthread_mutex_lock(&output->lock);
    const bool finished = output->finishing && queue->count == 0;
    (void)pthread_mutex_unlock(&output->lock);
    return finished;
}

static void buckets_flushed(struct vamp_output *output)
{
    (void)output;
}

static void begin_bucket_segment(struct vamp_output *output)
{
    vamp_unwritten_begin_segment(&((struct bucket_queue *)output->queue)->unwritten);
}

const struct output_kind output_of_buckets = {
    .unit = "bucket",
    .options = bucket_options,
    .queue_option = "queue",
    .usually_waiting = 2,
    .create = bucket_queue_create,
    .done = bucket_queue_done,
    .bucket = submit_bucket,
    .fill = bucket_fill,
    .crowded = bucket_queue_crowded,
    .end = end_buckets,
    .wait = wait_for_bucket,
    .take = take_bucket,
    .write = write_bucket,
    .release = release_bucket,
    .finished = buckets_finished,
    .flushed = buckets_flushed,
    .begin_segment = begin_bucket_segment,
    .first = first_bucket,
};
