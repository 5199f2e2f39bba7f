/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs all stages, from the name of a file to a struct vamp_config. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

static int no_memory(const struct config_loader *loader)
{
    return vamp_err_set_errno(loader->err, ENOMEM, "read the configuration %s", loader->name);
}

/* Reports a syntax error, which prevents the walk. */
static void report_fault(struct config_loader *loader, const struct config_fault *fault)
{
    const bool hidden = fault->quoted_end > config_hide_rest(&loader->file);
    struct vamp_diagnostic problem = {.severity = VAMP_SEVERITY_ERROR};
    (void)snprintf(problem.file, sizeof problem.file, "%s", loader->name);
    (void)snprintf(problem.text, sizeof problem.text, "%s", hidden ? fault->unquoted : fault->text);
    config_file_place(&loader->file, fault->offset, &problem);
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

/* Reads the file's values; without a file there are none. Returns 0; 1: the values cannot be
 * walked, which was reported; or -errno. */
static int read_values(struct config_loader *loader)
{
    loader->tree.root = config_value_add(&loader->tree, NULL, 0, 0);
    if (loader->tree.root == NULL) {
        return no_memory(loader);
    }
    loader->tree.root->level = CONFIG_LEVEL_FILE;
    if (loader->request->file == NULL) {
        return 0;
    }
    int code = config_file_read(&loader->file, loader->request->file, loader->err);
    if (code != 0) {
        return code;
    }
    struct config_fault fault = {0};
    code = config_read(loader->file.bytes, loader->file.length,
                       &(struct config_reading){
                           .tree = &loader->tree, .into = loader->tree.root, .fault = &fault});
    if (code == -EINVAL) {
        report_fault(loader, &fault);
        return 1;
    }
    config_hide_values(&loader->file, &loader->tree);
    if (code == 0 && loader->tree.root->type != CONFIG_OBJECT) {
        config_error(loader, "", "a configuration is an object {...}, this is a list");
        return 1;
    }
    return code == -ENOMEM ? no_memory(loader) : code;
}

/* ---- from values to structs */

/* Sets the defaults of all sections, including those of the other program, because checks and
 * outputs read them. */
static int set_defaults(struct config_loader *loader)
{
    int code = 0;
    for (unsigned program = 0; program < VAMP_CONFIG_PROGRAM_COUNT; program++) {
        for (const struct config_part *part = config_parts[program]; part->key != NULL && code == 0;
             part++) {
            if (part->options != NULL) {
                code = vamp_opt_presets(part->options, loader->config, loader->err);
            }
        }
    }
    return code;
}

static int walk_options(const struct config_loader *loader, const struct config_part *part)
{
    const struct config_value *value = loader->tree.root;
    struct config_object object = config_part_object(part, loader->config);
    const char *keys[CONFIG_PARTS_MAX + 1] = {NULL};
    if (part->key[0] != '\0') {
        value = config_member(value, part->key);
        if (value == NULL) {
            return 0;
        }
        return config_walk_object(loader, &object, value);
    }
    (void)snprintf(object.what, sizeof object.what, "the configuration");
    for (unsigned i = 0; part[i + 1].key != NULL; i++) {
        assert(i < CONFIG_PARTS_MAX);
        keys[i] = part[i + 1].key;
    }
    object.others = keys;
    return config_walk_object(loader, &object, value);
}

static int add_text(const struct config_loader *loader, struct vamp_config_texts *texts,
                    const char *name, const char *text)
{
    struct vamp_config_text *items =
        reallocarray(texts->items, texts->count + 1, sizeof *texts->items);
    if (items != NULL) {
        texts->items = items;
        /* Counted even if incomplete, so that vamp_config_free frees it. */
        struct vamp_config_text *item = &items[texts->count++];
        *item = (struct vamp_config_text){strdup(name), strdup(text)};
        if (item->name != NULL && item->text != NULL) {
            return 0;
        }
    }
    return vamp_err_set_errno(loader->err, ENOMEM, "keep the filters");
}

/* Reads named expressions; `object` NULL: none are set. */
static int walk_texts(const struct config_loader *loader, const struct config_value *object,
                      struct vamp_config_texts *texts)
{
    int code = 0;
    if (object == NULL) {
        return 0;
    }
    if (object->type != CONFIG_OBJECT) {
        config_report_found(loader, object, "an object {NAME: EXPRESSION}");
        return 0;
    }
    for (const struct config_value *member = object->first; member != NULL && code == 0;
         member = member->next) {
        if (config_report_duplicate(loader, member)) {
            continue;
        }
        if (member->type == CONFIG_TEXT) {
            code = add_text(loader, texts, member->key, member->text);
        } else {
            config_report_found(loader, member, "an expression of the filter language");
        }
    }
    return code;
}

/* Returns zeroed options for an output type or source type. */
static void *make_options(size_t bytes, struct vamp_err *err)
{
    void *options = calloc(1, VAMP_MAX(bytes, 1));
    if (options == NULL) {
        (void)vamp_err_set_errno(err, ENOMEM, "read the configuration");
    }
    return options;
}

/* The default is the first type. */
static int walk_source(const struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    const struct config_value *value = config_member(loader->tree.root, "source");
    const char *name = vamp_sources[0]->name;
    if (config_member(value, "type") != NULL) {
        name = config_find_type(loader, CONFIG_SOURCE, value, "a source", false);
    }
    config->source = name != NULL ? vamp_source_find(name) : vamp_sources[0];
    config->source_options = make_options(config->source->options_bytes, loader->err);
    if (config->source_options == NULL) {
        return -ENOMEM;
    }
    const struct config_object object =
        config_source_object(config->source, config->source_options);
    const int code = config_object_presets(&object, loader->err);
    if (code != 0 || name == NULL || value == NULL) {
        return code;
    }
    return config_walk_object(loader, &object, value);
}

/* `value` NULL: the defaults. */
static int walk_output(struct config_loader *loader, const struct vamp_writer_ops *ops,
                       const struct config_value *value)
{
    struct vamp_config *config = loader->config;
    struct vamp_config_output *output = &config->outputs[config->output_count];
    loader->output_index[config->output_count] = value != NULL ? value->index : 0;
    config->output_count++; /* from here on vamp_config_free frees the output */
    output->ops = ops;
    output->options = make_options(ops->options_bytes, loader->err);
    if (output->options == NULL) {
        return -ENOMEM;
    }
    const struct config_object object = config_output_object(ops, output);
    const int code = config_object_presets(&object, loader->err);
    if (code != 0 || value == NULL) {
        return code;
    }
    return config_walk_object(loader, &object, value);
}

/* Without "outputs" there is one HDF5 file; an empty list means no outputs. */
static int walk_outputs(struct config_loader *loader)
{
    const struct config_value *list = config_member(loader->tree.root, "outputs");
    if (list == NULL) {
        return walk_output(loader, vamp_writers[0], NULL);
    }
    if (list->type != CONFIG_LIST) {
        config_report_found(loader, list, "a list [{\"type\": ...}, ...]");
        return 0;
    }
    int code = 0;
    for (const struct config_value *value = list->first;
         value != NULL && value->index < VAMP_OUTPUTS_MAX && code == 0; value = value->next) {
        const char *type = config_find_type(loader, CONFIG_OUTPUTS, value, "an output", false);
        if (type != NULL) {
            code = walk_output(loader, vamp_writer_find(type), value);
        }
    }
    if (list->count > VAMP_OUTPUTS_MAX) {
        config_error(loader, "/outputs", "%" PRIu32 " outputs, at most %d are allowed", list->count,
                     VAMP_OUTPUTS_MAX);
    }
    return code;
}

/* Option tables are walked first, which determines the order of errors without a location in the
 * file. */
static int walk_parts(struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    const struct config_part *const parts = config_parts[config->program];
    const struct config_value *root = loader->tree.root;
    const char *path = "/statistics/attributes";
    const struct vamp_strings *attributes = &config->attributes;
    if (config->program == VAMP_CONFIG_COLLECT) {
        path = "/collect/attributes";
        attributes = &config->collect.attributes;
    }
    int code = 0;
    for (const struct config_part *part = parts; part->key != NULL && code == 0; part++) {
        if (part->kind == CONFIG_OPTIONS) {
            code = walk_options(loader, part);
        }
    }
    if (code == 0) {
        code = config_declare_attributes(loader, path, attributes);
    }
    for (const struct config_part *part = parts; part->key != NULL && code == 0; part++) {
        const struct config_value *value = config_member(root, part->key);
        switch (part->kind) {
        case CONFIG_OPTIONS:
            if (part->filters_help != NULL) {
                code = walk_texts(loader, config_member(value, "filters"),
                                  config_part_texts(part, config));
            }
            break;
        case CONFIG_TEXTS:
            code = walk_texts(loader, value, config_part_texts(part, config));
            break;
        case CONFIG_SOURCE:
            code = walk_source(loader);
            break;
        case CONFIG_ALARMS:
            code = config_walk_alarms(loader);
            break;
        case CONFIG_OUTPUTS:
            code = walk_outputs(loader);
            break;
        }
    }
    return code;
}

/* Returns 0 also if there are errors, which are in the diagnostics. */
static int run_stages(struct config_loader *loader)
{
    int code = read_values(loader);
    if (code != 0) {
        return VAMP_MIN(code, 0);
    }
    code = config_apply_overrides(loader);
    if (code == 0) {
        code = set_defaults(loader);
    }
    if (code == 0) {
        code = walk_parts(loader);
    }
    if (code == 0) {
        config_check_overrides(loader);
        code = config_check(loader);
    }
    return code;
}

int vamp_config_load(const struct vamp_config_request *request, struct vamp_config **ret_config,
                     struct vamp_diagnostics *diagnostics, struct vamp_err *err)
{
    struct vamp_err own = VAMP_ERR_NONE;
    struct config_loader loader = {
        .request = request,
        .config = calloc(1, sizeof *loader.config),
        .diagnostics = diagnostics,
        .err = err != NULL ? err : &own,
        .name = request->file,
    };
    if (request->file == NULL) {
        loader.name = "built-in defaults";
    } else if (strcmp(request->file, "-") == 0) {
        loader.name = "standard input";
    }
    if (loader.config == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the configuration");
    }
    loader.config->program = request->program;
    const unsigned before = diagnostics->error_count;
    int code = run_stages(&loader);
    const unsigned errors = diagnostics->error_count - before;
    vamp_diagnostics_sort(diagnostics);
    if (code == 0 && errors > 0) {
        code = vamp_err_set(err, -EINVAL, "the configuration has %u error%s", errors,
                            vamp_plural(errors));
    }
    if (code == 0) {
        loader.config->effective_text = vamp_config_dump(loader.config, 0);
        if (loader.config->effective_text == NULL) {
            code = vamp_err_set_errno(err, ENOMEM, "keep the effective configuration");
        }
    }
    config_tree_done(&loader.tree);
    config_file_done(&loader.file);
    if (code != 0) {
        vamp_config_free(loader.config);
        return code;
    }
    *ret_config = loader.config;
    return 0;
}

static void texts_done(struct vamp_config_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        free(texts->items[i].name);
        free(texts->items[i].text);
    }
    free(texts->items);
}

void vamp_config_free(struct vamp_config *config)
{
    if (config == NULL) {
        return;
    }
    for (unsigned program = 0; program < VAMP_CONFIG_PROGRAM_COUNT; program++) {
        for (const struct config_part *part = config_parts[program]; part->key != NULL; part++) {
            if (part->options != NULL) {
                vamp_opt_done(part->options, config);
            }
        }
    }
    struct config_object object;
    if (config->source_options != NULL) {
        object = config_source_object(config->source, config->source_options);
        config_object_done(&object);
        free(config->source_options);
    }
    for (unsigned i = 0; i < config->output_count; i++) {
        object = config_output_object(config->outputs[i].ops, &config->outputs[i]);
        config_object_done(&object);
        free(config->outputs[i].options);
    }
    config_alarms_done(config);
    texts_done(&config->filters);
    texts_done(&config->metric_filters);
    free(config->filter);
    free(config->effective_text);
    free(config);
}
