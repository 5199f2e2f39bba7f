/* SPDX-License-Identifier: BSD-3-Clause */
/* What the section "statistics" says in words of its own: single metrics, and the selected CDOs. */
#include <string.h>

#include "config/internal.h"
#include "filters/event_filter.h"

_Static_assert(VAMP_METRIC_COUNT <= 64, "a metric is a bit");

static int find_metric(const char *name)
{
    for (int id = 0; id < VAMP_METRIC_COUNT; id++) {
        if (strcmp(vamp_metrics[id].name, name) == 0) {
            return id;
        }
    }
    return -1;
}

static void report_unknown(const struct config_loader *loader, const char *path, const char *name)
{
    const char *names[VAMP_METRIC_COUNT + 1] = {NULL};
    for (unsigned id = 0; id < VAMP_METRIC_COUNT; id++) {
        names[id] = vamp_metrics[id].name;
    }
    struct vamp_diagnostic problem =
        config_problem(loader, path, CONFIG_AT_VALUE, "there is no metric \"%.80s\"", name);
    config_near(&problem, vamp_opt_near_choice(names, name));
    (void)snprintf(problem.allowed, sizeof problem.allowed,
                   "+NAME or -NAME; vampire --list-metrics shows all names");
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

static void take_word(const struct config_loader *loader, const char *path, const char *word)
{
    struct vamp_stats_options *statistics = &loader->config->statistics;
    if (word[0] != '+' && word[0] != '-') {
        config_error(loader, path,
                     "\"%.80s\" does not say whether the metric is wanted: write "
                     "+%.80s or -%.80s",
                     word, word, word);
        return;
    }
    const int id = find_metric(word + 1);
    if (id < 0) {
        report_unknown(loader, path, word + 1);
        return;
    }
    const uint64_t bit = UINT64_C(1) << id;
    if (word[0] == '-' && (vamp_metrics[id].sets & VAMP_SET_SELF) != 0) {
        config_error(loader, path, "vampire's account of itself is always written");
        return;
    }
    statistics->metrics_on = (statistics->metrics_on & ~bit) | (word[0] == '+' ? bit : 0);
    statistics->metrics_off = (statistics->metrics_off & ~bit) | (word[0] == '-' ? bit : 0);
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
    if (code == 0 && !config_is_wrong(loader, "/statistics/selected") &&
        !config_is_wrong(loader, "/filters")) {
        if ((kinds & ~VAMP_EVENT_KINDS_WITHOUT_CDO) == 0) {
            config_error(loader, "/statistics/selected",
                         kinds == 0 ? "this filter is never true"
                                    : "this filter is never true for an event of a CDO");
        } else if (config->statistics.level != VAMP_LEVEL_CDO) {
            config_warning(loader, "/statistics/selected",
                           "has no effect unless \"level\" is \"cdo\"");
        }
    }
    return code;
}

int config_check_metrics(const struct config_loader *loader)
{
    const struct vamp_strings *words = &loader->config->metrics;
    for (size_t i = 0; i < words->count; i++) {
        char path[CONFIG_PATH_BYTES] = "/statistics/metrics";
        (void)config_path_push_index(path, i);
        take_word(loader, path, words->items[i]);
    }
    return check_selected(loader);
}
