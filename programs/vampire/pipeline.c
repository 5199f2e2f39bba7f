/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire/pipeline.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Events processed between two reads of the clock. */
#define BATCH_EVENTS 4096
/* Time between two updates of vampire's own metrics, empty buckets and the status line. */
#define TICK_NS (VAMP_NS_PER_SECOND / 2)
/* The same interval while no events arrive and no status line is shown. */
#define IDLE_TICK_NS (2 * VAMP_NS_PER_SECOND)
/* The reader is considered stuck after this time without progress. An attempt to join again takes
 * several seconds, and the attempt is aborted after 30 s if the pool manager does not answer. */
#define SOURCE_STUCK_NS (120 * VAMP_NS_PER_SECOND)
/* Maximum lateness to wait for: a clock that was set back must not keep buckets open for long. */
#define LATE_MAX_NS (10 * VAMP_NS_PER_SECOND)
/* Silence proves nothing for this time after a loss. */
#define AFTER_LOSS_NS (3 * VAMP_NS_PER_SECOND)

/* ---- the worker's loop: processes events until the source has ended */

static void process_event(struct pipeline *pipeline, const struct vamp_event *event)
{
    enum vamp_verdict verdict = VAMP_PASSED;
    if (event->kind == VAMP_EVENT_SAMPLE) {
        pipeline_process_sample(pipeline, event);
        return;
    }
    if (vamp_time_is_valid(event->time_ns)) { /* otherwise the event will be rejected */
        if (pipeline->samples.source != NULL) {
            pipeline_take_samples(pipeline, event->time_ns);
        }
        pipeline->newest_event_ns = event->time_ns;
        if (!vamp_event_is_mark(event)) {
            vamp_components_observe(pipeline->components, event);
            if (pipeline->rules->judges) {
                verdict = vamp_rules_judge(pipeline->rules, event);
            }
        } else if (event->kind == VAMP_EVENT_LOST) { /* the queue may still be full */
            pipeline->overdue_ns = vamp_clock_monotonic_ns(pipeline->clock) + AFTER_LOSS_NS;
        }
    }
    vamp_outputs_pass_on(&pipeline->outputs, event, verdict == VAMP_PASSED);
    vamp_stats_observe(pipeline->stats, event, verdict);
    if (event->kind == VAMP_EVENT_GONE) {
        vamp_components_gone(pipeline->components, event->time_ns);
    }
}

/* Processes up to BATCH_EVENTS available events. Returns their number. */
static unsigned process_batch(struct pipeline *pipeline)
{
    const struct vamp_event *events[VAMP_LOOK_AHEAD];
    unsigned all = 0;
    unsigned count = 1;
    static_assert(VAMP_LOOK_AHEAD <= VAMP_READER_TAKE_MAX,
                  "more than the reader returns at a time");
    while (count > 0 && all < BATCH_EVENTS) {
        count = vamp_reader_take(&pipeline->reader, events, VAMP_LOOK_AHEAD);
        vamp_stats_look_ahead(pipeline->stats, events, count);
        for (unsigned i = 0; i < count; i++) {
            process_event(pipeline, events[i]);
        }
        all += count;
    }
    return all;
}

static void show_status(struct pipeline *pipeline, int64_t now_ns)
{
    struct vamp_totals totals;
    vamp_stats_totals(pipeline->stats, &totals);
    if (pipeline->ops->fraction_read != NULL) {
        pipeline->status.fraction = pipeline->ops->fraction_read(pipeline->source);
    }
    vamp_status_show(&pipeline->status, &totals, &vamp_stats_schema(pipeline->stats)->bins, now_ns);
}

/* Returns the time to sleep while no events arrive: IDLE_TICK_NS, or until the next bucket closes
 * if that is sooner, but at least TICK_NS. */
static int64_t idle_tick_ns(const struct pipeline *pipeline, int64_t now_ns)
{
    int64_t event_now_ns = 0;
    int64_t close_ns = 0;
    const int64_t watchdog_ns = pipeline->start->notify->watchdog_ns;
    if (pipeline->status.live || (watchdog_ns > 0 && watchdog_ns < IDLE_TICK_NS) ||
        pipeline->samples.source != NULL) { /* samples wait for the next tick */
        return TICK_NS;
    }
    if (!vamp_event_clock_now(&pipeline->event_clock, now_ns, &event_now_ns) ||
        !vamp_stats_next_close(pipeline->stats, &close_ns) ||
        close_ns >= event_now_ns + IDLE_TICK_NS) {
        return IDLE_TICK_NS;
    }
    return close_ns > event_now_ns + TICK_NS ? close_ns - event_now_ns : TICK_NS;
}

/* When the events' clock was set back, the statistics reopen older buckets. The previous estimate
 * of event time would move the time forward again, so the estimate is reset. */
static void follow_clock_steps(struct pipeline *pipeline, int64_t now_ns)
{
    struct vamp_stats_state state;
    vamp_stats_state(pipeline->stats, &state);
    if (state.set_backs != pipeline->set_backs) {
        pipeline->event_clock = (struct vamp_event_clock){0};
        vamp_event_clock_observe(&pipeline->event_clock, pipeline->newest_event_ns, now_ns);
    }
    pipeline->set_backs = state.set_backs;
}

/* Advances time without an event. */
static void pass_time(struct pipeline *pipeline, int64_t event_ns)
{
    const struct vamp_event mark = {.kind = VAMP_EVENT_TIME, .time_ns = event_ns};
    vamp_outputs_pass_on(&pipeline->outputs, &mark, true);
    vamp_stats_observe(pipeline->stats, &mark, VAMP_PASSED);
}

/* Samples need a time axis before the first event: it follows this machine's clock and starts with
 * the run. The first event replaces it, since the pool manager's clock may differ. */
static void assume_local_clock(struct pipeline *pipeline)
{
    if (pipeline->first->source->is_live && pipeline->samples.source != NULL) {
        vamp_event_clock_observe(&pipeline->event_clock, vamp_clock_utc_ns(pipeline->clock),
                                 pipeline->began_ns);
        pipeline->samples.has_local_clock = true;
    }
}

static void take_silent_samples(struct pipeline *pipeline, int64_t event_ns)
{
    int64_t began_ns = 0;
    if (pipeline->samples.until_ns == 0 &&
        vamp_event_clock_now(&pipeline->event_clock, pipeline->began_ns, &began_ns)) {
        pass_time(pipeline, began_ns);
        pipeline->samples.until_ns = began_ns;
    }
    pipeline_take_samples(pipeline, event_ns);
}

/* Closes buckets without events: an empty ring proves that nothing happened before quiet_until_ns.
 * It proves nothing about the time since then: while this process was stopped, events were queued
 * outside of it. Nor does it prove anything while an overloaded pool manager has a queue: where the
 * newest event was late, the next one may be as late. */
static void report_silence(struct pipeline *pipeline)
{
    int64_t event_ns = 0;
    if (!pipeline->first->source->is_live || pipeline->quiet_until_ns <= pipeline->overdue_ns ||
        !vamp_event_clock_now(&pipeline->event_clock, pipeline->quiet_until_ns, &event_ns) ||
        event_ns <= pipeline->newest_event_ns) {
        return;
    }
    if (pipeline->samples.source != NULL) {
        take_silent_samples(pipeline, event_ns);
    }
    pass_time(pipeline, event_ns);
}

static void tick_if_due(struct pipeline *pipeline, int64_t now_ns, bool idle)
{
    if (!idle && pipeline->next_tick_ns > now_ns + TICK_NS) {
        pipeline->next_tick_ns = now_ns + TICK_NS;
    }
    if (now_ns < pipeline->next_tick_ns) {
        return;
    }
    pipeline_report_self(pipeline);
    vamp_status_flush(&pipeline->status);
    follow_clock_steps(pipeline, now_ns);
    int64_t pause_ns = TICK_NS;
    if (idle) {
        report_silence(pipeline);
        pause_ns = idle_tick_ns(pipeline, now_ns);
    }
    pipeline->next_tick_ns = now_ns + pause_ns;
    if (pipeline->status.live) {
        show_status(pipeline, now_ns);
    }
}

static void note_batch(struct pipeline *pipeline, int64_t now_ns, size_t ring_bytes)
{
    int64_t event_ns = 0;
    if (pipeline->newest_event_ns == 0) {
        return; /* only samples of the pool manager so far */
    }
    if (pipeline->samples.has_local_clock) {
        pipeline->event_clock = (struct vamp_event_clock){0};
        pipeline->samples.has_local_clock = false;
    }
    vamp_event_clock_observe(&pipeline->event_clock, pipeline->newest_event_ns, now_ns);
    if (vamp_event_clock_now(&pipeline->event_clock, now_ns, &event_ns)) {
        const int64_t late_ns = VAMP_MIN(event_ns - pipeline->newest_event_ns, LATE_MAX_NS);
        pipeline->overdue_ns = VAMP_MAX(pipeline->overdue_ns, now_ns + late_ns);
    }
    if (pipeline->first->source->is_live) {
        vamp_stats_self(pipeline->stats, VAMP_METRIC_VAMPIRE_RING_BYTES, 0, (int64_t)ring_bytes);
        vamp_stats_self(pipeline->stats, VAMP_METRIC_VAMPIRE_LAG_NS, 0,
                        vamp_clock_utc_ns(pipeline->clock) - pipeline->newest_event_ns);
    }
}

/* Sends the service manager a keep-alive, unless the reader is stuck. */
static void notify_alive(struct pipeline *pipeline, int64_t now_ns)
{
    struct vamp_notify *notify = pipeline->start->notify;
    const unsigned beats = atomic_load_explicit(&pipeline->reader.beats, memory_order_relaxed);
    if (beats != pipeline->beats_seen || pipeline->beat_ns == 0) {
        pipeline->beats_seen = beats;
        pipeline->beat_ns = now_ns;
    }
    if (now_ns - pipeline->beat_ns >= SOURCE_STUCK_NS) {
        return;
    }
    char line[256];
    const bool wanted = vamp_notify_wants_status(notify, now_ns);
    if (wanted) {
        pipeline_status_line(pipeline, line, sizeof line);
    }
    vamp_notify_alive(notify, now_ns, wanted ? line : NULL);
}

static void run_loop(struct pipeline *pipeline)
{
    while (!vamp_reader_finished(&pipeline->reader)) {
        pipeline_reload_if_asked(pipeline);
        pipeline_show_if_asked(pipeline);
        pipeline_silence_if_asked(pipeline);
        size_t bound = 0;
        const size_t ring_bytes = vamp_reader_waiting_bytes(&pipeline->reader, &bound);
        /* Read before the ring: every event from before that time is in the ring by now. */
        pipeline->quiet_until_ns =
            atomic_load_explicit(&pipeline->reader.quiet_until_ns, memory_order_acquire);
        unsigned count = process_batch(pipeline);
        int64_t now_ns = vamp_clock_monotonic_ns(pipeline->clock);
        if (count > 0) {
            note_batch(pipeline, now_ns, ring_bytes);
        }
        tick_if_due(pipeline, now_ns, count == 0);
        vamp_outputs_publish(&pipeline->outputs);
        notify_alive(pipeline, now_ns);
        if (count == 0) {
            vamp_reader_wait(&pipeline->reader, pipeline->next_tick_ns - now_ns);
        }
    }
}

/* ---- the start */

static void set_models(struct pipeline *pipeline)
{
    const struct vamp_strings *given = &pipeline->config->models;
    struct vamp_model_rules rules = vamp_model_rules_usual;
    if (given->count > 0) {
        rules = (struct vamp_model_rules){(const char *const *)given->items, given->count};
    }
    vamp_components_set_models(pipeline->components, &rules);
}

static int create_parts(struct pipeline *pipeline, struct vamp_err *err)
{
    const struct vamp_config *config = pipeline->config;
    pipeline->reader = (struct vamp_reader){
        .ops = config->source,
        .clock = pipeline->clock,
        .stop = &pipeline->start->signals->stop,
        .finish_ns = &pipeline->start->signals->finish_ns,
    };
    int status = vamp_reader_prepare(&pipeline->reader, config->ring_bytes, err);
    if (status == 0) {
        status =
            vamp_components_create(config->statistics.max_components, &pipeline->components, err);
    }
    if (status == 0) {
        status = vamp_components_make_room(pipeline->components, VAMP_COMPONENTS_LIVE, err);
    }
    if (status == 0) {
        set_models(pipeline);
        status = vamp_rules_create(config, pipeline->components, &pipeline->rules, err);
    }
    if (status != 0) {
        return status;
    }
    pipeline->run->sampling = pipeline->rules->sampling;
    const char *selector = pipeline->rules->selector;
    if (selector != NULL) {
        pipeline->selector = strdup(selector);
        if (pipeline->selector == NULL) {
            return vamp_err_set_errno(err, ENOMEM, "prepare the filters");
        }
    }
    return vamp_ready_file_prepare(&pipeline->ready_file, pipeline->start->options->ready_file,
                                   err);
}

/* Creates the statistics and the alarms, which depend on properties of the source. */
static int create_statistics(struct pipeline *pipeline, struct vamp_err *err)
{
    const struct vamp_config *config = pipeline->config;
    int status = vamp_history_create(&pipeline->history, err);
    if (status == 0) {
        pipeline->services = (struct vamp_action_services){
            .say = pipeline_say,
            .say_context = pipeline,
            .run = &pipeline->runs[0],
            .components = pipeline->components,
        };
        status = pipeline_create_stats(pipeline, config, &pipeline->stats, err);
    }
    if (status == 0) {
        status = pipeline_create_alarms(pipeline, config, pipeline->stats, &pipeline->alarms, err);
    }
    if (status == 0) {
        vamp_rules_apply(pipeline->rules, pipeline->stats, &pipeline->services);
    }
    return status;
}

static int open_outputs(struct pipeline *pipeline, struct vamp_err *err)
{
    const struct vamp_output_context context =
        pipeline_output_context(pipeline, pipeline->run, pipeline->stats);
    int status = vamp_outputs_open(&pipeline->outputs, pipeline->config, &context, pipeline->rules,
                                   NULL, err);
    if (status == 0) {
        status = vamp_ready_file_show(&pipeline->ready_file, err);
    }
    return status;
}

/* Copies the properties of the source's events and run; the source may have a workflow of its own,
 * such as the recorded one. */
static void describe_source(struct pipeline *pipeline)
{
    const struct vamp_source_ops *ops = pipeline->ops;
    struct vamp_run *run = pipeline->run;
    const char *workflow = NULL, *examined = NULL;
    uint64_t kinds = VAMP_EVENT_KINDS_ALL;
    assert(ops != NULL); /* the source has been opened */
    if (ops->workflow != NULL) {
        workflow = ops->workflow(pipeline->source);
    }
    if (workflow != NULL) {
        (void)snprintf(pipeline->workflow, sizeof pipeline->workflow, "%s", workflow);
        run->workflow = pipeline->workflow;
    }
    if (ops->examined != NULL) {
        examined = ops->examined(pipeline->source);
    }
    if (examined != NULL) {
        (void)snprintf(pipeline->examined, sizeof pipeline->examined, "%s", examined);
        run->examined = pipeline->examined;
    }
    if (ops->unknown != NULL) {
        run->unknown = ops->unknown(pipeline->source);
    }
    if (ops->kinds != NULL) {
        kinds = ops->kinds(pipeline->source);
    }
    pipeline->kinds = pipeline->first->event_kinds & kinds;
    if ((run->unknown & VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_TIME)) != 0) {
        run->clock = "arrival";
    }
}

/* Called by the source on its thread. */
static void note_roundtrip(void *context, enum vamp_own_operation operation, int64_t ns)
{
    struct roundtrips *roundtrips = context;
    (void)pthread_mutex_lock(&roundtrips->lock);
    if (roundtrips->count < ROUNDTRIPS_MAX) {
        roundtrips->items[roundtrips->count].operation = operation;
        roundtrips->items[roundtrips->count++].ns = ns;
    }
    (void)pthread_mutex_unlock(&roundtrips->lock);
}

static int open_source(struct pipeline *pipeline, struct vamp_err *err)
{
    const struct vamp_config *config = pipeline->config;
    const struct vamp_source_context context = {
        .clock = pipeline->clock,
        .event_kinds = config->event_kinds,
        .workflow = pipeline->run->workflow,
        .component = pipeline->run->component,
        .selector = pipeline->selector,
        .own_roundtrip = note_roundtrip,
        .own_roundtrip_context = &pipeline->roundtrips,
        .say = vamp_status_say_line,
        .say_context = &pipeline->status,
        .stop = &pipeline->start->signals->stop,
    };
    pipeline->ops = vamp_source_load(config->source, err);
    int status = err->code;
    if (pipeline->ops != NULL) {
        status = pipeline->ops->open(config->source_options, &context, &pipeline->source, err);
    }
    if (status == 0) {
        describe_source(pipeline);
    }
    return status;
}

/* ---- the end */

/* Returns the reason for the end of the run as text and exit code; reports a failure of the source.
 */
static const char *reason_of_end(struct pipeline *pipeline, enum vamp_exit_code *ret_code)
{
    const struct vamp_reader *reader = &pipeline->reader;
    *ret_code = VAMP_EXIT_OK;
    switch (reader->end) {
    case VAMP_SOURCE_GONE:
        vamp_status_error(&pipeline->status, "%s; the files are complete up to here",
                          reader->err.text);
        *ret_code = VAMP_EXIT_POOL_GONE;
        return "pool manager gone";
    case VAMP_SOURCE_DAMAGED:
        vamp_status_error(&pipeline->status, "%s", reader->err.text);
        *ret_code = VAMP_EXIT_DAMAGED;
        return "finished";
    case VAMP_SOURCE_ERROR:
        vamp_status_error(&pipeline->status, "%s; the files are complete up to here",
                          reader->err.text);
        *ret_code = VAMP_EXIT_FAILED;
        return "source failed";
    case VAMP_SOURCE_MORE:
    case VAMP_SOURCE_EMPTY:
    case VAMP_SOURCE_END:
        break;
    }
    return atomic_load(&pipeline->start->signals->stop) != 0 ? "stopped by signal" : "finished";
}

static void close_source(struct pipeline *pipeline)
{
    struct vamp_err err = VAMP_ERR_NONE;
    if (pipeline->source != NULL && pipeline->ops->close(pipeline->source, &err) != 0) {
        vamp_status_error(&pipeline->status, "%s", err.text);
    }
    pipeline->source = NULL;
}

static enum vamp_exit_code finish_run(struct pipeline *pipeline)
{
    enum vamp_exit_code code;
    const char *reason = reason_of_end(pipeline, &code);
    pipeline_finish_samples(pipeline);
    pipeline_report_self(pipeline);
    vamp_stats_finish(pipeline->stats);
    vamp_action_services_finish(&pipeline->services);

    struct vamp_totals totals;
    vamp_stats_totals(pipeline->stats, &totals);
    assert(totals.accounting.received == totals.accounting.decoded + totals.accounting.rejected);
    assert(totals.accounting.decoded == totals.accounting.counted + totals.accounting.filtered);
    if (totals.buckets_without_memory > 0) {
        vamp_status_error(&pipeline->status,
                          "out of memory for %" PRIu64 " buckets; the files show them as gaps",
                          totals.buckets_without_memory);
    }
    const struct vamp_ending end = {
        .time_ns = vamp_clock_utc_ns(pipeline->clock),
        .reason = reason,
        .completed = true,
        .stop = atomic_load(&pipeline->start->signals->stop),
        .until_ns = vamp_signals_deadline(pipeline->start->signals),
        .accounting = totals.accounting,
    };
    vamp_outputs_finish(&pipeline->outputs, &end, &pipeline->status);
    if ((totals.buckets_without_memory > 0 || pipeline->outputs.lost) && code == VAMP_EXIT_OK) {
        code = VAMP_EXIT_FAILED;
    }
    vamp_status_clear(&pipeline->status);
    if (!pipeline->start->options->quiet) {
        pipeline_print_summary(pipeline, &totals, reason, stderr);
    }
    return code;
}

/* Reports the reason for a failed start and returns its exit code. */
static enum vamp_exit_code report_failed_start(struct pipeline *pipeline, int status,
                                               const struct vamp_err *err)
{
    if (status == -ECANCELED) {
        vamp_status_say(&pipeline->status, "stopped by a signal before the workflow was joined");
        return VAMP_EXIT_OK;
    }
    vamp_status_error(&pipeline->status, "%s", err->text);
    if (status == -ETIMEDOUT || status == -ECONNREFUSED) {
        return VAMP_EXIT_NO_POOL;
    }
    /* Some errors in options are detected only in use, such as a malformed source.info. */
    return status == -EINVAL ? VAMP_EXIT_USAGE : VAMP_EXIT_FAILED;
}

static int start_reader(struct pipeline *pipeline, struct vamp_err *err)
{
    pipeline->reader.ops = pipeline->ops;
    pipeline->reader.source = pipeline->source;
    return vamp_reader_start(&pipeline->reader, err);
}

static enum vamp_exit_code run_pipeline(struct pipeline *pipeline)
{
    static int (*const steps[])(struct pipeline * pipeline, struct vamp_err * err) = {
        create_parts,      open_source,  pipeline_open_samples,
        create_statistics, open_outputs, pipeline_start_samples,
        start_reader,
    };
    struct vamp_err err = VAMP_ERR_NONE;
    int status = 0;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == 0; i++) {
        status = steps[i](pipeline, &err);
    }
    if (status != 0) {
        return report_failed_start(pipeline, status, &err);
    }
    pipeline->began_ns = vamp_clock_monotonic_ns(pipeline->clock);
    pipeline->shown_ns = pipeline->began_ns;
    char line[256];
    pipeline_status_line(pipeline, line, sizeof line);
    vamp_notify_ready(pipeline->start->notify, line);
    if (pipeline->first->source->is_live) {
        vamp_status_say(&pipeline->status,
                        "joined workflow \"%s\" as \"%s\"; its components can start now",
                        pipeline->run->workflow, pipeline->run->component);
    }
    assume_local_clock(pipeline);
    run_loop(pipeline);
    vamp_notify_stopping(pipeline->start->notify, "the files are being completed");
    vamp_reader_join(&pipeline->reader);
    pipeline_learn_unknown(pipeline);
    if (!pipeline->reader.unanswered) {
        close_source(pipeline);
    }
    return finish_run(pipeline);
}

enum vamp_exit_code vamp_pipeline_run(const struct vamp_start *start)
{
    struct pipeline own = {
        .start = start,
        .config = start->config,
        .first = start->config,
        .run = &own.runs[0],
        .clock = &vamp_clock_system,
    };
    struct pipeline *const pipeline = &own;
    vamp_status_init(&pipeline->status, "vampire", start->options->quiet, pipeline->clock);
    (void)pthread_mutex_init(&pipeline->roundtrips.lock, NULL);
    pipeline->event_clock = (struct vamp_event_clock){0};
    vamp_process_describe(&pipeline->process, pipeline->config, pipeline->clock, pipeline->run);
    pipeline->run->workflow = vamp_text_or(pipeline->config->workflow, "");
    pipeline->run->component = pipeline->config->component;
    pipeline->run->replayed = !pipeline->first->source->is_live;
    pipeline->run->has_alarms = pipeline->config->alarm_count > 0;

    enum vamp_exit_code code = run_pipeline(pipeline);

    pipeline_samples_done(pipeline);
    vamp_ready_file_done(&pipeline->ready_file);
    if (pipeline->outputs.left_behind || pipeline->reader.unanswered) {
        _exit((int)code); /* library cleanup at exit would wait for the stuck thread */
    }
    close_source(pipeline);
    vamp_outputs_done(&pipeline->outputs);
    vamp_alarms_free(pipeline->alarms);
    vamp_silences_done(&pipeline->silences);
    vamp_action_services_done(&pipeline->services);
    vamp_history_free(pipeline->history);
    vamp_stats_free(pipeline->stats);
    vamp_rules_free(pipeline->rules);
    if (pipeline->alarms_config != pipeline->own_config) {
        vamp_config_free(pipeline->alarms_config);
    }
    vamp_config_free(pipeline->own_config);
    free(pipeline->selector);
    vamp_components_free(pipeline->components);
    vamp_reader_done(&pipeline->reader);
    vamp_status_done(&pipeline->status);
    (void)pthread_mutex_destroy(&pipeline->roundtrips.lock);
    return code;
}
