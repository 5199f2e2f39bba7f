/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs of buckets: a ring of pointers; each segment begins with all rows of the component table,
 * and gaps and rows of lost buckets reach the next one. */
#include "writers/output/internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "writers/output/resolution.h"
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
    {.key = "by",
     .type = VAMP_OPT_SETS,
     .max = 256,
     .choices = vamp_label_words,
     .offset = offsetof(struct vamp_output_settings, by),
     .help =
         "Labels that metrics keep in this output; series that differ only in others are "
         "merged. For single metrics: an object of lists by name or glob pattern, of which the "
         "name itself counts, else the first that matches; unset, and without \"without\": what "
         "suits the type"},
    {.key = "without",
     .type = VAMP_OPT_SETS,
     .max = 256,
     .choices = vamp_label_words,
     .offset = offsetof(struct vamp_output_settings, without),
     .help = "Labels that metrics lose in this output, as in \"by\""},
    {.key = "bucket",
     .type = VAMP_OPT_DURATION,
     .min = 1000000,
     .max = (uint64_t)366 * 86400 * VAMP_NS_PER_SECOND,
     .offset = offsetof(struct vamp_output_settings, bucket_ns),
     .help = "Width of this output's buckets, a multiple of \"statistics.bucket\": those of the "
             "statistics are merged before they are written; unset: as they are"},
    {.key = "queue",
     .type = VAMP_OPT_UINT,
     .preset = "64",
     .min = 1,
     .max = 65536,
     .offset = offsetof(struct vamp_output_settings, queue),
     .help = "Number of the statistics' buckets that can wait for this output; further ones are "
             "lost and counted "
             "as lost"},
    OUTPUT_FINISH_OPTION,
    {.key = NULL},
};

struct waiting_bucket {
    const struct vamp_bucket *bucket;
    uint64_t lost_before; /* refused just before this one */
};

struct bucket_queue {
    struct vamp_resolution *resolution; /* NULL: the output gets everything as it is */

    /* With the output's lock. */
    struct waiting_bucket *waiting; /* a ring of `length` */
    unsigned length, first;
    atomic_uint count;                /* any thread reads it */
    uint64_t refused;                 /* since the last accepted bucket */
    struct vamp_unwritten of_refused; /* what they would have brought */

    /* The output's thread's. */
    const struct vamp_bucket *current; /* to be written; the resolution's, if there is one */
    struct vamp_unwritten unwritten;   /* in the present segment */
    uint64_t lost_before;              /* buckets lost since the last delivery */
    struct vamp_delivery delivery;
};

/* ---- create and free */

static int make_resolution(struct vamp_output *output, struct vamp_err *err)
{
    struct bucket_queue *queue = output->queue;
    const struct vamp_output_settings *settings = output->settings;
    const struct vamp_resolution_choice choice = {
        .metrics = &settings->metrics,
        .series = &settings->series,
        .by = &settings->by,
        .without = &settings->without,
        .bucket_ns = settings->bucket_ns,
    };
    output->usually_waiting = 2;
    if (vamp_resolution_is_whole(&choice, output->schema)) {
        return 0;
    }
    const int64_t width_ns = output->schema->bucket_ns; /* 0 in tests without time */
    output->usually_waiting +=
        choice.bucket_ns > 0 && width_ns > 0 ? (uint64_t)(choice.bucket_ns / width_ns) : 0;
    const int code = vamp_resolution_create(&choice, output->schema, &queue->resolution, err);
    if (code == 0) {
        output->schema = vamp_resolution_schema(queue->resolution);
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
    int code = make_resolution(output, err);
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
    vamp_resolution_free(queue->resolution);
    free(queue);
}

/* ---- the submitting thread */

/* Called with the lock. */
static bool append(struct vamp_output *output, const struct vamp_bucket *bucket)
{
    struct bucket_queue *queue = output->queue;
    if (queue->count == queue->length || output->finishing) {
        return false;
    }
    queue->waiting[(queue->first + queue->count++) % queue->length] =
        (struct waiting_bucket){.bucket = vamp_bucket_hold(bucket), .lost_before = queue->refused};
    queue->refused = 0;
    return true;
}

/* Merging is the output's thread's work. */
static void submit_bucket(struct vamp_output *output, const struct vamp_bucket *bucket)
{
    struct bucket_queue *queue = output->queue;
    output_await_room(output);
    (void)pthread_mutex_lock(&output->lock);
    output_count(&output->queued);
    if (append(output, bucket)) {
        (void)pthread_cond_signal(&output->changed);
    } else {
        vamp_unwritten_add(&queue->of_refused, bucket);
        queue->refused++;
        output_count(&output->refused);
    }
    (void)pthread_mutex_unlock(&output->lock);
}

static void bucket_fill(const struct vamp_output *output, struct vamp_output_fill *ret_fill)
{
    const struct bucket_queue *queue = output->queue;
    *ret_fill =
        (struct vamp_output_fill){.used = atomic_load_explicit(&queue->count, memory_order_relaxed),
                                  .bound = queue->length,
                                  .unit = "buckets"};
}

/* Of a source that can wait: more buckets would only take memory, half a megabyte each in a
 * workflow of 60 components. */
#define CROWDED_BUCKETS 8

static bool bucket_queue_crowded(const struct vamp_output *output)
{
    struct vamp_output_fill fill;
    bucket_fill(output, &fill);
    return fill.used >= (fill.bound < CROWDED_BUCKETS ? fill.bound : CROWDED_BUCKETS);
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

/* What the queue holds for a bucket that may be half made. */
enum next_bucket {
    NEXT_TAKEN,
    NEXT_LATER, /* the oldest one belongs to the next bucket of the output */
    NEXT_NONE,  /* now */
    NEXT_NEVER, /* the run is over */
};

static enum next_bucket next_waiting(struct vamp_output *output, struct waiting_bucket *ret_oldest)
{
    struct bucket_queue *queue = output->queue;
    (void)pthread_mutex_lock(&output->lock);
    enum next_bucket next = output->finishing ? NEXT_NEVER : NEXT_NONE;
    if (queue->count > 0) {
        *ret_oldest = queue->waiting[queue->first];
        next =
            queue->resolution == NULL || vamp_resolution_fits(queue->resolution, ret_oldest->bucket)
                ? NEXT_TAKEN
                : NEXT_LATER;
    }
    if (next == NEXT_TAKEN) {
        queue->first = (queue->first + 1) % queue->length;
        queue->count--;
        if (ret_oldest->lost_before > 0) {
            vamp_unwritten_move(&queue->unwritten, &queue->of_refused);
        }
    }
    (void)pthread_mutex_unlock(&output->lock);
    return next;
}

/* Adds the bucket to the one that is being made and lets go of it. Without memory it is lost. */
static void merge_bucket(struct vamp_output *output, const struct vamp_bucket *bucket)
{
    struct bucket_queue *queue = output->queue;
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_resolution_add(queue->resolution, bucket, &err) != 0) {
        output_note_failure(output, &err);
        output_count_lost(output, 1);
        queue->lost_before++;
    }
    vamp_bucket_release(bucket);
}

static bool set_current(struct vamp_output *output, const struct vamp_bucket *bucket)
{
    struct bucket_queue *queue = output->queue;
    queue->current = bucket;
    if (bucket == NULL) {
        return false;
    }
    output->current =
        (struct output_element){.time_ns = bucket->start_ns, .counts = bucket->buckets};
    return true;
}

static bool take_bucket(struct vamp_output *output)
{
    struct bucket_queue *queue = output->queue;
    struct waiting_bucket oldest = {.bucket = NULL};
    enum next_bucket next;
    while ((next = next_waiting(output, &oldest)) == NEXT_TAKEN) {
        queue->lost_before += oldest.lost_before;
        vamp_unwritten_add(&queue->unwritten, oldest.bucket);
        if (queue->resolution == NULL) {
            return set_current(output, oldest.bucket);
        }
        merge_bucket(output, oldest.bucket);
        if (vamp_resolution_is_complete(queue->resolution)) {
            return set_current(output, vamp_resolution_bucket(queue->resolution));
        }
    }
    const bool is_ended = next == NEXT_LATER || next == NEXT_NEVER;
    return queue->resolution != NULL && is_ended &&
           set_current(output, vamp_resolution_bucket(queue->resolution));
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
    queue->lost_before += written ? 0 : queue->current->buckets;
    if (queue->resolution == NULL) {
        vamp_bucket_release(queue->current);
    } else {
        vamp_resolution_clear(queue->resolution);
    }
    queue->current = NULL;
}

static bool buckets_finished(struct vamp_output *output)
{
    const struct bucket_queue *queue = output->queue;
    (void)pthread_mutex_lock(&output->lock);
    const bool finished = output->finishing && queue->count == 0;
    (void)pthread_mutex_unlock(&output->lock);
    return finished &&
           (queue->resolution == NULL || vamp_resolution_bucket(queue->resolution) == NULL);
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
