/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adds values from the environment and the command line to those of the file before the walk, so
 * that all are checked alike. Each value keeps its origin for messages. An override may be a text
 * for an option of any type.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/internal.h"
#include "vampire/core/utf8.h"

struct variable {
    const char *name, *origin;
    const char *path, *pointer; /* the same option as a dotted path and as a JSON pointer */
};

static const struct variable variables[] = {
    {"MSTRO_WORKFLOW_NAME", "environment variable MSTRO_WORKFLOW_NAME", "workflow", "/workflow"},
    {"MSTRO_COMPONENT_NAME", "environment variable MSTRO_COMPONENT_NAME", "component",
     "/component"},
    {"MSTRO_POOL_MANAGER_INFO", "environment variable MSTRO_POOL_MANAGER_INFO", "source.info",
     "/source/info"},
};

static int no_memory(const struct config_loader *loader)
{
    return vamp_err_set_errno(loader->err, ENOMEM, "read the configuration");
}

/* Adds a member to an object, or an item to a list, on behalf of an override. */
static struct config_value *add_value(struct config_loader *loader, struct config_value *parent,
                                      const char *key, const struct config_value *like)
{
    const size_t key_bytes = strlen(key);
    struct config_value *value = config_value_add(&loader->tree, parent, key_bytes, 0);
    if (value != NULL) {
        memcpy(value->room, key, key_bytes);
        value->type = CONFIG_OBJECT;
        value->origin = like->origin;
        value->level = like->level;
    }
    return value;
}

/* Finds an output in the list by its name, else by its type, else by its number; the number after
 * the last one appends an output. `*ret` is NULL if there is none. Returns 0 or -ENOMEM. */
static int find_output(struct config_loader *loader, struct config_value *list, const char *word,
                       const struct config_value *like, struct config_value **ret)
{
    static const char *const members[] = {"name", "type"};
    for (size_t m = 0; m < 2; m++) {
        for (struct config_value *item = list->first; item != NULL; item = item->next) {
            const char *text = config_member_text(item, members[m]);
            if (text != NULL && strcmp(text, word) == 0) {
                *ret = item;
                return 0;
            }
        }
    }
    char next[16];
    (void)snprintf(next, sizeof next, "%u", list->count);
    if (strcmp(word, next) != 0) {
        *ret = config_child(list, word);
        return 0;
    }
    *ret = add_value(loader, list, "", like);
    return *ret == NULL ? -ENOMEM : 0;
}

/* Adds the outputs that are the default without "outputs", so that an override can change them. */
static struct config_value *add_default_outputs(struct config_loader *loader,
                                                const struct config_value *like)
{
    struct config_value *list = add_value(loader, loader->tree.root, "outputs", like);
    struct config_value *output = list != NULL ? add_value(loader, list, "", like) : NULL;
    struct config_value *type = output != NULL ? add_value(loader, output, "type", like) : NULL;
    if (type == NULL) {
        return NULL;
    }
    list->type = CONFIG_LIST;
    type->type = CONFIG_TEXT;
    type->text = vamp_writers[0]->name;
    return list;
}

/* Reports an error of an override, which has no location in a file. */
static void VAMP_PRINTF(4, 5) report(const struct config_loader *loader, const char *origin,
                                     const char *path, const char *format, ...)
{
    struct vamp_diagnostic problem = {.severity = VAMP_SEVERITY_ERROR};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(problem.text, sizeof problem.text, format, arguments);
    va_end(arguments);
    (void)snprintf(problem.file, sizeof problem.file, "%s", origin);
    (void)snprintf(problem.path, sizeof problem.path, "%.*s", (int)sizeof problem.path - 1, path);
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

/* Replaces the value by that of the override: a list if it is written as JSON, else a text. */
static int store_value(struct config_loader *loader, struct config_value *value,
                       const struct config_value *like, const char *text)
{
    config_value_clear(value);
    value->origin = like->origin;
    value->level = like->level;
    if (text[0] == '[') {
        struct config_fault fault;
        const int code = config_read(
            text, strlen(text),
            &(struct config_reading){.tree = &loader->tree, .into = value, .fault = &fault});
        if (code != -EINVAL) {
            return code == -ENOMEM ? no_memory(loader) : 0;
        }
        config_value_clear(value);
    }
    value->type = CONFIG_TEXT;
    value->text = text;
    return 0;
}

/* Descends along the path and creates missing members. A value that cannot contain members is
 * reported here or by config_check_overrides. */
static int apply_override(struct config_loader *loader, const struct vamp_config_override *override,
                          enum config_level level)
{
    const struct config_value like = {.origin = override->origin, .level = level};
    struct config_value *value = loader->tree.root;
    if (!vamp_utf8_is_valid(override->value) || !vamp_utf8_is_valid(override->path)) {
        report(loader, override->origin, override->path, "the value is not UTF-8");
        return 0;
    }
    for (const char *rest = override->path;; rest++) {
        char component[256], path[CONFIG_PATH_BYTES];
        (void)snprintf(component, sizeof component, "%.*s", (int)strcspn(rest, "."), rest);
        rest += strcspn(rest, ".");
        struct config_value *child = config_member(value, component);
        /* In the list of outputs, find the output; in an object, add a missing member. */
        if (value->type == CONFIG_LIST) {
            const bool outputs = value == config_member(loader->tree.root, "outputs");
            if (outputs && find_output(loader, value, component, &like, &child) != 0) {
                return no_memory(loader);
            }
            if (child == NULL) {
                config_value_path(value, path);
                if (outputs) {
                    report(loader, override->origin, path,
                           "there is no output \"%.100s\": give its name, its type or its number "
                           "from 0; the next "
                           "number adds one",
                           component);
                } else {
                    report(loader, override->origin, path,
                           "\"%.100s\" cannot be set: a list is set as a whole, its words "
                           "separated by commas",
                           component);
                }
                return 0;
            }
        } else if (value->type != CONFIG_OBJECT) {
            value->refused = override->origin;
            return 0;
        } else if (child == NULL && value == loader->tree.root && *rest == '.' &&
                   strcmp(component, "outputs") == 0) {
            child = add_default_outputs(loader, &like);
        } else if (child == NULL) {
            child = add_value(loader, value, component, &like);
        }
        if (child == NULL) {
            return no_memory(loader);
        }
        value = child;
        if (*rest == '\0') {
            return store_value(loader, value, &like, override->value);
        }
    }
}

/* Returns the requested source type; NULL: the type is not a text. */
static const char *source_type(const struct config_loader *loader)
{
    const struct config_value *source = config_member(loader->tree.root, "source");
    if (config_member(source, "type") == NULL) {
        return vamp_sources[0]->name;
    }
    return config_member_text(source, "type");
}

/* Returns whether the source has the option "info", which a recording does not have. Called after
 * the command line has been applied, because it may change the type. */
static bool source_takes_info(const struct config_loader *loader)
{
    const char *name = source_type(loader);
    if (name == NULL) {
        return false;
    }
    const struct vamp_source_ops *source = vamp_source_find(name);
    return source != NULL && vamp_opt_find(source->options, "info") != NULL;
}

static int apply_environment(struct config_loader *loader)
{
    int code = 0;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0] && code == 0; i++) {
        const struct variable *variable = &variables[i];
        const char *value = loader->request->environment(variable->name);
        if (value == NULL || value[0] == '\0' ||
            config_level_of(loader, variable->pointer) == CONFIG_LEVEL_COMMAND ||
            (strcmp(variable->path, "source.info") == 0 && !source_takes_info(loader))) {
            continue;
        }
        const struct vamp_config_override override = {variable->path, value, variable->origin};
        code = apply_override(loader, &override, CONFIG_LEVEL_ENVIRONMENT);
    }
    return code;
}

/* If the command line changes the type of the source, the options in the file for its own source
 * are ignored. */
static int apply_source_type(struct config_loader *loader)
{
    const struct vamp_config_request *request = loader->request;
    int code = 0;
    for (size_t i = 0; i < request->override_count && code == 0; i++) {
        const struct vamp_config_override *override = &request->overrides[i];
        struct config_value *source = config_member(loader->tree.root, "source");
        const char *name = source_type(loader);
        if (strcmp(override->path, "source.type") == 0 &&
            (name == NULL || strcmp(name, override->value) != 0)) {
            if (source != NULL && source->type == CONFIG_OBJECT) {
                config_value_clear(source);
            }
            code = apply_override(loader, override, CONFIG_LEVEL_COMMAND);
        }
    }
    return code;
}

int config_apply_overrides(struct config_loader *loader)
{
    const struct vamp_config_request *request = loader->request;
    int code = apply_source_type(loader);
    for (size_t i = 0; i < request->override_count && code == 0; i++) {
        code = apply_override(loader, &request->overrides[i], CONFIG_LEVEL_COMMAND);
    }
    if (code == 0 && request->environment != NULL) {
        code = apply_environment(loader);
    }
    return code;
}

void config_check_overrides(const struct config_loader *loader)
{
    for (const struct config_value *value = loader->tree.allocated; value != NULL;
         value = value->allocated_before) {
        char path[CONFIG_PATH_BYTES], found[128];
        config_value_path(value, path);
        if (value->refused != NULL && !config_is_wrong(loader, path)) {
            config_describe(value, found, sizeof found);
            report(loader, value->refused, path,
                   "nothing can be set in this: it is %s, not an object", found);
        }
    }
}
