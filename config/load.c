/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of the stages, from a file name to a struct vamp_config. */
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

static int no_memory(const struct config_loader *loader)
{
    return vamp_err_set_errno(loader->err, ENOMEM, "read the configuration %s", loader->name);
}

/* Reports a mistake after which nothing can be walked. */
static void report_fault(struct config_loader *loader, const struct config_fault *fault)
{
    const bool hidden = fault->quoted_end > config_hide_rest(&loader->file);
    struct vamp_diagnostic problem = {.severity = VAMP_SEVERITY_ERROR};
    (void)snprintf(problem.file, sizeof problem.file, "%s", loader->name);
    (void)snprintf(problem.text, sizeof problem.text, "%s", hidden ? fault->unquoted : fault->text);
    config_file_place(&loader->file, fault->offset, &problem);
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

/* The file's values; without a file none. 0, 1: it cannot be walked, which was reported, or
 * -errno. */
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

/* Of every section, also of another program's: checks and outputs may look at all of them. */
static int set_defaults(struct config_loader *loader)
{
    int code = 0;
    for (unsigned program = 0; program < VAMP_CONFIG_PROGRAM_COUNT; program++) {
        for (const struct config_section *section = config_sections[program];
             section->key != NULL && code == 0; section++) {
            code = vamp_opt_presets(section->options, loader->config, loader->err);
        }
    }
    return code;
}

/* 0: as far as the diagnostics say. */
static int run_stages(struct config_loader *loader)
{
    int code = read_values(loader);
    if (code != 0) {
        return code > 0 ? 0 : code;
    }
    code = config_apply_overrides(loader);
    if (code == 0) {
        code = set_defaults(loader);
    }
    if (code == 0) {
        code = config_walk(loader);
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
        .name = request->file == NULL             ? "built-in defaults"
                : strcmp(request->file, "-") == 0 ? "standard input"
                                                  : request->file,
    };
    if (loader.config == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the configuration");
    }
    loader.config->program = request->program;
    unsigned errors = diagnostics->error_count;
    int code = run_stages(&loader);
    vamp_diagnostics_sort(diagnostics);
    if (code == 0 && diagnostics->error_count > errors) {
        code = vamp_err_set(err, -EINVAL, "the configuration has %u error%s",
                            diagnostics->error_count - errors,
                            diagnostics->error_count - errors > 1 ? "s" : "");
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

void vamp_config_free(struct vamp_config *config)
{
    if (config == NULL) {
        return;
    }
    for (unsigned program = 0; program < VAMP_CONFIG_PROGRAM_COUNT; program++) {
        for (const struct config_section *section = config_sections[program]; section->key != NULL;
             section++) {
            vamp_opt_done(section->options, config);
        }
    }
    if (config->source_options != NULL) {
        vamp_opt_done(config->source->options, config->source_options);
        free(config->source_options);
    }
    for (unsigned i = 0; i < config->output_count; i++) {
        struct vamp_config_output *output = &config->outputs[i];
        vamp_opt_done(vamp_output_options(output->ops), &output->settings);
        if (output->options != NULL) {
            vamp_opt_done(output->ops->options, output->options);
            free(output->options);
        }
    }
    config_alarms_done(config);
    config_texts_done(&config->filters);
    config_texts_done(&config->metric_filters);
    vamp_named_filters_free(config->named);
    free(config->filter);
    free(config->effective_text);
    free(config);
}
