/* SPDX-License-Identifier: BSD-3-Clause */
/* Creation of objects that both the start and a reload need, and the work at each closed bucket and
 * each tick. */
#include "programs/vampire/pipeline.h"

/* ---- alarms: evaluated when a bucket closes, before it is passed to the outputs */

void pipeline_say(void *context, bool error, const char *line)
{
    struct pipeline *pipeline = context;
    if (error) {
        vamp_status_error(&pipeline->status, "%s", line);
    } else {
        vamp_status_say(&pipeline->status, "%s", line);
    }
}

static void read_silences(struct pipeline *pipeline)
{
    const char *path = pipeline->config->silences;
    struct vamp_err err = VAMP_ERR_NONE;
    if (path == NULL || !pipeline->first->source->is_live) {
        return; /* silences refer to the present, not to the time of a recording */
    }
    if (vamp_silences_read(&pipeline->silences, path, &err) != 0) {
        vamp_status_error(&pipeline->status, "%s; the silences stay as they were", err.text);
    } else {
        vamp_status_say(&pipeline->status, "%u silences of alarms are in %s",
                        pipeline->silences.count, path);
    }
}

void pipeline_silence_if_asked(struct pipeline *pipeline)
{
    if (vamp_signals_take(&pipeline->start->signals->silence, &pipeline->silences_seen)) {
        read_silences(pipeline);
    }
}

int pipeline_create_alarms(struct pipeline *pipeline, const struct vamp_config *config,
                           const struct vamp_stats *stats, struct vamp_alarms **ret_alarms,
                           struct vamp_err *err)
{
    *ret_alarms = NULL;
    if (config->alarm_count == 0) {
        return 0;
    }
    if (pipeline->alarms == NULL) {
        read_silences(pipeline);
    }
    const struct vamp_alarms_options options = {
        .configs = config->alarms,
        .count = config->alarm_count,
        .schema = vamp_stats_schema(stats),
        .services = &pipeline->services,
        .say = pipeline_say,
        .say_context = pipeline,
        .silences = &pipeline->silences,
        .replayed = !pipeline->first->source->is_live,
    };
    return vamp_alarms_create(&options, ret_alarms, err);
}

static void evaluate_alarms(struct pipeline *pipeline, const struct vamp_bucket *bucket)
{
    if (pipeline->alarms == NULL) {
        return;
    }
    struct vamp_alarm_change *changes = NULL;
    const unsigned count = vamp_alarms_evaluate(pipeline->alarms, bucket,
                                                vamp_clock_utc_ns(pipeline->clock), &changes);
    if (count > 0) {
        vamp_bucket_set_alarms(bucket, changes, count);
    }
    /* Counted in the next bucket, because the current one is already complete. */
    const struct vamp_alarms_sum sum = vamp_alarms_sum(pipeline->alarms);
    vamp_stats_self(pipeline->stats, VAMP_METRIC_VAMPIRE_ALARMS_FIRING, 0, (int64_t)sum.firing);
    vamp_stats_self(pipeline->stats, VAMP_METRIC_VAMPIRE_ALARMS_FIRED, 0,
                    (int64_t)(pipeline->fired_before + sum.fired));
}

/* ---- statistics and outputs */

/* Returns the data that this configuration may exclude: one bit per enum vamp_unknown. */
static uint32_t excluded_data(const struct vamp_config *config)
{
    if (config->filter == NULL && config->sampling.fraction >= VAMP_SAMPLE_ALL) {
        return 0;
    }
    return VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_DEMANDS);
}

void pipeline_learn_unknown(struct pipeline *pipeline)
{
    if (pipeline->source != NULL && pipeline->stats != NULL && pipeline->ops->unknown != NULL) {
        const uint32_t learned = pipeline->ops->unknown(pipeline->source) & ~pipeline->run->unknown;
        vamp_stats_learn(pipeline->stats, learned | excluded_data(pipeline->config));
    }
}

static void emit(void *context, const struct vamp_bucket *bucket)
{
    struct pipeline *pipeline = context;
    pipeline_learn_unknown(pipeline);
    evaluate_alarms(pipeline, bucket);
    vamp_outputs_submit(&pipeline->outputs, bucket);
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
    options.unknown = pipeline->run->unknown;
    options.not_subscribed = VAMP_EVENT_KINDS_ALL & ~pipeline->kinds;
    options.replayed = pipeline->run->replayed;
    if (vamp_config_cdos_while_firing(config)) {
        options.level = VAMP_LEVEL_CDO; /* so that files contain the table of CDOs from the start */
    }
    const int code =
        vamp_stats_create(&options, space, pipeline->components, emit, pipeline, ret_stats, err);
    if (code == 0) {
        vamp_stats_learn(*ret_stats, excluded_data(config));
    }
    return code;
}

struct vamp_output_context pipeline_output_context(const struct pipeline *pipeline,
                                                   const struct vamp_run *run,
                                                   const struct vamp_stats *stats)
{
    return (struct vamp_output_context){
        .run = run,
        .schema = vamp_stats_schema(stats),
        .clock = pipeline->clock,
        .history = pipeline->history,
        .components = pipeline->components,
        .say = pipeline_say,
        .say_context = (struct pipeline *)(uintptr_t)pipeline,
        .stop = pipeline->first->source->may_block ? &pipeline->start->signals->stop : NULL,
        .signal = &pipeline->start->signals->stop,
    };
}

/* ---- vampire's metrics about itself */

uint64_t pipeline_filter_cut(const struct pipeline *pipeline)
{
    uint64_t sum = pipeline->cut_before;
    for (struct vamp_filter_use *use = pipeline->rules->filters; use != NULL; use = use->next) {
        sum += vamp_event_filter_cut(use->compiled);
    }
    if (pipeline->rules->attributes != NULL) {
        sum += vamp_extract_cut(pipeline->rules->attributes);
    }
    return sum;
}

static void report_cuts(struct pipeline *pipeline)
{
    for (struct vamp_filter_use *use = pipeline->rules->filters; use != NULL; use = use->next) {
        if (!use->cut_reported && vamp_event_filter_cut(use->compiled) > 0) {
            use->cut_reported = true;
            vamp_status_say(&pipeline->status,
                            "filter %s: a pattern ran out of steps on an event, and the condition "
                            "counts as false; vampire_filter_cut counts how often",
                            use->path);
        }
    }
}

static void flush_roundtrips(struct roundtrips *roundtrips, struct vamp_stats *stats)
{
    static const enum vamp_event_kind kinds[VAMP_OWN_OPERATION_COUNT] = {
        [VAMP_OWN_JOIN] = VAMP_EVENT_JOIN,
        [VAMP_OWN_SUBSCRIBE] = VAMP_EVENT_SUBSCRIBE,
        [VAMP_OWN_LEAVE] = VAMP_EVENT_LEAVE,
    };
    (void)pthread_mutex_lock(&roundtrips->lock);
    assert(roundtrips->count <= ROUNDTRIPS_MAX);
    for (unsigned i = 0; i < roundtrips->count; i++) {
        vamp_stats_self(stats, VAMP_METRIC_OWN_ROUNDTRIP_NS, kinds[roundtrips->items[i].operation],
                        roundtrips->items[i].ns);
    }
    roundtrips->count = 0;
    (void)pthread_mutex_unlock(&roundtrips->lock);
}

void pipeline_report_self(struct pipeline *pipeline)
{
    struct vamp_stats *stats = pipeline->stats;
    report_cuts(pipeline);
    vamp_stats_self(stats, VAMP_METRIC_VAMPIRE_FILTER_CUT, 0,
                    (int64_t)pipeline_filter_cut(pipeline));
    flush_roundtrips(&pipeline->roundtrips, stats);
    vamp_outputs_report(&pipeline->outputs, stats, &pipeline->status);
    vamp_action_services_report(&pipeline->services);
    vamp_stats_self(stats, VAMP_METRIC_VAMPIRE_RSS_BYTES, 0, vamp_self_rss_bytes());
    vamp_stats_self(stats, VAMP_METRIC_VAMPIRE_CPU_NS, 0, vamp_self_cpu_ns());
}
