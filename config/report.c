/* SPDX-License-Identifier: BSD-3-Clause */
/* Mistakes with their place: in the file, or in the environment or command line that caused them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

/* Whether `path` is `inner` or lies around it. */
static bool path_encloses(const char *path, const char *inner)
{
    size_t length = strlen(path);
    return strncmp(path, inner, length) == 0 && (inner[length] == '\0' || inner[length] == '/');
}

enum config_level config_level_of(const struct config_loader *loader, const char *path)
{
    bool exact = false;
    const struct config_value *value = config_at(loader->tree.root, path, &exact);
    return exact ? value->level : CONFIG_LEVEL_DEFAULT;
}

/* A problem of `value`, or of something that is missing in it. */
static struct vamp_diagnostic begin_problem(const struct config_loader *loader,
                                            const struct config_value *value, const char *path,
                                            bool at_key)
{
    struct vamp_diagnostic diagnostic = {.severity = VAMP_SEVERITY_ERROR};
    (void)snprintf(diagnostic.file, sizeof diagnostic.file, "%s",
                   value->origin != NULL ? value->origin : loader->name);
    (void)snprintf(diagnostic.path, sizeof diagnostic.path, "%.*s", (int)sizeof diagnostic.path - 1,
                   path);
    const bool kept = loader->diagnostics->count < VAMP_DIAGNOSTICS_MAX;
    if (kept && value->origin == NULL && loader->file.bytes != NULL) {
        const bool keyed = at_key && value->key_offset > 0;
        config_file_place(&loader->file, keyed ? value->key_offset : value->offset, &diagnostic);
    }
    return diagnostic;
}

static struct vamp_diagnostic begin_at_path(const struct config_loader *loader, const char *path,
                                            enum config_spot spot)
{
    bool exact = false;
    const struct config_value *value = config_at(loader->tree.root, path, &exact);
    return begin_problem(loader, value, path, exact && spot == CONFIG_AT_KEY);
}

static struct vamp_diagnostic begin_at_value(const struct config_loader *loader,
                                             const struct config_value *value,
                                             enum config_spot spot)
{
    char path[CONFIG_PATH_BYTES];
    config_value_path(value, path);
    return begin_problem(loader, value, path, spot == CONFIG_AT_KEY);
}

void config_output_path(const struct config_loader *loader, unsigned output, const char *key,
                        char path[static CONFIG_PATH_BYTES])
{
    (void)snprintf(path, CONFIG_PATH_BYTES, "/outputs/%u", loader->output_index[output]);
    if (key != NULL) {
        (void)config_path_push(path, key);
    }
}

bool config_is_wrong(const struct config_loader *loader, const char *path)
{
    for (unsigned i = 0; i < loader->diagnostics->count; i++) {
        const struct vamp_diagnostic *item = &loader->diagnostics->items[i];
        if (item->severity == VAMP_SEVERITY_ERROR && path_encloses(path, item->path)) {
            return true;
        }
    }
    return false;
}

struct vamp_diagnostic config_value_problem(const struct config_loader *loader,
                                            const struct config_value *value, enum config_spot spot,
                                            const char *format, ...)
{
    struct vamp_diagnostic diagnostic = begin_at_value(loader, value, spot);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(diagnostic.text, sizeof diagnostic.text, format, arguments);
    va_end(arguments);
    return diagnostic;
}

struct vamp_diagnostic config_problem(const struct config_loader *loader, const char *path,
                                      enum config_spot spot, const char *format, ...)
{
    struct vamp_diagnostic diagnostic = begin_at_path(loader, path, spot);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(diagnostic.text, sizeof diagnostic.text, format, arguments);
    va_end(arguments);
    return diagnostic;
}

void config_error(const struct config_loader *loader, const char *path, const char *format, ...)
{
    struct vamp_diagnostic diagnostic = begin_at_path(loader, path, CONFIG_AT_VALUE);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(diagnostic.text, sizeof diagnostic.text, format, arguments);
    va_end(arguments);
    vamp_diagnostics_add(loader->diagnostics, &diagnostic);
}

void config_warning(const struct config_loader *loader, const char *path, const char *format, ...)
{
    struct vamp_diagnostic diagnostic = begin_at_path(loader, path, CONFIG_AT_VALUE);
    diagnostic.severity = VAMP_SEVERITY_WARNING;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(diagnostic.text, sizeof diagnostic.text, format, arguments);
    va_end(arguments);
    vamp_diagnostics_add(loader->diagnostics, &diagnostic);
}

/* "line L, column C: ..." */
static bool read_place(const char *message, unsigned *ret_line, unsigned *ret_column)
{
    static const char before_line[] = "line ", before_column[] = ", column ";
    if (strncmp(message, before_line, sizeof before_line - 1) != 0) {
        return false;
    }
    char *end = NULL;
    *ret_line = (unsigned)strtoul(message + sizeof before_line - 1, &end, 10);
    if (strncmp(end, before_column, sizeof before_column - 1) != 0) {
        return false;
    }
    *ret_column = (unsigned)strtoul(end + sizeof before_column - 1, &end, 10);
    return *end == ':';
}

void config_expression_error(const struct config_loader *loader, const char *path,
                             const char *message)
{
    struct vamp_diagnostic diagnostic = config_problem(loader, path, CONFIG_AT_VALUE, "%.*s",
                                                       (int)sizeof diagnostic.text - 1, message);
    unsigned line = 0;
    unsigned column = 0;
    bool exact = false;
    const struct config_value *value = config_at(loader->tree.root, path, &exact);
    if (read_place(message, &line, &column) && exact && value->origin == NULL &&
        value->type == CONFIG_TEXT) {
        config_file_place(&loader->file,
                          config_text_offset(&loader->file, value->offset, line, column),
                          &diagnostic);
    }
    vamp_diagnostics_add(loader->diagnostics, &diagnostic);
}

void config_near(struct vamp_diagnostic *diagnostic, const char *near)
{
    if (near != NULL) {
        (void)snprintf(diagnostic->near, sizeof diagnostic->near, "%s", near);
    }
}
