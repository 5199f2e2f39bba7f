/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs of buckets, which use the worker's queue. Each segment begins with all rows of the
 * component table. Gaps and component rows of lost buckets are added to the next bucket. */
#include "writers/output/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/values.h"
#include "writers/format/sent_alarms.h"
#include "writers/output/resolution.h"

static const struct vamp_opt bucket_options[] = {
    OUTPUT_NAME_OPTION,
    {"metrics", VAMP_OPT_STRINGS, offsetof(struct vamp_output_settings, metrics), NULL, .max = 256,
     .only_with = VAMP_TARGET_BIT(VAMP_WITH_BUCKETS),
     .help = "Names of metrics, or glob patterns such as \"transport*\": this output receives only "
             "these, and what says how much they lack; none: all that are computed"},
    {"series", VAMP_OPT_STRINGS, offsetof(struct vamp_output_settings, series), NULL, .max = 256,
     .only_with = VAMP_TARGET_BIT(VAMP_WITH_BUCKETS),
     .help = "LABEL=PATTERN, such as \"component=IFS*\": of metrics with this label, this output "
             "receives only series that match one pattern for each label named, and (other); none: "
             "all"},
    {"by", VAMP_OPT_SETS, offsetof(struct vamp_output_settings, by), NULL, .max = 256,
     .choices = vamp_label_words, .grows = true, .only_with = VAMP_TARGET_BIT(VAMP_WITH_BUCKETS),
     .help =
         "Labels that metrics keep in this output; series that differ only in others are "
         "merged. For single metrics: an object of lists by name or glob pattern, of which the "
         "name itself counts, else the first that matches; unset, and without \"without\": what "
         "suits the type"},
    {"without", VAMP_OPT_SETS, offsetof(struct vamp_output_settings, without), NULL, .max = 256,
     .choices = vamp_label_words, .grows = true, .only_with = VAMP_TARGET_BIT(VAMP_WITH_BUCKETS),
     .help = "Labels that metrics lose in this output, as in \"by\""},
    {"bucket", VAMP_OPT_DURATION, offsetof(struct vamp_output_settings, bucket_ns), NULL,
     .min = 1000000, .max = (uint64_t)366 * 86400 * VAMP_NS_PER_SECOND,
     .only_with = VAMP_TARGET_BIT(VAMP_WITH_BUCKETS),
     .help = "Width of this output's buckets, a multiple of \"statistics.bucket\": those of the "
             "statistics are merged before they are written; unset: as they are"},
    {"budget", VAMP_OPT_UINT, offsetof(struct vamp_output_settings, budget), NULL,
     .max = UINT64_C(100000000), .only_with = VAMP_TARGET_BIT(VAMP_WITH_BUCKETS),
     .help =
         "Lines of this output at most: of a page, each bucket of a histogram is one; of points, "
         "each value; of messages, each series. Labels of the largest metrics are merged to "
         "stay within it, so that nothing is left out; unset: what suits the type, 0 (any) for "
         "files"},
    {"queue", VAMP_OPT_UINT, offsetof(struct vamp_output_settings, queue), "64", .min = 1,
     .max = 65536,
     .help = "Number of the statistics' buckets that can wait for this output; further ones are "
             "lost and counted "
             "as lost"},
    {.key = NULL},
};

/* Rows of the component table and gaps that the current segment lacks: those of the bucket to be
 * written and of lost buckets, and all rows in a new segment. Memory is allocated at creation.
 * Names in rows are borrowed from the component table, where they remain for the whole run. */
#define PENDING_GAPS_MAX 128

struct pending_row {
    struct vamp_component_row row;
    bool known; /* reported at least once */
    bool fresh; /* reported since it was last written */
};

struct pending_rows {
    struct pending_row *rows; /* indexed by component */
    unsigned capacity, count;
    struct vamp_gap gaps[PENDING_GAPS_MAX];
    unsigned gap_count;
};

/* The items of the worker's queue are buckets, each with the number of buckets rejected directly
 * before it. */
struct bucket_queue {
    struct vamp_resolution *resolution; /* NULL: the output receives all values unchanged */
    struct vamp_resolution *ranks;      /* NULL: the output has no ranks */
    struct vamp_bucket of_ranks;        /* counts by component; `buckets` 0: empty */

    /* Guarded by the worker's lock. */
    uint64_t refused;               /* number of buckets rejected since the last accepted one */
    struct pending_rows of_refused; /* component rows and gaps of the rejected buckets */

    /* Private to the output's thread. */
    /* Bucket to be written; the resolution's bucket, if there is a resolution. */
    const struct vamp_bucket *current;
    struct pending_rows pending; /* missing in the current segment */
    uint64_t lost_before;        /* buckets lost since the last delivery */
    struct vamp_delivery delivery;
    struct vamp_component_row *components; /* rows in the delivery */
};

#define COMPONENT (UINT32_C(1) << VAMP_LABEL_COMPONENT)
#define RANKS_METRICS_MAX 8
/* How long to wait for the next bucket of a replay before flushing. */
#define UNFLUSHED_NS INT64_C(100000000)

/* A source that can wait does so from this number of queued buckets on. A longer queue would only
 * take memory: half a megabyte per bucket in a workflow of 60 components. */
#define CROWDED_BUCKETS 8

/* ---- pending rows */

/* Stores the row as pending; it replaces an older row of the component. */
static void add_row(struct pending_rows *pending, const struct vamp_component_row *row)
{
    if (row->index < pending->capacity) { /* the table never exceeds the size in the schema */
        pending->rows[row->index] = (struct pending_row){*row, true, true};
        if (row->index >= pending->count) {
            pending->count = row->index + 1;
        }
    }
}

/* Adds a gap; it is joined to the others with the same reason if the list is full. */
static void add_gap(struct pending_rows *pending, const struct vamp_gap *gap)
{
    if (pending->gap_count < PENDING_GAPS_MAX) {
        pending->gaps[pending->gap_count++] = *gap;
    } else {
        /* Joins the gap to others with the same reason. */
        vamp_gap_join(pending->gaps, PENDING_GAPS_MAX, gap);
    }
}

static void add_of_bucket(struct pending_rows *pending, const struct vamp_bucket *bucket)
{
    for (unsigned i = 0; i < bucket->component_count; i++) {
        add_row(pending, &bucket->components[i]);
    }
    for (unsigned i = 0; i < bucket->gap_count; i++) {
        add_gap(pending, &bucket->gaps[i]);
    }
}

/* Moves all rows and gaps out of `from`. */
static void move_pending(struct pending_rows *pending, struct pending_rows *from)
{
    for (unsigned i = 0; i < from->count; i++) {
        if (from->rows[i].known) {
            add_row(pending, &from->rows[i].row);
            from->rows[i].known = false;
        }
    }
    for (unsigned i = 0; i < from->gap_count; i++) {
        add_gap(pending, &from->gaps[i]);
    }
    from->count = from->gap_count = 0;
}

/* ---- create and free */

/* Returns the number by which a bucket increases the accounting when it is submitted; 0: the output
 * does not receive it. */
static uint64_t elements_of(const struct vamp_output *output, const struct vamp_bucket *bucket)
{
    uint64_t count = 0;
    if (output->alarms == NULL) {
        return 1;
    }
    for (unsigned i = 0; !output->run->replayed && i < bucket->alarm_count; i++) {
        count += vamp_sent_alarms_have(output->alarms, &bucket->alarms[i]);
    }
    return count;
}

/* Returns whether a schema has a metric, and whether with a label for the components. */
enum component_detail { DETAIL_ABSENT, DETAIL_MERGED, DETAIL_COMPONENTS };

static enum component_detail component_detail(const struct vamp_schema *schema,
                                              enum vamp_metric_id id)
{
    const unsigned m = vamp_schema_find(schema, id);
    if (m == schema->metric_count) {
        return DETAIL_ABSENT;
    }
    const struct vamp_label_set *set = &schema->label_sets[schema->metrics[m].label_set];
    return (vamp_label_set_bits(set) & COMPONENT) != 0 ? DETAIL_COMPONENTS : DETAIL_MERGED;
}

/* Prepares the counts by component, for metrics that lose the component label in the output. `own`:
 * the output's schema, derived from that of the statistics. */
static int make_ranks(struct vamp_output *output, const struct vamp_schema *own,
                      struct vamp_err *err)
{
    char every[] = "*", *names[RANKS_METRICS_MAX];
    struct vamp_strings metrics = {names, 0};
    const struct vamp_resolution_choice choice = {
        .metrics = &metrics,
        .series = &output->settings->series,
        .by = &(struct vamp_sets){&(struct vamp_named_set){every, COMPONENT}, 1},
        .without = &(struct vamp_sets){NULL, 0},
        .bucket_ns = INT64_MAX, /* a single bucket until it is cleared */
    };
    for (const char *const *name = output->format->ranks; name != NULL && *name != NULL; name++) {
        const enum vamp_metric_id id = vamp_metric_find(*name);
        if (component_detail(own, id) == DETAIL_MERGED &&
            component_detail(output->schema, id) == DETAIL_COMPONENTS) {
            assert(metrics.count < RANKS_METRICS_MAX);
            names[metrics.count++] = (char *)(uintptr_t)*name;
        }
    }
    struct bucket_queue *queue = output->queue;
    int code = 0;
    if (metrics.count > 0) {
        code = vamp_resolution_create(&choice, output->schema, &queue->ranks, err);
        if (code == 0) {
            output->ranks = vamp_resolution_schema(queue->ranks);
        }
    }
    return code;
}

/* Prepares the merging of buckets, unless the output receives all values unchanged, and estimates
 * how many buckets usually wait. Returns 0 or -errno. */
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
        .budget = settings->budget,
        .lines = output->format->lines,
        .format_options = output->format_options,
    };
    if (output->alarms != NULL || vamp_resolution_is_whole(&choice, output->schema)) {
        return 0;
    }
    int code = vamp_resolution_create(&choice, output->schema, &queue->resolution, err);
    if (code == 0) {
        code = make_ranks(output, vamp_resolution_schema(queue->resolution), err);
        output->schema = vamp_resolution_schema(queue->resolution);
    }
    return code;
}

/* Creates the queue. On failure, bucket_queue_done frees what was created. */
static int bucket_queue_create(struct vamp_output *output,
                               const struct vamp_output_context *context, struct vamp_err *err)
{
    (void)context;
    output->bound = VAMP_MAX(output->settings->queue, 1);
    output->crowded = VAMP_MIN(output->bound, CROWDED_BUCKETS);
    int code = vamp_worker_init(&output->worker,
                                &(struct vamp_worker_bounds){.items_max = (unsigned)output->bound},
                                1, err);
    struct bucket_queue *queue = calloc(1, sizeof *queue);
    output->queue = queue;
    if (code == 0 && queue == NULL) {
        code = vamp_err_set_errno(err, ENOMEM, "make a queue of buckets");
    }
    if (code != 0 || queue == NULL) {
        return code;
    }
    code = make_resolution(output, err);
    if (code != 0) {
        return code;
    }
    const unsigned rows = output->schema->max_components + 1; /* including "(other)" */
    queue->pending.capacity = queue->of_refused.capacity = rows;
    queue->pending.rows = calloc(rows, sizeof *queue->pending.rows);
    queue->of_refused.rows = calloc(rows, sizeof *queue->of_refused.rows);
    queue->components = calloc(rows, sizeof *queue->components);
    if (queue->pending.rows == NULL || queue->of_refused.rows == NULL ||
        queue->components == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "keep a table of %u components", rows - 1);
    }
    return 0;
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
    free(queue->pending.rows);
    free(queue->of_refused.rows);
    free(queue->components);
    vamp_resolution_free(queue->resolution);
    vamp_resolution_free(queue->ranks);
    free(queue);
}

/* ---- the submitting thread */

/* Only queues the bucket; merging is done by the output's thread. */
static void submit_bucket(struct vamp_output *output, const struct vamp_bucket *bucket)
{
    struct bucket_queue *queue = output->queue;
    const uint64_t count = elements_of(output, bucket);
    if (count == 0) {
        return;
    }
    output_await_room(output);
    vamp_worker_lock(&output->worker);
    vamp_worker_count(&output->worker.queued, count - 1); /* the bucket itself counts as one */
    /* The bucket is not modified except for its reference count. */
    const struct vamp_worker_item item = {.what = (void *)(uintptr_t)vamp_bucket_hold(bucket),
                                          .number = queue->refused};
    if (vamp_worker_put(&output->worker, &item)) {
        queue->refused = 0;
    } else {
        vamp_bucket_release(bucket);
        vamp_worker_count(&output->worker.refused, count - 1);
        add_of_bucket(&queue->of_refused, bucket);
        queue->refused++;
    }
    vamp_worker_unlock(&output->worker);
}

static uint64_t buckets_waiting(const struct vamp_output *output)
{
    return atomic_load_explicit(&output->worker.count, memory_order_relaxed);
}

/* ---- the output's thread */

/* Waits for a bucket or the end, at most until `until_ns`. The worker's lock is held. */
static void await_bucket(struct vamp_worker *worker, int64_t until_ns)
{
    while (worker->count == 0 && !atomic_load(&worker->finishing) &&
           vamp_worker_now_ns() < until_ns) {
        vamp_worker_wait(worker, until_ns);
    }
}

static void wait_for_bucket(struct vamp_output *output)
{
    vamp_worker_lock(&output->worker);
    await_bucket(&output->worker, VAMP_WORKER_NEVER_NS);
    vamp_worker_unlock(&output->worker);
}

/* Removes the oldest bucket from the queue, unless it belongs to a later output bucket than the one
 * being merged. In that case, and at the end of the run, the output bucket is complete
 * (OUTPUT_NEVER). In a replay the next bucket follows soon, so that this function waits for it
 * before the output flushes. */
static enum output_next next_waiting(struct vamp_output *output,
                                     struct vamp_worker_item *ret_oldest)
{
    struct bucket_queue *queue = output->queue;
    struct vamp_worker *worker = &output->worker;
    vamp_worker_lock(worker);
    if (output->run->replayed && output->format->flush != NULL) {
        await_bucket(worker, vamp_worker_now_ns() + UNFLUSHED_NS);
    }
    enum output_next next = atomic_load(&worker->finishing) ? OUTPUT_NEVER : OUTPUT_NONE;
    if (worker->count > 0) {
        next = OUTPUT_NEVER;
        if (queue->resolution == NULL ||
            vamp_resolution_fits(queue->resolution, vamp_worker_at(worker, 0)->what)) {
            next = OUTPUT_TAKEN;
        }
    }
    if (next == OUTPUT_TAKEN) {
        *ret_oldest = vamp_worker_remove(worker, 0);
        if (ret_oldest->number > 0) {
            move_pending(&queue->pending, &queue->of_refused);
        }
    }
    vamp_worker_unlock(worker);
    return next;
}

/* Adds the bucket to the counts by component. If memory runs out, the counts lack this bucket. */
static void add_to_ranks(struct vamp_output *output, const struct vamp_bucket *bucket)
{
    struct bucket_queue *queue = output->queue;
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_resolution_add(queue->ranks, bucket, &err) != 0) {
        vamp_worker_say(&output->worker, &err);
        return;
    }
    int64_t start_ns = queue->of_ranks.buckets == 0 ? bucket->start_ns : queue->of_ranks.start_ns;
    queue->of_ranks = *vamp_resolution_bucket(queue->ranks);
    queue->of_ranks.start_ns = start_ns;
    queue->of_ranks.width_ns = bucket->start_ns + bucket->width_ns - start_ns;
}

/* Returns whether the interval of the counts is complete, i.e. ends at a multiple of VAMP_RANKS_NS.
 */
static bool ranks_are_whole(const struct vamp_bucket *ranks)
{
    return ranks->buckets > 0 &&
           (ranks->start_ns + ranks->width_ns) / VAMP_RANKS_NS > ranks->start_ns / VAMP_RANKS_NS;
}

/* Merges the bucket into the output's current bucket and releases it. If memory runs out, the
 * bucket is lost. */
static void merge_bucket(struct vamp_output *output, const struct vamp_bucket *bucket)
{
    struct bucket_queue *queue = output->queue;
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_resolution_add(queue->resolution, bucket, &err) != 0) {
        vamp_worker_say(&output->worker, &err);
        vamp_worker_count(&output->worker.lost, 1);
        queue->lost_before++;
    } else if (queue->ranks != NULL) {
        add_to_ranks(output, bucket);
    }
    vamp_worker_lock(&output->worker);
    if (output->remark[0] == '\0') {
        (void)vamp_resolution_remark(queue->resolution, output->remark);
    }
    vamp_worker_unlock(&output->worker);
    vamp_bucket_release(bucket);
}

/* Takes buckets from the queue until one can be written; with a resolution, until its bucket is
 * complete. Component rows and gaps of the buckets become pending. */
static enum output_next take_bucket(struct vamp_output *output)
{
    struct bucket_queue *queue = output->queue;
    struct vamp_worker_item oldest;
    enum output_next next = OUTPUT_NONE;
    queue->current = NULL;
    while (queue->current == NULL) {
        next = next_waiting(output, &oldest);
        if (next != OUTPUT_TAKEN) {
            break;
        }
        queue->lost_before += oldest.number;
        add_of_bucket(&queue->pending, oldest.what);
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
        /* The last bucket, which is incomplete. */
        queue->current = vamp_resolution_bucket(queue->resolution);
    }
    if (queue->current == NULL) {
        output->ending.ranks = queue->of_ranks.buckets > 0 ? &queue->of_ranks : NULL;
        return next;
    }
    output->current = (struct output_element){.time_ns = queue->current->start_ns,
                                              .counts = queue->current->buckets};
    if (output->alarms != NULL) {
        output->current.counts = elements_of(output, queue->current);
    }
    return OUTPUT_TAKEN;
}

/* Returns the delivery of the current bucket. `whole`: with all component rows, for the first
 * bucket of a segment. */
static const struct vamp_delivery *deliver_current(struct bucket_queue *queue, bool whole)
{
    const struct pending_rows *pending = &queue->pending;
    queue->delivery = (struct vamp_delivery){
        .bucket = queue->current,
        .components = queue->components,
        .gaps = pending->gaps,
        .gap_count = pending->gap_count,
        .lost_before = queue->lost_before,
        .ranks = ranks_are_whole(&queue->of_ranks) ? &queue->of_ranks : NULL,
    };
    for (unsigned i = 0; i < pending->count; i++) {
        if (pending->rows[i].fresh || (whole && pending->rows[i].known)) {
            queue->components[queue->delivery.component_count++] = pending->rows[i].row;
        }
    }
    return &queue->delivery;
}

static const struct vamp_delivery *first_bucket(struct vamp_output *output)
{
    struct bucket_queue *queue = output->queue;
    return queue->current != NULL ? deliver_current(queue, true) : NULL;
}

/* Writes the current bucket with all pending rows and gaps, which are then no longer pending,
 * unless the write failed. */
static int write_bucket(struct vamp_output *output, struct vamp_err *err)
{
    struct bucket_queue *queue = output->queue;
    const struct vamp_delivery *delivery = deliver_current(queue, false);
    const int64_t began_ns = vamp_clock_monotonic_ns(output->clock);
    const int code = output->format->write_bucket(output->segment.writer, delivery, err);
    if (code == 0) {
        const int64_t took_ns = vamp_clock_monotonic_ns(output->clock) - began_ns;
        atomic_store(&output->commit_ns, VAMP_MAX(took_ns, 1));
        for (unsigned i = 0; i < queue->pending.count; i++) {
            queue->pending.rows[i].fresh = false;
        }
        queue->pending.gap_count = 0;
        queue->lost_before = 0;
        if (delivery->ranks != NULL) {
            vamp_resolution_clear(queue->ranks);
            queue->of_ranks.buckets = 0;
        }
    }
    return code;
}

static void release_bucket(struct vamp_output *output, bool written)
{
    struct bucket_queue *queue = output->queue;
    if (!written) {
        queue->lost_before += queue->current->buckets;
    }
    if (queue->resolution == NULL) {
        vamp_bucket_release(queue->current);
    } else {
        vamp_resolution_clear(queue->resolution);
    }
    queue->current = NULL;
}

/* A new segment has no component rows: all must be written. */
static void begin_bucket_segment(struct vamp_output *output)
{
    struct pending_rows *pending = &((struct bucket_queue *)output->queue)->pending;
    for (unsigned i = 0; i < pending->count; i++) {
        pending->rows[i].fresh = pending->rows[i].known;
    }
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
