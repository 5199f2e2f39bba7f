/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions of the filter language: those by name in "filters", and each one that uses them. */
#include <string.h>

#include "config/internal.h"

static int no_memory(const struct config_loader *loader)
{
    return vamp_err_set_errno(loader->err, ENOMEM, "check the filters");
}

enum vamp_filter_place config_first_place(const struct vamp_config *config)
{
    return config->source->knows_attributes ? VAMP_FILTER_FIRST : VAMP_FILTER_INSIDE;
}

/* "@NAME, line L, column C: ..." is about the filter NAME. False: the message is about no other. */
static bool report_in_named_filter(const struct config_loader *loader, const char *message)
{
    const char *comma = message[0] == '@' ? strstr(message, ", line ") : NULL;
    if (comma == NULL) {
        return false;
    }
    char name[256];
    char path[CONFIG_PATH_BYTES] = "/filters";
    (void)snprintf(name, sizeof name, "%.*s", (int)(comma - message - 1), message + 1);
    (void)config_path_push(path, name);
    if (!config_is_wrong(loader, path)) {
        config_expression_error(loader, path, comma + 2);
    }
    return true;
}

int config_check_expression(const struct config_loader *loader, const char *path, const char *text,
                            enum vamp_filter_place place, uint64_t *ret_kinds)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_event_filter *filter = NULL;
    *ret_kinds = 0;
    int code = vamp_event_filter_compile(text, place, loader->config->named, &filter, &err);
    if (code == 0) {
        *ret_kinds = vamp_event_filter_kinds(filter);
        vamp_event_filter_free(filter);
        return 0;
    }
    if (code == -ENOMEM) {
        return no_memory(loader);
    }
    if (!report_in_named_filter(loader, err.text)) {
        config_expression_error(loader, path, err.text);
    }
    return 0;
}

static int check_named_filter(const struct config_loader *loader,
                              const struct vamp_config_text *item)
{
    char path[CONFIG_PATH_BYTES] = "/filters";
    (void)config_path_push(path, item->name);
    if (config_is_wrong(loader, path)) {
        return 0;
    }
    uint64_t kinds = 0;
    int code = config_check_expression(loader, path, item->text, config_first_place(loader->config),
                                       &kinds);
    if (code == 0 && kinds == 0 && !config_is_wrong(loader, "/filters")) {
        config_warning(loader, path, "this filter is never true");
    }
    return code;
}

int config_check_named(struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    int code = vamp_named_filters_create(&config->named, loader->err);
    for (size_t i = 0; i < config->filters.count && code == 0; i++) {
        const struct vamp_config_text *item = &config->filters.items[i];
        struct vamp_err err = VAMP_ERR_NONE;
        code = vamp_named_filters_add(config->named, item->name, item->text, &err);
        if (code != 0 && code != -ENOMEM) {
            char path[CONFIG_PATH_BYTES] = "/filters";
            (void)config_path_push(path, item->name);
            config_error(loader, path, "%s", err.text);
            code = 0;
        }
    }
    for (size_t i = 0; i < config->filters.count && code == 0; i++) {
        code = check_named_filter(loader, &config->filters.items[i]);
    }
    return code == -ENOMEM ? no_memory(loader) : code;
}
