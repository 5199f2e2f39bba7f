/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From one JSON object to the structs, along the option tables. Every mistake is noted and the walk
 * goes on with the default in its place; only want of memory ends it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

void config_describe(const json_t *value, char *text, size_t bytes)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        (void)snprintf(text, bytes, "an object");
        return;
    case JSON_ARRAY:
        (void)snprintf(text, bytes, "a list");
        return;
    case JSON_STRING:
        (void)snprintf(text, bytes, "the text \"%.80s\"", json_string_value(value));
        return;
    case JSON_INTEGER:
        (void)snprintf(text, bytes, "the number %" JSON_INTEGER_FORMAT, json_integer_value(value));
        return;
    case JSON_REAL:
        (void)snprintf(text, bytes, "the number %g", json_real_value(value));
        return;
    case JSON_TRUE:
        (void)snprintf(text, bytes, "true");
        return;
    case JSON_FALSE:
        (void)snprintf(text, bytes, "false");
        return;
    case JSON_NULL:
        (void)snprintf(text, bytes, "null");
        return;
    }
}

/* ---- one value */

/* Where the walk is: an option, the struct it fills, and the value. */
struct setting {
    struct config_loader *loader;
    const struct vamp_opt *opt;
    void *base;
};

static const char *near_word(const struct vamp_opt *opt, const char *text)
{
    if (opt->type != VAMP_OPT_ENUM && opt->type != VAMP_OPT_SET) {
        return NULL;
    }
    if (opt->type == VAMP_OPT_SET && strcasecmp(text, "all") == 0) {
        return "all";
    }
    return vamp_opt_near_choice(opt->choices, text);
}

static void report_type(const struct setting *setting, const json_t *value, const char *near)
{
    char found[128];
    config_describe(value, found, sizeof found);
    const struct config_loader *loader = setting->loader;
    struct vamp_diagnostic problem =
        config_problem(loader, loader->path, CONFIG_AT_VALUE, "found %s", found);
    vamp_opt_allowed(setting->opt, problem.allowed);
    config_near(&problem, near);
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

/* What one word of a SET may be, otherwise what the option may be. */
static void describe_item(const struct vamp_opt *opt, char text[static VAMP_OPT_ALLOWED_BYTES])
{
    const struct vamp_opt one_of = {.type = VAMP_OPT_ENUM, .choices = opt->choices};
    vamp_opt_allowed(opt->type == VAMP_OPT_SET ? &one_of : opt, text);
}

/* Sets from text. 0 also when the text was wrong and that has been noted. */
static int set_text(const struct setting *setting, const char *text)
{
    struct vamp_err err = VAMP_ERR_NONE;
    int code = vamp_opt_set(setting->opt, setting->base, text, &err);
    if (code == -ENOMEM) {
        return vamp_err_set(setting->loader->err, code, "%s", err.text);
    }
    if (code != 0) {
        const struct config_loader *loader = setting->loader;
        struct vamp_diagnostic problem =
            config_problem(loader, loader->path, CONFIG_AT_VALUE, "%s", err.text);
        describe_item(setting->opt, problem.allowed);
        config_near(&problem, near_word(setting->opt, text));
        vamp_diagnostics_add(loader->diagnostics, &problem);
    }
    return 0;
}

static int set_integer(const struct setting *setting, const json_t *value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (text[0] == '-') {
        report_type(setting, value, NULL);
        return 0;
    }
    return set_text(setting, text);
}

/* A list of words: of a SET or STRINGS. */
static int set_list(const struct setting *setting, const json_t *list)
{
    struct config_loader *loader = setting->loader;
    vamp_opt_clear(setting->opt, setting->base);
    int code = 0;
    for (size_t i = 0; i < json_array_size(list) && code == 0; i++) {
        const json_t *item = json_array_get(list, i);
        size_t length = config_path_push_index(loader->path, i);
        if (json_is_string(item)) {
            code = set_text(setting, json_string_value(item));
        } else {
            report_type(setting, item, NULL);
        }
        loader->path[length] = '\0';
    }
    return code;
}

/* Words separated by commas, from the command line. */
static int set_commas(const struct setting *setting, const char *text)
{
    vamp_opt_clear(setting->opt, setting->base);
    char *words = strdup(text);
    if (words == NULL) {
        return vamp_err_set_errno(setting->loader->err, ENOMEM, "read the command line");
    }
    int code = 0;
    char *rest = words;
    for (char *word = strsep(&rest, ","); word != NULL && code == 0; word = strsep(&rest, ",")) {
        code = *word != '\0' ? set_text(setting, word) : 0;
    }
    free(words);
    return code;
}

/* The only texts a list option takes in the file is "all"; others get the list as a near miss. */
static int set_list_from_text(const struct setting *setting, const json_t *value)
{
    const char *text = json_string_value(value);
    if (setting->opt->type == VAMP_OPT_SET && strcmp(text, "all") == 0) {
        return set_text(setting, text);
    }
    char list[80];
    (void)snprintf(list, sizeof list, "[\"%.60s\"]", text);
    report_type(setting, value, list);
    return 0;
}

static bool takes_integer(const struct vamp_opt *opt)
{
    return opt->type == VAMP_OPT_UINT || opt->type == VAMP_OPT_SIZE ||
           (opt->type == VAMP_OPT_ENUM && config_numeric_choices(opt));
}

static bool takes_text(const struct vamp_opt *opt)
{
    return opt->type == VAMP_OPT_STRING || opt->type == VAMP_OPT_DURATION ||
           opt->type == VAMP_OPT_SIZE ||
           (opt->type == VAMP_OPT_ENUM && !config_numeric_choices(opt));
}

static int set_value(const struct setting *setting, const json_t *value)
{
    const struct vamp_opt *opt = setting->opt;
    bool list = opt->type == VAMP_OPT_SET || opt->type == VAMP_OPT_STRINGS;
    bool from_outside = config_origin_find(setting->loader, setting->loader->path) != NULL;
    if (json_is_string(value) && from_outside) {
        const char *text = json_string_value(value);
        return list ? set_commas(setting, text) : set_text(setting, text);
    }
    if (list && json_is_array(value)) {
        return set_list(setting, value);
    }
    if (list && json_is_string(value)) {
        return set_list_from_text(setting, value);
    }
    if (json_is_string(value) && takes_text(opt)) {
        return set_text(setting, json_string_value(value));
    }
    if (json_is_integer(value) && takes_integer(opt)) {
        return set_integer(setting, value);
    }
    if (json_is_boolean(value) && opt->type == VAMP_OPT_BOOL) {
        return set_text(setting, json_is_true(value) ? "true" : "false");
    }
    char seconds[32] = "";
    if (json_is_integer(value) && opt->type == VAMP_OPT_DURATION &&
        json_integer_value(value) >= 0) {
        (void)snprintf(seconds, sizeof seconds, "%" JSON_INTEGER_FORMAT "s",
                       json_integer_value(value));
    }
    report_type(setting, value, seconds);
    return 0;
}

/* ---- one object */

static bool is_other(const struct config_shape *shape, const char *key)
{
    for (const char *const *each = shape->others; *each != NULL; each++) {
        if (strcmp(*each, key) == 0) {
            return true;
        }
    }
    return false;
}

static const char *near_member(const struct config_shape *shape, const char *key)
{
    const char *near = vamp_opt_near_choice(shape->others, key);
    for (size_t i = 0; i < 2 && near == NULL; i++) {
        near = vamp_opt_near_key(shape->tables[i], key);
    }
    return near;
}

static void list_members(const struct config_shape *shape, char *text, size_t bytes)
{
    size_t used = 0;
    for (const char *const *each = shape->others; *each != NULL && used < bytes; each++) {
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", used > 0 ? ", " : "", *each);
    }
    for (size_t i = 0; i < 2 && shape->tables[i] != NULL; i++) {
        for (const struct vamp_opt *opt = shape->tables[i]; opt->key != NULL && used < bytes;
             opt++) {
            used +=
                (size_t)snprintf(text + used, bytes - used, "%s%s", used > 0 ? ", " : "", opt->key);
        }
    }
}

static void report_unknown(const struct config_loader *loader, const struct config_shape *shape,
                           const char *key)
{
    struct vamp_diagnostic problem = config_problem(
        loader, loader->path, CONFIG_AT_KEY, "\"%.100s\" is not an option of %s", key, shape->what);
    config_near(&problem, near_member(shape, key));
    list_members(shape, problem.allowed, sizeof problem.allowed);
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

static int walk_member(struct config_loader *loader, const struct config_shape *shape,
                       const char *key, const json_t *value)
{
    for (size_t i = 0; i < 2 && shape->tables[i] != NULL; i++) {
        const struct vamp_opt *opt = vamp_opt_find(shape->tables[i], key);
        if (opt != NULL) {
            return set_value(&(struct setting){loader, opt, shape->bases[i]}, value);
        }
    }
    if (!is_other(shape, key)) {
        report_unknown(loader, shape, key);
    }
    return 0;
}

int config_walk_object(struct config_loader *loader, const struct config_shape *shape,
                       json_t *object)
{
    if (!json_is_object(object)) {
        char found[128];
        config_describe(object, found, sizeof found);
        config_error(loader, loader->path, "found %s where an object {...} is needed", found);
        return 0;
    }
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(object, key, value)
    {
        size_t length = config_path_push(loader->path, key);
        int code = walk_member(loader, shape, key, value);
        loader->path[length] = '\0';
        if (code != 0) {
            return code;
        }
    }
    return 0;
}
