/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the effective configuration as JSON that loads to the same configuration, without secrets
 * and without options that have no effect. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"
#include "config/json.h"

static void dump_quantity(struct config_json *json, const struct vamp_opt *opt, const void *value)
{
    char text[VAMP_QUANTITY_TEXT_BYTES];
    if (opt->type == VAMP_OPT_DURATION) {
        vamp_duration_text(*(const int64_t *)value, text, sizeof text);
    } else {
        vamp_size_text(*(const uint64_t *)value, text, sizeof text);
    }
    config_json_text(json, opt->key, text);
}

static void dump_choice(struct config_json *json, const struct vamp_opt *opt, unsigned index)
{
    const char *word = opt->choices[index];
    if (vamp_opt_is_number(opt)) {
        config_json_integer(json, opt->key, strtoll(word, NULL, 10));
    } else {
        config_json_text(json, opt->key, word);
    }
}

static void dump_words(struct config_json *json, const char *key, const struct vamp_opt *opt,
                       uint64_t bits)
{
    config_json_open(json, key, '[');
    for (unsigned i = 0; opt->choices[i] != NULL; i++) {
        if ((bits & UINT64_C(1) << i) != 0) {
            config_json_text(json, NULL, opt->choices[i]);
        }
    }
    config_json_close(json, ']');
}

/* "all", or the list of words. */
static void dump_set(struct config_json *json, const struct vamp_opt *opt, uint64_t bits)
{
    uint64_t all = 0;
    for (unsigned i = 0; opt->choices[i] != NULL; i++) {
        all |= UINT64_C(1) << i;
    }
    if (bits == all) {
        config_json_text(json, opt->key, "all");
        return;
    }
    dump_words(json, opt->key, opt, bits);
}

static void dump_strings(struct config_json *json, const char *key,
                         const struct vamp_strings *strings)
{
    config_json_open(json, key, '[');
    for (size_t i = 0; i < strings->count; i++) {
        config_json_text(json, NULL, strings->items[i]);
    }
    config_json_close(json, ']');
}

/* As an object, which is how "none" differs from an empty list for all. */
static void dump_sets(struct config_json *json, const struct vamp_opt *opt,
                      const struct vamp_sets *sets)
{
    config_json_open(json, opt->key, '{');
    for (size_t i = 0; i < sets->count; i++) {
        dump_words(json, sets->items[i].name, opt, sets->items[i].bits);
    }
    config_json_close(json, '}');
}

static void dump_option(struct config_json *json, const struct vamp_opt *opt, const void *base)
{
    const void *value = (const char *)base + opt->offset;
    const char *text = NULL;
    switch (opt->type) {
    case VAMP_OPT_BOOL:
        config_json_bool(json, opt->key, *(const bool *)value);
        return;
    case VAMP_OPT_UINT:
        config_json_integer(json, opt->key, (int64_t) * (const uint64_t *)value);
        return;
    case VAMP_OPT_DURATION:
        if (*(const int64_t *)value >= 0) { /* -1: not set */
            dump_quantity(json, opt, value);
        }
        return;
    case VAMP_OPT_SIZE:
        dump_quantity(json, opt, value);
        return;
    case VAMP_OPT_STRING:
        text = *(char *const *)value;
        if (opt->role != VAMP_OPT_SECRET) {
            config_json_text(json, opt->key, text != NULL ? text : "");
        }
        return;
    case VAMP_OPT_ENUM:
        dump_choice(json, opt, *(const unsigned *)value);
        return;
    case VAMP_OPT_SET:
        dump_set(json, opt, *(const uint64_t *)value);
        return;
    case VAMP_OPT_STRINGS:
        dump_strings(json, opt->key, value);
        return;
    case VAMP_OPT_SETS:
        dump_sets(json, opt, value);
        return;
    case VAMP_OPT_FRACTION:
        if (*(const double *)value >= 0) { /* -1: not set */
            config_json_real(json, opt->key, *(const double *)value);
        }
        return;
    }
}

/* Without the options that have no effect: given in a file they would be mistakes. */
static void dump_effective(struct config_json *json, const struct vamp_opt *table, const void *base,
                           uint32_t holding)
{
    for (const struct vamp_opt *opt = table; opt->key != NULL; opt++) {
        if (vamp_opt_has_effect(opt, holding)) {
            dump_option(json, opt, base);
        }
    }
}

static void dump_table(struct config_json *json, const struct vamp_opt *table, const void *base)
{
    dump_effective(json, table, base, vamp_opt_holding(NULL, base));
}

static void dump_texts(struct config_json *json, const struct vamp_config_texts *texts)
{
    config_json_open(json, "filters", '{');
    for (size_t i = 0; i < texts->count; i++) {
        config_json_text(json, texts->items[i].name, texts->items[i].text);
    }
    config_json_close(json, '}');
}

static void dump_source(struct config_json *json, const struct vamp_config *config)
{
    config_json_open(json, "source", '{');
    config_json_text(json, "type", config->source->name);
    dump_effective(json, config->source->options, config->source_options,
                   vamp_opt_holding(config->source->conditions, config->source_options));
    config_json_close(json, '}');
}

static void dump_section(struct config_json *json, const struct config_section *section,
                         const struct vamp_config *config)
{
    config_json_open(json, section->key, '{');
    dump_table(json, section->options, config);
    if (section->options == config_statistics_options) {
        dump_texts(json, &config->metric_filters);
    }
    config_json_close(json, '}');
}

static void dump_output(struct config_json *json, const struct vamp_config_output *output)
{
    const uint32_t holding = vamp_opt_holding(output->ops->targets, output->options);
    config_json_open(json, NULL, '{');
    config_json_text(json, "type", output->ops->name);
    dump_table(json, vamp_output_options(output->ops), &output->settings);
    dump_effective(json, output->ops->options, output->options, holding);
    for (const struct vamp_output_section *section = vamp_output_sections(output->ops);
         section->key != NULL; section++) {
        if (vamp_opt_has_effect(section->options, holding)) {
            config_json_open(json, section->key, '{');
            dump_effective(json, section->options, &output->settings, holding);
            config_json_close(json, '}');
        }
    }
    config_json_close(json, '}');
}

static void dump_alarm(struct config_json *json, const struct vamp_alarm_config *alarm)
{
    config_json_open(json, NULL, '{');
    dump_table(json, vamp_alarm_options, &alarm->options);
    config_json_open(json, "actions", '[');
    for (unsigned i = 0; i < alarm->action_count; i++) {
        config_json_open(json, NULL, '{');
        config_json_text(json, "type", alarm->actions[i].ops->name);
        dump_table(json, alarm->actions[i].ops->options, alarm->actions[i].options);
        config_json_close(json, '}');
    }
    config_json_close(json, ']');
    config_json_close(json, '}');
}

static void dump_alarms(struct config_json *json, const struct vamp_config *config)
{
    config_json_open(json, "alarms", '[');
    for (unsigned i = 0; i < config->alarm_count; i++) {
        dump_alarm(json, &config->alarms[i]);
    }
    config_json_close(json, ']');
}

char *vamp_config_dump(const struct vamp_config *config, unsigned indent)
{
    struct config_draft draft;
    if (!config_draft_begin(&draft)) {
        return NULL;
    }
    struct config_json json = {.stream = draft.stream, .indent = indent};
    config_json_open(&json, NULL, '{');
    const struct config_section *section = config_sections[config->program];
    dump_table(&json, section->options, config);
    if (config->program == VAMP_CONFIG_VAMPIRE) {
        dump_source(&json, config);
        dump_texts(&json, &config->filters);
    }
    for (section++; section->key != NULL; section++) {
        dump_section(&json, section, config);
    }
    if (config->program == VAMP_CONFIG_VAMPIRE) {
        dump_alarms(&json, config);
    }
    config_json_open(&json, "outputs", '[');
    for (unsigned i = 0; i < config->output_count; i++) {
        dump_output(&json, &config->outputs[i]);
    }
    config_json_close(&json, ']');
    config_json_close(&json, '}');
    return config_draft_end(&draft);
}

/* What vamp_config_same compares, as text; NULL without memory. */
static char *dump_compared(const struct vamp_config *config, const char *section)
{
    struct config_draft draft;
    if (!config_draft_begin(&draft)) {
        return NULL;
    }
    struct config_json json = {.stream = draft.stream};
    const struct vamp_opt *opt = vamp_opt_find(config_root_options, section);
    config_json_open(&json, NULL, '{');
    if (opt != NULL) {
        dump_option(&json, opt, config);
    } else if (strcmp(section, "source") == 0) {
        dump_source(&json, config);
    } else if (strcmp(section, "alarms") == 0) {
        dump_alarms(&json, config);
    } else {
        assert(strcmp(section, "statistics") == 0);
        for (opt = config_statistics_options; opt->key != NULL; opt++) {
            if (strcmp(opt->key, "selected") != 0) {
                dump_option(&json, opt, config);
            }
        }
    }
    config_json_close(&json, '}');
    return config_draft_end(&draft);
}

/* Compares what the dumps leave out. */
static bool same_secrets(const struct vamp_config *one, const struct vamp_config *other)
{
    if (one->source != other->source) {
        return false;
    }
    for (const struct vamp_opt *opt = one->source->options; opt->key != NULL; opt++) {
        if (opt->role == VAMP_OPT_SECRET) {
            const char *left = *(char *const *)((const char *)one->source_options + opt->offset);
            const char *right = *(char *const *)((const char *)other->source_options + opt->offset);
            if (strcmp(left != NULL ? left : "", right != NULL ? right : "") != 0) {
                return false;
            }
        }
    }
    return true;
}

bool vamp_config_same(const struct vamp_config *one, const struct vamp_config *other,
                      const char *section)
{
    char *left = dump_compared(one, section);
    char *right = dump_compared(other, section);
    const bool same = left != NULL && right != NULL && strcmp(left, right) == 0 &&
                      (strcmp(section, "source") != 0 || same_secrets(one, other));
    free(left);
    free(right);
    return same;
}
