/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of the stages, from a file name to a struct vamp_config. */
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

static int read_text(struct config_loader *loader)
{
    const char *file = loader->request->file;
    if (file == NULL) {
        return 0;
    }
    int code = config_text_read(&loader->text, file, loader->err);
    if (code != 0) {
        return code;
    }
    loader->text.blanked = malloc(loader->text.length + 1);
    if (loader->text.blanked == NULL) {
        return vamp_err_set_errno(loader->err, ENOMEM, "read the configuration %s", file);
    }
    memcpy(loader->text.blanked, loader->text.bytes, loader->text.length + 1);
    return 0;
}

/* A mistake that leaves nothing to walk. */
static void report_fault(const struct config_loader *loader, size_t offset, const char *text)
{
    struct vamp_diagnostic problem = {.severity = VAMP_SEVERITY_ERROR};
    (void)snprintf(problem.file, sizeof problem.file, "%s", loader->file);
    (void)snprintf(problem.text, sizeof problem.text, "%.*s", (int)sizeof problem.text - 1, text);
    config_text_place(&loader->text, offset, &problem);
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

/* What jansson says, at the begin of the token it says it about. */
static void report_syntax(const struct config_loader *loader, const json_error_t *error)
{
    size_t offset = error->position > 0 ? (size_t)error->position : 0;
    const char *token = strstr(error->text, " near '");
    size_t token_length = 0;
    if (token != NULL) {
        token_length = strlen(token + strlen(" near '"));
        token_length -= token_length > 0; /* the closing quote */
    }
    offset -= token_length <= offset ? token_length : offset;
    char text[JSON_ERROR_TEXT_LENGTH + 96];
    bool trailing_comma = strncmp(error->text, "string or '}' expected near '}'", 31) == 0 ||
                          strncmp(error->text, "unexpected token near ']'", 25) == 0;
    (void)snprintf(text, sizeof text, "this is no JSON: %s%s", error->text,
                   trailing_comma ? " (no comma may stand after the last item)" : "");
    report_fault(loader, offset, text);
}

static void report_duplicates(const struct config_loader *loader)
{
    const struct config_position *first = NULL;
    unsigned from = 0;
    for (;;) {
        const struct config_position *again =
            config_positions_duplicate(&loader->positions, &from, &first);
        if (again == NULL) {
            return;
        }
        struct vamp_diagnostic place = {0};
        config_text_place(&loader->text, first->key_offset, &place);
        struct vamp_diagnostic problem = {.severity = VAMP_SEVERITY_ERROR};
        (void)snprintf(problem.file, sizeof problem.file, "%s", loader->file);
        config_positions_path(&loader->positions, again, problem.path, sizeof problem.path);
        (void)snprintf(problem.text, sizeof problem.text,
                       "given twice; the first one stands in line %u, column %u", place.line,
                       place.column);
        config_text_place(&loader->text, again->key_offset, &problem);
        vamp_diagnostics_add(loader->diagnostics, &problem);
    }
}

/* The file's JSON. 0 with a root, 0 without one when that was noted, or -errno. */
static int parse(struct config_loader *loader)
{
    if (loader->text.bytes == NULL) {
        loader->root = json_object();
        return loader->root != NULL
                   ? 0
                   : vamp_err_set_errno(loader->err, ENOMEM, "prepare the configuration");
    }
    struct config_fault fault;
    if (!config_text_blank(&loader->text, &fault)) {
        report_fault(loader, fault.offset, fault.text);
        return 0;
    }
    json_error_t error;
    /* Duplicate keys are found later, all of them. */
    const int reserved = config_memory_reserve(loader->text.length);
    if (reserved == 0) {
        loader->root = json_loadb(loader->text.blanked, loader->text.length, 0, &error);
    }
    const bool lacked = reserved != 0 || config_memory_lacked();
    if (lacked) {
        json_decref(loader->root);
        loader->root = NULL;
    }
    config_memory_release();
    if (lacked) {
        return vamp_err_set_errno(loader->err, ENOMEM, "read the configuration %s", loader->file);
    }
    if (loader->root == NULL) {
        report_syntax(loader, &error);
        return 0;
    }
    int code = config_positions_init(&loader->positions, loader->text.blanked, loader->err);
    if (code == -E2BIG) {
        report_fault(loader, 0, loader->err->text);
        json_decref(loader->root);
        loader->root = NULL;
        return 0;
    }
    if (code == 0) {
        report_duplicates(loader);
    }
    return code;
}

static int set_defaults(struct config_loader *loader)
{
    int code = 0;
    for (const struct config_section *section = config_sections; section->key != NULL && code == 0;
         section++) {
        code = vamp_opt_presets(section->options, loader->config, loader->err);
    }
    return code;
}

static int run_stages(struct config_loader *loader)
{
    int code = read_text(loader);
    if (code == 0) {
        code = parse(loader);
    }
    if (code != 0 || loader->root == NULL) {
        return code;
    }
    if (!json_is_object(loader->root)) {
        config_error(loader, "", "a configuration is an object {...}, this is a list");
        return 0;
    }
    code = config_apply_overrides(loader);
    if (code == 0) {
        code = set_defaults(loader);
    }
    if (code == 0) {
        code = config_walk(loader);
    }
    return code != 0 ? code : config_check(loader);
}

static void loader_done(struct config_loader *loader)
{
    json_decref(loader->root);
    config_positions_done(&loader->positions);
    config_text_done(&loader->text);
    for (size_t i = 0; i < loader->origin_count; i++) {
        free(loader->origins[i].path);
    }
    free(loader->origins);
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
        .file = request->file == NULL             ? "built-in defaults"
                : strcmp(request->file, "-") == 0 ? "standard input"
                                                  : request->file,
    };
    if (loader.config == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the configuration");
    }
    unsigned errors = diagnostics->error_count;
    struct config_memory_watch watch;
    config_memory_watch(&watch);
    int code = run_stages(&loader);
    if (config_memory_unwatch(&watch) && code == 0) {
        code = vamp_err_set_errno(err, ENOMEM, "read the configuration %s", loader.file);
    }
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
    loader_done(&loader);
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
    for (const struct config_section *section = config_sections; section->key != NULL; section++) {
        vamp_opt_done(section->options, config);
    }
    if (config->source_options != NULL) {
        vamp_opt_done(config->source->options, config->source_options);
        free(config->source_options);
    }
    for (unsigned i = 0; i < config->output_count; i++) {
        struct vamp_config_output *output = &config->outputs[i];
        vamp_opt_done(config_sink_options, &output->settings);
        if (output->options != NULL) {
            vamp_opt_done(output->ops->options, output->options);
            free(output->options);
        }
    }
    config_texts_done(&config->filters);
    config_texts_done(&config->metric_filters);
    vamp_named_filters_free(config->named);
    free(config->filter);
    free(config->effective_text);
    free(config);
}
