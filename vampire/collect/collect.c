/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/collect/collect.h"

#include <stdlib.h>
#include <string.h>

#include "vampire/collect/internal.h"
#include "vampire/core/values.h"

/* Memory needed to unpack a message, per byte of the message. */
#define ARENA_PER_BYTE ((size_t)64)
/* Maximum number of empty buckets in a row; after a longer silence, time leaps to the next message.
 */
#define EMPTY_MAX 60

/* ---- create and free */

static int check_options(const struct vamp_collect_options *options, struct vamp_err *err)
{
    if (options->bucket_ns <= 0 || options->delay_ns < 0 || options->forget_ns <= 0) {
        return vamp_err_set(err, -EINVAL, "a time of the collector is out of bounds");
    }
    if (options->max_runs == 0 || options->max_series < 2 || options->max_message_bytes == 0 ||
        options->max_message_bytes > SIZE_MAX / ARENA_PER_BYTE) {
        return vamp_err_set(err, -EINVAL, "a bound of the collector is out of bounds");
    }
    if (options->sub_bits < 2 || options->sub_bits > 4) {
        return vamp_err_set(err, -EINVAL, "bins of %u sub-bits: 2, 3 or 4", options->sub_bits);
    }
    return 0;
}

int vamp_collect_create(const struct vamp_collect_options *options, vamp_bucket_fn *take,
                        void *context, struct vamp_collect **ret_collect, struct vamp_err *err)
{
    int code = check_options(options, err);
    if (code != 0) {
        return code;
    }
    struct vamp_collect *collect = calloc(1, sizeof *collect);
    if (collect == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare to collect runs");
    }
    collect->options = *options;
    collect->take = take;
    collect->context = context;
    collect->histogram = malloc(vamp_bucket_histogram_bytes(VAMP_BINS_MAX));
    if (map_init(&collect->runs) != 0 || collect->histogram == NULL) {
        code = vamp_err_set_errno(err, ENOMEM, "prepare to collect runs");
        goto fail;
    }
    code =
        vamp_decode_arena_init(&collect->arena, options->max_message_bytes * ARENA_PER_BYTE, err);
    if (code == 0) {
        code = collect_schema_init(collect, err);
    }
    if (code != 0) {
        goto fail;
    }
    *ret_collect = collect;
    return 0;
fail:
    vamp_collect_free(collect);
    return code;
}

void vamp_collect_free(struct vamp_collect *collect)
{
    if (collect == NULL) {
        return;
    }
    vamp_bucket_release(collect->newest);
    collect_runs_done(collect);
    free(collect->histogram);
    collect_schema_done(collect);
    vamp_decode_arena_done(&collect->arena);
    free(collect);
}

const struct vamp_schema *vamp_collect_schema(const struct vamp_collect *collect)
{
    return &collect->merged.schema;
}

const struct vamp_collect_counts *vamp_collect_counts(const struct vamp_collect *collect)
{
    return &collect->counts;
}

void vamp_collect_outputs(struct vamp_collect *collect, const struct vamp_output_account *outputs,
                          unsigned count)
{
    collect->output_count = VAMP_MIN(count, (unsigned)VAMP_OUTPUTS_MAX);
    memcpy(collect->outputs, outputs, collect->output_count * sizeof *outputs);
}

/* ---- messages */

/* Returns the start of the bucket that contains the time. */
static int64_t begin_of(const struct vamp_collect *collect, int64_t time_ns)
{
    const int64_t width = collect->options.bucket_ns;
    int64_t rest = time_ns % width;
    if (rest < 0) {
        rest += width;
    }
    return time_ns - rest;
}

/* The first call determines the first bucket: the oldest one that is not due yet. */
static void start(struct vamp_collect *collect, int64_t now_ns)
{
    if (!collect->started) {
        collect->next_ns = begin_of(collect, now_ns - collect->options.delay_ns);
        collect->started = true;
    }
}

/* Returns whether the bucket of the message is still open; if not, counts the message as repeated
 * or refused. */
static bool is_in_time(struct vamp_collect *collect, const Vampire__Telemetry__Message *message,
                       int64_t now_ns)
{
    struct vamp_collect_counts *counts = &collect->counts;
    const struct collect_run *run = collect_run_find(collect, message->run->id);
    if (run != NULL && collect_run_has(run, message->number)) {
        counts->repeated++;
    } else if (message->start_ns < collect->next_ns) {
        counts->refused[VAMP_REFUSAL_LATE]++;
    } else if (message->start_ns - now_ns >
               collect->options.bucket_ns + collect->options.delay_ns) {
        counts->refused[VAMP_REFUSAL_EARLY]++;
    } else {
        return true;
    }
    return false;
}

static void end_run(struct vamp_collect *collect, const char *id, int64_t now_ns)
{
    struct collect_run *run = collect_run_find(collect, id);
    if (run == NULL) {
        return; /* the run was never known, or was forgotten */
    }
    if (run->said_end) {
        collect->counts.repeated++;
        return;
    }
    collect->counts.runs_live -= !run->ended;
    collect->counts.runs_ended += !run->ended;
    run->said_end = true;
    run->ended = true;
    run->heard_ns = now_ns;
}

/* Returns whether the subject ends in .WORKFLOW.RUN. In a subject, _ replaces characters that are
 * not allowed, and long names are cut. */
static bool is_subject_of(const char *subject, const Vampire__Telemetry__Message *message)
{
    const char *run = strrchr(subject, '.');
    const char *workflow = message->run->workflow;
    if (workflow[0] == '\0') {
        workflow = "_";
    }
    const size_t length = strnlen(workflow, VAMP_SUBJECT_NAME_BYTES);
    if (run == NULL || strcmp(run + 1, message->run->id) != 0 ||
        (size_t)(run - subject) <= length || run[-1 - (ptrdiff_t)length] != '.') {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        const char c = run[(ptrdiff_t)i - (ptrdiff_t)length];
        if (c != workflow[i] && c != '_') {
            return false;
        }
    }
    return true;
}

static bool is_from(const struct vamp_collect *collect, const char *subject,
                    const Vampire__Telemetry__Message *message)
{
    if (subject == NULL) {
        return true;
    }
    const struct collect_run *run = collect_run_find(collect, message->run->id);
    if (run != NULL && run->subject != NULL) {
        return strcmp(run->subject, subject) == 0;
    }
    return is_subject_of(subject, message);
}

void vamp_collect_message(struct vamp_collect *collect, const char *subject, const void *data,
                          size_t bytes, int64_t now_ns)
{
    struct vamp_collect_counts *counts = &collect->counts;
    enum vamp_refusal refusal = VAMP_REFUSAL_GARBAGE;
    counts->messages++;
    start(collect, now_ns);
    const Vampire__Telemetry__Message *message = collect_decode(collect, data, bytes, &refusal);
    if (message == NULL) {
        counts->refused[refusal]++;
    } else if (!is_from(collect, subject, message)) {
        counts->refused[VAMP_REFUSAL_SUBJECT]++;
    } else if (message->parts == 0) {
        end_run(collect, message->run->id, now_ns);
    } else if (is_in_time(collect, message, now_ns)) {
        struct collect_run *run = collect_run_meet(collect, message, subject, now_ns, &refusal);
        if (run == NULL) {
            counts->refused[refusal]++;
        } else {
            collect_run_keep(collect, run, message, data, bytes);
        }
    }
}

/* ---- closing a bucket: runs are processed by id and their buckets by number, so that the same
 * messages always result in the same bucket */

static void add_gap(struct vamp_collect *collect, const struct vamp_gap *gap)
{
    if (collect->gap_count < COLLECT_GAPS_MAX) {
        collect->gaps[collect->gap_count++] = *gap;
    } else {
        vamp_gap_join(collect->gaps, collect->gap_count, gap);
    }
}

static void add_gaps(struct vamp_collect *collect, const Vampire__Telemetry__Message *message)
{
    for (size_t i = 0; i < message->n_gaps; i++) {
        const Vampire__Telemetry__Gap *from = message->gaps[i];
        unsigned reason = 0; /* an unknown reason counts as VAMP_GAP_ON_WAY, the last one */
        while (reason < VAMP_GAP_ON_WAY &&
               strcmp(vamp_gap_reason_name(reason), from->reason) != 0) {
            reason++;
        }
        const struct vamp_gap gap = {from->start_ns, from->end_ns, reason, from->events};
        add_gap(collect, &gap);
    }
}

/* Adds gaps for missing buckets of the run before this one: those that its output lost, and others.
 */
static void note_missing(struct vamp_collect *collect, const struct collect_run *run,
                         const Vampire__Telemetry__Message *message)
{
    uint64_t missing = 0;
    struct vamp_gap gap = {
        .start_ns = message->start_ns, .end_ns = message->start_ns, .reason = VAMP_GAP_RUN_LOST};
    if (run->has_newest) {
        missing = vamp_minus(message->number, run->after);
        gap.start_ns = run->end_ns;
    }
    if (message->lost_before > 0) {
        add_gap(collect, &gap);
    }
    if (missing > message->lost_before) {
        gap.reason = VAMP_GAP_ON_WAY;
        add_gap(collect, &gap);
    }
}

/* ---- one bucket of a run */

static void keep_account(struct collect_run *run, const Vampire__Telemetry__Account *from)
{
    struct vamp_accounting *to = &run->account;
    to->received = from->received;
    to->decoded = from->decoded;
    to->rejected = from->rejected;
    to->filtered = from->filtered;
    to->counted = from->counted;
    to->sampled_out = from->sampled_out;
    to->late = from->late;
    to->resolution_ns = from->resolution_ns;
    memset(to->lost, 0, sizeof to->lost);
    for (size_t i = 0; i < from->n_lost; i++) {
        for (unsigned reason = 0; reason < VAMP_LOSS_COUNT; reason++) {
            if (strcmp(vamp_loss_name(reason), from->lost[i]->reason) == 0) {
                to->lost[reason] += from->lost[i]->events;
            }
        }
    }
}

static void learn_unknown(struct vamp_coverage *coverage, const Vampire__Telemetry__Account *from)
{
    for (size_t i = 0; i < from->n_unknown; i++) {
        for (unsigned bit = 0; bit < VAMP_UNKNOWN_COUNT; bit++) {
            if (strcmp(vamp_unknown_word((enum vamp_unknown)bit), from->unknown[i]) == 0) {
                coverage->learned |= VAMP_UNKNOWN_BIT(bit);
            }
        }
    }
}

static void add_message(struct vamp_collect *collect, struct collect_run *run,
                        const Vampire__Telemetry__Message *message)
{
    if (message->part == 1) {
        note_missing(collect, run, message);
        add_gaps(collect, message);
        if (message->account != NULL) {
            keep_account(run, message->account);
            learn_unknown(&collect->coverage, message->account);
        }
        collect_run_collected(run, message->number, message->buckets,
                              message->start_ns + message->width_ns);
    }
    for (size_t i = 0; i < message->n_metrics; i++) {
        if (collect_metric(message->metrics[i]) == VAMP_METRIC_NONE) {
            collect->counts.refused[VAMP_REFUSAL_METRIC]++;
            break; /* counts messages, not metrics */
        }
    }
    collect_values_add(collect, run, message);
}

static void add_pending(struct vamp_collect *collect, struct collect_run *run,
                        const struct collect_pending *pending)
{
    if (pending->arrived < pending->parts) {
        collect->counts.refused[VAMP_REFUSAL_INCOMPLETE]++;
        return;
    }
    for (unsigned i = 0; i < pending->parts; i++) {
        enum vamp_refusal refusal;
        const Vampire__Telemetry__Message *message =
            collect_decode(collect, pending->part[i].data, pending->part[i].bytes, &refusal);
        if (message != NULL) { /* the message was valid when it was received */
            add_message(collect, run, message);
        }
    }
    vamp_merged_end_bucket(&collect->merged);
    collect->counts.buckets++;
    run->reported = true;
}

/* ---- a collected bucket */

static void add_run(struct vamp_collect *collect, struct collect_run *run, int64_t end_ns)
{
    run->reported = false;
    struct collect_pending *pending = collect_run_next(run, end_ns);
    for (; pending != NULL; pending = collect_run_next(run, end_ns)) {
        add_pending(collect, run, pending);
        collect_pending_free(collect, pending);
    }
    vamp_merged_end_run(&collect->merged);
}

/* Reports the runs that reported through a collector as missing, which itself is missing. */
static void report_subtree(struct vamp_collect *collect, const struct collect_run *collector)
{
    const uint32_t count = collect->merged.sets[collect_runs_set(collect)].count;
    for (uint32_t series = 0; series < count; series++) {
        if (collect->reporters[series] == collector) {
            collect_values_gauge(collect, VAMP_METRIC_COLLECT_RUNS_REPORTING, series, 0);
            collect_values_gauge(collect, VAMP_METRIC_COLLECT_RUNS_MISSING, series, 1);
        }
    }
}

static void report_run(struct vamp_collect *collect, struct collect_run *run, int64_t end_ns)
{
    const bool missing = !run->reported && !run->ended && run->first_ns < end_ns;
    if (run->is_collector) {
        if (missing) {
            report_subtree(collect, run);
        }
        return;
    }
    if (!run->has_series) {
        const char *labels[VAMP_LABELS_MAX] = {run->workflow, run->id};
        run->series = collect_series(collect, collect_runs_set(collect), labels);
        run->has_series = true;
    }
    collect_values_gauge(collect, VAMP_METRIC_COLLECT_RUNS_REPORTING, run->series, run->reported);
    collect_values_gauge(collect, VAMP_METRIC_COLLECT_RUNS_MISSING, run->series, missing);
}

static void report_refused(struct vamp_collect *collect)
{
    const unsigned set = collect->merged.metrics[VAMP_METRIC_COLLECT_REFUSED].label_set;
    for (unsigned i = 0; i < VAMP_REFUSAL_COUNT; i++) {
        const char *labels[VAMP_LABELS_MAX] = {vamp_refusal_name(i)};
        const uint64_t refused = collect->counts.refused[i];
        const uint32_t series = collect_series(collect, set, labels);
        collect_values_count(collect, VAMP_METRIC_COLLECT_REFUSED, series,
                             refused - collect->refused_before[i]);
        collect->refused_before[i] = refused;
    }
}

/* Copies the bucket, since outputs keep it. Returns NULL if out of memory. */
static const struct vamp_bucket *make_bucket(struct vamp_collect *collect, int64_t start_ns)
{
    struct vamp_bucket bucket = {
        .number = collect->number,
        .buckets = 1,
        .start_ns = start_ns,
        .width_ns = collect->options.bucket_ns,
        .gaps = collect->gaps,
        .gap_count = collect->gap_count,
    };
    collect_runs_account(collect, &bucket.accounting);
    vamp_merged_show(&collect->merged, &bucket);
    return collect->out_of_memory ? NULL : vamp_merged_copy(&bucket);
}

static bool hand_over(struct vamp_collect *collect, int64_t start_ns)
{
    const struct vamp_bucket *bucket = make_bucket(collect, start_ns);
    if (bucket == NULL) {
        const struct vamp_gap gap = {
            .start_ns = start_ns,
            .end_ns = start_ns + collect->options.bucket_ns,
            .reason = VAMP_GAP_MEMORY,
        };
        add_gap(collect, &gap); /* the gap is in the next bucket */
        return false;
    }
    collect->gap_count = 0;
    collect->number++;
    collect->counts.collected++;
    vamp_bucket_release(collect->newest);
    collect->newest = vamp_bucket_hold(bucket);
    collect->take(collect->context, bucket);
    return true;
}

static void close_bucket(struct vamp_collect *collect, int64_t now_ns)
{
    const int64_t start_ns = collect->next_ns, end_ns = start_ns + collect->options.bucket_ns;
    for (struct collect_run *run = collect->run_list; run != NULL; run = run->next) {
        add_run(collect, run, end_ns);
    }
    for (struct collect_run *run = collect->run_list; run != NULL; run = run->next) {
        report_run(collect, run, end_ns);
    }
    vamp_merged_end_bucket(&collect->merged);
    vamp_merged_end_run(&collect->merged);
    collect_values_settle(collect);
    report_refused(collect);
    vamp_merged_clear(&collect->merged, !hand_over(collect, start_ns));
    collect->out_of_memory = false;
    collect->next_ns = end_ns;
    collect_runs_review(collect, now_ns);
}

/* Returns the start of the oldest waiting bucket; INT64_MAX if no bucket is waiting. */
static int64_t oldest_waiting(const struct vamp_collect *collect)
{
    int64_t oldest_ns = INT64_MAX;
    for (const struct collect_run *run = collect->run_list; run != NULL; run = run->next) {
        for (const struct collect_pending *at = run->pending; at != NULL; at = at->next) {
            oldest_ns = VAMP_MIN(oldest_ns, at->start_ns);
        }
    }
    return oldest_ns;
}

/* Skips a long time without messages: the clock was set, or the caller was suspended. */
static void leap_to(struct vamp_collect *collect, int64_t due_ns)
{
    const int64_t oldest_ns = oldest_waiting(collect);
    const int64_t to_ns = begin_of(collect, VAMP_MIN(oldest_ns, due_ns));
    if ((to_ns - collect->next_ns) / collect->options.bucket_ns > EMPTY_MAX) {
        const struct vamp_gap gap = {
            .start_ns = collect->next_ns, .end_ns = to_ns, .reason = VAMP_GAP_LEAP};
        add_gap(collect, &gap);
        collect->next_ns = to_ns;
    }
}

void vamp_collect_advance(struct vamp_collect *collect, int64_t now_ns)
{
    const int64_t due_ns = now_ns - collect->options.delay_ns;
    start(collect, now_ns);
    while (collect->next_ns + collect->options.bucket_ns <= due_ns) {
        leap_to(collect, due_ns);
        close_bucket(collect, now_ns);
    }
}

void vamp_collect_finish(struct vamp_collect *collect, int64_t now_ns)
{
    vamp_collect_advance(collect, now_ns);
    do {
        close_bucket(collect, now_ns);
    } while (oldest_waiting(collect) != INT64_MAX || collect->next_ns <= now_ns);
}
