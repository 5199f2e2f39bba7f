/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs of buckets, in the worker's queue; each segment begins with all rows of the component
 * table, and gaps and rows of lost buckets reach the next one. */
#include "writers/output/internal.h"

#include <errno.h>
#include <stdlib.h>

#include "writers/output/pending_rows.h"
#include "writers/output/resolution.h"

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

/* What waits in the worker's queue are buckets, each with the number of those that were refused
 * just before it. */
struct bucket_queue {
    struct vamp_resolution *resolution; /* NULL: the output gets everything as it is */

    /* With the worker's lock. */
    uint64_t refused;                    /* since the last accepted bucket */
    struct vamp_pending_rows of_refused; /* what they would have brought */

    /* The output's thread's. */
    const struct vamp_bucket *current; /* to be written; the resolution's, if there is one */
    struct vamp_pending_rows pending;  /* the present segment lacks them */
    uint64_t lost_before;              /* buckets lost since the last delivery */
    struct vamp_delivery delivery;
};

/* Of a source that can wait: more buckets would only take memory, half a megabyte each in a
 * workflow of 60 components. */
#define CROWDED_BUCKETS 8

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
    output->bound = output->settings->queue > 0 ? output->settings->queue : 1;
    output->crowded = output->bound < CROWDED_BUCKETS ? output->bound : CROWDED_BUCKETS;
    int code = vamp_worker_init(&output->worker,
                                &(struct vamp_worker_bounds){.items_max = (unsigned)output->bound},
                                1, err);
    struct bucket_queue *queue = calloc(1, sizeof *queue);
    output->queue = queue;
    if (code == 0 && queue == NULL) {
        code = vamp_err_set_errno(err, ENOMEM, "make a queue of buckets");
    }
    if (code == 0) {
        code = make_resolution(output, err);
    }
    if (code == 0) {
        code = vamp_pending_rows_init(&queue->pending, output->schema->max_components, err);
    }
    return code != 0
               ? code
               : vamp_pending_rows_init(&queue->of_refused, output->schema->max_components, err);
}

static void bucket_queue_done(struct vamp_output *output)
{
    struct bucket_queue *queue = output->queue;
    if (queue == NULL) {
        return;
    }
    while (output->worker.count > 0) {
        vamp_bucket_release(vamp_worker_remove(&output->worker, 0).what);
    }
    vamp_pending_rows_done(&queue->pending);
    vamp_pending_rows_done(&queue->of_refused);
    vamp_resolution_free(queue->resolution);
    free(queue);
}

/* ---- the submitting thread */

/* Merging is the output's thread's work. */
static void submit_bucket(struct vamp_output *output, const struct vamp_bucket *bucket)
{
    struct bucket_queue *queue = output->queue;
    output_await_room(output);
    vamp_worker_lock(&output->worker);
    /* Nothing of a bucket is changed but the number of its holders. */
    const struct vamp_worker_item item = {.what = (void *)(uintptr_t)vamp_bucket_hold(bucket),
                                          .number = queue->refused};
    if (vamp_worker_put(&output->worker, &item)) {
        queue->refused = 0;
    } else {
        vamp_bucket_release(bucket);
        vamp_pending_rows_add(&queue->of_refused, bucket);
        queue->refused++;
    }
    vamp_worker_unlock(&output->worker);
}

static uint64_t buckets_waiting(const struct vamp_output *output)
{
    return atomic_load_explicit(&output->worker.count, memory_order_relaxed);
}

/* ---- the output's thread */

static void wait_for_bucket(struct vamp_output *output)
{
    struct vamp_worker *worker = &output->worker;
    vamp_worker_lock(worker);
    while (worker->count == 0 && !atomic_load(&worker->finishing)) {
        vamp_worker_wait(worker, VAMP_WORKER_NEVER_NS);
    }
    vamp_worker_unlock(worker);
}

/* Takes the oldest bucket unless it belongs to another one of the output than the one that is half
 * made: then, and when the run is over, none will ever be added to that one. */
static enum output_next next_waiting(struct vamp_output *output,
                                     struct vamp_worker_item *ret_oldest)
{
    struct bucket_queue *queue = output->queue;
    struct vamp_worker *worker = &output->worker;
    vamp_worker_lock(worker);
    enum output_next next = atomic_load(&worker->finishing) ? OUTPUT_NEVER : OUTPUT_NONE;
    if (worker->count > 0) {
        next = queue->resolution == NULL ||
                       vamp_resolution_fits(queue->resolution, vamp_worker_at(worker, 0)->what)
                   ? OUTPUT_TAKEN
                   : OUTPUT_NEVER;
    }
    if (next == OUTPUT_TAKEN) {
        *ret_oldest = vamp_worker_remove(worker, 0);
        if (ret_oldest->number > 0) {
            vamp_pending_rows_move(&queue->pending, &queue->of_refused);
        }
    }
    vamp_worker_unlock(worker);
    return next;
}

/* Adds the bucket to the one that is being made and lets go of it. Without memory it is lost. */
static void merge_bucket(struct vamp_output *output, const struct vamp_bucket *bucket)
{
    struct bucket_queue *queue = output->queue;
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_resolution_add(queue->resolution, bucket, &err) != 0) {
        vamp_worker_say(&output->worker, &err);
        vamp_worker_count(&output->worker.lost, 1);
        queue->lost_before++;
    }
    vamp_bucket_release(bucket);
}

static enum output_next take_bucket(struct vamp_output *output)
{
    struct bucket_queue *queue = output->queue;
    struct vamp_worker_item oldest;
    enum output_next next;
    queue->current = NULL;
    while (queue->current == NULL && (next = next_waiting(output, &oldest)) == OUTPUT_TAKEN) {
        queue->lost_before += oldest.number;
        vamp_pending_rows_add(&queue->pending, oldest.what);
        if (queue->resolution == NULL) {
            queue->current = oldest.what;
        } else {
            merge_bucket(output, oldest.what);
            if (vamp_resolution_is_complete(queue->resolution)) {
                queue->current = vamp_resolution_bucket(queue->resolution);
            }
        }
    }
    if (queue->current == NULL && next == OUTPUT_NEVER && queue->resolution != NULL) {
        queue->current = vamp_resolution_bucket(queue->resolution); /* as far as it was made */
    }
    if (queue->current == NULL) {
        return next;
    }
    output->current = (struct output_element){.time_ns = queue->current->start_ns,
                                              .counts = queue->current->buckets};
    return OUTPUT_TAKEN;
}

/* `whole`: with all rows, as the first of a segment. */
static const struct vamp_delivery *deliver_current(struct bucket_queue *queue, bool whole)
{
    queue->delivery = (struct vamp_delivery){
        .bucket = queue->current,
        .gaps = queue->pending.gaps,
        .gap_count = queue->pending.gap_count,
        .lost_before = queue->lost_before,
    };
    queue->delivery.component_count =
        vamp_pending_rows_list(&queue->pending, whole, &queue->delivery.components);
    return &queue->delivery;
}

static const struct vamp_delivery *first_bucket(struct vamp_output *output)
{
    struct bucket_queue *queue = output->queue;
    return queue->current != NULL ? deliver_current(queue, true) : NULL;
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
        vamp_pending_rows_clear(&queue->pending);
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

static void begin_bucket_segment(struct vamp_output *output)
{
    vamp_pending_rows_begin_segment(&((struct bucket_queue *)output->queue)->pending);
}

const struct output_kind output_of_buckets = {
    .unit = "bucket",
    .bound_unit = "buckets",
    .options = bucket_options,
    .queue_option = "queue",
    .create = bucket_queue_create,
    .done = bucket_queue_done,
    .bucket = submit_bucket,
    .used = buckets_waiting,
    .wait = wait_for_bucket,
    .take = take_bucket,
    .write = write_bucket,
    .release = release_bucket,
    .begin_segment = begin_bucket_segment,
    .first = first_bucket,
};
