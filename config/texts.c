/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects whose members are expressions: "filters" and "statistics.filters". */
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"
#include "vampire/stats/statistic.h"

static int no_memory(const struct config_loader *loader)
{
    return vamp_err_set_errno(loader->err, ENOMEM, "keep the filters");
}

void config_texts_done(struct vamp_config_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        free(texts->items[i].name);
        free(texts->items[i].text);
    }
    free(texts->items);
    *texts = (struct vamp_config_texts){0};
}

/* ---- reading */

static int add(const struct config_loader *loader, struct vamp_config_texts *texts,
               const char *name, const char *text)
{
    struct vamp_config_text *items =
        reallocarray(texts->items, texts->count + 1, sizeof *texts->items);
    if (items == NULL) {
        return no_memory(loader);
    }
    texts->items = items;
    struct vamp_config_text *item = &items[texts->count];
    *item = (struct vamp_config_text){strdup(name), strdup(text)};
    texts->count++; /* also half-made: vamp_config_free frees it */
    return item->name != NULL && item->text != NULL ? 0 : no_memory(loader);
}

static int walk_members(const struct config_loader *loader, const struct config_value *object,
                        struct vamp_config_texts *texts)
{
    if (object->type != CONFIG_OBJECT) {
        config_report_found(loader, object, "an object {NAME: EXPRESSION}");
        return 0;
    }
    int code = 0;
    for (const struct config_value *member = object->first; member != NULL && code == 0;
         member = member->next) {
        if (config_report_duplicate(loader, member)) {
            continue;
        }
        if (member->type == CONFIG_TEXT) {
            code = add(loader, texts, member->key, member->text);
        } else {
            config_report_found(loader, member, "an expression of the filter language");
        }
    }
    return code;
}

int config_walk_texts(struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    const struct config_value *filters = config_member(loader->tree.root, "filters");
    int code = filters != NULL ? walk_members(loader, filters, &config->filters) : 0;
    const struct config_value *metrics =
        config_member(config_member(loader->tree.root, "statistics"), "filters");
    if (code == 0 && metrics != NULL) {
        code = walk_members(loader, metrics, &config->metric_filters);
    }
    return code;
}

/* ---- checking */

enum vamp_filter_place config_first_place(const struct vamp_config *config)
{
    return config->source->knows_attributes ? VAMP_FILTER_FIRST : VAMP_FILTER_INSIDE;
}

/* "@NAME, line L, column C: ..." is about the filter NAME. False: the message is about no other. */
static bool report_in_named(const struct config_loader *loader, const char *message)
{
    const char *comma = message[0] == '@' ? strstr(message, ", line ") : NULL;
    if (comma == NULL) {
        return false;
    }
    char name[256];
    char path[CONFIG_PATH_BYTES] = "/filters";
    (void)snprintf(name, sizeof name, "%.*s", (int)(comma - message - 1), message + 1);
    (void)config_path_push(path, name);
    if (!config_is_wrong(loader, path)) {
        config_expression_error(loader, path, comma + 2);
    }
    return true;
}

int config_check_expression(const struct config_loader *loader, const char *path, const char *text,
                            enum vamp_filter_place place, uint64_t *ret_kinds)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_event_filter *filter = NULL;
    *ret_kinds = 0;
    int code = vamp_event_filter_compile(text, place, loader->config->named, &filter, &err);
    if (code == 0) {
        *ret_kinds = vamp_event_filter_kinds(filter);
        vamp_event_filter_free(filter);
        return 0;
    }
    if (code == -ENOMEM) {
        return no_memory(loader);
    }
    if (!report_in_named(loader, err.text)) {
        config_expression_error(loader, path, err.text);
    }
    return 0;
}

static void push(char path[static CONFIG_PATH_BYTES], const char *section, const char *name)
{
    (void)snprintf(path, CONFIG_PATH_BYTES, "%s", section);
    (void)config_path_push(path, name);
}

static int check_named(const struct config_loader *loader, const struct vamp_config_text *item)
{
    char path[CONFIG_PATH_BYTES];
    push(path, "/filters", item->name);
    if (config_is_wrong(loader, path)) {
        return 0;
    }
    uint64_t kinds = 0;
    int code = config_check_expression(loader, path, item->text, config_first_place(loader->config),
                                       &kinds);
    if (code == 0 && kinds == 0 && !config_is_wrong(loader, "/filters")) {
        config_warning(loader, path, "this filter is never true");
    }
    return code;
}

int config_check_named(struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    int code = vamp_named_filters_create(&config->named, loader->err);
    for (size_t i = 0; i < config->filters.count && code == 0; i++) {
        const struct vamp_config_text *item = &config->filters.items[i];
        struct vamp_err err = VAMP_ERR_NONE;
        code = vamp_named_filters_add(config->named, item->name, item->text, &err);
        if (code != 0 && code != -ENOMEM) {
            char path[CONFIG_PATH_BYTES];
            push(path, "/filters", item->name);
            config_error(loader, path, "%s", err.text);
            code = 0;
        }
    }
    for (size_t i = 0; i < config->filters.count && code == 0; i++) {
        code = check_named(loader, &config->filters.items[i]);
    }
    return code == -ENOMEM ? no_memory(loader) : code;
}

static const struct vamp_metric *find_metric(const char *name)
{
    for (unsigned id = 0; id < VAMP_METRIC_COUNT; id++) {
        if (strcmp(vamp_metrics[id].name, name) == 0) {
            return &vamp_metrics[id];
        }
    }
    return NULL;
}

void config_report_no_metric(const struct config_loader *loader, const char *path, const char *name)
{
    const char *names[VAMP_METRIC_COUNT + 1] = {NULL};
    for (unsigned id = 0; id < VAMP_METRIC_COUNT; id++) {
        names[id] = vamp_metrics[id].name;
    }
    struct vamp_diagnostic problem =
        config_problem(loader, path, CONFIG_AT_KEY,
                       "there is no metric \"%.100s\"; vampire --list-metrics shows all", name);
    config_near(&problem, vamp_opt_near_choice(names, name));
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

/* The kinds of events at which the metric counts; all where that may be any. */
static uint64_t counting_kinds(enum vamp_metric_id metric)
{
    for (unsigned i = 0; vamp_statistics[i] != NULL; i++) {
        const struct vamp_statistic_ops *ops = vamp_statistics[i];
        for (const enum vamp_metric_id *id = ops->metrics; *id != VAMP_METRIC_COUNT; id++) {
            if (*id == metric) {
                return (ops->after | ops->before) & VAMP_EVENT_KINDS_ALL;
            }
        }
    }
    return VAMP_EVENT_KINDS_ALL;
}

static void report_empty_metric(const struct config_loader *loader, const char *path,
                                const struct vamp_metric *metric, uint64_t kinds)
{
    const uint64_t counting = counting_kinds((enum vamp_metric_id)(metric - vamp_metrics));
    if (kinds == 0) {
        config_error(loader, path, "this filter is never true: %s would stay empty", metric->name);
    } else if ((kinds & counting) == 0) {
        char names[200] = "";
        size_t used = 0;
        for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT && used < sizeof names; kind++) {
            if ((counting & VAMP_EVENT_BIT(kind)) != 0) {
                used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                         used == 0 ? "" : ", ", vamp_event_kind_name(kind));
            }
        }
        config_error(loader, path,
                     "this filter is never true where %s counts, so that it would stay empty: it "
                     "counts at %s",
                     metric->name, names);
    }
}

static int check_metric_filter(const struct config_loader *loader,
                               const struct vamp_config_text *item)
{
    char path[CONFIG_PATH_BYTES];
    push(path, "/statistics/filters", item->name);
    const struct vamp_metric *metric = find_metric(item->name);
    if (metric == NULL) {
        config_report_no_metric(loader, path, item->name);
        return 0;
    }
    if ((metric->sets & VAMP_SET_SELF) != 0) {
        config_error(loader, path, "%s is vampire's own account, which counts every event",
                     item->name);
        return 0;
    }
    if (metric->kind == VAMP_GAUGE) {
        config_error(loader, path,
                     "%s is a gauge: it rises with one event and falls with another, and a filter "
                     "could keep one of the two; counters and histograms can be filtered",
                     item->name);
        return 0;
    }
    uint64_t kinds = 0;
    int code = config_check_expression(loader, path, item->text, VAMP_FILTER_INSIDE, &kinds);
    if (code == 0 && !config_is_wrong(loader, path) && !config_is_wrong(loader, "/filters")) {
        report_empty_metric(loader, path, metric, kinds);
    }
    return code;
}

int config_check_metric_filters(struct config_loader *loader)
{
    const struct vamp_config_texts *texts = &loader->config->metric_filters;
    int code = 0;
    for (size_t i = 0; i < texts->count && code == 0; i++) {
        code = check_metric_filter(loader, &texts->items[i]);
    }
    return code;
}
