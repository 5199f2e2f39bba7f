/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replaces the configuration during the run. All steps that can fail are done first, on new objects
 * next to those in use. Then the old files are completed, the new ones take over between two
 * buckets, and the new rules apply from the next event on. The statistics keep their state unless
 * their own options have changed; in this case, new statistics continue the totals but not the
 * CDOs.
 */
#include "programs/vampire/pipeline.h"

#include <string.h>

/* New objects prepared by a reload before they replace those in use. */
struct replacement {
    struct vamp_config *config;
    struct vamp_run *run;
    struct vamp_rules *rules;
    struct vamp_stats *stats; /* NULL: the current statistics continue */
    struct vamp_alarms *alarms;
    bool keep_alarms; /* rules and statistics are unchanged, so the alarms keep their state */
    struct vamp_outputs outputs;
};

static struct vamp_stats *stats_after(const struct pipeline *pipeline,
                                      const struct replacement *next)
{
    return next->stats != NULL ? next->stats : pipeline->stats;
}

static bool same_text(const char *one, const char *other)
{
    if (one == NULL || other == NULL) {
        return one == other;
    }
    return strcmp(one, other) == 0;
}

/* Reports changes of options that cannot take effect, because the options were sent to the pool
 * manager or determined memory sizes at the start. */
static void report_unchangeable(struct pipeline *pipeline, const struct vamp_config *config)
{
    static const char *const fixed[] = {"source", "workflow", "component", "ring", "samples"};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        if (!vamp_config_same(pipeline->first, config, fixed[i])) {
            vamp_status_say(&pipeline->status,
                            "reload: \"%s\" cannot change while vampire runs; it stays as it was",
                            fixed[i]);
        }
    }
}

/* Rejects new rules that require events to which vampire has not subscribed. */
static int check_events(const struct pipeline *pipeline, const struct replacement *next,
                        struct vamp_err *err)
{
    const char *selector = next->rules->selector;
    const char *present = pipeline->selector;
    if (!same_text(selector, present)) {
        return vamp_err_set(err, -EINVAL,
                            "\"events\" asks the pool manager for CDOs with %s, but vampire has "
                            "subscribed to those with %s; that cannot change while it runs",
                            vamp_text_or(selector, "any attributes"),
                            vamp_text_or(present, "any attributes"));
    }
    if ((next->config->event_kinds & ~pipeline->first->event_kinds) != 0) {
        return vamp_err_set(err, -EINVAL,
                            "\"events\" needs kinds of events to which vampire has not "
                            "subscribed; that cannot change while it runs");
    }
    if (next->config->sampling.fraction != pipeline->first->sampling.fraction) {
        return vamp_err_set(err, -EINVAL,
                            "\"sampling.fraction\" cannot change while vampire runs: a CDO counts "
                            "with its whole lifecycle, or not at all");
    }
    if (next->config->statistics.max_components != pipeline->first->statistics.max_components) {
        return vamp_err_set(err, -EINVAL,
                            "\"statistics.max_components\" cannot change while vampire runs");
    }
    return 0;
}

/* Returns whether all outputs keep their position in the list, by which the statistics identify
 * them. */
static bool outputs_match(const struct vamp_config *before, const struct vamp_config *after)
{
    for (unsigned i = 0; i < before->output_count; i++) {
        if (i >= after->output_count ||
            strcmp(before->outputs[i].settings.name, after->outputs[i].settings.name) != 0 ||
            before->outputs[i].ops->element != after->outputs[i].ops->element) {
            return false;
        }
    }
    return true;
}

static int prepare_stats(struct pipeline *pipeline, struct replacement *next, struct vamp_err *err)
{
    if (vamp_config_same(pipeline->config, next->config, "statistics") &&
        vamp_config_cdos_while_firing(pipeline->config) ==
            vamp_config_cdos_while_firing(next->config) &&
        outputs_match(pipeline->config, next->config)) {
        return 0;
    }
    return pipeline_create_stats(pipeline, next->config, &next->stats, err);
}

static int prepare_alarms(struct pipeline *pipeline, struct replacement *next, struct vamp_err *err)
{
    next->keep_alarms =
        next->stats == NULL && vamp_config_same(pipeline->config, next->config, "alarms");
    if (next->keep_alarms) {
        return 0;
    }
    return pipeline_create_alarms(pipeline, next->config, stats_after(pipeline, next),
                                  &next->alarms, err);
}

static void describe_next_run(const struct pipeline *pipeline, struct replacement *next)
{
    *next->run = *pipeline->run;
    next->run->configuration = next->config->effective_text;
    next->run->has_alarms = next->config->alarm_count > 0;
    next->run->sampling = next->rules->sampling;
    next->run->reloads = pipeline->run->reloads + 1;
    next->run->reloaded_ns = vamp_clock_utc_ns(pipeline->clock);
}

static int prepare_replacement(struct pipeline *pipeline, struct replacement *next,
                               struct vamp_err *err)
{
    int status = vamp_rules_create(next->config, pipeline->components, &next->rules, err);
    if (status == 0) {
        status = check_events(pipeline, next, err);
    }
    if (status == 0) {
        status = prepare_stats(pipeline, next, err);
    }
    if (status == 0) {
        status = prepare_alarms(pipeline, next, err);
    }
    if (status != 0) {
        return status;
    }
    describe_next_run(pipeline, next);
    struct vamp_output_context context =
        pipeline_output_context(pipeline, next->run, stats_after(pipeline, next));
    context.present = pipeline->components;
    return vamp_outputs_open(&next->outputs, next->config, &context, next->rules,
                             &pipeline->outputs, err);
}

/* Completes the old files. A failure is reported and counted, but does not stop the reload. */
static void retire_outputs(struct pipeline *pipeline)
{
    struct vamp_totals totals;
    vamp_stats_totals(pipeline->stats, &totals);
    const struct vamp_ending end = {
        .time_ns = vamp_clock_utc_ns(pipeline->clock),
        .reason = "configuration reloaded",
        .until_ns = vamp_signals_deadline(pipeline->start->signals),
        .accounting = totals.accounting,
    };
    vamp_outputs_finish(&pipeline->outputs, &end, &pipeline->status);
}

/* Replaces the rules unless they are unchanged, and frees configurations that are no longer in use.
 * `keep`: the configuration of the outputs is still in use. */
static void release_configs(struct pipeline *pipeline, struct replacement *next, bool keep)
{
    struct vamp_config *of_alarms = pipeline->alarms_config;
    if (!next->keep_alarms) {
        pipeline->fired_before += vamp_alarms_sum(pipeline->alarms).fired;
        vamp_alarms_free(pipeline->alarms);
        pipeline->alarms = next->alarms;
        pipeline->alarms_config = next->config;
    }
    if (of_alarms != pipeline->own_config && of_alarms != pipeline->alarms_config) {
        vamp_config_free(of_alarms);
    }
    if (!keep && pipeline->own_config != pipeline->alarms_config) {
        vamp_config_free(pipeline->own_config);
    }
}

static void install_replacement(struct pipeline *pipeline, struct replacement *next)
{
    pipeline_report_self(pipeline);
    if (next->stats != NULL) {
        vamp_stats_finish(pipeline->stats);
    }
    pipeline->cut_before = pipeline_filter_cut(pipeline);
    retire_outputs(pipeline);
    next->outputs.lost = pipeline->outputs.lost;
    next->outputs.left_behind = pipeline->outputs.left_behind;
    /* The thread of a stuck output may still read the configuration. */
    const bool keep = pipeline->outputs.left_behind;
    vamp_outputs_continue(&next->outputs, &pipeline->outputs, next->keep_alarms);
    vamp_outputs_done(&pipeline->outputs);
    pipeline->outputs = next->outputs;
    vamp_components_changed_all(pipeline->components); /* the new files contain no components yet */
    vamp_rules_apply(next->rules, stats_after(pipeline, next), &pipeline->services);
    vamp_rules_free(pipeline->rules);
    pipeline->rules = next->rules;
    if (next->stats != NULL) {
        struct vamp_output_account accounts[VAMP_OUTPUTS_MAX];
        vamp_outputs_accounts(&pipeline->outputs, accounts);
        vamp_stats_outputs(next->stats, accounts, pipeline->outputs.count);
        vamp_stats_inherit(next->stats, pipeline->stats);
        if (!keep) {
            vamp_stats_free(pipeline->stats);
        }
        pipeline->stats = next->stats;
    }
    release_configs(pipeline, next, keep);
    pipeline->own_config = next->config;
    pipeline->config = next->config;
    atomic_store(&pipeline->start->signals->finish_ns, next->config->finish_ns);
    pipeline->run = next->run;
}

static void reload_configuration(struct pipeline *pipeline)
{
    struct replacement next = {
        .run = pipeline->run == &pipeline->runs[0] ? &pipeline->runs[1] : &pipeline->runs[0],
    };
    vamp_status_clear(&pipeline->status);
    next.config = vamp_start_reload(pipeline->start);
    if (next.config == NULL) {
        return; /* the reason has been reported */
    }
    struct vamp_err err = VAMP_ERR_NONE;
    if (prepare_replacement(pipeline, &next, &err) != 0) {
        vamp_status_error(&pipeline->status, "reload: %s; the configuration stays as it was",
                          err.text);
        vamp_alarms_free(next.alarms);
        vamp_stats_free(next.stats);
        vamp_rules_free(next.rules);
        vamp_config_free(next.config);
        return;
    }
    report_unchangeable(pipeline, next.config);
    const bool new_statistics = next.stats != NULL;
    install_replacement(pipeline, &next);
    vamp_status_say(&pipeline->status, "the configuration was read again (number %u)%s",
                    pipeline->run->reloads,
                    new_statistics ? "; the statistics start over, and their totals continue" : "");
}

void pipeline_reload_if_asked(struct pipeline *pipeline)
{
    if (vamp_signals_take(&pipeline->start->signals->reload, &pipeline->reloads_seen)) {
        vamp_notify_reloading(pipeline->start->notify, vamp_clock_monotonic_ns(pipeline->clock));
        reload_configuration(pipeline);
        vamp_notify_ready(pipeline->start->notify, NULL);
    }
}
