/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "programs/run/series_space.h"

void pipeline_emit(void *context, const struct vamp_bucket *bucket)
{
    struct pipeline *pipeline = context;
    pipeline_evaluate_alarms(pipeline, bucket);
    vamp_outputs_submit(&pipeline->outputs, bucket);
}

void pipeline_filters(const struct pipeline *pipeline, vamp_filter_use_fn *each, void *context)
{
    vamp_rules_filters(pipeline->rules, each, context);
    vamp_outputs_filters(&pipeline->outputs, each, context);
}

static void add_cut(void *context, struct vamp_filter_use *use)
{
    uint64_t *sum = context;
    *sum += vamp_event_filter_cut(use->compiled);
}

uint64_t pipeline_filter_cut(const struct pipeline *pipeline)
{
    uint64_t sum = pipeline->cut_before;
    pipeline_filters(pipeline, add_cut, &sum);
    return sum;
}

static void say_for_actions(void *context, bool error, const char *line)
{
    struct pipeline *pipeline = context;
    if (error) {
        vamp_status_error(&pipeline->status, "%s", line);
    } else {
        vamp_status_say(&pipeline->status, "%s", line);
    }
}

static void say_for_source(void *context, const char *line)
{
    struct pipeline *pipeline = context;
    vamp_status_say(&pipeline->status, "%s", line);
}

static void describe_run(struct pipeline *pipeline)
{
    uuid_t id;
    uuid_generate(id);
    uuid_unparse_lower(id, pipeline->run->id);
    vamp_process_describe(&pipeline->process, pipeline->run);
    pipeline->run->workflow = pipeline->config->workflow != NULL ? pipeline->config->workflow : "";
    pipeline->run->component = pipeline->config->component;
    pipeline->run->version = pipeline->options->version;
    pipeline->run->clock = "event";
    pipeline->run->configuration = pipeline->config->effective_text;
    pipeline->run->has_alarms = pipeline->config->alarm_count > 0;
    pipeline->run->started_ns = vamp_clock_utc_ns(pipeline->clock);
}

static void set_models(struct pipeline *pipeline)
{
    static const char *const usual[] = {"(*) -- *"};
    const struct vamp_strings *given = &pipeline->config->models;
    const struct vamp_model_rules rules =
        given->count == 0
            ? (struct vamp_model_rules){usual, 1}
            : (struct vamp_model_rules){(const char *const *)given->items, given->count};
    vamp_components_set_models(pipeline->components, &rules);
}

int pipeline_create_stats(struct pipeline *pipeline, const struct vamp_config *config,
                          struct vamp_stats **ret_stats, struct vamp_err *err)
{
    char space[UUID_STR_LEN];
    const int status =
        vamp_series_space(pipeline->run->workflow, config->series_key_file, space, err);
    if (status != 0) {
        return status;
    }
    struct vamp_stats_options options = config->statistics;
    if (vamp_config_cdos_while_firing(config)) {
        options.level = VAMP_LEVEL_CDO; /* the files have their table from the begin */
    }
    return vamp_stats_create(&options, space, pipeline->components, pipeline_emit, pipeline,
                             ret_stats, err);
}

static int create_services(struct pipeline *pipeline, struct vamp_err *err)
{
    const struct vamp_action_services_options options = {
        .say = say_for_actions,
        .say_context = pipeline,
        .run = &pipeline->runs[0],
        .clock = pipeline->clock,
        .components = pipeline->components,
        .event_kinds = pipeline->config->event_kinds,
        .stop = pipeline->first->source->may_block ? &pipeline->options->signals->stop : NULL,
    };
    return vamp_action_services_create(&options, &pipeline->services, err);
}

/* What is made to wait loses nothing, and a small ring stays in the processor's cache. */
static size_t ring_bytes(const struct vamp_config *config)
{
    const size_t enough = (size_t)1024 * 1024;
    return config->source->may_block && config->ring_bytes > enough ? enough : config->ring_bytes;
}

/* Creates what needs neither the pool manager nor files. */
static int create_parts(struct pipeline *pipeline, struct vamp_err *err)
{
    const struct vamp_config *config = pipeline->config;
    int status = vamp_ring_create(ring_bytes(config), &pipeline->ring, err);
    if (status == 0) {
        status =
            vamp_components_create(config->statistics.max_components, &pipeline->components, err);
    }
    if (status == 0) {
        set_models(pipeline);
        status = vamp_rules_create(config, pipeline->components, &pipeline->rules, err);
    }
    if (status == 0) {
        status = create_services(pipeline, err);
    }
    if (status == 0) {
        status = pipeline_create_stats(pipeline, config, &pipeline->stats, err);
    }
    if (status == 0) {
        status = pipeline_create_alarms(pipeline, config, pipeline->stats, &pipeline->alarms, err);
    }
    if (status != 0) {
        return status;
    }
    vamp_rules_apply(pipeline->rules, pipeline->stats, pipeline->services);
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
        .stop = pipeline->first->source->may_block ? &pipeline->options->signals->stop : NULL,
        .signal = &pipeline->options->signals->stop,
    };
}

static int open_outputs(struct pipeline *pipeline, struct vamp_err *err)
{
    const struct vamp_outputs_context context =
        pipeline_outputs_context(pipeline, pipeline->run, pipeline->stats);
    return vamp_outputs_open(&pipeline->outputs, pipeline->config, &context, NULL, err);
}

/* The source has a workflow of its own, such as the one that was recorded. */
static int take_workflow(struct pipeline *pipeline, const char *workflow, struct vamp_err *err)
{
    (void)snprintf(pipeline->workflow, sizeof pipeline->workflow, "%s", workflow);
    pipeline->run->workflow = pipeline->workflow;
    char space[UUID_STR_LEN];
    const int status =
        vamp_series_space(pipeline->run->workflow, pipeline->config->series_key_file, space, err);
    return status != 0 ? status : vamp_stats_identify(pipeline->stats, space, err);
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
        .own_roundtrip = vamp_roundtrips_note,
        .own_roundtrip_context = &pipeline->roundtrips,
        .say = say_for_source,
        .say_context = pipeline,
        .stop = &pipeline->options->signals->stop,
    };
    int status = config->source->open(config->source_options, &context, &pipeline->source, err);
    if (status == 0 && config->source->workflow != NULL) {
        const char *workflow = config->source->workflow(pipeline->source);
        if (workflow != NULL) {
            status = take_workflow(pipeline, workflow, err);
        }
    }
    return status;
}

/* Why the run ended, as text and as exit code; reports a failure of the source. */
static const char *reason_of_end(struct pipeline *pipeline, enum vamp_exit_code *ret_code)
{
    const struct vamp_source_thread *thread = &pipeline->source_thread;
    *ret_code = VAMP_EXIT_OK;
    switch (thread->end) {
    case VAMP_SOURCE_GONE:
        vamp_status_error(&pipeline->status, "%s; the files are complete up to here",
                          thread->err.text);
        *ret_code = VAMP_EXIT_POOL_GONE;
        return "pool manager gone";
    case VAMP_SOURCE_DAMAGED:
        vamp_status_error(&pipeline->status, "%s", thread->err.text);
        *ret_code = VAMP_EXIT_DAMAGED;
        return "finished";
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

static enum vamp_exit_code finish_run(struct pipeline *pipeline)
{
    enum vamp_exit_code code;
    const char *reason = reason_of_end(pipeline, &code);
    pipeline_report_self(pipeline);
    vamp_stats_finish(pipeline->stats);
    vamp_action_services_finish(pipeline->services);

    struct vamp_totals totals;
    vamp_stats_totals(pipeline->stats, &totals);
    assert(totals.accounting.received == totals.accounting.decoded + totals.accounting.rejected);
    assert(totals.accounting.decoded == totals.accounting.counted + totals.accounting.filtered);
    if (totals.buckets_without_memory > 0) {
        vamp_status_error(&pipeline->status,
                          "no memory for %" PRIu64 " buckets; the files show them as gaps",
                          totals.buckets_without_memory);
        code = code == VAMP_EXIT_OK ? VAMP_EXIT_FAILED : code;
    }
    const struct vamp_ending end = {
        .time_ns = vamp_clock_utc_ns(pipeline->clock),
        .reason = reason,
        .completed = true,
        .stop = atomic_load(&pipeline->options->signals->stop),
        .accounting = totals.accounting,
    };
    if (vamp_outputs_finish(&pipeline->outputs, &end, &pipeline->status) != 0 ||
        pipeline->outputs.failed) {
        code = code == VAMP_EXIT_OK ? VAMP_EXIT_FAILED : code;
    }
    vamp_status_clear(&pipeline->status);
    struct vamp_action_account actions;
    vamp_action_services_account(pipeline->services, &actions);
    if (code == VAMP_EXIT_OK && (actions.recordings_failed > 0 || actions.events_lost > 0)) {
        code = VAMP_EXIT_FAILED; /* as for an output that is not complete */
    }
    if (!pipeline->options->quiet) {
        pipeline_print_summary(pipeline, &totals, reason, &actions, stderr);
    }
    return code;
}

/* Reports why the start failed and returns the exit code for it. */
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
    /* Options whose error shows only in use, such as a malformed source.info. */
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

static enum vamp_exit_code run_pipeline(struct pipeline *pipeline)
{
    struct vamp_err err = VAMP_ERR_NONE;
    int status = create_parts(pipeline, &err);
    if (status == 0) {
        status =
            vamp_ready_file_prepare(&pipeline->ready_file, pipeline->options->ready_file, &err);
    }
    if (status == 0) {
        status = open_source(pipeline, &err);
    }
    /* Outputs come last: without a pool manager no file is created. */
    if (status == 0) {
        status = open_outputs(pipeline, &err);
    }
    if (status == 0) {
        status = vamp_ready_file_show(&pipeline->ready_file, &err);
    }
    if (status == 0) {
        status = start_source_thread(pipeline, &err);
    }
    if (status != 0) {
        return report_failed_start(pipeline, status, &err);
    }
    pipeline->began_ns = vamp_clock_monotonic_ns(pipeline->clock);
    pipeline->shown_ns = pipeline->began_ns;
    char line[256];
    pipeline_status_line(pipeline, line, sizeof line);
    vamp_notify_ready(pipeline->options->notify, line);
    if (pipeline->first->source->is_live) {
        vamp_status_say(&pipeline->status,
                        "joined workflow \"%s\" as \"%s\"; its components can start now",
                        pipeline->run->workflow, pipeline->run->component);
    }
    pipeline_loop(pipeline);
    vamp_notify_stopping(pipeline->options->notify, "the files are being completed");
    vamp_source_thread_join(&pipeline->source_thread);
    close_source(pipeline);
    return finish_run(pipeline);
}

enum vamp_exit_code vamp_pipeline_run(const struct vamp_pipeline_options *options)
{
    struct pipeline *pipeline = calloc(1, sizeof *pipeline);
    if (pipeline == NULL) {
        struct vamp_status status;
        vamp_status_init(&status, "vampire", options->quiet, options->clock);
        vamp_status_error(&status, "out of memory before anything was started");
        vamp_status_done(&status);
        return VAMP_EXIT_FAILED;
    }
    pipeline->options = options;
    pipeline->config = options->config;
    pipeline->first = options->config;
    pipeline->run = &pipeline->runs[0];
    pipeline->clock = options->clock;
    vamp_status_init(&pipeline->status, "vampire", options->quiet, options->clock);
    vamp_roundtrips_init(&pipeline->roundtrips);
    vamp_event_clock_init(&pipeline->event_clock);
    describe_run(pipeline);

    enum vamp_exit_code code = run_pipeline(pipeline);

    close_source(pipeline);
    vamp_ready_file_done(&pipeline->ready_file);
    vamp_outputs_done(&pipeline->outputs);
    vamp_alarms_free(pipeline->alarms);
    vamp_silences_done(&pipeline->silences);
    vamp_action_services_free(pipeline->services);
    vamp_stats_free(pipeline->stats);
    vamp_rules_free(pipeline->rules);
    if (pipeline->alarms_config != pipeline->own_config) {
        vamp_config_free(pipeline->alarms_config);
    }
    vamp_config_free(pipeline->own_config);
    free(pipeline->selector);
    vamp_components_free(pipeline->components);
    vamp_ring_free(pipeline->ring);
    vamp_status_done(&pipeline->status);
    vamp_roundtrips_done(&pipeline->roundtrips);
    free(pipeline);
    return code;
}
