/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The JSON Schema (draft 2020-12) of the configuration, generated from the option tables. What a
 * schema cannot say (bounds of durations, checks across options) --check-config does.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"
#include "config/json.h"

#define DURATION_PATTERN "^([0-9]+(\\.[0-9]+)? ?(d|h|min|s|ms|us|ns)|0)$"
#define SIZE_PATTERN "^[0-9]+(\\.[0-9]+)? ?(TiB|GiB|MiB|KiB|B|TB|GB|MB|kB)?$"

/* One sentence with a capital and, where the type does not say it all, what is allowed. */
static void put_description(struct config_json *json, const struct vamp_opt *opt,
                            const struct vamp_opt_conditions *conditions)
{
    char allowed[VAMP_OPT_ALLOWED_BYTES];
    char only_with[VAMP_OPT_ALLOWED_BYTES];
    vamp_opt_allowed(opt, allowed);
    vamp_opt_only_with(opt, conditions, only_with);
    const bool quantity = opt->type == VAMP_OPT_DURATION || opt->type == VAMP_OPT_SIZE;
    char text[1024 + 2 * VAMP_OPT_ALLOWED_BYTES];
    (void)snprintf(text, sizeof text, "%c%s.%s%s%s%s%s", toupper((unsigned char)opt->help[0]),
                   opt->help + 1, only_with[0] != '\0' ? " Has an effect " : "", only_with,
                   only_with[0] != '\0' ? "." : "", quantity ? " Allowed: " : "",
                   quantity ? allowed : "");
    config_json_text(json, "description", text);
}

/* A list of the words, and of `last` unless that is NULL. */
static void put_choices(struct config_json *json, const struct vamp_opt *opt, const char *last)
{
    const bool numeric = vamp_opt_is_number(opt);
    config_json_open(json, "enum", '[');
    for (const char *const *each = opt->choices; *each != NULL; each++) {
        if (numeric) {
            config_json_integer(json, NULL, strtoll(*each, NULL, 10));
        } else {
            config_json_text(json, NULL, *each);
        }
    }
    if (last != NULL) {
        config_json_text(json, NULL, last);
    }
    config_json_close(json, ']');
}

/* Whole numbers beyond int64 have no bound in the schema. */
static void put_whole_number(struct config_json *json, const struct vamp_opt *opt)
{
    config_json_text(json, "type", "integer");
    config_json_integer(json, "minimum", (int64_t)opt->min);
    if (opt->max != 0 && opt->max <= INT64_MAX) {
        config_json_integer(json, "maximum", (int64_t)opt->max);
    }
}

static void put_max_length(struct config_json *json, const struct vamp_opt *opt)
{
    if (opt->max != 0) {
        config_json_integer(json, "maxLength", (int64_t)opt->max);
    }
}

static void put_size(struct config_json *json, const struct vamp_opt *opt)
{
    config_json_open(json, "anyOf", '[');
    config_json_open(json, NULL, '{');
    config_json_text(json, "type", "string");
    config_json_text(json, "pattern", SIZE_PATTERN);
    config_json_close(json, '}');
    config_json_open(json, NULL, '{');
    put_whole_number(json, opt);
    config_json_close(json, '}');
    config_json_close(json, ']');
}

static void put_set(struct config_json *json, const struct vamp_opt *opt)
{
    config_json_open(json, "anyOf", '[');
    config_json_open(json, NULL, '{');
    config_json_text(json, "const", "all");
    config_json_close(json, '}');
    config_json_open(json, NULL, '{');
    config_json_text(json, "type", "array");
    config_json_open(json, "items", '{');
    put_choices(json, opt, "all");
    config_json_close(json, '}');
    config_json_close(json, '}');
    config_json_close(json, ']');
}

static void put_strings(struct config_json *json, const struct vamp_opt *opt)
{
    config_json_open(json, "items", '{');
    config_json_text(json, "type", "string");
    config_json_integer(json, "minLength", 1);
    put_max_length(json, opt);
    config_json_close(json, '}');
    config_json_text(json, "type", "array");
    config_json_integer(json, "maxItems", VAMP_STRINGS_MAX);
}

static void put_word_list(struct config_json *json, const struct vamp_opt *opt)
{
    config_json_text(json, "type", "array");
    config_json_open(json, "items", '{');
    put_choices(json, opt, NULL);
    config_json_close(json, '}');
}

static void put_sets(struct config_json *json, const struct vamp_opt *opt)
{
    config_json_open(json, "anyOf", '[');
    config_json_open(json, NULL, '{');
    put_word_list(json, opt);
    config_json_close(json, '}');
    config_json_open(json, NULL, '{');
    config_json_text(json, "type", "object");
    config_json_open(json, "additionalProperties", '{');
    put_word_list(json, opt);
    config_json_close(json, '}');
    config_json_close(json, '}');
    config_json_close(json, ']');
}

static void put_type(struct config_json *json, const struct vamp_opt *opt)
{
    switch (opt->type) {
    case VAMP_OPT_BOOL:
        config_json_text(json, "type", "boolean");
        return;
    case VAMP_OPT_UINT:
        put_whole_number(json, opt);
        return;
    case VAMP_OPT_DURATION:
        config_json_text(json, "type", "string");
        config_json_text(json, "pattern", DURATION_PATTERN);
        return;
    case VAMP_OPT_SIZE:
        put_size(json, opt);
        return;
    case VAMP_OPT_STRING:
        config_json_text(json, "type", "string");
        put_max_length(json, opt);
        return;
    case VAMP_OPT_ENUM:
        put_choices(json, opt, NULL);
        return;
    case VAMP_OPT_SET:
        put_set(json, opt);
        return;
    case VAMP_OPT_STRINGS:
        put_strings(json, opt);
        return;
    case VAMP_OPT_SETS:
        put_sets(json, opt);
        return;
    case VAMP_OPT_FRACTION:
        config_json_text(json, "type", "number");
        config_json_integer(json, "minimum", 0);
        config_json_integer(json, "maximum", 1);
        return;
    }
}

/* The default as the configuration would write it; a list has one only when it is empty. */
static void put_default(struct config_json *json, const struct vamp_opt *opt)
{
    const char *preset = opt->preset;
    if (opt->type == VAMP_OPT_STRINGS) {
        if (preset == NULL) {
            config_json_open(json, "default", '[');
            config_json_close(json, ']');
        }
    } else if (preset == NULL) {
        return;
    } else if (opt->type == VAMP_OPT_BOOL) {
        config_json_bool(json, "default", strcmp(preset, "true") == 0);
    } else if (opt->type != VAMP_OPT_SIZE && vamp_opt_is_number(opt)) {
        config_json_integer(json, "default", strtoll(preset, NULL, 10));
    } else {
        config_json_text(json, "default", preset);
    }
}

/* `conditions`: of the table's options, or NULL. */
static void put_options(struct config_json *json, const struct vamp_opt *table,
                        const struct vamp_opt_conditions *conditions)
{
    for (const struct vamp_opt *opt = table; opt->key != NULL; opt++) {
        config_json_open(json, opt->key, '{');
        put_description(json, opt, conditions);
        put_type(json, opt);
        put_default(json, opt);
        config_json_close(json, '}');
    }
}

/* Begins the schema of an object that allows nothing unknown; its properties follow. */
static void open_object(struct config_json *json, const char *key, const char *description)
{
    config_json_open(json, key, '{');
    config_json_text(json, "description", description);
    config_json_text(json, "type", "object");
    config_json_open(json, "properties", '{');
}

/* `needed`: a property without which the object is wrong; NULL: there is none. */
static void close_object(struct config_json *json, const char *needed)
{
    config_json_close(json, '}');
    config_json_bool(json, "additionalProperties", false);
    if (needed != NULL) {
        config_json_open(json, "required", '[');
        config_json_text(json, NULL, needed);
        config_json_close(json, ']');
    }
    config_json_close(json, '}');
}

/* Begins one alternative of a source or output: the table of a type. */
static void open_type(struct config_json *json, const char *type, const char *summary)
{
    open_object(json, NULL, summary);
    config_json_open(json, "type", '{');
    config_json_text(json, "const", type);
    config_json_close(json, '}');
}

static void put_source(struct config_json *json)
{
    config_json_open(json, "source", '{');
    config_json_text(json, "description", "Where the events come from.");
    config_json_open(json, "oneOf", '[');
    for (unsigned i = 0; vamp_sources[i] != NULL; i++) {
        const struct vamp_source_ops *ops = vamp_sources[i];
        open_type(json, ops->name, ops->summary);
        put_options(json, ops->options, ops->conditions);
        close_object(json, i > 0 ? "type" : NULL); /* the first type is meant without "type" */
    }
    config_json_close(json, ']');
    config_json_close(json, '}');
}

static void put_outputs(struct config_json *json, enum vamp_config_program program)
{
    config_json_open(json, "outputs", '{');
    config_json_text(json, "description",
                     "What is written; without this list one HDF5 output with its defaults.");
    config_json_text(json, "type", "array");
    config_json_integer(json, "maxItems", VAMP_OUTPUTS_MAX);
    config_json_open(json, "items", '{');
    config_json_open(json, "oneOf", '[');
    for (unsigned i = 0; vamp_writers[i] != NULL; i++) {
        const struct vamp_writer_ops *ops = vamp_writers[i];
        if (!config_takes_format(program, ops)) {
            continue;
        }
        open_type(json, ops->name, ops->summary);
        put_options(json, vamp_output_options(ops), NULL);
        put_options(json, ops->options, ops->targets);
        for (const struct vamp_output_section *section = vamp_output_sections(ops);
             section->key != NULL; section++) {
            char description[256];
            (void)snprintf(description, sizeof description, "%c%s.",
                           toupper((unsigned char)section->help[0]), section->help + 1);
            open_object(json, section->key, description);
            put_options(json, section->options, ops->targets);
            close_object(json, NULL);
        }
        close_object(json, "type");
    }
    config_json_close(json, ']');
    config_json_close(json, '}');
    config_json_close(json, '}');
}

static void put_alarms(struct config_json *json)
{
    config_json_open(json, "alarms", '{');
    config_json_text(json, "description",
                     "Rules that are looked at when a bucket closes; docs/alarms.md.");
    config_json_text(json, "type", "array");
    config_json_integer(json, "maxItems", VAMP_ALARM_RULES_MAX);
    open_object(json, "items", "A rule.");
    put_options(json, vamp_alarm_options, NULL);
    config_json_open(json, "actions", '{');
    config_json_text(json, "description",
                     "What happens when the alarm changes its state; without this list a line of "
                     "the log.");
    config_json_text(json, "type", "array");
    config_json_integer(json, "maxItems", VAMP_ALARM_ACTIONS_MAX);
    config_json_open(json, "items", '{');
    config_json_open(json, "oneOf", '[');
    config_json_open(json, NULL, '{');
    config_json_open(json, "enum", '[');
    for (unsigned i = 0; vamp_alarm_actions[i] != NULL; i++) {
        config_json_text(json, NULL, vamp_alarm_actions[i]->name);
    }
    config_json_close(json, ']');
    config_json_close(json, '}');
    for (unsigned i = 0; vamp_alarm_actions[i] != NULL; i++) {
        open_type(json, vamp_alarm_actions[i]->name, vamp_alarm_actions[i]->summary);
        put_options(json, vamp_alarm_actions[i]->options, NULL);
        close_object(json, "type");
    }
    config_json_close(json, ']');
    config_json_close(json, '}');
    config_json_close(json, '}');
    close_object(json, "name");
    config_json_close(json, '}');
}

/* An object of expressions by name. */
static void put_texts(struct config_json *json, const char *description)
{
    config_json_open(json, "filters", '{');
    config_json_text(json, "description", description);
    config_json_text(json, "type", "object");
    config_json_open(json, "additionalProperties", '{');
    config_json_text(json, "type", "string");
    config_json_close(json, '}');
    config_json_close(json, '}');
}

static void put_sections(struct config_json *json, enum vamp_config_program program)
{
    for (const struct config_section *section = config_sections[program] + 1; section->key != NULL;
         section++) {
        char description[128];
        (void)snprintf(description, sizeof description, "%s.", section->help);
        open_object(json, section->key, description);
        put_options(json, section->options, NULL);
        if (section->options == config_statistics_options) {
            put_texts(json, CONFIG_METRIC_FILTERS_HELP ".");
        }
        close_object(json, NULL);
    }
}

char *vamp_config_schema(enum vamp_config_program program)
{
    struct config_draft draft;
    if (!config_draft_begin(&draft)) {
        return NULL;
    }
    struct config_json json = {.stream = draft.stream, .indent = 2};
    config_json_open(&json, NULL, '{');
    config_json_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    const bool vampire = program == VAMP_CONFIG_VAMPIRE;
    config_json_text(&json, "title",
                     vampire ? "vampire configuration" : "vampire-collect configuration");
    config_json_text(&json, "description",
                     vampire
                         ? "Generated by vampire --print-schema. The file may also hold // and "
                           "/* */ comments, which JSON does not know."
                         : "Generated by vampire-collect --print-schema. The file may also hold // "
                           "and /* */ comments, which JSON does not know.");
    config_json_text(&json, "type", "object");
    config_json_open(&json, "properties", '{');
    put_options(&json, config_sections[program]->options, NULL);
    if (vampire) {
        put_source(&json);
    }
    put_sections(&json, program);
    if (vampire) {
        put_texts(&json, CONFIG_FILTERS_HELP ".");
        put_alarms(&json);
    }
    put_outputs(&json, program);
    close_object(&json, NULL);
    (void)fputc('\n', draft.stream);
    return config_draft_end(&draft);
}
