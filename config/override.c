/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values from the environment and the command line, added to the file's values before they are
 * walked, so that they are checked like the file's own. Each keeps its origin: messages name it,
 * and text is accepted there for every type.
 */
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"
#include "vampire/core/utf8.h"

struct variable {
    const char *name, *origin;
    const char *path, *pointer; /* the same option, dotted and as JSON pointer */
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

/* The item of the list of outputs with this name, else of this type, else of this number. */
static struct config_value *find_output(const struct config_value *list, const char *word)
{
    static const char *const members[] = {"name", "type"};
    for (size_t m = 0; m < 2; m++) {
        for (struct config_value *item = list->first; item != NULL; item = item->next) {
            const char *text = config_member_text(item, members[m]);
            if (text != NULL && strcmp(text, word) == 0) {
                return item;
            }
        }
    }
    return config_child(list, word);
}

/* The state of one override while it descends the tree. */
struct descent {
    struct config_loader *loader;
    const struct vamp_config_override *override;
    enum config_level level;
    char component[256];
    const char *rest;
    struct config_value *value; /* reached so far */
};

static void next_component(struct descent *descent)
{
    const size_t length = strcspn(descent->rest, ".");
    (void)snprintf(descent->component, sizeof descent->component, "%.*s", (int)length,
                   descent->rest);
    descent->rest += length;
}

/* A new member of the object reached, or item of the list, from outside the file. */
static struct config_value *add_value(struct descent *descent, struct config_value *parent,
                                      const char *key)
{
    const size_t key_bytes = strlen(key);
    struct config_value *value = config_value_add(&descent->loader->tree, parent, key_bytes, 0);
    if (value != NULL) {
        memcpy(value->room, key, key_bytes);
        value->type = CONFIG_OBJECT;
        value->origin = descent->override->origin;
        value->level = descent->level;
    }
    return value;
}

/* The outputs that hold without "outputs" in the file, so that one of them can be changed. */
static struct config_value *add_default_outputs(struct descent *descent)
{
    struct config_value *list = add_value(descent, descent->value, "outputs");
    struct config_value *output = list != NULL ? add_value(descent, list, "") : NULL;
    struct config_value *type = output != NULL ? add_value(descent, output, "type") : NULL;
    if (type == NULL) {
        return NULL;
    }
    list->type = CONFIG_LIST;
    type->type = CONFIG_TEXT;
    type->text = vamp_writers[0]->name;
    return list;
}

static void report_no_item(const struct descent *descent, bool outputs)
{
    struct vamp_diagnostic problem = {.severity = VAMP_SEVERITY_ERROR};
    char path[CONFIG_PATH_BYTES];
    config_value_path(descent->value, path);
    (void)snprintf(problem.file, sizeof problem.file, "%s", descent->override->origin);
    (void)snprintf(problem.path, sizeof problem.path, "%.*s", (int)sizeof problem.path - 1, path);
    if (outputs) {
        (void)snprintf(
            problem.text, sizeof problem.text,
            "there is no output \"%.100s\": give its name, its type or its number from 0",
            descent->component);
    } else {
        (void)snprintf(problem.text, sizeof problem.text,
                       "\"%.100s\" cannot be set: a list is set as a whole, its words separated by "
                       "commas",
                       descent->component);
    }
    vamp_diagnostics_add(descent->loader->diagnostics, &problem);
}

static int enter_list(struct descent *descent)
{
    const bool outputs = descent->value == config_member(descent->loader->tree.root, "outputs");
    struct config_value *item = outputs ? find_output(descent->value, descent->component) : NULL;
    if (item == NULL) {
        report_no_item(descent, outputs);
        return 1;
    }
    descent->value = item;
    return 0;
}

/* A member is made where it is missing. */
static int enter_object(struct descent *descent)
{
    struct config_value *object = descent->value;
    struct config_value *member = config_member(object, descent->component);
    if (member == NULL) {
        const bool inside_outputs = object == descent->loader->tree.root &&
                                    strcmp(descent->component, "outputs") == 0 &&
                                    *descent->rest == '.';
        member = inside_outputs ? add_default_outputs(descent)
                                : add_value(descent, object, descent->component);
    }
    if (member == NULL) {
        return no_memory(descent->loader);
    }
    descent->value = member;
    return 0;
}

/* Into the member or item that the component names. 1: it cannot be entered, which is reported
 * here or by config_check_overrides. */
static int enter_value(struct descent *descent)
{
    switch (descent->value->type) {
    case CONFIG_LIST:
        return enter_list(descent);
    case CONFIG_OBJECT:
        return enter_object(descent);
    case CONFIG_TEXT:
    case CONFIG_INTEGER:
    case CONFIG_REAL:
    case CONFIG_TRUE:
    case CONFIG_FALSE:
    case CONFIG_NULL:
        break;
    }
    descent->value->refused = descent->override->origin;
    return 1;
}

/* The value reached becomes the override's: a list where it is written as JSON, else the text. */
static int store_value(struct descent *descent)
{
    struct config_value *value = descent->value;
    const char *text = descent->override->value;
    config_value_clear(value);
    value->origin = descent->override->origin;
    value->level = descent->level;
    if (text[0] == '[') {
        struct config_fault fault;
        const struct config_reading reading = {
            .tree = &descent->loader->tree, .into = value, .fault = &fault};
        const int code = config_read(text, strlen(text), &reading);
        if (code != -EINVAL) {
            return code == -ENOMEM ? no_memory(descent->loader) : 0;
        }
        config_value_clear(value);
    }
    value->type = CONFIG_TEXT;
    value->text = text;
    return 0;
}

static int apply_override(struct config_loader *loader, const struct vamp_config_override *override,
                          enum config_level level)
{
    if (!vamp_utf8_is_valid(override->value) || !vamp_utf8_is_valid(override->path)) {
        struct vamp_diagnostic problem = {.severity = VAMP_SEVERITY_ERROR,
                                          .text = "the value is not UTF-8"};
        (void)snprintf(problem.file, sizeof problem.file, "%s", override->origin);
        (void)snprintf(problem.path, sizeof problem.path, "%s", override->path);
        vamp_diagnostics_add(loader->diagnostics, &problem);
        return 0;
    }
    struct descent descent = {
        .loader = loader,
        .override = override,
        .level = level,
        .rest = override->path,
        .value = loader->tree.root,
    };
    for (;;) {
        next_component(&descent);
        const int code = enter_value(&descent);
        if (code != 0) {
            return code > 0 ? 0 : code;
        }
        if (*descent.rest == '\0') {
            return store_value(&descent);
        }
        descent.rest++;
    }
}

/* The requested type of source; NULL: it is no text. */
static const char *source_type(const struct config_loader *loader)
{
    const struct config_value *source = config_member(loader->tree.root, "source");
    return config_member(source, "type") == NULL ? vamp_sources[0]->name
                                                 : config_member_text(source, "type");
}

/* Whether the source has an option "info"; a recording has none. Called when the command line has
 * been applied, so that its type counts. */
static bool source_takes_info(const struct config_loader *loader)
{
    const char *name = source_type(loader);
    const struct vamp_source_ops *source = name != NULL ? vamp_source_find(name) : NULL;
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

static bool changes_source(const struct config_loader *loader,
                           const struct vamp_config_override *override)
{
    const char *name = source_type(loader);
    return strcmp(override->path, "source.type") == 0 &&
           (name == NULL || strcmp(name, override->value) != 0);
}

/* The command line sets another type of source: removes the file's options of its own source. */
static void forget_source(struct config_loader *loader)
{
    struct config_value *source = config_member(loader->tree.root, "source");
    if (source != NULL && source->type == CONFIG_OBJECT) {
        config_value_clear(source);
    }
}

static int apply_source_type(struct config_loader *loader)
{
    const struct vamp_config_request *request = loader->request;
    int code = 0;
    for (size_t i = 0; i < request->override_count && code == 0; i++) {
        if (changes_source(loader, &request->overrides[i])) {
            forget_source(loader);
            code = apply_override(loader, &request->overrides[i], CONFIG_LEVEL_COMMAND);
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
        char path[CONFIG_PATH_BYTES];
        config_value_path(value, path);
        if (value->refused == NULL || config_is_wrong(loader, path)) {
            continue;
        }
        char found[128];
        config_describe(value, found, sizeof found);
        struct vamp_diagnostic problem = {.severity = VAMP_SEVERITY_ERROR};
        (void)snprintf(problem.file, sizeof problem.file, "%s", value->refused);
        (void)snprintf(problem.path, sizeof problem.path, "%.*s", (int)sizeof problem.path - 1,
                       path);
        (void)snprintf(problem.text, sizeof problem.text,
                       "nothing can be set in this: it is %s, not an object", found);
        vamp_diagnostics_add(loader->diagnostics, &problem);
    }
}
