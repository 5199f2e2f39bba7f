/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of outputs, and the metrics and series they get. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"
#include "vampire/stats/bucket/bucket.h"
#include "writers/format/sent_alarms.h"
#include "writers/output/resolution.h"

/* An error about an option of an output; `inside` is in it, as in "rotate/size". */
static void VAMP_PRINTF(4, 5) output_error(const struct config_loader *loader, unsigned index,
                                           const char *inside, const char *format, ...)
{
    char path[CONFIG_PATH_BYTES], text[384];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)snprintf(path, sizeof path, "/outputs/%u/%s", loader->output_index[index], inside);
    config_error(loader, path, "%s", text);
}

/* ---- names */

/* The first other output with this name; `count` is how many to look at, `skip` is not. */
static int find_name(const struct vamp_config *config, const char *name, unsigned count,
                     unsigned skip)
{
    for (unsigned i = 0; i < count; i++) {
        const char *other = config->outputs[i].settings.name;
        if (i != skip && other != NULL && strcmp(other, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Two outputs have no name in common; without one it is the type, then "hdf5-2", "hdf5-3", ... */
static int settle_names(const struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    for (unsigned i = 1; i < config->output_count; i++) {
        const char *name = config->outputs[i].settings.name;
        if (name != NULL && find_name(config, name, i, i) >= 0) {
            output_error(loader, i, "name", "another output is called \"%s\" too", name);
        }
    }
    for (unsigned i = 0; i < config->output_count; i++) {
        struct vamp_config_output *output = &config->outputs[i];
        char name[VAMP_OUTPUT_NAME_BYTES];
        (void)snprintf(name, sizeof name, "%s", output->ops->name);
        for (unsigned number = 2; find_name(config, name, config->output_count, i) >= 0; number++) {
            (void)snprintf(name, sizeof name, "%.40s-%u", output->ops->name, number);
        }
        output->settings.name =
            output->settings.name != NULL ? output->settings.name : strdup(name);
        if (output->settings.name == NULL) {
            return vamp_err_set_errno(loader->err, ENOMEM, "name the outputs");
        }
    }
    return 0;
}

/* ---- buckets and rotation */

#define ROTATE_BYTES_MIN UINT64_C(65536)

/* Width of the output's buckets. */
static int64_t bucket_width(const struct config_loader *loader, unsigned index)
{
    const int64_t own_ns = loader->config->outputs[index].settings.bucket_ns;
    return own_ns > 0 ? own_ns : loader->config->statistics.bucket_ns;
}

static void check_bucket(const struct config_loader *loader, unsigned index)
{
    const int64_t whole_ns = loader->config->statistics.bucket_ns;
    char text[VAMP_QUANTITY_TEXT_BYTES];
    if (whole_ns > 0 && bucket_width(loader, index) % whole_ns != 0) {
        vamp_duration_text(whole_ns, text, sizeof text);
        output_error(loader, index, "bucket", "not a multiple of \"%s.bucket\", which is %s",
                     loader->config->program == VAMP_CONFIG_COLLECT ? "collect" : "statistics",
                     text);
    }
}

static void check_rotation(const struct config_loader *loader, unsigned index)
{
    const struct vamp_output_settings *settings = &loader->config->outputs[index].settings;
    if (settings->rotate_ns > 0 && settings->rotate_ns < bucket_width(loader, index)) {
        output_error(loader, index, "rotate/interval",
                     "shorter than a bucket, which is the least a file can contain");
    }
    if (settings->rotate_bytes > 0 && settings->rotate_bytes < ROTATE_BYTES_MIN) {
        output_error(loader, index, "rotate/size", "too small: 0B (never) or at least 64KiB");
    }
}

/* ---- metrics and series of outputs */

static bool is_computed(const struct vamp_config *config, const char *pattern)
{
    char *items[] = {(char *)(uintptr_t)pattern};
    const struct vamp_strings one = {.items = items, .count = 1};
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        if (vamp_stats_wants(&config->statistics, (enum vamp_metric_id)id) &&
            vamp_resolution_wants(&one, vamp_metrics[id].name)) {
            return true;
        }
    }
    return false;
}

/* Of an option `key` of an output, in it of `inside`: a name, or NULL and the index of an item. */
static void check_computed(const struct config_loader *loader, unsigned output, const char *key,
                           const char *inside, size_t item, const char *pattern)
{
    char path[CONFIG_PATH_BYTES];
    if (is_computed(loader->config, pattern)) {
        return;
    }
    config_output_path(loader, output, key, path);
    (void)(inside != NULL ? config_path_push(path, inside) : config_path_push_index(path, item));
    if (vamp_metric_find(pattern) == VAMP_METRIC_NONE) {
        config_report_no_metric(loader, path, pattern);
    } else {
        config_error(loader, path,
                     "%s is not computed: add it to \"statistics.metrics\" or its set to "
                     "\"statistics.sets\"",
                     pattern);
    }
}

static void report_no_label(const struct config_loader *loader, const char *path, const char *text)
{
    const char *names[VAMP_LABEL_COUNT + 1] = {NULL};
    for (unsigned label = 0; label < VAMP_LABEL_COUNT; label++) {
        names[label] = vamp_label_name(label);
    }
    char name[32];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    struct vamp_diagnostic problem = config_problem(
        loader, path, CONFIG_AT_VALUE,
        strchr(text, '=') == NULL ? "\"%.80s\" does not say of which label: write LABEL=PATTERN"
                                  : "\"%.80s\" names no label of the metrics",
        text);
    config_near(&problem, vamp_opt_near_choice(names, name));
    size_t used = (size_t)snprintf(problem.allowed, sizeof problem.allowed,
                                   "LABEL=PATTERN with a LABEL from");
    for (unsigned i = 0; names[i] != NULL && used < sizeof problem.allowed; i++) {
        used += (size_t)snprintf(problem.allowed + used, sizeof problem.allowed - used, "%s %s",
                                 i == 0 ? "" : ",", names[i]);
    }
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

/* Whether a metric that this output gets has the label. */
static bool has_label(const struct config_loader *loader,
                      const struct vamp_output_settings *settings, enum vamp_label label)
{
    const struct vamp_stats_options *statistics = &loader->config->statistics;
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        const uint32_t labels =
            vamp_metric_labels_at(&vamp_metrics[id], (enum vamp_level)statistics->level);
        if ((labels & UINT32_C(1) << label) != 0 &&
            vamp_stats_wants(statistics, (enum vamp_metric_id)id) &&
            (settings->metrics.count == 0 ||
             vamp_resolution_wants(&settings->metrics, vamp_metrics[id].name))) {
            return true;
        }
    }
    return false;
}

static void check_output_series(const struct config_loader *loader, unsigned index)
{
    const struct vamp_output_settings *settings = &loader->config->outputs[index].settings;
    for (size_t i = 0; i < settings->series.count; i++) {
        enum vamp_label label = VAMP_LABEL_COMPONENT;
        const char *pattern = NULL;
        char path[CONFIG_PATH_BYTES];
        config_output_path(loader, index, "series", path);
        (void)config_path_push_index(path, i);
        if (!vamp_series_pattern(settings->series.items[i], &label, &pattern)) {
            report_no_label(loader, path, settings->series.items[i]);
        } else if (!has_label(loader, settings, label)) {
            config_error(loader, path, "no metric of this output has the label \"%s\"%s",
                         vamp_label_name(label),
                         loader->config->statistics.level == VAMP_LEVEL_WORKFLOW &&
                                 label <= VAMP_LABEL_PRODUCER
                             ? "; level workflow does not distinguish components"
                             : "");
        }
    }
}

/* Metrics that an option of the output names must be computed. */
static void check_output_metrics(const struct config_loader *loader, unsigned index)
{
    const struct vamp_output_settings *settings = &loader->config->outputs[index].settings;
    const struct vamp_sets *const sets[] = {&settings->by, &settings->without};
    for (size_t i = 0; i < settings->metrics.count; i++) {
        check_computed(loader, index, "metrics", NULL, i, settings->metrics.items[i]);
    }
    for (unsigned k = 0; k < 2; k++) {
        for (size_t i = 0; i < sets[k]->count; i++) {
            const char *pattern = sets[k]->items[i].name;
            if (strcmp(pattern, "*") != 0) {
                check_computed(loader, index, k == 0 ? "by" : "without", pattern, 0, pattern);
            }
        }
    }
}

/* Whether the output's options give the labels to keep or to drop. */
static bool gives_labels(const struct config_loader *loader, unsigned index)
{
    char path[CONFIG_PATH_BYTES];
    config_output_path(loader, index, "by", path);
    const bool by = config_level_of(loader, path) != CONFIG_LEVEL_DEFAULT;
    config_output_path(loader, index, "without", path);
    return by || config_level_of(loader, path) != CONFIG_LEVEL_DEFAULT;
}

/* Adds these labels to "by" or "without" for the metrics of the pattern. */
static int add_labels(const struct config_loader *loader, struct vamp_config_output *output,
                      const char *key, const char *metrics, uint32_t labels)
{
    const struct vamp_opt *opt = vamp_opt_find(vamp_output_options(output->ops), key);
    int code = 0;
    for (unsigned label = 0; code == 0 && label < VAMP_LABEL_COUNT; label++) {
        if ((labels & UINT32_C(1) << label) != 0) {
            code = vamp_opt_set_named(opt, &output->settings, metrics, vamp_label_name(label),
                                      loader->err);
        }
    }
    return code;
}

/* The format's own default of "by" or "without". */
static int settle_labels(const struct config_loader *loader, unsigned index)
{
    struct vamp_config_output *output = &loader->config->outputs[index];
    const struct vamp_kept_labels *kept = output->ops->by_unset;
    const uint32_t holding = vamp_output_holding(output->ops, output->options, &output->settings);
    if (gives_labels(loader, index) || (holding & VAMP_TARGET_FILES) == 0 ||
        (holding & VAMP_TARGET_BIT(VAMP_WITH_ALARMS)) != 0) {
        return 0;
    }
    int code = add_labels(loader, output, "without", "*", output->ops->without_unset);
    for (; code == 0 && kept != NULL && kept->metrics != NULL; kept++) {
        /* One of metrics that are not computed would be a mistake when the dump is loaded. */
        if (strcmp(kept->metrics, "*") == 0 || is_computed(loader->config, kept->metrics)) {
            code = vamp_opt_set_named(vamp_opt_find(vamp_output_options(output->ops), "by"),
                                      &output->settings, kept->metrics, NULL, loader->err);
            code = code != 0 ? code : add_labels(loader, output, "by", kept->metrics, kept->labels);
        }
    }
    return code;
}

static int check_output_filter(const struct config_loader *loader, unsigned index)
{
    const struct vamp_config_output *output = &loader->config->outputs[index];
    if (output->settings.filter == NULL) {
        return 0;
    }
    char path[CONFIG_PATH_BYTES];
    config_output_path(loader, index, "filter", path);
    uint64_t kinds = 0;
    int code =
        config_check_expression(loader, path, output->settings.filter, VAMP_FILTER_INSIDE, &kinds);
    if (code == 0 && kinds == 0 && !config_is_wrong(loader, path) &&
        !config_is_wrong(loader, "/filters")) {
        config_error(loader, path, "this filter is never true: no event would be recorded");
    }
    return code;
}

/* Each of these names must be that of a rule. */
static void check_alarm_names(const struct config_loader *loader, unsigned index,
                              const struct vamp_strings *when)
{
    const struct vamp_config *config = loader->config;
    const char *names[VAMP_ALARM_RULES_MAX + 1] = {NULL};
    char path[CONFIG_PATH_BYTES];
    unsigned count = 0;
    for (unsigned i = 0; i < config->alarm_count; i++) {
        if (config->alarms[i].options.name != NULL) {
            names[count++] = config->alarms[i].options.name;
        }
    }
    config_output_path(loader, index, "when", path);
    for (size_t i = 0; i < when->count; i++) {
        unsigned rule = 0;
        while (rule < count && strcmp(names[rule], when->items[i]) != 0) {
            rule++;
        }
        if (rule == count) {
            const size_t length = config_path_push_index(path, i);
            struct vamp_diagnostic problem =
                config_problem(loader, path, CONFIG_AT_VALUE,
                               "there is no rule \"%s\" in \"alarms\"", when->items[i]);
            config_near(&problem, vamp_opt_near_choice(names, when->items[i]));
            vamp_diagnostics_add(loader->diagnostics, &problem);
            path[length] = '\0';
        }
    }
}

/* An output that sends changes of alarms needs some to send. */
static void check_sent_alarms(const struct config_loader *loader, unsigned index)
{
    const struct vamp_config_output *output = &loader->config->outputs[index];
    char path[CONFIG_PATH_BYTES];
    if (!vamp_sends_alarms(output->ops, output->options)) {
        return;
    }
    if (loader->config->alarm_count == 0) {
        config_output_path(loader, index, "send", path);
        config_error(loader, path, "there is no rule in \"alarms\": nothing would be sent");
    }
    const struct vamp_sent_alarms *sent = output->ops->alarms(output->options);
    check_alarm_names(loader, index, &sent->when);
    config_output_path(loader, index, "states", path);
    if (sent->states == 0 && !config_is_wrong(loader, path)) {
        config_error(loader, path, "empty: nothing would be sent");
    }
}

int config_check_outputs(struct config_loader *loader)
{
    const struct vamp_config *config = loader->config;
    int code = settle_names(loader);
    if (code != 0) {
        return code;
    }
    for (unsigned i = 0; i < config->output_count; i++) {
        check_bucket(loader, i);
        check_rotation(loader, i);
        check_sent_alarms(loader, i);
        check_alarm_names(loader, i, &config->outputs[i].settings.when);
        check_output_metrics(loader, i);
        check_output_series(loader, i);
        code = check_output_filter(loader, i);
        code = code != 0 ? code : settle_labels(loader, i);
        if (code != 0) {
            return code;
        }
    }
    config_check_targets(loader);
    const struct config_value *list = config_member(loader->tree.root, "outputs");
    if (list != NULL && list->type == CONFIG_LIST && list->count == 0) {
        config_warning(loader, "/outputs", "no output: nothing will be written");
    }
    return 0;
}
