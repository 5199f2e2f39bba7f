/* SPDX-License-Identifier: BSD-3-Clause */
/* The effective configuration as JSON that loads to the same again. */
#include <inttypes.h>
#include <stdlib.h>

#include "config/internal.h"

static json_t *text_or_empty(const char *text)
{
    return json_string(text != NULL ? text : "");
}

static json_t *dump_quantity(const struct vamp_opt *opt, const void *value)
{
    char text[VAMP_QUANTITY_TEXT_BYTES];
    if (opt->type == VAMP_OPT_DURATION) {
        vamp_duration_text(*(const int64_t *)value, text, sizeof text);
    } else {
        vamp_size_text(*(const uint64_t *)value, text, sizeof text);
    }
    return json_string(text);
}

static json_t *dump_choice(const struct vamp_opt *opt, unsigned index)
{
    const char *word = opt->choices[index];
    return config_numeric_choices(opt) ? json_integer(strtoll(word, NULL, 10)) : json_string(word);
}

/* "all", or the list of words. */
static json_t *dump_set(const struct vamp_opt *opt, uint64_t bits)
{
    json_t *list = json_array();
    bool all = true;
    for (unsigned i = 0; opt->choices[i] != NULL && list != NULL; i++) {
        if ((bits & UINT64_C(1) << i) == 0) {
            all = false;
        } else if (json_array_append_new(list, json_string(opt->choices[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    if (all && list != NULL) {
        json_decref(list);
        return json_string("all");
    }
    return list;
}

static json_t *dump_strings(const struct vamp_strings *strings)
{
    json_t *list = json_array();
    for (size_t i = 0; i < strings->count && list != NULL; i++) {
        if (json_array_append_new(list, json_string(strings->items[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

/* A new value, NULL without memory. */
static json_t *dump_value(const struct vamp_opt *opt, const void *base)
{
    const void *value = (const char *)base + opt->offset;
    switch (opt->type) {
    case VAMP_OPT_BOOL:
        return json_boolean(*(const bool *)value);
    case VAMP_OPT_UINT:
        return json_integer((json_int_t) * (const uint64_t *)value);
    case VAMP_OPT_DURATION:
    case VAMP_OPT_SIZE:
        return dump_quantity(opt, value);
    case VAMP_OPT_STRING:
        return text_or_empty(*(char *const *)value);
    case VAMP_OPT_ENUM:
        return dump_choice(opt, *(const unsigned *)value);
    case VAMP_OPT_SET:
        return dump_set(opt, *(const uint64_t *)value);
    case VAMP_OPT_STRINGS:
        return dump_strings(value);
    }
    return NULL;
}

/* Adds all options of a table to an object. False without memory. */
static bool dump_table(json_t *object, const struct vamp_opt *table, const void *base)
{
    for (const struct vamp_opt *opt = table; opt->key != NULL; opt++) {
        bool not_set = opt->type == VAMP_OPT_DURATION &&
                       *(const int64_t *)(const void *)((const char *)base + opt->offset) < 0;
        if (!not_set && json_object_set_new(object, opt->key, dump_value(opt, base)) != 0) {
            return false;
        }
    }
    return true;
}

/* A new object that its parent owns; NULL without memory. */
static json_t *add_object(json_t *parent, const char *key)
{
    json_t *object = json_object();
    return json_object_set_new(parent, key, object) == 0 ? object : NULL;
}

static bool dump_source(json_t *root, const struct vamp_config *config)
{
    json_t *source = add_object(root, "source");
    return source != NULL &&
           json_object_set_new(source, "type", json_string(config->source->name)) == 0 &&
           dump_table(source, config->source->options, config->source_options);
}

static bool dump_output(json_t *list, const struct vamp_config_output *output)
{
    json_t *object = json_object();
    if (json_array_append_new(list, object) != 0) {
        return false;
    }
    if (json_object_set_new(object, "type", json_string(output->ops->name)) != 0 ||
        !dump_table(object, config_sink_options, &output->settings) ||
        !dump_table(object, output->ops->options, output->options)) {
        return false;
    }
    json_t *rotate = add_object(object, "rotate");
    return rotate != NULL && dump_table(rotate, config_rotate_options, &output->settings);
}

static bool dump_outputs(json_t *root, const struct vamp_config *config)
{
    json_t *list = json_array();
    bool fine = json_object_set_new(root, "outputs", list) == 0;
    for (unsigned i = 0; i < config->output_count && fine; i++) {
        fine = dump_output(list, &config->outputs[i]);
    }
    return fine;
}

static bool dump_all(json_t *root, const struct vamp_config *config)
{
    if (!dump_table(root, config_root_options, config) || !dump_source(root, config) ||
        json_object_set_new(root, "filters", config_texts_dump(&config->filters)) != 0) {
        return false;
    }
    for (const struct config_section *section = config_sections + 1; section->key != NULL;
         section++) {
        json_t *object = add_object(root, section->key);
        if (object == NULL || !dump_table(object, section->options, config)) {
            return false;
        }
        if (section->options == config_statistics_options &&
            json_object_set_new(object, "filters", config_texts_dump(&config->metric_filters)) !=
                0) {
            return false;
        }
    }
    return dump_outputs(root, config);
}

char *vamp_config_dump(const struct vamp_config *config, unsigned indent)
{
    struct config_memory_watch watch;
    config_memory_watch(&watch);
    json_t *root = json_object();
    char *text = NULL;
    if (root != NULL && dump_all(root, config)) {
        text = json_dumps(root, indent > 0 ? JSON_INDENT(indent) : 0);
    }
    json_decref(root);
    if (config_memory_unwatch(&watch)) {
        free(text);
        return NULL;
    }
    return text;
}

static json_t *section_of(const struct vamp_config *config, const char *section)
{
    json_t *root = json_loads(config->effective_text, 0, NULL);
    json_t *value = json_incref(json_object_get(root, section));
    json_decref(root);
    (void)json_object_del(value, "filters");
    (void)json_object_del(value, "selected");
    return value;
}

bool vamp_config_same(const struct vamp_config *one, const struct vamp_config *other,
                      const char *section)
{
    json_t *left = section_of(one, section);
    json_t *right = section_of(other, section);
    bool same = left != NULL && json_equal(left, right) != 0;
    json_decref(left);
    json_decref(right);
    return same;
}
