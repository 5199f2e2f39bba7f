/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int vamp_rules_add_filter(struct vamp_rules *rules, const char *text, enum vamp_filter_place place,
                          const char *path, struct vamp_filter_use **ret_use, struct vamp_err *err)
{
    struct vamp_filter_use *use = calloc(1, sizeof *use);
    if (use == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the filters");
    }
    const int status =
        vamp_event_filter_compile(text, place, &rules->config->named, &use->compiled, err);
    if (status != 0) {
        free(use);
        return status;
    }
    use->components = rules->components;
    (void)snprintf(use->path, sizeof use->path, "%s", path);
    struct vamp_filter_use **end = &rules->filters;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = use;
    *ret_use = use;
    return 0;
}

static int add_metric_filters(struct vamp_rules *rules, struct vamp_err *err)
{
    const struct vamp_config *config = rules->config;
    int status = 0;
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        for (size_t i = 0; i < config->metric_filters.count && status == 0; i++) {
            const struct vamp_config_text *item = &config->metric_filters.items[i];
            if (strcmp(item->name, vamp_metrics[id].name) == 0) {
                char path[VAMP_FILTER_PATH_BYTES];
                struct vamp_metric_rule *rule = &rules->metrics[rules->metric_count++];
                rule->metric = (enum vamp_metric_id)id;
                (void)snprintf(path, sizeof path, "statistics.filters.%s", item->name);
                status = vamp_rules_add_filter(rules, item->text, VAMP_FILTER_INSIDE, path,
                                               &rule->filter, err);
            }
        }
    }
    return status;
}

static int add_attributes(struct vamp_rules *rules, struct vamp_err *err)
{
    const struct vamp_strings *texts = &rules->config->attributes;
    int status = 0;
    if (texts->count > 0) {
        status = vamp_extract_create(&rules->attributes, err);
    }
    for (size_t i = 0; i < texts->count && status == 0; i++) {
        status = vamp_extract_add(rules->attributes, texts->items[i], err);
    }
    return status;
}

int vamp_rules_create(const struct vamp_config *config, const struct vamp_components *components,
                      struct vamp_rules **ret_rules, struct vamp_err *err)
{
    struct vamp_rules *rules = calloc(1, sizeof *rules);
    if (rules == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the filters");
    }
    rules->config = config;
    rules->components = components;
    rules->while_firing = vamp_config_cdos_while_firing(config);
    rules->fraction = config->sampling.fraction;
    (void)snprintf(rules->sampling, sizeof rules->sampling, "none");
    if (rules->fraction < VAMP_SAMPLE_ALL) {
        (void)snprintf(rules->sampling, sizeof rules->sampling, "fraction %" PRIu64,
                       rules->fraction);
    }
    int status = 0;
    if (config->filter != NULL) {
        status = vamp_rules_add_filter(rules, config->filter, VAMP_FILTER_FIRST, "events",
                                       &rules->first, err);
    }
    if (status == 0 && config->selected != NULL) {
        status = vamp_rules_add_filter(rules, config->selected, VAMP_FILTER_INSIDE,
                                       "statistics.selected", &rules->selected, err);
    }
    if (status == 0) {
        status = add_metric_filters(rules, err);
    }
    if (status == 0) {
        status = add_attributes(rules, err);
    }
    if (status != 0) {
        vamp_rules_free(rules);
        return status;
    }
    rules->judges = rules->first != NULL || rules->fraction < VAMP_SAMPLE_ALL;
    if (rules->first != NULL) {
        rules->selector = vamp_event_filter_selector(rules->first->compiled);
    }
    *ret_rules = rules;
    return 0;
}

void vamp_rules_free(struct vamp_rules *rules)
{
    if (rules == NULL) {
        return;
    }
    while (rules->filters != NULL) {
        struct vamp_filter_use *use = rules->filters;
        rules->filters = use->next;
        vamp_event_filter_free(use->compiled);
        free(use);
    }
    vamp_extract_free(rules->attributes);
    free(rules);
}

bool vamp_filter_use_match(struct vamp_filter_use *use, const struct vamp_event *event)
{
    const bool passes = vamp_event_filter_match(use->compiled, event, use->components);
    use->seen++;
    use->passed += passes;
    return passes;
}

enum vamp_verdict vamp_rules_judge(struct vamp_rules *rules, const struct vamp_event *event)
{
    if (rules->first != NULL && !vamp_filter_use_match(rules->first, event)) {
        return VAMP_FILTERED;
    }
    return vamp_sample_passes(rules->fraction, event) ? VAMP_PASSED : VAMP_SAMPLED_OUT;
}

static void apply_metric_filters(void *context, const struct vamp_event *event,
                                 bool excluded[static VAMP_METRICS_MAX])
{
    const struct vamp_rules *rules = context;
    for (unsigned i = 0; i < rules->metric_count; i++) {
        const struct vamp_metric_rule *rule = &rules->metrics[i];
        excluded[rule->metric] = !vamp_filter_use_match(rule->filter, event);
    }
}

static bool select_cdo(void *context, const struct vamp_event *event)
{
    const struct vamp_rules *rules = context;
    return (!rules->while_firing || vamp_action_services_select(rules->services, event)) &&
           (rules->selected == NULL || vamp_filter_use_match(rules->selected, event));
}

static void read_attributes(void *context, const struct vamp_event *event,
                            struct vamp_attribute_texts *ret_texts)
{
    const struct vamp_rules *rules = context;
    unsigned count = 0;
    (void)vamp_extract_names(rules->attributes, &count);
    for (unsigned i = 0; i < count && vamp_event_has(event, VAMP_HAS_CDO_NAME); i++) {
        struct vamp_attribute_text *text = &ret_texts->items[i];
        if (!vamp_extract_find(rules->attributes, i, event->name, event->name_length, &text->begin,
                               &text->length)) {
            text->length = 0;
        }
    }
}

void vamp_rules_apply(struct vamp_rules *rules, struct vamp_stats *stats,
                      const struct vamp_action_services *services)
{
    const bool selects = rules->selected != NULL || rules->while_firing;
    rules->services = services;
    vamp_stats_sampling(stats, (double)VAMP_SAMPLE_ALL / (double)rules->fraction);
    vamp_stats_exclude(stats, rules->metric_count > 0 ? apply_metric_filters : NULL, rules);
    if (rules->attributes != NULL) {
        vamp_stats_read_attributes(stats, read_attributes, rules);
    }
    vamp_stats_select(stats, selects ? select_cdo : NULL, rules);
}
