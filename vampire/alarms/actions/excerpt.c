/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/alarms/actions/excerpt_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vampire/core/thread.h"
#include "writers/output/output.h"

/* Events passed on between two looks at the output's queue. */
#define STEP_EVENTS 64
#define PAUSE_NS 1000000
/* Beyond the deadlines of an output that closes, for a thread that is stuck. */
#define STUCK_NS (5 * VAMP_NS_PER_SECOND)

/* ---- messages and states */

void excerpt_say(struct vamp_excerpt *excerpt, bool error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)pthread_mutex_lock(&excerpt->lock);
    if (excerpt->message_count == EXCERPT_MESSAGES_MAX) { /* the oldest gives way */
        excerpt->message_first = (excerpt->message_first + 1) % EXCERPT_MESSAGES_MAX;
        excerpt->message_count--;
    }
    struct excerpt_message *message =
        &excerpt
             ->messages[(excerpt->message_first + excerpt->message_count) % EXCERPT_MESSAGES_MAX];
    message->error = error;
    (void)vsnprintf(message->text, sizeof message->text, format, arguments);
    excerpt->message_count++;
    (void)pthread_mutex_unlock(&excerpt->lock);
    va_end(arguments);
}

bool vamp_excerpt_message(struct vamp_excerpt *excerpt, bool *ret_error,
                          char text[static VAMP_ERR_TEXT_BYTES])
{
    (void)pthread_mutex_lock(&excerpt->lock);
    const bool any = excerpt->message_count > 0;
    if (any) {
        const struct excerpt_message *message = &excerpt->messages[excerpt->message_first];
        *ret_error = message->error;
        memcpy(text, message->text, sizeof message->text);
        excerpt->message_first = (excerpt->message_first + 1) % EXCERPT_MESSAGES_MAX;
        excerpt->message_count--;
    }
    (void)pthread_mutex_unlock(&excerpt->lock);
    return any;
}

static enum excerpt_state state_of(struct vamp_excerpt *excerpt)
{
    (void)pthread_mutex_lock(&excerpt->lock);
    const enum excerpt_state state = excerpt->state;
    (void)pthread_mutex_unlock(&excerpt->lock);
    return state;
}

void excerpt_enter(struct vamp_excerpt *excerpt, enum excerpt_state state)
{
    (void)pthread_mutex_lock(&excerpt->lock);
    excerpt->state = state;
    (void)pthread_cond_broadcast(&excerpt->changed);
    (void)pthread_mutex_unlock(&excerpt->lock);
}

bool vamp_excerpt_is_busy(struct vamp_excerpt *excerpt)
{
    return excerpt->again || state_of(excerpt) != EXCERPT_IDLE;
}

void vamp_excerpt_account(struct vamp_excerpt *excerpt, struct vamp_excerpt_account *ret_account)
{
    (void)pthread_mutex_lock(&excerpt->lock);
    *ret_account = excerpt->account;
    const bool open = excerpt->state == EXCERPT_WRITING;
    (void)pthread_mutex_unlock(&excerpt->lock);
    if (open) { /* only this thread ends that state */
        struct vamp_output_account present;
        vamp_output_account(excerpt->output, &present);
        ret_account->queued += present.queued;
        ret_account->written += present.written;
        ret_account->lost += present.lost;
        ret_account->waiting = present.waiting;
    }
    ret_account->missed = excerpt->missed;
}

/* ---- begin and end */

/* Makes the table of the components that were present at that time: their JOINs come first. */
static int find_present(struct vamp_excerpt *excerpt, int64_t time_ns, struct vamp_err *err)
{
    const struct vamp_components *all = excerpt->context.components;
    const size_t count = vamp_components_count(all);
    const int code = vamp_components_create(count + 1, &excerpt->present, err);
    for (size_t i = 1; i < count && code == 0; i++) {
        const struct vamp_component *row = vamp_components_row(all, i);
        if (row->joined_ns == INT64_MIN || row->joined_ns >= time_ns ||
            (row->left_ns != INT64_MIN && row->left_ns < time_ns)) {
            continue;
        }
        const char *name = vamp_component_given_name(row);
        const struct vamp_event join = {
            .kind = VAMP_EVENT_JOIN,
            .phase = VAMP_PHASE_AFTER,
            .time_ns = row->joined_ns,
            .app_id = row->app_id,
            .name = name,
            .name_length = (uint32_t)strlen(name),
            .present = VAMP_HAS_TIME | VAMP_HAS_APP | VAMP_HAS_COMPONENT_NAME,
        };
        (void)vamp_components_observe(excerpt->present, &join);
    }
    return code;
}

static void begin_recording(struct vamp_excerpt *excerpt, int64_t from_ns)
{
    struct vamp_err err = VAMP_ERR_NONE;
    const int64_t oldest_ns = vamp_history_oldest_ns(excerpt->context.history);
    const int64_t first_ns = oldest_ns != INT64_MAX && oldest_ns > from_ns ? oldest_ns : from_ns;
    excerpt->again = false;
    excerpt->ending = false;
    excerpt->account.recordings++; /* the thread is idle */
    excerpt->place = vamp_history_find(excerpt->context.history, from_ns);
    excerpt->limit_at_ns = excerpt->settings.limit_ns < INT64_MAX - first_ns
                               ? first_ns + excerpt->settings.limit_ns
                               : INT64_MAX;
    vamp_components_free(excerpt->present);
    excerpt->present = NULL;
    if (find_present(excerpt, first_ns, &err) != 0) {
        excerpt->account.failed++;
        excerpt_say(excerpt, true, "%s: no recording: %s", excerpt->settings.name, err.text);
        return;
    }
    if (vamp_history_has_dropped(excerpt->context.history) && first_ns > from_ns) {
        excerpt_say(excerpt, false,
                    "%s: the recording begins %.1f s later than asked for: a larger \"memory\" "
                    "keeps more events",
                    excerpt->settings.name,
                    (double)(first_ns - from_ns) / (double)VAMP_NS_PER_SECOND);
    }
    excerpt_enter(excerpt, EXCERPT_OPENING);
}

void vamp_excerpt_begin(struct vamp_excerpt *excerpt, int64_t from_ns)
{
    if (excerpt->limited) {
        return; /* the alarm that met the limit still fires */
    }
    switch (state_of(excerpt)) {
    case EXCERPT_IDLE:
        begin_recording(excerpt, from_ns);
        return;
    case EXCERPT_OPENING:
    case EXCERPT_WRITING:
        excerpt->ending = false;
        return;
    case EXCERPT_CLOSING:
        excerpt->again_from_ns = excerpt->again ? excerpt->again_from_ns : from_ns;
        excerpt->again = true;
        excerpt->ending = false;
        return;
    }
}

void vamp_excerpt_end(struct vamp_excerpt *excerpt)
{
    excerpt->limited = false;
    if (!excerpt->ending) {
        excerpt->ending = true;
        excerpt->end_number = vamp_history_end(excerpt->context.history).number;
    }
}

/* ---- events */

static void close_recording(struct vamp_excerpt *excerpt)
{
    excerpt_enter(excerpt, EXCERPT_CLOSING);
}

static void report_missed(struct vamp_excerpt *excerpt, uint64_t missed, int64_t time_ns)
{
    const struct vamp_event mark = {
        .kind = VAMP_EVENT_LOST,
        .reason = VAMP_LOSS_RECORDING,
        .count = missed,
        .time_ns = time_ns,
    };
    excerpt->missed += missed;
    vamp_output_event(excerpt->output, &mark, true);
    excerpt_say(excerpt, true,
                "%s: %" PRIu64 " events are missing in the recording: they came faster than they "
                "could be written; a larger \"memory\" keeps more",
                excerpt->settings.name, missed);
}

/* Passes up to STEP_EVENTS on. False: there is no more for now, or the recording is complete. */
static bool pass_step(struct vamp_excerpt *excerpt)
{
    for (unsigned i = 0; i < STEP_EVENTS; i++) {
        if (excerpt->ending && excerpt->place.number >= excerpt->end_number) {
            close_recording(excerpt);
            return false;
        }
        uint64_t missed = 0;
        const struct vamp_event *event =
            vamp_history_next(excerpt->context.history, &excerpt->place, &missed);
        if (event == NULL) {
            return false;
        }
        if (missed > 0) {
            report_missed(excerpt, missed, event->time_ns);
        }
        if (event->time_ns >= excerpt->limit_at_ns) {
            excerpt->limited = !excerpt->ending;
            excerpt_say(excerpt, false,
                        "%s: the recording ends at its \"limit\" although the alarm still fires",
                        excerpt->settings.name);
            close_recording(excerpt);
            return false;
        }
        vamp_output_event(excerpt->output, event, true);
    }
    return true;
}

static bool has_room(const struct vamp_excerpt *excerpt)
{
    struct vamp_output_state state;
    vamp_output_state(excerpt->output, &state);
    return excerpt->context.stop != NULL || state.used < state.bound / 2;
}

static void report_failures(struct vamp_excerpt *excerpt)
{
    struct vamp_err failure;
    char remark[VAMP_ERR_TEXT_BYTES];
    if (vamp_output_failure(excerpt->output, &failure)) {
        excerpt_say(excerpt, true, "%s: %s", excerpt->settings.name, failure.text);
    }
    if (vamp_output_remark(excerpt->output, remark)) {
        excerpt_say(excerpt, false, "%s: %s", excerpt->settings.name, remark);
    }
}

/* Where the source can wait, so does the worker: then no event is missed. */
static void await_open(struct vamp_excerpt *excerpt)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int64_t left_ns = VAMP_OUTPUT_PATIENCE_NS;
    while (excerpt->context.stop != NULL && atomic_load(excerpt->context.stop) == 0 &&
           left_ns > 0 && state_of(excerpt) == EXCERPT_OPENING) {
        (void)nanosleep(&pause, NULL);
        left_ns -= PAUSE_NS;
    }
}

void vamp_excerpt_follow(struct vamp_excerpt *excerpt)
{
    await_open(excerpt);
    enum excerpt_state state = state_of(excerpt);
    if (state == EXCERPT_IDLE && excerpt->again) {
        const bool ending = excerpt->ending; /* asked for since */
        begin_recording(excerpt, excerpt->again_from_ns);
        excerpt->ending = ending;
        return;
    }
    if (state != EXCERPT_WRITING) {
        return;
    }
    report_failures(excerpt);
    while (has_room(excerpt) && pass_step(excerpt)) {
    }
    if (state_of(excerpt) == EXCERPT_WRITING) {
        vamp_output_publish(excerpt->output);
    }
}

/* ---- create and free */

static void release_excerpt(struct vamp_excerpt *excerpt)
{
    if (excerpt->format_options != NULL) {
        vamp_opt_done(vamp_writer_recording.options, excerpt->format_options);
    }
    free(excerpt->format_options);
    vamp_components_free(excerpt->present);
    (void)pthread_cond_destroy(&excerpt->changed);
    (void)pthread_mutex_destroy(&excerpt->lock);
    free(excerpt);
}

static int set_format_options(struct vamp_excerpt *excerpt,
                              const struct vamp_excerpt_settings *settings, struct vamp_err *err)
{
    const struct vamp_opt *table = vamp_writer_recording.options;
    excerpt->format_options = calloc(1, vamp_writer_recording.options_bytes);
    if (excerpt->format_options == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare recordings");
    }
    int code = vamp_opt_presets(table, excerpt->format_options, err);
    if (code == 0 && settings->directory != NULL) {
        code = vamp_opt_set(vamp_opt_find(table, "directory"), excerpt->format_options,
                            settings->directory, err);
    }
    const struct vamp_opt *access = vamp_opt_find(table, "access");
    return code != 0 ? code
                     : vamp_opt_set(access, excerpt->format_options,
                                    access->choices[settings->access], err);
}

static void copy_context(struct vamp_excerpt *excerpt, const struct vamp_excerpt_settings *settings,
                         const struct vamp_excerpt_context *context)
{
    excerpt->context = *context;
    excerpt->settings = *settings;
    excerpt->settings.directory = NULL; /* it is in the format's options */
    excerpt->run = *context->run;
    excerpt->run.configuration = ""; /* a reload frees the present ones; no recording has them */
    excerpt->run.sampling = "";
    excerpt->segments_before = settings->files_before;
    excerpt->output_settings = (struct vamp_output_settings){
        .name = excerpt->settings.name,
        .keep_bytes = settings->keep_bytes,
        .buffer_bytes = EXCERPT_BUFFER_BYTES,
    };
}

int vamp_excerpt_create(const struct vamp_excerpt_settings *settings,
                        const struct vamp_excerpt_context *context,
                        struct vamp_excerpt **ret_excerpt, struct vamp_err *err)
{
    struct vamp_excerpt *excerpt = calloc(1, sizeof *excerpt);
    if (excerpt == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare recordings");
    }
    copy_context(excerpt, settings, context);
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&excerpt->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&excerpt->lock, NULL);
    int code = set_format_options(excerpt, settings, err);
    if (code == 0) {
        code = vamp_thread_start(&excerpt->thread, "excerpt", excerpt_run, excerpt, err);
    }
    if (code != 0) {
        release_excerpt(excerpt);
        return code;
    }
    excerpt->started = true;
    *ret_excerpt = excerpt;
    return 0;
}

/* ---- the end of the run */

static int64_t excerpt_now_ns(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

/* Passes on what belongs to the recording, until it is complete or the time is over. */
static void pass_rest(struct vamp_excerpt *excerpt, int64_t until_ns)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    vamp_excerpt_end(excerpt);
    for (;;) {
        vamp_excerpt_follow(excerpt);
        const enum excerpt_state state = state_of(excerpt);
        if (excerpt_now_ns() >= until_ns ||
            (!excerpt->again && (state == EXCERPT_IDLE || state == EXCERPT_CLOSING))) {
            break;
        }
        (void)nanosleep(&pause, NULL);
    }
    if (state_of(excerpt) == EXCERPT_WRITING) {
        report_missed(excerpt, excerpt->end_number - excerpt->place.number,
                      vamp_history_oldest_ns(excerpt->context.history));
        close_recording(excerpt);
    }
}

/* True: the thread has ended. */
static bool stop_excerpt_thread(struct vamp_excerpt *excerpt, int64_t until_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(until_ns / VAMP_NS_PER_SECOND),
                                   .tv_nsec = (long)(until_ns % VAMP_NS_PER_SECOND)};
    (void)pthread_mutex_lock(&excerpt->lock);
    excerpt->finishing = true;
    (void)pthread_cond_broadcast(&excerpt->changed);
    while (!excerpt->done && excerpt_now_ns() < until_ns) {
        (void)pthread_cond_timedwait(&excerpt->changed, &excerpt->lock, &until);
    }
    const bool done = excerpt->done;
    (void)pthread_mutex_unlock(&excerpt->lock);
    return done;
}

void vamp_excerpt_finish(struct vamp_excerpt *excerpt, int64_t deadline_ns)
{
    if (!excerpt->started) {
        return;
    }
    excerpt->started = false;
    const int64_t until_ns = excerpt_now_ns() + deadline_ns;
    pass_rest(excerpt, until_ns);
    if (stop_excerpt_thread(excerpt, until_ns + EXCERPT_CLOSE_NS + STUCK_NS)) {
        (void)pthread_join(excerpt->thread, NULL);
        return;
    }
    /* Its memory stays: the thread may still use it. */
    excerpt->abandoned = true;
    (void)pthread_detach(excerpt->thread);
    excerpt_say(excerpt, true,
                "%s: the recording is stuck in the operating system and may lack its end",
                excerpt->settings.name);
}

void vamp_excerpt_free(struct vamp_excerpt *excerpt)
{
    if (excerpt == NULL) {
        return;
    }
    vamp_excerpt_finish(excerpt, 0);
    if (!excerpt->abandoned) {
        release_excerpt(excerpt);
    }
}
