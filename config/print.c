/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the configuration as JSON from the tables: the effective configuration, which can be
 * loaded again, and the JSON Schema (draft 2020-12). Limits of durations and checks across options
 * cannot be expressed in the schema; --check-config covers them.
 */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"
#include "vampire/core/json_emit.h"

/* ---- the effective configuration */

static void dump_words(struct vamp_json *json, const char *key, const struct vamp_opt *opt,
                       uint64_t bits)
{
    vamp_json_open(json, key, '[');
    for (unsigned i = 0; opt->choices[i] != NULL; i++) {
        if ((bits & UINT64_C(1) << i) != 0) {
            vamp_json_text(json, NULL, opt->choices[i]);
        }
    }
    vamp_json_close(json, ']');
}

/* Writes "all", or the list of enum names. */
static void dump_set(struct vamp_json *json, const struct vamp_opt *opt, uint64_t bits)
{
    uint64_t all = 0;
    for (unsigned i = 0; opt->choices[i] != NULL; i++) {
        all |= UINT64_C(1) << i;
    }
    if (bits == all) {
        vamp_json_text(json, opt->key, "all");
    } else {
        dump_words(json, opt->key, opt, bits);
    }
}

/* A byte takes at most this many characters in JSON: \u00XX. */
#define ESCAPED_BYTES 6

static void put_long_text(struct vamp_json *json, const char *key, const char *text)
{
    vamp_json_long_text(json, key, vamp_text_or(text, ""), CONFIG_FILE_BYTES_MAX * ESCAPED_BYTES);
}

/* Writes one enum name of a choice; a number if all names are numbers. */
static void put_choice(struct vamp_json *json, const char *key, const struct vamp_opt *opt,
                       const char *word)
{
    if (vamp_opt_is_number(opt)) {
        vamp_json_signed(json, key, strtoll(word, NULL, 10));
    } else {
        vamp_json_text(json, key, word);
    }
}

static void dump_option(struct vamp_json *json, const struct vamp_opt *opt, const void *base)
{
    const void *value = (const char *)base + opt->offset;
    const struct vamp_strings *strings = value;
    const struct vamp_sets *sets = value;
    char text[VAMP_QUANTITY_TEXT_BYTES];
    switch (opt->type) {
    case VAMP_OPT_BOOL:
        vamp_json_bool(json, opt->key, *(const bool *)value);
        return;
    case VAMP_OPT_UINT:
        vamp_json_signed(json, opt->key, (int64_t) * (const uint64_t *)value);
        return;
    case VAMP_OPT_DURATION:
        if (*(const int64_t *)value >= 0) { /* -1: not set */
            vamp_duration_text(*(const int64_t *)value, text, sizeof text);
            vamp_json_text(json, opt->key, text);
        }
        return;
    case VAMP_OPT_SIZE:
        vamp_size_text(*(const uint64_t *)value, text, sizeof text);
        vamp_json_text(json, opt->key, text);
        return;
    case VAMP_OPT_STRING:
        put_long_text(json, opt->key, *(char *const *)value);
        return;
    case VAMP_OPT_ENUM:
        put_choice(json, opt->key, opt, opt->choices[*(const unsigned *)value]);
        return;
    case VAMP_OPT_SET:
        dump_set(json, opt, *(const uint64_t *)value);
        return;
    case VAMP_OPT_STRINGS:
        vamp_json_open(json, opt->key, '[');
        for (size_t i = 0; i < strings->count; i++) {
            put_long_text(json, NULL, strings->items[i]);
        }
        vamp_json_close(json, ']');
        return;
    case VAMP_OPT_SETS: /* written as an object, which distinguishes "none" from an empty list for
                         * all */
        vamp_json_open(json, opt->key, '{');
        for (size_t i = 0; i < sets->count; i++) {
            dump_words(json, sets->items[i].name, opt, sets->items[i].bits);
        }
        vamp_json_close(json, '}');
        return;
    case VAMP_OPT_FRACTION:
        if (*(const double *)value >= 0) { /* -1: not set */
            vamp_json_real(json, opt->key, *(const double *)value);
        }
        return;
    }
}

/* Omits secrets, and options without an effect, which are errors in a file. */
static void dump_members(struct vamp_json *json, const struct config_object *object)
{
    const uint32_t holding = vamp_opt_holding(object->conditions, object->chosen);
    if (object->type != NULL) {
        vamp_json_text(json, "type", object->type);
    }
    for (const struct config_table *table = object->tables; table->options != NULL; table++) {
        if (table->key != NULL && !vamp_opt_has_effect(table->options, holding)) {
            continue;
        }
        if (table->key != NULL) {
            vamp_json_open(json, table->key, '{');
        }
        for (const struct vamp_opt *opt = table->options; opt->key != NULL; opt++) {
            if (opt->role != VAMP_OPT_SECRET && vamp_opt_has_effect(opt, holding)) {
                dump_option(json, opt, table->base);
            }
        }
        if (table->key != NULL) {
            vamp_json_close(json, '}');
        }
    }
}

static void dump_object(struct vamp_json *json, const char *key, const struct config_object *object)
{
    vamp_json_open(json, key, '{');
    dump_members(json, object);
    vamp_json_close(json, '}');
}

static void dump_alarms(struct vamp_json *json, const struct vamp_config *config)
{
    for (unsigned i = 0; i < config->alarm_count; i++) {
        struct vamp_alarm_config *alarm = &config->alarms[i];
        const struct config_object rule = {
            .tables = {{.options = vamp_alarm_options, .base = &alarm->options}}};
        vamp_json_open(json, NULL, '{');
        dump_members(json, &rule);
        vamp_json_open(json, "actions", '[');
        for (unsigned k = 0; k < alarm->action_count; k++) {
            const struct config_object action =
                config_action_object(alarm->actions[k].ops, alarm->actions[k].options);
            dump_object(json, NULL, &action);
        }
        vamp_json_close(json, ']');
        vamp_json_close(json, '}');
    }
}

static void dump_texts(struct vamp_json *json, const struct vamp_config_texts *texts)
{
    vamp_json_open(json, "filters", '{');
    for (size_t i = 0; i < texts->count; i++) {
        put_long_text(json, texts->items[i].name, texts->items[i].text);
    }
    vamp_json_close(json, '}');
}

static void dump_part(struct vamp_json *json, const struct config_part *part,
                      const struct vamp_config *of)
{
    struct vamp_config *config =
        (struct vamp_config *)(uintptr_t)of; /* the objects are never declared const */
    struct config_object object;
    switch (part->kind) {
    case CONFIG_OPTIONS:
        object = config_part_object(part, config);
        if (part->key[0] == '\0') {
            dump_members(json, &object);
            return;
        }
        vamp_json_open(json, part->key, '{');
        dump_members(json, &object);
        if (part->filters_help != NULL) {
            dump_texts(json, config_part_texts(part, config));
        }
        vamp_json_close(json, '}');
        return;
    case CONFIG_TEXTS:
        dump_texts(json, config_part_texts(part, config));
        return;
    case CONFIG_SOURCE:
        object = config_source_object(config->source, config->source_options);
        dump_object(json, part->key, &object);
        return;
    case CONFIG_ALARMS:
        vamp_json_open(json, part->key, '[');
        dump_alarms(json, config);
        vamp_json_close(json, ']');
        return;
    case CONFIG_OUTPUTS:
        vamp_json_open(json, part->key, '[');
        for (unsigned i = 0; i < config->output_count; i++) {
            object = config_output_object(config->outputs[i].ops, &config->outputs[i]);
            dump_object(json, NULL, &object);
        }
        vamp_json_close(json, ']');
        return;
    }
}

char *vamp_config_dump(const struct vamp_config *config, unsigned indent)
{
    struct vamp_json json = {.spaced = true, .indent = indent};
    vamp_json_open(&json, NULL, '{');
    for (const struct config_part *part = config_parts[config->program]; part->key != NULL;
         part++) {
        dump_part(&json, part, config);
    }
    vamp_json_close(&json, '}');
    return vamp_json_take(&json);
}

/* Returns the text that vamp_config_same compares; NULL: out of memory. */
static char *dump_compared(const struct vamp_config *config, const char *section)
{
    struct vamp_json json = {.spaced = true};
    const struct vamp_opt *opt = vamp_opt_find(config_root_options, section);
    vamp_json_open(&json, NULL, '{');
    if (opt != NULL) {
        dump_option(&json, opt, config);
    } else if (strcmp(section, "source") == 0) {
        vamp_json_text(&json, "type", config->source->name);
        for (opt = config->source->options; opt->key != NULL; opt++) {
            dump_option(&json, opt, config->source_options); /* includes secrets */
        }
    } else if (strcmp(section, "alarms") == 0) {
        dump_alarms(&json, config);
    } else {
        const struct config_part *part = config_parts[config->program];
        while (part->key != NULL && strcmp(part->key, section) != 0) {
            part++;
        }
        assert(part->kind == CONFIG_OPTIONS); /* the section is "statistics" or "samples" */
        for (opt = part->options; opt->key != NULL; opt++) {
            if (strcmp(opt->key, "selected") != 0) {
                dump_option(&json, opt, config);
            }
        }
    }
    vamp_json_close(&json, '}');
    return vamp_json_take(&json);
}

bool vamp_config_same(const struct vamp_config *one, const struct vamp_config *other,
                      const char *section)
{
    char *left = dump_compared(one, section);
    char *right = dump_compared(other, section);
    const bool same = left != NULL && right != NULL && strcmp(left, right) == 0;
    free(left);
    free(right);
    return same;
}

/* ---- the schema */

#define DURATION_PATTERN "^([0-9]+(\\.[0-9]+)? ?(d|h|min|s|ms|us|ns)|0)$"
#define SIZE_PATTERN "^[0-9]+(\\.[0-9]+)? ?(TiB|GiB|MiB|KiB|B|TB|GB|MB|kB)?$"

void config_describe_option(const struct vamp_opt *opt,
                            const struct vamp_opt_conditions *conditions, const char *end,
                            char text[static CONFIG_DESCRIPTION_BYTES])
{
    char allowed[VAMP_OPT_ALLOWED_BYTES], only_with[VAMP_OPT_ALLOWED_BYTES];
    vamp_opt_allowed(opt, allowed);
    vamp_opt_only_with(opt, conditions, only_with);
    int used = snprintf(text, CONFIG_DESCRIPTION_BYTES, "%c%s.",
                        toupper((unsigned char)opt->help[0]), opt->help + 1);
    if (only_with[0] != '\0') {
        used += snprintf(text + used, (size_t)(CONFIG_DESCRIPTION_BYTES - used),
                         " Has an effect %s.", only_with);
    }
    if (end != NULL) {
        (void)snprintf(text + used, (size_t)(CONFIG_DESCRIPTION_BYTES - used), " Allowed: %s%s",
                       allowed, end);
    }
}

/* Writes a help text as a sentence. */
static void put_description(struct vamp_json *json, const char *help)
{
    char text[512];
    (void)snprintf(text, sizeof text, "%c%s.", toupper((unsigned char)help[0]), help + 1);
    vamp_json_text(json, "description", text);
}

/* Writes the list of enum names, followed by `last` unless it is NULL. */
static void put_choices(struct vamp_json *json, const struct vamp_opt *opt, const char *last)
{
    if (opt->grows) {
        vamp_json_text(json, "type", "string");
    }
    vamp_json_open(json, opt->grows ? "examples" : "enum", '[');
    for (const char *const *each = opt->choices; *each != NULL; each++) {
        put_choice(json, NULL, opt, *each);
    }
    if (last != NULL) {
        vamp_json_text(json, NULL, last);
    }
    vamp_json_close(json, ']');
}

static void put_word_list(struct vamp_json *json, const struct vamp_opt *opt, const char *last)
{
    vamp_json_text(json, "type", "array");
    vamp_json_open(json, "items", '{');
    put_choices(json, opt, last);
    vamp_json_close(json, '}');
}

/* Integers that may have any int64 value have no limits in the schema. */
static void put_whole_number(struct vamp_json *json, const struct vamp_opt *opt)
{
    vamp_json_text(json, "type", "integer");
    vamp_json_signed(json, "minimum", (int64_t)opt->min);
    if (opt->max != 0 && opt->max <= INT64_MAX) {
        vamp_json_signed(json, "maximum", (int64_t)opt->max);
    }
}

static void put_max_length(struct vamp_json *json, const struct vamp_opt *opt)
{
    if (opt->max != 0) {
        vamp_json_signed(json, "maxLength", (int64_t)opt->max);
    }
}

/* Writes the two alternative forms of a size, a set, or sets by name. */
static void put_any_of(struct vamp_json *json, const struct vamp_opt *opt)
{
    vamp_json_open(json, "anyOf", '[');
    vamp_json_open(json, NULL, '{');
    if (opt->type == VAMP_OPT_SIZE) {
        vamp_json_text(json, "type", "string");
        vamp_json_text(json, "pattern", SIZE_PATTERN);
    } else if (opt->type == VAMP_OPT_SET) {
        vamp_json_text(json, "const", "all");
    } else {
        put_word_list(json, opt, NULL);
    }
    vamp_json_close(json, '}');
    vamp_json_open(json, NULL, '{');
    if (opt->type == VAMP_OPT_SIZE) {
        put_whole_number(json, opt);
    } else if (opt->type == VAMP_OPT_SET) {
        put_word_list(json, opt, "all");
    } else {
        vamp_json_text(json, "type", "object");
        vamp_json_open(json, "additionalProperties", '{');
        put_word_list(json, opt, NULL);
        vamp_json_close(json, '}');
    }
    vamp_json_close(json, '}');
    vamp_json_close(json, ']');
}

static void put_type(struct vamp_json *json, const struct vamp_opt *opt)
{
    switch (opt->type) {
    case VAMP_OPT_BOOL:
        vamp_json_text(json, "type", "boolean");
        return;
    case VAMP_OPT_UINT:
        put_whole_number(json, opt);
        return;
    case VAMP_OPT_DURATION:
        vamp_json_text(json, "type", "string");
        vamp_json_text(json, "pattern", DURATION_PATTERN);
        return;
    case VAMP_OPT_STRING:
        vamp_json_text(json, "type", "string");
        put_max_length(json, opt);
        return;
    case VAMP_OPT_ENUM:
        put_choices(json, opt, NULL);
        return;
    case VAMP_OPT_SIZE:
    case VAMP_OPT_SET:
    case VAMP_OPT_SETS:
        put_any_of(json, opt);
        return;
    case VAMP_OPT_STRINGS:
        vamp_json_open(json, "items", '{');
        vamp_json_text(json, "type", "string");
        vamp_json_signed(json, "minLength", 1);
        put_max_length(json, opt);
        vamp_json_close(json, '}');
        vamp_json_text(json, "type", "array");
        vamp_json_signed(json, "maxItems", VAMP_STRINGS_MAX);
        return;
    case VAMP_OPT_FRACTION:
        vamp_json_text(json, "type", "number");
        vamp_json_signed(json, "minimum", 0);
        vamp_json_signed(json, "maximum", 1);
        return;
    }
}

/* Writes the default in the form used in a configuration; a list has a default only if that is
 * empty. */
static void put_default(struct vamp_json *json, const struct vamp_opt *opt)
{
    const char *preset = opt->preset;
    if (opt->type == VAMP_OPT_STRINGS && preset == NULL) {
        vamp_json_open(json, "default", '[');
        vamp_json_close(json, ']');
    } else if (preset == NULL || opt->type == VAMP_OPT_STRINGS) {
        return;
    } else if (opt->type == VAMP_OPT_BOOL) {
        vamp_json_bool(json, "default", strcmp(preset, "true") == 0);
    } else if (opt->type != VAMP_OPT_SIZE && vamp_opt_is_number(opt)) {
        vamp_json_signed(json, "default", strtoll(preset, NULL, 10));
    } else {
        vamp_json_text(json, "default", preset);
    }
}

static void put_options(struct vamp_json *json, const struct vamp_opt *options,
                        const struct vamp_opt_conditions *conditions)
{
    for (const struct vamp_opt *opt = options; opt->key != NULL; opt++) {
        const bool quantity = opt->type == VAMP_OPT_DURATION || opt->type == VAMP_OPT_SIZE;
        char text[CONFIG_DESCRIPTION_BYTES];
        config_describe_option(opt, conditions, quantity ? "" : NULL, text);
        vamp_json_open(json, opt->key, '{');
        vamp_json_text(json, "description", text);
        put_type(json, opt);
        put_default(json, opt);
        vamp_json_close(json, '}');
    }
}

/* Starts the properties of an object without unknown members. */
static void open_properties(struct vamp_json *json)
{
    vamp_json_text(json, "type", "object");
    vamp_json_open(json, "properties", '{');
}

/* `needed`: a required property; NULL: none. */
static void close_object(struct vamp_json *json, const char *needed)
{
    vamp_json_close(json, '}');
    vamp_json_bool(json, "additionalProperties", false);
    if (needed != NULL) {
        vamp_json_open(json, "required", '[');
        vamp_json_text(json, NULL, needed);
        vamp_json_close(json, ']');
    }
    vamp_json_close(json, '}');
}

static void put_object(struct vamp_json *json, const struct config_object *object,
                       const char *needed)
{
    vamp_json_open(json, NULL, '{');
    vamp_json_text(json, "description", object->summary);
    open_properties(json);
    vamp_json_open(json, "type", '{');
    vamp_json_text(json, "const", object->type);
    vamp_json_close(json, '}');
    for (const struct config_table *table = object->tables; table->options != NULL; table++) {
        if (table->key != NULL) {
            vamp_json_open(json, table->key, '{');
            put_description(json, table->help);
            open_properties(json);
        }
        put_options(json, table->options, object->conditions);
        if (table->key != NULL) {
            close_object(json, NULL);
        }
    }
    close_object(json, needed);
}

/* Writes all alternatives; an action may also be only the name of its type. */
static void put_one_of(struct vamp_json *json, enum vamp_config_program program,
                       enum config_kind kind)
{
    struct config_object type;
    vamp_json_open(json, "oneOf", '[');
    if (kind == CONFIG_ALARMS) {
        vamp_json_open(json, NULL, '{');
        vamp_json_open(json, "enum", '[');
        for (unsigned i = 0; config_type(program, kind, i, &type); i++) {
            vamp_json_text(json, NULL, type.type);
        }
        vamp_json_close(json, ']');
        vamp_json_close(json, '}');
    }
    for (unsigned i = 0; config_type(program, kind, i, &type); i++) {
        /* The default is the first source type. */
        put_object(json, &type, kind == CONFIG_SOURCE && i == 0 ? NULL : "type");
    }
    vamp_json_close(json, ']');
}

/* Starts a list and the schema of its items. */
static void open_list(struct vamp_json *json, int max)
{
    vamp_json_text(json, "type", "array");
    vamp_json_signed(json, "maxItems", max);
    vamp_json_open(json, "items", '{');
}

/* Writes an object of named expressions. */
static void put_texts(struct vamp_json *json, const char *help)
{
    vamp_json_open(json, "filters", '{');
    put_description(json, help);
    vamp_json_text(json, "type", "object");
    vamp_json_open(json, "additionalProperties", '{');
    vamp_json_text(json, "type", "string");
    vamp_json_close(json, '}');
    vamp_json_close(json, '}');
}

static void put_alarms(struct vamp_json *json, enum vamp_config_program program)
{
    open_list(json, VAMP_ALARM_RULES_MAX);
    put_description(json, "A rule");
    open_properties(json);
    put_options(json, vamp_alarm_options, NULL);
    vamp_json_open(json, "actions", '{');
    put_description(json, "What happens when the alarm changes its state; without this list a "
                          "line of the log");
    open_list(json, VAMP_ALARM_ACTIONS_MAX);
    put_one_of(json, program, CONFIG_ALARMS);
    vamp_json_close(json, '}');
    vamp_json_close(json, '}');
    close_object(json, "name");
}

static void put_part(struct vamp_json *json, enum vamp_config_program program,
                     const struct config_part *part)
{
    if (part->kind == CONFIG_TEXTS) {
        put_texts(json, part->help);
        return;
    }
    vamp_json_open(json, part->key, '{');
    put_description(json, part->help);
    if (part->kind == CONFIG_OPTIONS) {
        open_properties(json);
        put_options(json, part->options, NULL);
        if (part->filters_help != NULL) {
            put_texts(json, part->filters_help);
        }
        close_object(json, NULL);
        return;
    }
    if (part->kind == CONFIG_ALARMS) {
        put_alarms(json, program);
    } else if (part->kind == CONFIG_OUTPUTS) {
        open_list(json, VAMP_OUTPUTS_MAX);
        put_one_of(json, program, part->kind);
        vamp_json_close(json, '}');
    } else {
        put_one_of(json, program, part->kind);
    }
    vamp_json_close(json, '}');
}

char *vamp_config_schema(enum vamp_config_program program)
{
    static const enum config_kind order[] = {CONFIG_SOURCE, CONFIG_OPTIONS, CONFIG_TEXTS,
                                             CONFIG_ALARMS, CONFIG_OUTPUTS};
    const char *name = program == VAMP_CONFIG_VAMPIRE ? "vampire" : "vampire-collect";
    struct vamp_json json = {.spaced = true, .indent = 2};
    char text[256];
    vamp_json_open(&json, NULL, '{');
    vamp_json_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    (void)snprintf(text, sizeof text, "%s configuration", name);
    vamp_json_text(&json, "title", text);
    (void)snprintf(
        text, sizeof text,
        "Generated by %s --print-schema. The file may also contain // and /* */ comments, "
        "which are not JSON.",
        name);
    vamp_json_text(&json, "description", text);
    open_properties(&json);
    put_options(&json, config_parts[program]->options, NULL);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        for (const struct config_part *part = config_parts[program] + 1; part->key != NULL;
             part++) {
            if (part->kind == order[i]) {
                put_part(&json, program, part);
            }
        }
    }
    close_object(&json, NULL);
    return vamp_json_take(&json);
}
