/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/run/pipeline_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "vampire/run/self_usage.h"
#include "vampire/run/summary.h"

/* Events handled between two looks at the clock. */
#define BATCH_EVENTS 4096
/* Own metrics, silent buckets, status line. */
#define TICK_NS (VAMP_NS_PER_SECOND / 2)
/* The same while nothing happens and nobody looks. */
#define IDLE_TICK_NS (2 * VAMP_NS_PER_SECOND)

void pipeline_emit(void *context, const struct vamp_bucket *bucket)
{
    struct pipeline *pipeline = context;
    vamp_outputs_submit(&pipeline->outputs, bucket);
}

static void say(void *context, const char *line)
{
    struct pipeline *pipeline = context;
    vamp_status_say(&pipeline->status, "%s", line);
}

/* On the worker thread while the source is opened and closed, else on the source's. */
static void note_own_roundtrip(void *context, enum vamp_own_operation operation, int64_t ns)
{
    struct pipeline_roundtrips *roundtrips = &((struct pipeline *)context)->roundtrips;
    (void)pthread_mutex_lock(&roundtrips->lock);
    if (roundtrips->count < PIPELINE_ROUNDTRIPS) {
        roundtrips->items[roundtrips->count].operation = operation;
        roundtrips->items[roundtrips->count++].ns = ns;
    }
    (void)pthread_mutex_unlock(&roundtrips->lock);
}

static void take_own_roundtrips(struct pipeline *pipeline)
{
    static const enum vamp_event_kind kinds[VAMP_OWN_OPERATION_COUNT] = {
        [VAMP_OWN_JOIN] = VAMP_EVENT_JOIN,
        [VAMP_OWN_SUBSCRIBE] = VAMP_EVENT_SUBSCRIBE,
        [VAMP_OWN_LEAVE] = VAMP_EVENT_LEAVE,
    };
    struct pipeline_roundtrips *roundtrips = &pipeline->roundtrips;
    (void)pthread_mutex_lock(&roundtrips->lock);
    for (unsigned i = 0; i < roundtrips->count; i++) {
        vamp_stats_self(pipeline->stats, VAMP_METRIC_OWN_ROUNDTRIP_NS,
                        kinds[roundtrips->items[i].operation], roundtrips->items[i].ns);
    }
    roundtrips->count = 0;
    (void)pthread_mutex_unlock(&roundtrips->lock);
}

static void describe_run(struct pipeline *pipeline)
{
    uuid_t id;
    uuid_generate(id);
    uuid_unparse_lower(id, pipeline->run->id);
    if (gethostname(pipeline->host, sizeof pipeline->host - 1) != 0) {
        pipeline->host[0] = '\0';
    }
    pipeline->run->workflow = pipeline->config->workflow != NULL ? pipeline->config->workflow : "";
    pipeline->run->component = pipeline->config->component;
    pipeline->run->host = pipeline->host;
    pipeline->run->version = pipeline->options->version;
    pipeline->run->clock = "event";
    pipeline->run->configuration = pipeline->config->effective_text;
    pipeline->run->started_ns = vamp_clock_utc_ns(pipeline->clock);
}

/* What needs neither the pool manager nor files. */
static int build(struct pipeline *pipeline, struct vamp_err *err)
{
    const struct vamp_config *config = pipeline->config;
    int status = vamp_ring_create(config->ring_bytes, &pipeline->ring, err);
    if (status == 0) {
        status =
            vamp_components_create(config->statistics.max_components, &pipeline->components, err);
    }
    if (status == 0) {
        status = vamp_rules_create(config, pipeline->components, &pipeline->rules, err);
    }
    if (status == 0) {
        status = vamp_stats_create(&config->statistics, pipeline->run->id, pipeline->components,
                                   pipeline_emit, pipeline, &pipeline->stats, err);
    }
    if (status != 0) {
        return status;
    }
    vamp_rules_apply(pipeline->rules, pipeline->stats);
    pipeline->run->sampling = vamp_rules_sampling(pipeline->rules);
    const char *selector = vamp_rules_selector(pipeline->rules);
    pipeline->selector = selector != NULL ? strdup(selector) : NULL;
    return selector != NULL && pipeline->selector == NULL
               ? vamp_err_set_errno(err, ENOMEM, "prepare the filters")
               : 0;
}

struct vamp_outputs_context pipeline_outputs_context(const struct pipeline *pipeline,
                                                     const struct vamp_run *run,
                                                     const struct vamp_stats *stats)
{
    return (struct vamp_outputs_context){
        .run = run,
        .schema = vamp_stats_schema(stats),
        .clock = pipeline->clock,
        .components = pipeline->components,
    };
}

static int open_outputs(struct pipeline *pipeline, struct vamp_err *err)
{
    const struct vamp_outputs_context context =
        pipeline_outputs_context(pipeline, pipeline->run, pipeline->stats);
    int status = vamp_outputs_open(&pipeline->outputs, pipeline->config, &context, NULL, err);
    pipeline->outputs.patient = pipeline->first->source->can_wait;
    pipeline->outputs.stop = &pipeline->options->signals->stop;
    return status;
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
        .own_roundtrip = note_own_roundtrip,
        .own_roundtrip_context = pipeline,
        .say = say,
        .say_context = pipeline,
        .stop = &pipeline->options->signals->stop,
    };
    int status = config->source->open(config->source_options, &context, &pipeline->source, err);
    if (status == 0 && config->source->workflow != NULL) {
        const char *workflow = config->source->workflow(pipeline->source);
        if (workflow != NULL) {
            (void)snprintf(pipeline->workflow, sizeof pipeline->workflow, "%s", workflow);
            pipeline->run->workflow = pipeline->workflow;
        }
    }
    return status;
}

static void observe(struct pipeline *pipeline, const struct vamp_event *event)
{
    enum vamp_verdict verdict = VAMP_PASSED;
    if (!vamp_event_is_mark(event)) {
        vamp_components_observe(pipeline->components, event);
        verdict = vamp_rules_judge(pipeline->rules, event);
    }
    pipeline->newest_event_ns = event->time_ns;
    vamp_outputs_record(&pipeline->outputs, event, verdict == VAMP_PASSED);
    vamp_stats_observe(pipeline->stats, event, verdict);
    if (event->kind == VAMP_EVENT_GONE) {
        vamp_components_gone(pipeline->components, event->time_ns);
    }
}

/* Takes what the ring has, at most a batch and a group. Returns how many. */
static unsigned drain(struct pipeline *pipeline)
{
    const struct vamp_event *events[VAMP_LOOK_AHEAD];
    unsigned all = 0;
    unsigned count = 0;
    do {
        count = 0;
        while (count < VAMP_LOOK_AHEAD &&
               (events[count] = vamp_ring_next(pipeline->ring)) != NULL) {
            count++;
        }
        vamp_stats_look_ahead(pipeline->stats, events, count);
        for (unsigned i = 0; i < count; i++) {
            observe(pipeline, events[i]);
        }
        all += count;
    } while (count == VAMP_LOOK_AHEAD && all < BATCH_EVENTS);
    vamp_ring_release(pipeline->ring);
    return all;
}

void pipeline_report_self(struct pipeline *pipeline)
{
    struct vamp_stats *stats = pipeline->stats;
    take_own_roundtrips(pipeline);
    vamp_outputs_report(&pipeline->outputs, stats, &pipeline->status);
    vamp_stats_self(stats, VAMP_METRIC_VAMPIRE_RSS_BYTES, 0, vamp_self_rss_bytes());
    vamp_stats_self(stats, VAMP_METRIC_VAMPIRE_CPU_NS, 0, vamp_self_cpu_ns());
}

static void show_status(struct pipeline *pipeline, int64_t now_ns)
{
    struct vamp_totals totals;
    vamp_stats_totals(pipeline->stats, &totals);
    vamp_status_show(&pipeline->status, &totals, &vamp_stats_schema(pipeline->stats)->bins, now_ns);
}

/* How long to leave the processor alone while no event comes: till the next bucket closes, if that
 * is soon. */
static int64_t idle_ns(const struct pipeline *pipeline, int64_t now_ns)
{
    int64_t event_now_ns = 0;
    int64_t close_ns = 0;
    const int64_t watchdog_ns = pipeline->options->notify->watchdog_ns;
    if (pipeline->status.live || (watchdog_ns > 0 && watchdog_ns < IDLE_TICK_NS)) {
        return TICK_NS;
    }
    if (!vamp_event_clock_now(&pipeline->event_clock, now_ns, &event_now_ns) ||
        !vamp_stats_next_close(pipeline->stats, &close_ns) ||
        close_ns >= event_now_ns + IDLE_TICK_NS) {
        return IDLE_TICK_NS;
    }
    return close_ns > event_now_ns + TICK_NS ? close_ns - event_now_ns : TICK_NS;
}

/* A clock of events that was set back is known by buckets that begin anew: what was learned of it
 * before would set it forward again. */
static void follow_steps(struct pipeline *pipeline, int64_t now_ns)
{
    struct vamp_stats_state state;
    vamp_stats_state(pipeline->stats, &state);
    if (state.started && state.newest_ns < pipeline->newest_bucket_ns) {
        vamp_event_clock_init(&pipeline->event_clock);
        vamp_event_clock_observe(&pipeline->event_clock, pipeline->newest_event_ns, now_ns);
    }
    pipeline->newest_bucket_ns = state.newest_ns;
}

/* An empty ring proves that nothing happened up to the moment of which the source says so. When we
 * were stopped, what happened meanwhile is still on its way. */
static void tell_silence(struct pipeline *pipeline)
{
    int64_t event_ns = 0;
    if (pipeline->first->source->can_wait || pipeline->quiet_until_ns == 0 ||
        !vamp_event_clock_now(&pipeline->event_clock, pipeline->quiet_until_ns, &event_ns) ||
        event_ns <= pipeline->newest_event_ns) {
        return;
    }
    const struct vamp_event mark = {.kind = VAMP_EVENT_TIME, .time_ns = event_ns};
    vamp_outputs_record(&pipeline->outputs, &mark, true);
    vamp_stats_observe(pipeline->stats, &mark, VAMP_PASSED);
}

static void tick(struct pipeline *pipeline, int64_t now_ns, bool idle)
{
    if (!idle && pipeline->next_tick_ns > now_ns + TICK_NS) {
        pipeline->next_tick_ns = now_ns + TICK_NS;
    }
    if (now_ns < pipeline->next_tick_ns) {
        return;
    }
    pipeline_report_self(pipeline);
    vamp_status_flush(&pipeline->status);
    follow_steps(pipeline, now_ns);
    if (idle) {
        tell_silence(pipeline);
    }
    pipeline->next_tick_ns = now_ns + (idle ? idle_ns(pipeline, now_ns) : TICK_NS);
    show_status(pipeline, now_ns);
}

static void note_batch(struct pipeline *pipeline, int64_t now_ns, size_t ring_bytes)
{
    vamp_event_clock_observe(&pipeline->event_clock, pipeline->newest_event_ns, now_ns);
    vamp_stats_self(pipeline->stats, VAMP_METRIC_VAMPIRE_RING_BYTES, 0, (int64_t)ring_bytes);
    if (!pipeline->first->source->can_wait) {
        vamp_stats_self(pipeline->stats, VAMP_METRIC_VAMPIRE_LAG_NS, 0,
                        vamp_clock_utc_ns(pipeline->clock) - pipeline->newest_event_ns);
    }
}

static void work(struct pipeline *pipeline)
{
    while (!vamp_ring_finished(pipeline->ring)) {
        pipeline_reload_if_asked(pipeline);
        pipeline_show_if_asked(pipeline);
        size_t ring_bytes = vamp_ring_used_bytes(pipeline->ring);
        /* First, so that what came before that moment is in the ring. */
        pipeline->quiet_until_ns =
            atomic_load_explicit(&pipeline->source_thread.quiet_until_ns, memory_order_acquire);
        unsigned count = drain(pipeline);
        int64_t now_ns = vamp_clock_monotonic_ns(pipeline->clock);
        if (count > 0) {
            note_batch(pipeline, now_ns, ring_bytes);
        }
        tick(pipeline, now_ns, count == 0);
        pipeline_notify_alive(pipeline, now_ns);
        if (count == 0) {
            vamp_ring_wait(pipeline->ring, pipeline->next_tick_ns - now_ns);
        }
    }
}

/* Why the run ended, in words and as exit code. */
static const char *ending(struct pipeline *pipeline, enum vamp_exit_code *ret_code)
{
    const struct vamp_source_thread *thread = &pipeline->source_thread;
    *ret_code = VAMP_EXIT_OK;
    switch (thread->end) {
    case VAMP_SOURCE_GONE:
        vamp_status_error(&pipeline->status, "%s; the files are complete up to here",
                          thread->err.text);
        *ret_code = VAMP_EXIT_POOL_GONE;
        return "pool manager gone";
    case VAMP_SOURCE_ERROR:
        vamp_status_error(&pipeline->status, "%s; the files are complete up to here",
                          thread->err.text);
        *ret_code = VAMP_EXIT_FAILED;
        return "source failed";
    case VAMP_SOURCE_MORE:
    case VAMP_SOURCE_EMPTY:
    case VAMP_SOURCE_END:
        break;
    }
    return atomic_load(&pipeline->options->signals->stop) != 0 ? "stopped by signal" : "finished";
}

static void close_source(struct pipeline *pipeline)
{
    struct vamp_err err = VAMP_ERR_NONE;
    if (pipeline->source != NULL && pipeline->first->source->close(pipeline->source, &err) != 0) {
        vamp_status_error(&pipeline->status, "%s", err.text);
    }
    pipeline->source = NULL;
}

static enum vamp_exit_code finish(struct pipeline *pipeline)
{
    enum vamp_exit_code code;
    const char *reason = ending(pipeline, &code);
    pipeline_report_self(pipeline);
    vamp_stats_finish(pipeline->stats);

    struct vamp_totals totals;
    vamp_stats_totals(pipeline->stats, &totals);
    if (totals.buckets_without_memory > 0) {
        vamp_status_error(&pipeline->status,
                          "no memory for %" PRIu64 " buckets; the files show them as gaps",
                          totals.buckets_without_memory);
        code = code == VAMP_EXIT_OK ? VAMP_EXIT_FAILED : code;
    }
    const struct vamp_ending end = {
        .time_ns = vamp_clock_utc_ns(pipeline->clock),
        .reason = reason,
        .accounting = totals.accounting,
    };
    if (vamp_outputs_finish(&pipeline->outputs, &end, &pipeline->status) != 0 ||
        pipeline->outputs.failed) {
        code = code == VAMP_EXIT_OK ? VAMP_EXIT_FAILED : code;
    }
    vamp_status_clear(&pipeline->status);
    if (!pipeline->options->quiet) {
        vamp_summary_print(stderr, &(struct vamp_summary){
                                       .workflow = pipeline->run->workflow,
                                       .reason = reason,
                                       .duration_ns = vamp_clock_monotonic_ns(pipeline->clock) -
                                                      pipeline->began_ns,
                                       .totals = &totals,
                                       .bins = &vamp_stats_schema(pipeline->stats)->bins,
                                       .components = pipeline->components,
                                       .outputs = &pipeline->outputs,
                                   });
    }
    return code;
}

/* What start-up ended with, told and as exit code. */
static enum vamp_exit_code failed_start(struct pipeline *pipeline, int status,
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
    /* Options that only show to be wrong when they are used, such as an info that is none. */
    return status == -EINVAL ? VAMP_EXIT_USAGE : VAMP_EXIT_FAILED;
}

static int start_source_thread(struct pipeline *pipeline, struct vamp_err *err)
{
    pipeline->source_thread = (struct vamp_source_thread){
        .ops = pipeline->first->source,
        .source = pipeline->source,
        .ring = pipeline->ring,
        .clock = pipeline->clock,
        .stop = &pipeline->options->signals->stop,
    };
    return vamp_source_thread_start(&pipeline->source_thread, err);
}

static enum vamp_exit_code run(struct pipeline *pipeline)
{
    struct vamp_err err = VAMP_ERR_NONE;
    int status = build(pipeline, &err);
    if (status == 0) {
        status = open_source(pipeline, &err);
    }
    /* Files only once there is something to write: a pool manager that never came leaves none. */
    if (status == 0) {
        status = open_outputs(pipeline, &err);
    }
    if (status == 0) {
        status = start_source_thread(pipeline, &err);
    }
    if (status != 0) {
        return failed_start(pipeline, status, &err);
    }
    pipeline->began_ns = vamp_clock_monotonic_ns(pipeline->clock);
    pipeline->shown_ns = pipeline->began_ns;
    char line[256];
    pipeline_status_line(pipeline, line, sizeof line);
    vamp_notify_ready(pipeline->options->notify, line);
    work(pipeline);
    vamp_notify_stopping(pipeline->options->notify, "the files are being completed");
    vamp_source_thread_join(&pipeline->source_thread);
    close_source(pipeline);
    return finish(pipeline);
}

enum vamp_exit_code vamp_pipeline_run(const struct vamp_pipeline_options *options)
{
    struct pipeline *pipeline = calloc(1, sizeof *pipeline);
    if (pipeline == NULL) {
        struct vamp_status status;
        vamp_status_init(&status, options->quiet, options->clock);
        vamp_status_error(&status, "out of memory before anything was started");
        vamp_status_done(&status);
        return VAMP_EXIT_FAILED;
    }
    pipeline->options = options;
    pipeline->config = options->config;
    pipeline->first = options->config;
    pipeline->run = &pipeline->runs[0];
    pipeline->clock = options->clock;
    vamp_status_init(&pipeline->status, options->quiet, options->clock);
    (void)pthread_mutex_init(&pipeline->roundtrips.lock, NULL);
    vamp_event_clock_init(&pipeline->event_clock);
    describe_run(pipeline);

    enum vamp_exit_code code = run(pipeline);

    close_source(pipeline);
    vamp_outputs_done(&pipeline->outputs);
    vamp_stats_free(pipeline->stats);
    vamp_rules_free(pipeline->rules);
    vamp_config_free(pipeline->own_config);
    free(pipeline->selector);
    vamp_components_free(pipeline->components);
    vamp_ring_free(pipeline->ring);
    vamp_status_done(&pipeline->status);
    (void)pthread_mutex_destroy(&pipeline->roundtrips.lock);
    free(pipeline);
    return code;
}
