/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/outputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vampire/core/values.h"
#include "vampire/core/worker.h"

/* How long before the deadline outputs drop pending elements, and how much time they then have to
 * close. */
#define GIVE_UP_NS (3 * VAMP_NS_PER_SECOND / 2)
#define CLOSE_NS VAMP_NS_PER_SECOND
/* Pause between two attempts to queue the last elements. */
#define ROOM_NS 200000
/* Outputs that keep up write all queued elements within this time. */
#define KEEP_UP_NS (VAMP_NS_PER_SECOND / 2)

static bool filter_matches(void *context, const struct vamp_event *event)
{
    return vamp_filter_use_match(context, event);
}

static void output_done(struct vamp_run_output *output)
{
    vamp_output_free(output->output);
    vamp_paths_done(&output->paths_before);
    *output = (struct vamp_run_output){0};
}

static int open_one(struct vamp_run_output *output, const struct vamp_config_output *chosen,
                    struct vamp_rules *rules, const struct vamp_output_context *context,
                    struct vamp_err *err)
{
    struct vamp_output_context own = *context;
    if (chosen->settings.filter != NULL && rules != NULL) {
        char path[VAMP_FILTER_PATH_BYTES];
        struct vamp_filter_use *filter = NULL;
        (void)snprintf(path, sizeof path, "outputs.%s.filter", chosen->settings.name);
        const int status = vamp_rules_add_filter(rules, chosen->settings.filter, VAMP_FILTER_INSIDE,
                                                 path, &filter, err);
        if (status != 0) {
            return status;
        }
        own.filter = filter_matches;
        own.filter_context = filter;
    }
    const struct vamp_writer_ops *format = NULL;
    const int status = vamp_writer_load(chosen->ops, &format, err);
    if (status != 0) {
        return vamp_err_wrap(err, "output \"%s\"", chosen->settings.name);
    }
    return vamp_output_create(format, chosen->options, &chosen->settings, &own, &output->output,
                              err);
}

/* Returns the output with this name, or NULL. */
static const struct vamp_run_output *find_output(const struct vamp_outputs *outputs,
                                                 const char *name)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        struct vamp_output_account account;
        vamp_output_account(outputs->items[i].output, &account);
        if (strcmp(account.name, name) == 0) {
            return &outputs->items[i];
        }
    }
    return NULL;
}

/* Retires the replaced output with this name and returns the number of its newest segment. Other
 * names have other files unless they were renamed, so that they continue after the newest segment
 * of all. */
static unsigned segments_before(const struct vamp_outputs *before, const char *name)
{
    struct vamp_output_state state;
    unsigned newest = 0;
    if (before == NULL) {
        return 0;
    }
    const struct vamp_run_output *replaced = find_output(before, name);
    if (replaced != NULL) {
        return vamp_output_retire(replaced->output, true);
    }
    for (unsigned i = 0; i < before->count; i++) {
        vamp_output_state(before->items[i].output, &state);
        newest = VAMP_MAX(state.segment, newest);
    }
    return newest;
}

/* The reload failed: the outputs `before` are in use again. */
static void continue_before(const struct vamp_outputs *before)
{
    for (unsigned i = 0; before != NULL && i < before->count; i++) {
        (void)vamp_output_retire(before->items[i].output, false);
    }
}

int vamp_outputs_open(struct vamp_outputs *outputs, const struct vamp_config *config,
                      const struct vamp_output_context *context, struct vamp_rules *rules,
                      const struct vamp_outputs *before, struct vamp_err *err)
{
    *outputs = (struct vamp_outputs){.count = 0};
    struct vamp_output_context each = *context;
    each.event_kinds = config->event_kinds;
    for (unsigned i = 0; i < config->output_count; i++) {
        struct vamp_run_output *output = &outputs->items[i];
        each.segments_before = segments_before(before, config->outputs[i].settings.name);
        const int status = open_one(output, &config->outputs[i], rules, &each, err);
        if (status != 0) {
            output_done(output);
            vamp_outputs_done(outputs);
            continue_before(before);
            return status;
        }
        struct vamp_output_state state;
        vamp_output_state(output->output, &state);
        outputs->count++;
        outputs->takes_events |= state.takes_events;
        if (config->outputs[i].settings.when.count > 0) {
            outputs->history = context->history;
            outputs->keeps_filtered |= config->outputs[i].settings.filtered;
        }
    }
    return 0;
}

static void add_path(void *context, const char *path)
{
    vamp_paths_add(context, path);
}

void vamp_outputs_continue(struct vamp_outputs *outputs, const struct vamp_outputs *before,
                           bool same_alarms)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        struct vamp_run_output *output = &outputs->items[i];
        struct vamp_output_account account;
        vamp_output_account(output->output, &account);
        const struct vamp_run_output *replaced = find_output(before, account.name);
        if (replaced == NULL) {
            continue;
        }
        vamp_run_output_account(replaced, &output->before);
        struct vamp_paths *paths = &output->paths_before;
        const size_t in_all = vamp_run_output_paths(replaced, add_path, paths);
        paths->left_out = in_all - paths->count;
        output->outages = replaced->outages;
        memcpy(output->outage, replaced->outage, sizeof output->outage);
        if (same_alarms) {
            vamp_output_continue(output->output, replaced->output);
        }
    }
}

/* Returns whether the history stores the event: all events that count or, for some outputs, all
 * events; and in any case those that determine which components and gaps exist. */
static bool is_kept(const struct vamp_outputs *outputs, const struct vamp_event *event, bool passed)
{
    const bool is_membership = event->kind == VAMP_EVENT_JOIN || event->kind == VAMP_EVENT_LEAVE;
    return passed || outputs->keeps_filtered || is_membership || vamp_event_is_mark(event);
}

void vamp_outputs_record(struct vamp_outputs *outputs, const struct vamp_event *event, bool passed)
{
    if (outputs->history != NULL && is_kept(outputs, event, passed)) {
        vamp_history_add(outputs->history, event, passed);
    }
    for (unsigned i = 0; i < outputs->count; i++) {
        vamp_output_event(outputs->items[i].output, event, passed);
    }
}

void vamp_outputs_publish(struct vamp_outputs *outputs)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        vamp_output_publish(outputs->items[i].output);
    }
}

void vamp_outputs_submit(struct vamp_outputs *outputs, const struct vamp_bucket *bucket)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        vamp_output_bucket(outputs->items[i].output, bucket);
    }
    vamp_bucket_release(bucket);
}

void vamp_run_output_account(const struct vamp_run_output *output,
                             struct vamp_output_account *ret_account)
{
    vamp_output_account(output->output, ret_account);
    ret_account->queued += output->before.queued;
    ret_account->written += output->before.written;
    ret_account->lost += output->before.lost;
}

size_t vamp_run_output_paths(const struct vamp_run_output *output,
                             void (*each)(void *context, const char *path), void *context)
{
    const size_t before = vamp_paths_each(&output->paths_before, each, context);
    return before + vamp_output_paths(output->output, each, context);
}

/* An output that waits (for a server or for disk space) fails at each attempt, so its failures are
 * reported at increasing intervals until it writes again. */
static void report_failure(struct vamp_run_output *item, struct vamp_status *status)
{
    struct vamp_output_account account;
    struct vamp_err failure;
    if (!vamp_output_failure(item->output, &failure)) {
        return;
    }
    vamp_output_account(item->output, &account);
    if (item->outages == 0 || account.written != item->written_before_waits) {
        vamp_reminder_end(&item->waits);
        item->written_before_waits = account.written;
        item->outages++;
    }
    memcpy(item->outage, failure.text, sizeof item->outage);
    if (vamp_reminder_take_due(&item->waits, failure.text,
                               vamp_clock_monotonic_ns(status->clock))) {
        vamp_status_error(status, "output %s: %s", account.name, failure.text);
    }
}

static void report_remark(struct vamp_output *output, struct vamp_status *status)
{
    char remark[VAMP_ERR_TEXT_BYTES];
    if (vamp_output_remark(output, remark)) {
        struct vamp_output_state state;
        vamp_output_state(output, &state);
        vamp_status_say(status, "output %s: %s", state.name, remark);
    }
}

void vamp_outputs_accounts(const struct vamp_outputs *outputs,
                           struct vamp_output_account accounts[static VAMP_OUTPUTS_MAX])
{
    for (unsigned i = 0; i < outputs->count; i++) {
        vamp_run_output_account(&outputs->items[i], &accounts[i]);
    }
}

void vamp_outputs_report(struct vamp_outputs *outputs, struct vamp_stats *stats,
                         struct vamp_status *status)
{
    struct vamp_output_account accounts[VAMP_OUTPUTS_MAX];
    vamp_outputs_accounts(outputs, accounts);
    /* Names the outputs first, because the id of an output's series depends on its name. */
    if (stats != NULL) {
        vamp_stats_outputs(stats, accounts, outputs->count);
    }
    for (unsigned i = 0; i < outputs->count; i++) {
        struct vamp_output *output = outputs->items[i].output;
        const int64_t commit_ns = vamp_output_commit_ns(output);
        if (stats != NULL && commit_ns > 0) {
            vamp_stats_self(stats, VAMP_METRIC_VAMPIRE_COMMIT_NS, i, commit_ns);
        }
        report_failure(&outputs->items[i], status);
        report_remark(output, status);
    }
}

/* Waits until all elements are written, at most until `until_ns`. Returns how many are not. */
static uint64_t await_written(const struct vamp_run_output *item, int64_t until_ns)
{
    struct vamp_output_account account;
    vamp_output_account(item->output, &account);
    while (account.waiting > 0 && vamp_worker_now_ns() < until_ns) {
        vamp_sleep_ns(ROOM_NS);
        vamp_output_account(item->output, &account);
    }
    return account.waiting;
}

/* Reports why an output delays the end of the run: it waits for readers, or `waiting` elements are
 * not written yet. */
static void report_waiting(const struct vamp_run_output *item, const struct vamp_ending *ending,
                           uint64_t waiting, struct vamp_status *status)
{
    char time[VAMP_QUANTITY_TEXT_BYTES];
    struct vamp_output_state state;
    vamp_output_state(item->output, &state);
    if (ending->completed && state.linger_ns > 0) {
        vamp_duration_text(state.linger_ns, time, sizeof time);
        vamp_status_say(status, "output %s: it stays for readers for %s (\"linger\")%s", state.name,
                        time, ending->stop != 0 ? ", at most until \"finish\" is over" : "");
    }
    if (waiting > 0) {
        vamp_status_say(status,
                        "output %s: %" PRIu64 " %ss are still to be written, for at most %.1f s "
                        "(\"finish\")",
                        state.name, waiting, state.unit,
                        (double)(ending->until_ns - vamp_worker_now_ns()) /
                            (double)VAMP_NS_PER_SECOND);
    }
}

static void finish_one(struct vamp_run_output *item, int64_t until_ns, struct vamp_outputs *outputs,
                       struct vamp_status *status)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_output_account account;
    const int result = vamp_output_finish(item->output, until_ns, &err);
    report_remark(item->output, status);
    vamp_output_account(item->output, &account);
    if (result == 0) {
        report_failure(item, status);
    } else {
        vamp_status_error(status, "output %s: %s", account.name, err.text);
        outputs->left_behind |= result == -ETIMEDOUT;
        /* A stuck output that has already written everything loses nothing. */
        outputs->lost |= result != -ETIMEDOUT || account.lost > 0;
    }
}

/* Requests the end of all outputs. Returns whether all of them have queued their last elements. */
static bool end_all(struct vamp_outputs *outputs, const struct vamp_ending *ending)
{
    bool ended = true;
    for (unsigned i = 0; i < outputs->count; i++) {
        ended &= vamp_output_end(outputs->items[i].output, ending, ending->until_ns);
    }
    return ended;
}

void vamp_outputs_finish(struct vamp_outputs *outputs, const struct vamp_ending *ending,
                         struct vamp_status *status)
{
    const int64_t now_ns = vamp_worker_now_ns();
    const int64_t left_ns = VAMP_MAX(ending->until_ns - now_ns, 0);
    struct vamp_ending own = *ending;
    own.until_ns = now_ns + left_ns - VAMP_MIN(left_ns / 2, GIVE_UP_NS);
    bool ended = end_all(outputs, &own);
    for (unsigned i = 0; i < outputs->count; i++) {
        const int64_t kept_up_ns = now_ns + VAMP_MIN(left_ns, KEEP_UP_NS);
        const uint64_t waiting = await_written(&outputs->items[i], kept_up_ns);
        report_waiting(&outputs->items[i], &own, waiting, status);
    }
    while (!ended) {
        vamp_sleep_ns(ROOM_NS);
        ended = end_all(outputs, &own);
    }
    for (unsigned i = 0; i < outputs->count; i++) {
        struct vamp_output_state state;
        int64_t until_ns = own.until_ns + CLOSE_NS;
        vamp_output_state(outputs->items[i].output, &state);
        if (ending->completed && ending->stop == 0) {
            until_ns += state.linger_ns;
        }
        finish_one(&outputs->items[i], until_ns, outputs, status);
    }
}

void vamp_outputs_done(struct vamp_outputs *outputs)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        output_done(&outputs->items[i]);
    }
    outputs->count = 0;
}
