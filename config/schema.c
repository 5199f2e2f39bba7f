/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The JSON Schema (draft 2020-12) of the configuration, generated from the option tables. What a
 * schema cannot say (bounds of durations, checks across options) --check-config does.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

#define DURATION_PATTERN "^([0-9]+(\\.[0-9]+)? ?(d|h|min|s|ms|us|ns)|0)$"
#define SIZE_PATTERN "^[0-9]+(\\.[0-9]+)? ?(TiB|GiB|MiB|KiB|B|TB|GB|MB|kB)?$"

/* Takes `value` over; false without memory, or when value is NULL for want of it. */
static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static bool put_text(json_t *object, const char *key, const char *text)
{
    return put(object, key, json_string(text));
}

/* One sentence with a capital and, where the type does not say it all, what is allowed. */
static bool put_description(json_t *object, const struct vamp_opt *opt)
{
    char allowed[VAMP_OPT_ALLOWED_BYTES];
    vamp_opt_allowed(opt, allowed);
    bool quantity = opt->type == VAMP_OPT_DURATION || opt->type == VAMP_OPT_SIZE;
    char text[1024 + VAMP_OPT_ALLOWED_BYTES];
    (void)snprintf(text, sizeof text, "%c%s.%s%s", toupper((unsigned char)opt->help[0]),
                   opt->help + 1, quantity ? " Allowed: " : "", quantity ? allowed : "");
    return put_text(object, "description", text);
}

static json_t *choice_list(const struct vamp_opt *opt)
{
    bool numeric = config_numeric_choices(opt);
    json_t *list = json_array();
    for (const char *const *each = opt->choices; *each != NULL && list != NULL; each++) {
        json_t *word = numeric ? json_integer(strtoll(*each, NULL, 10)) : json_string(*each);
        if (json_array_append_new(list, word) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

/* Whole numbers beyond int64 have no bound in the schema. */
static bool put_bounds(json_t *object, const struct vamp_opt *opt)
{
    return put(object, "minimum", json_integer((json_int_t)opt->min)) &&
           (opt->max == 0 || opt->max > INT64_MAX ||
            put(object, "maximum", json_integer((json_int_t)opt->max)));
}

static bool put_size(json_t *object, const struct vamp_opt *opt)
{
    json_t *either = json_pack("[{s:s, s:s}, {s:s}]", "type", "string", "pattern", SIZE_PATTERN,
                               "type", "integer");
    return put(object, "anyOf", either) && put_bounds(json_array_get(either, 1), opt);
}

static bool put_set(json_t *object, const struct vamp_opt *opt)
{
    json_t *words = choice_list(opt);
    if (words == NULL || json_array_append_new(words, json_string("all")) != 0) {
        json_decref(words);
        return false;
    }
    return put(object, "anyOf",
               json_pack("[{s:s}, {s:s, s:{s:o}}]", "const", "all", "type", "array", "items",
                         "enum", words));
}

static bool put_strings(json_t *object, const struct vamp_opt *opt)
{
    json_t *items = json_pack("{s:s, s:i}", "type", "string", "minLength", 1);
    return put(object, "items", items) && put_text(object, "type", "array") &&
           (opt->max == 0 || put(items, "maxLength", json_integer((json_int_t)opt->max))) &&
           put(object, "maxItems", json_integer(VAMP_STRINGS_MAX));
}

static bool put_type(json_t *object, const struct vamp_opt *opt)
{
    switch (opt->type) {
    case VAMP_OPT_BOOL:
        return put_text(object, "type", "boolean");
    case VAMP_OPT_UINT:
        return put_text(object, "type", "integer") && put_bounds(object, opt);
    case VAMP_OPT_DURATION:
        return put_text(object, "type", "string") && put_text(object, "pattern", DURATION_PATTERN);
    case VAMP_OPT_SIZE:
        return put_size(object, opt);
    case VAMP_OPT_STRING:
        return put_text(object, "type", "string") &&
               (opt->max == 0 || put(object, "maxLength", json_integer((json_int_t)opt->max)));
    case VAMP_OPT_ENUM:
        return put(object, "enum", choice_list(opt));
    case VAMP_OPT_SET:
        return put_set(object, opt);
    case VAMP_OPT_STRINGS:
        return put_strings(object, opt);
    }
    return false;
}

/* The default as the configuration would write it; lists whose default is empty have none. */
static bool put_default(json_t *object, const struct vamp_opt *opt)
{
    const char *preset = opt->preset;
    if (opt->type == VAMP_OPT_STRINGS) {
        return preset != NULL || put(object, "default", json_array());
    }
    if (preset == NULL) {
        return true;
    }
    if (opt->type == VAMP_OPT_BOOL) {
        return put(object, "default", json_boolean(strcmp(preset, "true") == 0));
    }
    bool number =
        opt->type == VAMP_OPT_UINT || (opt->type == VAMP_OPT_ENUM && config_numeric_choices(opt));
    return put(object, "default",
               number ? json_integer(strtoll(preset, NULL, 10)) : json_string(preset));
}

static bool put_options(json_t *properties, const struct vamp_opt *table)
{
    for (const struct vamp_opt *opt = table; opt->key != NULL; opt++) {
        json_t *object = json_object();
        if (!put(properties, opt->key, object) || !put_description(object, opt) ||
            !put_type(object, opt) || !put_default(object, opt)) {
            return false;
        }
    }
    return true;
}

/* A new schema of an object that allows nothing unknown; its "properties" are `*ret_properties`.
 * NULL without memory. */
static json_t *new_object(const char *description, json_t **ret_properties)
{
    json_t *properties = json_object();
    json_t *object = json_pack("{s:s, s:s, s:o, s:b}", "description", description, "type", "object",
                               "properties", properties, "additionalProperties", 0);
    *ret_properties = properties;
    return object;
}

static bool put_section(json_t *properties, const char *key, const char *description,
                        const struct vamp_opt *table)
{
    json_t *inner = NULL;
    json_t *object = new_object(description, &inner);
    return put(properties, key, object) && put_options(inner, table);
}

/* One alternative of a source or output: the table of a type. Appended to `list`. */
static json_t *add_type(json_t *list, const char *type, const char *summary,
                        const struct vamp_opt *table)
{
    json_t *properties = NULL;
    json_t *object = new_object(summary, &properties);
    if (json_array_append_new(list, object) != 0 ||
        !put(properties, "type", json_pack("{s:s}", "const", type)) ||
        !put_options(properties, table)) {
        return NULL;
    }
    return object;
}

static bool put_source(json_t *root_properties)
{
    json_t *types = json_array();
    if (!put(root_properties, "source",
             json_pack("{s:s, s:o}", "description", "Where the events come from.", "oneOf",
                       types))) {
        return false;
    }
    for (unsigned i = 0; vamp_sources[i] != NULL; i++) {
        const struct vamp_source_ops *ops = vamp_sources[i];
        json_t *object = add_type(types, ops->name, ops->summary, ops->options);
        /* The first type is the one meant without "type". */
        if (object == NULL || (i > 0 && !put(object, "required", json_pack("[s]", "type")))) {
            return false;
        }
    }
    return true;
}

static bool put_outputs(json_t *root_properties)
{
    json_t *types = json_array();
    if (!put(root_properties, "outputs",
             json_pack("{s:s, s:s, s:i, s:{s:o}}", "description",
                       "What is written; without this list one HDF5 output with its defaults.",
                       "type", "array", "maxItems", VAMP_OUTPUTS_MAX, "items", "oneOf", types))) {
        return false;
    }
    for (unsigned i = 0; vamp_writers[i] != NULL; i++) {
        const struct vamp_writer_ops *ops = vamp_writers[i];
        json_t *object = add_type(types, ops->name, ops->summary, config_sink_options);
        json_t *properties = json_object_get(object, "properties");
        if (object == NULL || !put(object, "required", json_pack("[s]", "type")) ||
            !put_options(properties, ops->options) ||
            !put_section(properties, "rotate", "When to begin a new file.",
                         config_rotate_options)) {
            return false;
        }
    }
    return true;
}

/* An object of expressions by name. */
static bool put_texts(json_t *properties, const char *description)
{
    return put(properties, "filters",
               json_pack("{s:s+, s:s, s:{s:s}}", "description", description, ".", "type", "object",
                         "additionalProperties", "type", "string"));
}

static bool put_sections(json_t *properties)
{
    for (const struct config_section *section = config_sections + 1; section->key != NULL;
         section++) {
        char description[128];
        (void)snprintf(description, sizeof description, "%s.", section->help);
        if (!put_section(properties, section->key, description, section->options)) {
            return false;
        }
    }
    json_t *statistics = json_object_get(properties, "statistics");
    return put_texts(json_object_get(statistics, "properties"), CONFIG_METRIC_FILTERS_HELP) &&
           put_texts(properties, CONFIG_FILTERS_HELP);
}

/* The schema without its newline; NULL without memory. */
static char *make_schema(void)
{
    json_t *properties = json_object();
    json_t *root = json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:b}", "$schema", "https://json-schema.org/draft/2020-12/schema",
        "title", "vampire configuration", "description",
        "Generated by vampire --print-schema. The file may also hold // and /* */ comments, which "
        "JSON does not know.",
        "type", "object", "properties", properties, "additionalProperties", 0);
    char *text = NULL;
    if (root != NULL && put_options(properties, config_root_options) && put_source(properties) &&
        put_sections(properties) && put_outputs(properties)) {
        text = json_dumps(root, JSON_INDENT(2));
    }
    json_decref(root);
    return text;
}

char *vamp_config_schema(void)
{
    struct config_memory_watch watch;
    config_memory_watch(&watch);
    char *text = make_schema();
    bool lacked = config_memory_unwatch(&watch);
    size_t length = text != NULL ? strlen(text) : 0;
    char *with_newline = text != NULL && !lacked ? realloc(text, length + 2) : NULL;
    if (with_newline == NULL) {
        free(text);
        return NULL;
    }
    memcpy(with_newline + length, "\n", 2);
    return with_newline;
}
