/* SPDX-License-Identifier: BSD-3-Clause */
/* Mistakes with their place: in the file, or in the environment or command line that caused them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

/* Whether `path` is `inner` or lies around it. */
static bool encloses(const char *path, const char *inner)
{
    size_t length = strlen(path);
    return strncmp(path, inner, length) == 0 && (inner[length] == '\0' || inner[length] == '/');
}

/* The strongest level comes last. */
const struct config_origin *config_origin_find(const struct config_loader *loader, const char *path)
{
    for (size_t i = loader->origin_count; i > 0; i--) {
        if (encloses(loader->origins[i - 1].path, path)) {
            return &loader->origins[i - 1];
        }
    }
    return NULL;
}

enum config_level config_level_of(const struct config_loader *loader, const char *path)
{
    const struct config_origin *origin = config_origin_find(loader, path);
    if (origin != NULL) {
        return origin->level;
    }
    bool exact = false;
    const struct config_position *position =
        config_positions_find(&loader->positions, path, &exact);
    return position != NULL && exact ? CONFIG_LEVEL_FILE : CONFIG_LEVEL_DEFAULT;
}

/* An override of something inside a value that the file does not have made that value. */
static const struct config_origin *find_maker(const struct config_loader *loader, const char *path)
{
    for (size_t i = 0; i < loader->origin_count && path[0] != '\0'; i++) {
        if (encloses(path, loader->origins[i].path)) {
            return &loader->origins[i];
        }
    }
    return NULL;
}

static void set_place(const struct config_loader *loader, const char *path, enum config_spot spot,
                      struct vamp_diagnostic *diagnostic)
{
    bool exact = false;
    const struct config_position *position =
        config_positions_find(&loader->positions, path, &exact);
    const struct config_origin *origin = config_origin_find(loader, path);
    if (origin == NULL && (position == NULL || !exact)) {
        origin = find_maker(loader, path);
    }
    (void)snprintf(diagnostic->file, sizeof diagnostic->file, "%s",
                   origin != NULL ? origin->name : loader->file);
    if (origin == NULL && position != NULL) {
        bool at_key = spot == CONFIG_AT_KEY && exact && position->keyed;
        config_text_place(&loader->text, at_key ? position->key_offset : position->value_offset,
                          diagnostic);
    }
}

static struct vamp_diagnostic begin(const struct config_loader *loader, const char *path,
                                    enum config_spot spot)
{
    struct vamp_diagnostic diagnostic = {.severity = VAMP_SEVERITY_ERROR};
    (void)snprintf(diagnostic.path, sizeof diagnostic.path, "%s", path);
    set_place(loader, path, spot, &diagnostic);
    return diagnostic;
}

bool config_is_wrong(const struct config_loader *loader, const char *path)
{
    for (unsigned i = 0; i < loader->diagnostics->count; i++) {
        const struct vamp_diagnostic *item = &loader->diagnostics->items[i];
        if (item->severity == VAMP_SEVERITY_ERROR && encloses(path, item->path)) {
            return true;
        }
    }
    return false;
}

struct vamp_diagnostic config_problem(const struct config_loader *loader, const char *path,
                                      enum config_spot spot, const char *format, ...)
{
    struct vamp_diagnostic diagnostic = begin(loader, path, spot);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(diagnostic.text, sizeof diagnostic.text, format, arguments);
    va_end(arguments);
    return diagnostic;
}

void config_error(const struct config_loader *loader, const char *path, const char *format, ...)
{
    struct vamp_diagnostic diagnostic = begin(loader, path, CONFIG_AT_VALUE);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(diagnostic.text, sizeof diagnostic.text, format, arguments);
    va_end(arguments);
    vamp_diagnostics_add(loader->diagnostics, &diagnostic);
}

void config_warning(const struct config_loader *loader, const char *path, const char *format, ...)
{
    struct vamp_diagnostic diagnostic = begin(loader, path, CONFIG_AT_VALUE);
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
    const struct config_position *position =
        config_positions_find(&loader->positions, path, &exact);
    if (read_place(message, &line, &column) && position != NULL && exact &&
        config_origin_find(loader, path) == NULL) {
        config_text_place(&loader->text,
                          config_positions_inside(&loader->positions, position, line, column),
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
