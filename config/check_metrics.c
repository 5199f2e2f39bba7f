/* SPDX-License-Identifier: BSD-3-Clause */
/* The metrics in the section "statistics": individual metrics, their filters, and the selection of
 * CDOs. */

#include "config/internal.h"
#include "filters/extract.h"
#include "vampire/stats/bucket/declared.h"
#include "vampire/stats/metrics/statistic.h"

/* Returns NULL if there is no such metric. */
static const struct vamp_metric *find_metric(const char *name)
{
    const enum vamp_metric_id id = vamp_metric_find(name);
    return id != VAMP_METRIC_NONE ? &vamp_metrics[id] : NULL;
}

/* `allowed` is "" if the name is a key of an object. */
static void report_unknown(const struct config_loader *loader, const char *path, const char *name,
                           const char *allowed)
{
    const char *names[VAMP_METRICS_MAX + 1];
    vamp_metric_names(names);
    enum config_spot spot = CONFIG_AT_VALUE;
    const char *hint = "";
    if (allowed[0] == '\0') {
        spot = CONFIG_AT_KEY;
        hint = "; vampire --list-metrics shows all";
    }
    struct vamp_diagnostic problem =
        config_problem(loader, path, spot, "there is no metric \"%.100s\"%s", name, hint);
    (void)snprintf(problem.allowed, sizeof problem.allowed, "%s", allowed);
    config_near(&problem, vamp_opt_near_choice(names, name));
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

void config_report_no_metric(const struct config_loader *loader, const char *path, const char *name)
{
    report_unknown(loader, path, name, "");
}

/* ---- "statistics.metrics", "statistics.selected" */

static void set_metric(const struct config_loader *loader, const char *path, const char *word)
{
    struct vamp_stats_options *statistics = &loader->config->statistics;
    const bool add = word[0] == '+';
    if (!add && word[0] != '-') {
        config_error(loader, path,
                     "\"%.80s\" has no sign: write +%.80s to add or -%.80s to remove the metric",
                     word, word, word);
        return;
    }
    const struct vamp_metric *metric = find_metric(word + 1);
    if (metric == NULL) {
        report_unknown(loader, path, word + 1,
                       "+NAME or -NAME; vampire --list-metrics shows all names");
    } else if ((metric->sets & VAMP_SET_COLLECT) != 0) {
        config_error(loader, path, "%s exists only in buckets that vampire-collect makes",
                     word + 1);
    } else if (!add && (metric->sets & VAMP_SET_SELF) != 0) {
        config_error(loader, path, "vampire's metrics of itself are always written");
    } else {
        statistics->metrics_on[metric - vamp_metrics] = add;
        statistics->metrics_off[metric - vamp_metrics] = !add;
    }
}

static int check_selected(const struct config_loader *loader)
{
    const struct vamp_config *config = loader->config;
    if (config->selected == NULL) {
        return 0;
    }
    uint64_t kinds = 0;
    int code = config_check_expression(loader, "/statistics/selected", config->selected,
                                       VAMP_FILTER_INSIDE, &kinds);
    if (code != 0 || config_is_wrong(loader, "/statistics/selected") ||
        config_is_wrong(loader, "/filters")) {
        return code;
    }
    if (kinds == 0) {
        config_error(loader, "/statistics/selected", "this filter is never true");
    } else if ((kinds & VAMP_EVENT_KINDS_ALL & ~VAMP_EVENT_KINDS_WITHOUT_CDO) == 0) {
        config_error(loader, "/statistics/selected",
                     "this filter is never true for an event of a CDO");
    } else if (config->statistics.level != VAMP_LEVEL_CDO) {
        config_warning(loader, "/statistics/selected", "has no effect unless \"level\" is \"cdo\"");
    }
    return code;
}

static void report_item(const struct config_loader *loader, const char *list, size_t item,
                        const struct vamp_err *err)
{
    char path[CONFIG_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s", list);
    (void)config_path_push_index(path, item);
    config_error(loader, path, "%s", err->text);
}

static void check_models(const struct config_loader *loader)
{
    const struct vamp_strings *rules = &loader->config->models;
    for (size_t i = 0; i < rules->count; i++) {
        struct vamp_err err = VAMP_ERR_NONE;
        if (vamp_model_rule_check(rules->items[i], &err) != 0) {
            report_item(loader, "/statistics/models", i, &err);
        }
    }
}

int config_declare_attributes(const struct config_loader *loader, const char *path,
                              const struct vamp_strings *texts)
{
    struct vamp_extract *extract = NULL;
    struct vamp_err wrong = VAMP_ERR_NONE;
    int code = vamp_extract_create(&extract, loader->err);
    for (size_t i = 0; i < texts->count && code == 0; i++) {
        code = vamp_extract_add(extract, texts->items[i], &wrong);
        if (code == -EINVAL || code == -E2BIG) {
            report_item(loader, path, i, &wrong);
            code = 0;
        }
    }
    unsigned count = 0, item = 0;
    if (code == 0) {
        const char *const *names = vamp_extract_names(extract, &count);
        if (vamp_attributes_declare(names, count, &item, &wrong) != 0) {
            report_item(loader, path, item, &wrong);
        }
    }
    vamp_extract_free(extract);
    return code;
}

/* Weighted counters are derived from the plain ones, which must therefore be enabled. */
static void check_weighted(const struct config_loader *loader)
{
    const struct vamp_stats_options *statistics = &loader->config->statistics;
    for (unsigned i = 0; i < VAMP_WEIGHTED_METRIC_COUNT; i++) {
        const struct vamp_weighted_metric *metric = &vamp_weighted_metrics[i];
        if (vamp_stats_wants(statistics, metric->weighted) &&
            !vamp_stats_wants(statistics, metric->plain)) {
            config_error(loader, "/statistics/metrics",
                         "%s is made from %s, which is not computed: add \"+%s\"",
                         vamp_metrics[metric->weighted].name, vamp_metrics[metric->plain].name,
                         vamp_metrics[metric->plain].name);
        }
    }
}

int config_check_metrics(const struct config_loader *loader)
{
    loader->config->statistics.metrics_on[VAMP_METRIC_VAMPIRE_NO_ROOM] = true;
    const struct vamp_strings *words = &loader->config->metrics;
    for (size_t i = 0; i < words->count; i++) {
        char path[CONFIG_PATH_BYTES] = "/statistics/metrics";
        (void)config_path_push_index(path, i);
        set_metric(loader, path, words->items[i]);
    }
    if (loader->config->sampling.fraction < VAMP_SAMPLE_ALL) {
        loader->config->statistics.metrics_on[VAMP_METRIC_VAMPIRE_SAMPLE_GROUP] = true;
    }
    check_weighted(loader);
    check_models(loader);
    return check_selected(loader);
}

/* ---- "statistics.filters" */

/* Returns the event kinds that the metric counts; all kinds if any may count. */
static uint64_t counting_kinds(enum vamp_metric_id metric)
{
    for (unsigned i = 0; i < VAMP_STATISTIC_COUNT; i++) {
        const struct vamp_statistic_ops *ops = &vamp_statistics[i];
        for (const enum vamp_metric_id *id = ops->metrics; *id != VAMP_METRIC_NONE; id++) {
            if (*id == metric) {
                return (ops->after | ops->before) & VAMP_EVENT_KINDS_ALL;
            }
        }
    }
    if ((vamp_metrics[metric].sets & VAMP_SET_SAMPLED) != 0) {
        return VAMP_EVENT_BIT(VAMP_EVENT_SAMPLE);
    }
    return VAMP_EVENT_KINDS_ALL;
}

/* Returns the reason why the metric cannot have its own filter; NULL: it can. */
static const char *refusal(const struct vamp_metric *metric)
{
    if ((metric->sets & VAMP_SET_SELF) != 0) {
        return "is a metric of vampire itself, which counts every event";
    }
    if ((metric->sets & VAMP_SET_IN_FLIGHT) != 0) {
        return "is taken from all pending operations at the end of a bucket, not counted at "
               "events; "
               "counters and histograms can be filtered";
    }
    if (metric->kind == VAMP_GAUGE) {
        return "is a gauge: it rises with one event and falls with another, and a filter could "
               "keep one of the two; counters and histograms can be filtered";
    }
    const enum vamp_metric_id id = (enum vamp_metric_id)(metric - vamp_metrics);
    if (vamp_metric_is_blocked_time(id)) {
        return "divides time among all pending operations, and a filter could leave out some of "
               "them; demand_wait_ns and withdraw_wait_ns can be filtered";
    }
    if (id == VAMP_METRIC_DEMAND_WAIT_PART_NS) {
        return "has the filter of demand_wait_ns, so that the parts add up to the whole; filter "
               "that one";
    }
    return NULL;
}

static void report_empty_metric(const struct config_loader *loader, const char *path,
                                const struct vamp_metric *metric, uint64_t kinds)
{
    const uint64_t counting = counting_kinds((enum vamp_metric_id)(metric - vamp_metrics));
    char names[200] = "";
    const char *before = "";
    size_t used = 0;
    if (kinds == 0) {
        config_error(loader, path, "this filter is never true: %s would stay empty", metric->name);
        return;
    }
    if ((kinds & counting) != 0) {
        return;
    }
    if (counting == VAMP_EVENT_BIT(VAMP_EVENT_SAMPLE)) {
        config_error(loader, path, "this filter has no condition on samples, which %s counts",
                     metric->name);
        return;
    }
    for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT && used < sizeof names; kind++) {
        if ((counting & VAMP_EVENT_BIT(kind)) != 0) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", before,
                                     vamp_event_kind_name(kind));
            before = ", ";
        }
    }
    config_error(
        loader, path,
        "this filter is never true where %s counts, so that it would stay empty: it counts at %s",
        metric->name, names);
}

static int check_metric_filter(const struct config_loader *loader,
                               const struct vamp_config_text *item)
{
    char path[CONFIG_PATH_BYTES] = "/statistics/filters";
    (void)config_path_push(path, item->name);
    const struct vamp_metric *metric = find_metric(item->name);
    if (metric == NULL) {
        config_report_no_metric(loader, path, item->name);
        return 0;
    }
    if (refusal(metric) != NULL) {
        config_error(loader, path, "%s %s", item->name, refusal(metric));
        return 0;
    }
    const enum vamp_metric_id plain =
        vamp_metric_plain((enum vamp_metric_id)(metric - vamp_metrics));
    if (plain != VAMP_METRIC_NONE) {
        config_error(loader, path,
                     "%s has the filter of %s, from which it is made; filter that one", item->name,
                     vamp_metrics[plain].name);
        return 0;
    }
    uint64_t kinds = 0;
    int code = config_check_expression(loader, path, item->text, VAMP_FILTER_INSIDE, &kinds);
    if (code == 0) {
        report_empty_metric(loader, path, metric, kinds);
        loader->config->statistics.metrics_on[VAMP_METRIC_VAMPIRE_METRIC_FILTERED] = true;
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
