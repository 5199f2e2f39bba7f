/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread of an excerpt: opens a recording when one begins, completes it when it ends. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vampire/alarms/actions/excerpt_internal.h"
#include "writers/output/paths.h"

static void open_recording(struct vamp_excerpt *excerpt)
{
    const struct vamp_output_context context = {
        .run = &excerpt->run,
        .schema = NULL, /* a recording contains events, no metrics */
        .clock = excerpt->context.clock,
        .segments_before = excerpt->segments_before,
        .event_kinds = excerpt->context.event_kinds,
        .present = excerpt->present,
        .filter = excerpt->context.filter,
        .filter_context = excerpt->context.filter_context,
        .stop = excerpt->context.stop,
    };
    struct vamp_err err = VAMP_ERR_NONE;
    const int code =
        vamp_output_create(&vamp_writer_recording, excerpt->format_options,
                           &excerpt->output_settings, &context, &excerpt->output, &err);
    if (code == 0) {
        excerpt_enter(excerpt, EXCERPT_WRITING);
        return;
    }
    excerpt_say(excerpt, true, "no recording: %s", err.text);
    (void)pthread_mutex_lock(&excerpt->lock);
    excerpt->account.failed++;
    (void)pthread_mutex_unlock(&excerpt->lock);
    excerpt_enter(excerpt, EXCERPT_IDLE);
}

static void note_first(void *context, const char *path)
{
    char *first = context;
    if (first[0] == '\0') {
        (void)snprintf(first, VAMP_ERR_TEXT_BYTES, "%s", path);
    }
}

static void add_account(struct vamp_excerpt *excerpt, const struct vamp_output_account *account,
                        bool failed)
{
    (void)pthread_mutex_lock(&excerpt->lock);
    excerpt->account.failed += failed;
    excerpt->account.queued += account->queued;
    excerpt->account.written += account->written;
    excerpt->account.lost += account->lost;
    (void)pthread_mutex_unlock(&excerpt->lock);
}

static void complete_recording(struct vamp_excerpt *excerpt)
{
    const struct vamp_ending ending = {
        .time_ns = vamp_clock_utc_ns(excerpt->context.clock),
        .reason = "alarm resolved",
    };
    struct vamp_err err = VAMP_ERR_NONE;
    const int code = vamp_output_finish(excerpt->output, &ending, EXCERPT_CLOSE_NS, &err);
    struct vamp_output_account account;
    vamp_output_account(excerpt->output, &account);
    char first[VAMP_ERR_TEXT_BYTES] = "";
    const size_t files = vamp_output_paths(excerpt->output, note_first, first);
    struct vamp_output_state state;
    vamp_output_state(excerpt->output, &state);
    excerpt->segments_before = state.segment;
    vamp_output_free(excerpt->output);
    excerpt->output = NULL;
    add_account(excerpt, &account, code != 0);
    if (code != 0) {
        excerpt_say(excerpt, true, "%s: recording %s: %s", excerpt->settings.name, first, err.text);
    } else {
        excerpt_say(excerpt, false, "%s: recorded %" PRIu64 " events in %s%s",
                    excerpt->settings.name, account.written, first,
                    files > 1 ? " and the files after it" : "");
    }
    excerpt_enter(excerpt, EXCERPT_IDLE);
}

/* Waits until there is something to do; false: there never will be. */
static bool await_work(struct vamp_excerpt *excerpt, enum excerpt_state *ret_state)
{
    (void)pthread_mutex_lock(&excerpt->lock);
    while (excerpt->state != EXCERPT_OPENING && excerpt->state != EXCERPT_CLOSING &&
           !excerpt->finishing) {
        (void)pthread_cond_wait(&excerpt->changed, &excerpt->lock);
    }
    *ret_state = excerpt->state;
    (void)pthread_mutex_unlock(&excerpt->lock);
    return *ret_state == EXCERPT_OPENING || *ret_state == EXCERPT_CLOSING;
}

void *excerpt_run(void *context)
{
    struct vamp_excerpt *excerpt = context;
    enum excerpt_state state = EXCERPT_IDLE;
    while (await_work(excerpt, &state)) {
        if (state == EXCERPT_OPENING) {
            open_recording(excerpt);
        } else {
            complete_recording(excerpt);
        }
    }
    if (excerpt->output != NULL) { /* opened when the run was already over */
        complete_recording(excerpt);
    }
    (void)pthread_mutex_lock(&excerpt->lock);
    excerpt->done = true;
    (void)pthread_cond_broadcast(&excerpt->changed);
    (void)pthread_mutex_unlock(&excerpt->lock);
    return NULL;
}
