/* SPDX-License-Identifier: BSD-3-Clause */
/* The list "alarms": rules and their actions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

/* ---- from values to structs */

static int walk_action(const struct config_loader *loader, struct vamp_alarm_config *rule,
                       const struct config_value *value)
{
    const char *name = config_find_type(loader, CONFIG_ALARMS, value, "an action", true);
    if (name == NULL) {
        return 0;
    }
    const struct vamp_alarm_action_ops *const *at = vamp_alarm_actions;
    while (*at != NULL && strcmp((*at)->name, name) != 0) {
        at++;
    }
    const struct vamp_alarm_action_ops *ops = *at;
    const int code = vamp_alarm_config_add(rule, ops, loader->err);
    if (code != 0 || value->type != CONFIG_OBJECT) {
        return code;
    }
    const struct config_object object =
        config_action_object(ops, rule->actions[rule->action_count - 1].options);
    return config_walk_object(loader, &object, value);
}

/* Checks that the value is a list of at most `most` items, and reports an error if not; `noun` is
 * the name of the items in the message. */
static bool check_list(const struct config_loader *loader, const struct config_value *value,
                       const char *needed, const char *noun, unsigned most)
{
    if (value->type != CONFIG_LIST) {
        config_report_found(loader, value, needed);
    } else if (value->count > most) {
        char path[CONFIG_PATH_BYTES];
        config_value_path(value, path);
        config_error(loader, path, "%" PRIu32 " %s, at most %u are allowed", value->count, noun,
                     most);
    }
    return value->type == CONFIG_LIST && value->count <= most;
}

/* Without "actions" a rule writes a line to the log; an empty list means no action. */
static int walk_actions(const struct config_loader *loader, struct vamp_alarm_config *rule,
                        const struct config_value *list)
{
    if (list == NULL) {
        return vamp_alarm_config_add(rule, vamp_alarm_actions[0], loader->err);
    }
    if (!check_list(loader, list, "a list of actions [\"log\", {\"type\": ...}, ...]", "actions",
                    VAMP_ALARM_ACTIONS_MAX)) {
        return 0;
    }
    int code = 0;
    for (const struct config_value *item = list->first; item != NULL && code == 0;
         item = item->next) {
        code = walk_action(loader, rule, item);
    }
    return code;
}

static int walk_rule(struct config_loader *loader, const struct config_value *object)
{
    static const char *const actions_only[] = {"actions", NULL};
    struct vamp_config *config = loader->config;
    if (object->type != CONFIG_OBJECT) {
        config_report_found(loader, object, "a rule {\"name\": ...}");
        return 0;
    }
    struct vamp_alarm_config *rule = &config->alarms[config->alarm_count];
    loader->alarm_index[config->alarm_count] = object->index;
    config->alarm_count++; /* from here on vamp_config_free frees the rule */
    int code = vamp_alarm_config_init(rule, loader->err);
    if (code != 0) {
        return code;
    }
    const struct config_object shape = {
        .what = "a rule of \"alarms\"",
        .others = actions_only,
        .tables = {{.options = vamp_alarm_options, .base = &rule->options}},
    };
    code = config_walk_object(loader, &shape, object);
    if (code == 0) {
        code = walk_actions(loader, rule, config_member(object, "actions"));
    }
    return code;
}

int config_walk_alarms(struct config_loader *loader)
{
    const struct config_value *list = config_member(loader->tree.root, "alarms");
    if (list == NULL ||
        !check_list(loader, list, "a list of rules [{\"name\": ...}, ...]", "rules",
                    VAMP_ALARM_RULES_MAX) ||
        list->count == 0) {
        return 0;
    }
    loader->config->alarms = calloc(list->count, sizeof *loader->config->alarms);
    if (loader->config->alarms == NULL) {
        return vamp_err_set_errno(loader->err, ENOMEM, "keep the alarms");
    }
    int code = 0;
    for (const struct config_value *object = list->first; object != NULL && code == 0;
         object = object->next) {
        code = walk_rule(loader, object);
    }
    return code;
}

void config_alarms_done(struct vamp_config *config)
{
    for (unsigned i = 0; i < config->alarm_count; i++) {
        vamp_alarm_config_done(&config->alarms[i]);
    }
    free(config->alarms);
}

/* ---- checks across the options of a rule */

/* The rule being checked. */
struct checking {
    const struct config_loader *loader;
    unsigned rule;
};

/* Writes the JSON pointer of an option of the rule, or of an item in that list unless `item` is
 * SIZE_MAX. */
static void option_path(const struct checking *checking, const char *key, size_t item,
                        char path[static CONFIG_PATH_BYTES])
{
    (void)snprintf(path, CONFIG_PATH_BYTES, "/alarms/%u",
                   checking->loader->alarm_index[checking->rule]);
    (void)config_path_push(path, key);
    if (item != SIZE_MAX) {
        (void)config_path_push_index(path, item);
    }
}

static void report_rule_error(void *context, const struct vamp_alarm_mistake *mistake)
{
    const struct checking *checking = context;
    char path[CONFIG_PATH_BYTES];
    option_path(checking, mistake->key, mistake->item, path);
    if (config_is_wrong(checking->loader, path)) {
        return; /* an error in the value was already reported */
    }
    struct vamp_diagnostic problem =
        config_problem(checking->loader, path, mistake->in_value ? CONFIG_AT_VALUE : CONFIG_AT_KEY,
                       "%s", mistake->text);
    (void)snprintf(problem.allowed, sizeof problem.allowed, "%s", mistake->allowed);
    config_near(&problem, mistake->near);
    vamp_diagnostics_add(checking->loader->diagnostics, &problem);
}

static bool is_computed(const void *context, enum vamp_metric_id metric)
{
    return vamp_stats_wants(context, metric);
}

static void check_name(const struct config_loader *loader, unsigned rule)
{
    const struct vamp_alarm_config *alarms = loader->config->alarms;
    const char *name = alarms[rule].options.name;
    for (unsigned i = 0; i < rule && name != NULL; i++) {
        if (alarms[i].options.name != NULL && strcmp(alarms[i].options.name, name) == 0) {
            char path[CONFIG_PATH_BYTES];
            option_path(&(struct checking){loader, rule}, "name", SIZE_MAX, path);
            config_error(loader, path, "rule %u of the list has this name, too",
                         loader->alarm_index[i]);
            return;
        }
    }
}

bool vamp_config_cdos_while_firing(const struct vamp_config *config)
{
    for (unsigned i = 0; i < config->alarm_count; i++) {
        for (unsigned k = 0; k < config->alarms[i].action_count; k++) {
            if (config->alarms[i].actions[k].ops->selects_cdos) {
                return true;
            }
        }
    }
    return false;
}

static void check_actions(const struct config_loader *loader, unsigned rule)
{
    const struct vamp_alarm_config *alarm = &loader->config->alarms[rule];
    const unsigned level = loader->config->statistics.level;
    for (unsigned i = 0; i < alarm->action_count; i++) {
        struct vamp_err err = VAMP_ERR_NONE;
        const struct vamp_alarm_action *action = &alarm->actions[i];
        char path[CONFIG_PATH_BYTES];
        option_path(&(struct checking){loader, rule}, "actions", i, path);
        if (action->ops->check != NULL && action->ops->check(action->options, &err) != 0) {
            config_error(loader, path, "%s", err.text);
        }
        if (action->ops->selects_cdos && level == VAMP_LEVEL_CDO) {
            config_error(loader, path,
                         "it has no effect: at \"statistics.level\" cdo every CDO has a record");
        } else if (action->ops->selects_cdos && level != VAMP_LEVEL_COMPONENT) {
            config_error(loader, path, "records of CDOs need \"statistics.level\" component");
        }
    }
}

/* Returns whether an option that determines the meaning of the others was rejected, so that the
 * rule cannot be compiled. */
static bool is_undecided(const struct checking *checking)
{
    static const char *const keys[] = {"quantile", "rate", "baseline"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char path[CONFIG_PATH_BYTES];
        option_path(checking, keys[i], SIZE_MAX, path);
        if (config_is_wrong(checking->loader, path)) {
            return true;
        }
    }
    return false;
}

void config_check_alarms(struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    const struct vamp_alarm_scope scope = {
        .level = (enum vamp_level)config->statistics.level,
        .bucket_ns = config->statistics.bucket_ns,
        .computes = is_computed,
        .context = &config->statistics,
    };
    for (unsigned i = 0; i < config->alarm_count; i++) {
        struct checking checking = {loader, i};
        struct vamp_alarm_rule rule;
        char path[CONFIG_PATH_BYTES];
        (void)snprintf(path, sizeof path, "/alarms/%u/actions", loader->alarm_index[i]);
        if (!is_undecided(&checking)) {
            (void)vamp_alarm_compile(&config->alarms[i].options, &scope, report_rule_error,
                                     &checking, &rule);
        }
        check_name(loader, i);
        if (!config_is_wrong(loader, path)) {
            check_actions(loader, i);
        }
    }
}
