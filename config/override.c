/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values from the environment and the command line, put into the JSON tree before it is walked, so
 * that they are checked like the file's own. Each is remembered with its origin: messages name it,
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

/* Takes a note that `path` comes from outside. */
static int remember(struct config_loader *loader, const char *path, const char *name,
                    enum config_level level)
{
    struct config_origin *origins =
        reallocarray(loader->origins, loader->origin_count + 1, sizeof *origins);
    if (origins == NULL) {
        return no_memory(loader);
    }
    loader->origins = origins;
    struct config_origin *origin = &origins[loader->origin_count];
    *origin = (struct config_origin){.path = strdup(path), .name = name, .level = level};
    if (origin->path == NULL) {
        return no_memory(loader);
    }
    loader->origin_count++;
    return 0;
}

/* The output with this name, else of this type; its index, -1: none. */
static long find_output(json_t *list, const char *word)
{
    static const char *const members[] = {"name", "type"};
    for (size_t m = 0; m < 2; m++) {
        for (size_t i = 0; i < json_array_size(list); i++) {
            const char *text =
                json_string_value(json_object_get(json_array_get(list, i), members[m]));
            if (text != NULL && strcmp(text, word) == 0) {
                return (long)i;
            }
        }
    }
    char *end = NULL;
    unsigned long index = strtoul(word, &end, 10);
    bool is_index = word[0] >= '0' && word[0] <= '9' && *end == '\0';
    return is_index && index < json_array_size(list) ? (long)index : -1;
}

/* The member of `parent` called `key`, made as an object (the outputs: as the default list) when it
 * is missing. NULL without memory. */
static json_t *child_object(json_t *parent, const char *key, bool at_root)
{
    json_t *child = json_object_get(parent, key);
    if (child != NULL) {
        return child;
    }
    if (at_root && strcmp(key, "outputs") == 0) {
        child = json_pack("[{s:s}]", "type", vamp_writers[0]->name);
    } else {
        child = json_object();
    }
    /* The parent takes the new value over, also on failure. */
    return json_object_set_new(parent, key, child) == 0 ? child : NULL;
}

/* A list when it is written as JSON, else the text as it is. NULL: no memory or no UTF-8. */
static json_t *make_value(const char *text)
{
    if (text[0] == '[') {
        json_t *list = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        if (list != NULL) {
            return list;
        }
    }
    return json_string(text);
}

static bool is_utf8(const char *text)
{
    for (size_t length = 0; *text != '\0'; text += length) {
        length = vamp_utf8_length(text);
        if (length == 0) {
            return false;
        }
    }
    return true;
}

/* One override on its way down the tree. */
struct descent {
    struct config_loader *loader;
    const struct vamp_config_override *override;
    char component[256];
    const char *rest;
    json_t *object;               /* reached so far */
    char path[CONFIG_PATH_BYTES]; /* JSON pointer of it */
};

static void next_component(struct descent *descent)
{
    size_t length = strcspn(descent->rest, ".");
    (void)snprintf(descent->component, sizeof descent->component, "%.*s", (int)length,
                   descent->rest);
    descent->rest += length;
}

static void report_bad_output(const struct descent *descent)
{
    struct vamp_diagnostic problem = {.severity = VAMP_SEVERITY_ERROR};
    (void)snprintf(problem.file, sizeof problem.file, "%s", descent->override->origin);
    (void)snprintf(problem.path, sizeof problem.path, "%.*s", (int)sizeof problem.path - 1,
                   descent->path);
    (void)snprintf(problem.text, sizeof problem.text,
                   "there is no output \"%.100s\": give its name, its type or its number from 0",
                   descent->component);
    vamp_diagnostics_add(descent->loader->diagnostics, &problem);
}

/* Into the member or list item that the component names. 1: it cannot be entered, and that is said
 * here or will be by the walk. */
static int enter(struct descent *descent)
{
    if (json_is_array(descent->object)) {
        long index = find_output(descent->object, descent->component);
        if (index < 0) {
            report_bad_output(descent);
            return 1;
        }
        (void)config_path_push_index(descent->path, (size_t)index);
        descent->object = json_array_get(descent->object, (size_t)index);
        return 0;
    }
    if (!json_is_object(descent->object)) {
        return 1;
    }
    json_t *child =
        child_object(descent->object, descent->component, descent->object == descent->loader->root);
    if (child == NULL) {
        return no_memory(descent->loader);
    }
    (void)config_path_push(descent->path, descent->component);
    descent->object = child;
    return 0;
}

static int store(struct descent *descent, enum config_level level)
{
    struct config_loader *loader = descent->loader;
    if (!json_is_object(descent->object)) {
        return 0; /* the walk says so */
    }
    json_t *value = make_value(descent->override->value);
    if (value == NULL || json_object_set_new(descent->object, descent->component, value) != 0) {
        return no_memory(loader);
    }
    (void)config_path_push(descent->path, descent->component);
    return remember(loader, descent->path, descent->override->origin, level);
}

static int apply(struct config_loader *loader, const struct vamp_config_override *override,
                 enum config_level level)
{
    if (!is_utf8(override->value) || !is_utf8(override->path)) {
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
        .rest = override->path,
        .object = loader->root,
    };
    next_component(&descent);
    while (*descent.rest == '.') {
        int code = enter(&descent);
        if (code != 0) {
            return code > 0 ? 0 : code;
        }
        descent.rest++;
        next_component(&descent);
    }
    return store(&descent, level);
}

/* Whether the source has an option "info"; a recording has none. Called when the command line has
 * been applied, so that its type counts. */
static bool source_takes_info(const struct config_loader *loader)
{
    const json_t *type = json_object_get(json_object_get(loader->root, "source"), "type");
    const char *name = type == NULL ? vamp_sources[0]->name : json_string_value(type);
    const struct vamp_source_ops *source = name != NULL ? vamp_source_find(name) : NULL;
    return source != NULL && vamp_opt_find(source->options, "info") != NULL;
}

static int apply_environment(struct config_loader *loader)
{
    int code = 0;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0] && code == 0; i++) {
        const struct variable *variable = &variables[i];
        const char *value = loader->request->environment(variable->name);
        bool stronger = config_origin_find(loader, variable->pointer) != NULL;
        if (value == NULL || value[0] == '\0' || stronger ||
            (strcmp(variable->path, "source.info") == 0 && !source_takes_info(loader))) {
            continue;
        }
        const struct vamp_config_override override = {variable->path, value, variable->origin};
        code = apply(loader, &override, CONFIG_LEVEL_ENVIRONMENT);
    }
    return code;
}

static bool changes_source(const struct config_loader *loader,
                           const struct vamp_config_override *override)
{
    const json_t *type = json_object_get(json_object_get(loader->root, "source"), "type");
    const char *name = type == NULL ? vamp_sources[0]->name : json_string_value(type);
    return strcmp(override->path, "source.type") == 0 &&
           (name == NULL || strcmp(name, override->value) != 0);
}

/* Another type of source than the file's: what the file says of its own does not fit this one. */
static int forget_source(struct config_loader *loader)
{
    json_t *source = json_object_get(loader->root, "source");
    if (source == NULL || !json_is_object(source)) {
        return 0;
    }
    return json_object_clear(source) == 0 ? 0 : no_memory(loader);
}

static int apply_source_type(struct config_loader *loader)
{
    const struct vamp_config_request *request = loader->request;
    int code = 0;
    for (size_t i = 0; i < request->override_count && code == 0; i++) {
        if (changes_source(loader, &request->overrides[i])) {
            code = forget_source(loader);
            code = code != 0 ? code : apply(loader, &request->overrides[i], CONFIG_LEVEL_COMMAND);
        }
    }
    return code;
}

int config_apply_overrides(struct config_loader *loader)
{
    const struct vamp_config_request *request = loader->request;
    int code = apply_source_type(loader);
    for (size_t i = 0; i < request->override_count && code == 0; i++) {
        code = apply(loader, &request->overrides[i], CONFIG_LEVEL_COMMAND);
    }
    if (code == 0 && request->environment != NULL) {
        code = apply_environment(loader);
    }
    return code;
}
