/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "writers/format/sent_alarms.h"

/* Time limit for closing the format when the output is freed during a run. */
#define FREE_NS (2 * VAMP_NS_PER_SECOND)

/* ---- kinds and their options */

static const struct output_kind *kind_of(const struct vamp_writer_ops *format)
{
    static const struct output_kind *const kinds[VAMP_ELEMENT_COUNT] = {
        [VAMP_ELEMENT_BUCKET] = &output_of_buckets,
        [VAMP_ELEMENT_EVENT] = &output_of_events,
    };
    return kinds[format->element];
}

static const struct vamp_opt rotate_options[] = {
    {"size", VAMP_OPT_SIZE, offsetof(struct vamp_output_settings, rotate_bytes), "0B",
     .max = (uint64_t)64 << 40, .only_with = VAMP_TARGET_FILES,
     .help = "Size at which a new file begins; 0B: never"},
    {"interval", VAMP_OPT_DURATION, offsetof(struct vamp_output_settings, rotate_ns), "0s",
     .max = (uint64_t)366 * 86400 * VAMP_NS_PER_SECOND, .only_with = VAMP_TARGET_FILES,
     .help = "Time after which a new file begins; 0s: never"},
    {.key = NULL},
};

static const struct vamp_opt keep_options[] = {
    {"age", VAMP_OPT_DURATION, offsetof(struct vamp_output_settings, keep_ns), "0s",
     .max = (uint64_t)100 * 366 * 86400 * VAMP_NS_PER_SECOND,
     .only_with = VAMP_TARGET_BIT(VAMP_TARGET_NEW_FILES),
     .help = "Files last written longer ago than this, by the clock and not by times of "
             "events, are deleted; 0s: none"},
    {"size", VAMP_OPT_SIZE, offsetof(struct vamp_output_settings, keep_bytes), "0B",
     .max = (uint64_t)64 << 50, .only_with = VAMP_TARGET_BIT(VAMP_TARGET_NEW_FILES),
     .help = "The oldest files are deleted while all files of this output together are larger than "
             "this; 0B: none"},
    {.key = NULL},
};

const struct vamp_opt *vamp_output_options(const struct vamp_writer_ops *format)
{
    return kind_of(format)->options;
}

const struct vamp_output_section *vamp_output_sections(const struct vamp_writer_ops *format)
{
    static const struct vamp_output_section of_files[] = {
        {"rotate", "when a new file begins", rotate_options},
        {"keep", "which older closed files are deleted", keep_options},
        {NULL, NULL, NULL},
    };
    if (format->bytes != NULL) {
        return of_files;
    }
    /* A trace never starts a new file by itself. */
    return &of_files[format->files != NULL ? 1 : 2];
}

uint32_t vamp_output_holding(const struct vamp_writer_ops *format, const void *options,
                             const struct vamp_output_settings *settings)
{
    uint32_t holding = VAMP_TARGET_BIT(VAMP_TARGET_NEW_FILES);
    if (format->target != NULL) {
        holding = format->target(options);
    }
    if (vamp_sent_alarms(format, options) != NULL) {
        holding |= VAMP_TARGET_BIT(VAMP_WITH_ALARMS);
    } else {
        holding |= VAMP_TARGET_BIT(VAMP_WITH_BUCKETS);
    }
    if (settings->when.count > 0) {
        holding |= VAMP_TARGET_BIT(VAMP_WITH_WHEN);
    }
    return holding;
}

/* ---- the thread */

/* Writes or drops every queued element, and flushes. OUTPUT_NEVER: no more will follow. */
static enum output_next drain(struct vamp_output *output)
{
    enum output_next next;
    while ((next = output->kind->take(output)) == OUTPUT_TAKEN) {
        const bool written = output_deliver(output);
        if (atomic_load(&output->worker.abandoned)) {
            return OUTPUT_NEVER; /* its memory may be freed */
        }
        if (!written) {
            vamp_worker_count(&output->worker.lost, output->current.counts);
        }
        output->kind->release(output, written);
        if (output->kind->event == NULL) { /* for events, this would be too often */
            output_check_file(output);
        }
    }
    output_flush(output);
    output_check_file(output);
    return next;
}

/* Closes the last segment with the ending, in which it updates this output's accounting. */
static void close_last(struct vamp_output *output)
{
    struct vamp_accounting *accounting = &output->ending.accounting;
    for (unsigned i = 0; i < accounting->output_count; i++) {
        if (strcmp(accounting->outputs[i].name, output->name) == 0) {
            vamp_output_account(output, &accounting->outputs[i]);
        }
    }
    output->close_failure.code = 0;
    output_close_segment(output, &output->ending, false);
}

static void run_output(void *context)
{
    struct vamp_output *output = context;
    do {
        output->kind->wait(output);
    } while (drain(output) != OUTPUT_NEVER);
    if (!atomic_load(&output->worker.abandoned) && output->segment.writer != NULL) {
        close_last(output);
    }
}

/* ---- creation and elements */

/* Frees the output. Its thread must have ended. */
static void release_all(struct vamp_output *output)
{
    output->kind->done(output);
    vamp_paths_done(&output->paths);
    vamp_worker_done(&output->worker);
    free(output);
}

/* Creates the queue, opens the first segment (or leaves it to the kind), starts the thread. */
static int begin(struct vamp_output *output, const struct vamp_output_context *context,
                 struct vamp_err *err)
{
    int code = output->kind->create(output, context, err);
    if (code == 0 && !output->opens_later) {
        code = output_open_segment(output, err);
    }
    if (code == 0) {
        code = vamp_worker_start(&output->worker, output->name, run_output, output, err);
    }
    if (code != 0 && output->segment.writer != NULL) {
        output_close_segment(output, NULL, true);
    }
    return code;
}

int vamp_output_create(const struct vamp_writer_ops *format, const void *format_options,
                       const struct vamp_output_settings *settings,
                       const struct vamp_output_context *context, struct vamp_output **ret_output,
                       struct vamp_err *err)
{
    struct vamp_output *output = calloc(1, sizeof *output);
    if (output == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "output \"%s\"", settings->name);
    }
    output->format = format;
    output->kind = kind_of(format);
    output->format_options = format_options;
    output->alarms = vamp_sent_alarms(format, format_options);
    output->settings = settings;
    output->run = context->run;
    output->schema = context->schema;
    output->clock = context->clock;
    output->event_kinds = context->event_kinds;
    output->stop = context->stop;
    output->signal = context->signal;
    output->ending.reason = "given up"; /* replaced by vamp_output_end */
    atomic_store(&output->segment_number, context->segments_before);
    (void)snprintf(output->name, sizeof output->name, "%s", settings->name);
    const int code = begin(output, context, err);
    if (code != 0) {
        release_all(output);
        return vamp_err_wrap(err, "output \"%s\"", settings->name);
    }
    *ret_output = output;
    return 0;
}

void vamp_output_bucket(struct vamp_output *output, const struct vamp_bucket *bucket)
{
    if (output->kind->bucket != NULL) {
        output->kind->bucket(output, bucket);
    }
}

void vamp_output_event(struct vamp_output *output, const struct vamp_event *event, bool passed)
{
    if (output->kind->event != NULL) {
        output->kind->event(output, event, passed);
    }
}

void vamp_output_publish(struct vamp_output *output)
{
    if (output->kind->publish != NULL) {
        output->kind->publish(output);
    }
}

void vamp_output_continue(struct vamp_output *output, const struct vamp_output *before)
{
    if (output->kind == before->kind && output->kind->go_on != NULL) {
        output->kind->go_on(output, before);
    }
}

/* ---- state */

void vamp_output_account(const struct vamp_output *output, struct vamp_output_account *ret_account)
{
    struct vamp_worker_account account;
    /* Must precede the read of `done`, which includes the removed elements and only increases. */
    const uint64_t removed = atomic_load(&output->removed);
    vamp_worker_account(&output->worker, &account);
    *ret_account = (struct vamp_output_account){.queued = account.queued,
                                                .written = account.done - removed,
                                                .lost = account.lost + removed,
                                                .waiting = account.waiting,
                                                .in_queue = account.waiting};
    if (output->kind == &output_of_buckets) { /* `waiting` includes buckets taken from the queue */
        ret_account->in_queue = output->kind->used(output);
    }
    memcpy(ret_account->name, output->name, sizeof ret_account->name);
}

int64_t vamp_output_commit_ns(struct vamp_output *output)
{
    return atomic_exchange(&output->commit_ns, 0);
}

bool vamp_output_failure(struct vamp_output *output, struct vamp_err *ret_err)
{
    uint64_t none;
    return vamp_worker_message(&output->worker, ret_err, &none);
}

bool vamp_output_remark(struct vamp_output *output, char text[static VAMP_ERR_TEXT_BYTES])
{
    vamp_worker_lock(&output->worker);
    const bool news = output->remark[0] != '\0';
    if (news) {
        memcpy(text, output->remark, sizeof output->remark);
    }
    output->remark[0] = '\0';
    output->unreported_files = output->unreported_bytes = 0;
    vamp_worker_unlock(&output->worker);
    return news;
}

/* Returns whether the thread has ended. Before that, and if it was abandoned, it owns the paths and
 * other members. */
static bool is_finished(const struct vamp_output *output)
{
    return !output->worker.started && !atomic_load(&output->worker.abandoned);
}

static const char *unit_of(const struct vamp_output *output)
{
    return output->alarms != NULL ? "change" : output->kind->unit;
}

void vamp_output_state(const struct vamp_output *output, struct vamp_output_state *ret_state)
{
    const struct vamp_writer_ops *format = output->format;
    struct vamp_output_account account;
    vamp_output_account(output, &account);
    *ret_state = (struct vamp_output_state){
        .name = output->name,
        .unit = unit_of(output),
        .takes_events = output->kind->event != NULL,
        .stuck = output->stuck,
        .segment = atomic_load_explicit(&output->segment_number, memory_order_relaxed),
        .deleted = atomic_load_explicit(&output->deleted, memory_order_relaxed),
        .used = output->kind->used(output),
        .bound = output->bound,
        .bound_unit = output->kind->bound_unit,
    };
    if (format->linger_ns != NULL) {
        ret_state->linger_ns = format->linger_ns(output->format_options);
    }
    if (is_finished(output)) {
        ret_state->left_out = atomic_load(&output->left_out);
        ret_state->left_out_what = output->left_out_what;
    }
}

/* ---- end */

unsigned vamp_output_retire(struct vamp_output *output, bool retire)
{
    vamp_worker_lock(&output->worker);
    atomic_store(&output->is_retired, retire);
    unsigned newest = atomic_load(&output->segment_number);
    newest += output->is_rotating; /* the number that the rotation uses */
    vamp_worker_unlock(&output->worker);
    return newest;
}

/* `ending` is NULL if the output is freed during a run. */
bool vamp_output_end(struct vamp_output *output, const struct vamp_ending *ending, int64_t until_ns)
{
    if (!output->worker.started) {
        return true;
    }
    if (!atomic_load(&output->worker.finishing)) {
        vamp_worker_lock(&output->worker);
        if (ending != NULL) {
            output->ending = *ending;
            (void)snprintf(output->reason, sizeof output->reason, "%s", ending->reason);
            output->ending.reason = output->reason;
        }
        vamp_worker_unlock(&output->worker);
        (void)vamp_worker_end(&output->worker, until_ns - vamp_worker_now_ns());
    }
    if (!output->all_given && output->kind->end != NULL) {
        output->all_given = output->kind->end(output, vamp_worker_must_give_up(&output->worker));
        return output->all_given;
    }
    output->all_given = true;
    return true;
}

int vamp_output_finish(struct vamp_output *output, int64_t until_ns, struct vamp_err *err)
{
    struct vamp_output_account account;
    const char *unit = unit_of(output);
    assert(!output->worker.started || output->all_given);
    const bool stuck = output->worker.started && !vamp_worker_join(&output->worker, until_ns);
    vamp_output_account(output, &account);
    if (stuck) {
        return vamp_err_set(err, -ETIMEDOUT,
                            "it is stuck in the operating system or a library and left behind: "
                            "%" PRIu64 " of %" PRIu64 " %ss are lost, the target may lack its end",
                            account.lost, account.queued, unit);
    }
    assert(account.waiting == 0);
    const struct vamp_err *first = &output->worker.first_failure;
    if (account.lost > 0 && first->code != 0) {
        return vamp_err_set(err, first->code, "%" PRIu64 " of %" PRIu64 " %ss are lost: %.400s",
                            account.lost, account.queued, unit, first->text);
    }
    if (account.lost > 0) {
        return vamp_err_set(err, -ENOBUFS,
                            "%" PRIu64 " of %" PRIu64
                            " %ss are lost: they came faster than they could be written; a larger "
                            "\"%s\" may help",
                            account.lost, account.queued, unit, output->kind->queue_option);
    }
    const struct vamp_err *close_failure = &output->close_failure;
    if (close_failure->code != 0) {
        return vamp_err_set(err, close_failure->code, "%s", close_failure->text);
    }
    return 0;
}

size_t vamp_output_paths(const struct vamp_output *output,
                         void (*each)(void *context, const char *path), void *context)
{
    if (!is_finished(output)) {
        return 0;
    }
    return vamp_paths_each(&output->paths, each, context);
}

void vamp_output_free(struct vamp_output *output)
{
    if (output == NULL) {
        return;
    }
    if (output->worker.started) {
        const int64_t now_ns = vamp_worker_now_ns();
        (void)!vamp_output_end(output, NULL, now_ns);
        (void)vamp_worker_join(&output->worker, now_ns + FREE_NS);
    }
    if (!atomic_load(&output->worker.abandoned)) {
        release_all(output); /* otherwise the blocked thread may still use them */
    }
}
