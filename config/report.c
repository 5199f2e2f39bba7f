/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of diagnostics, their output, and their locations in the file, the environment or the
 * command line. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"
#include "vampire/core/json_emit.h"
#include "vampire/core/utf8.h"

int vamp_diagnostics_init(struct vamp_diagnostics *diagnostics, struct vamp_err *err)
{
    *diagnostics = (struct vamp_diagnostics){0};
    diagnostics->items = calloc(VAMP_DIAGNOSTICS_MAX, sizeof *diagnostics->items);
    if (diagnostics->items == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the check of the configuration");
    }
    return 0;
}

void vamp_diagnostics_done(struct vamp_diagnostics *diagnostics)
{
    free(diagnostics->items);
    *diagnostics = (struct vamp_diagnostics){0};
}

void vamp_diagnostics_add(struct vamp_diagnostics *diagnostics,
                          const struct vamp_diagnostic *diagnostic)
{
    if (diagnostic->severity == VAMP_SEVERITY_ERROR) {
        diagnostics->error_count++;
    } else {
        diagnostics->warning_count++;
    }
    if (diagnostics->count < VAMP_DIAGNOSTICS_MAX) {
        diagnostics->items[diagnostics->count++] = *diagnostic;
    }
}

static bool comes_after(const struct vamp_diagnostic *left, const struct vamp_diagnostic *right)
{
    if ((left->line == 0) != (right->line == 0)) {
        return left->line == 0;
    }
    return left->line > right->line || (left->line == right->line && left->column > right->column);
}

/* Insertion sort, because the list is short and diagnostics with equal locations must keep their
 * order. */
void vamp_diagnostics_sort(struct vamp_diagnostics *diagnostics)
{
    for (unsigned i = 1; i < diagnostics->count; i++) {
        struct vamp_diagnostic moving = diagnostics->items[i];
        unsigned j = i;
        for (; j > 0 && comes_after(&diagnostics->items[j - 1], &moving); j--) {
            diagnostics->items[j] = diagnostics->items[j - 1];
        }
        diagnostics->items[j] = moving;
    }
}

/* ---- as text */

static const char *const severity_words[] = {
    [VAMP_SEVERITY_ERROR] = "error",
    [VAMP_SEVERITY_WARNING] = "warning",
};

static void print_item(const struct vamp_diagnostic *given, FILE *stream, bool colour)
{
    struct vamp_diagnostic copy = *given, *item = &copy;
    vamp_utf8_clean(item->text);
    vamp_utf8_clean(item->near);
    vamp_utf8_clean(item->excerpt);
    const char *strong = "", *plain = "", *mark = "", *green = "";
    if (colour) {
        strong = "\033[1m", plain = "\033[0m", green = "\033[1;32m";
        mark = item->severity == VAMP_SEVERITY_ERROR ? "\033[1;31m" : "\033[1;35m";
    }
    (void)fprintf(stream, "%s%s", strong, item->file);
    if (item->line > 0) {
        (void)fprintf(stream, ":%u:%u", item->line, item->column);
    }
    (void)fprintf(stream, ":%s %s%s:%s %s%s%s\n", plain, mark, severity_words[item->severity],
                  plain, item->path, item->path[0] != '\0' ? ": " : "", item->text);
    if (item->excerpt[0] != '\0') {
        (void)fprintf(stream, "    %s\n    %*s%s^%s\n", item->excerpt, (int)item->caret, "", green,
                      plain);
    }
    if (item->near[0] != '\0') {
        const bool is_word = item->near[0] != '[' && item->near[0] != '{';
        const char *quote = is_word ? "\"" : "";
        (void)fprintf(stream, "  did you mean %s%s%s?\n", quote, item->near, quote);
    }
    if (item->allowed[0] != '\0') {
        (void)fprintf(stream, "  allowed: %s\n", item->allowed);
    }
}

void vamp_diagnostics_print(const struct vamp_diagnostics *diagnostics, FILE *stream, bool colour)
{
    for (unsigned i = 0; i < diagnostics->count; i++) {
        print_item(&diagnostics->items[i], stream, colour);
    }
    unsigned all = diagnostics->error_count + diagnostics->warning_count;
    if (all > diagnostics->count) {
        (void)fprintf(stream, "and %u more that are not shown\n", all - diagnostics->count);
    }
}

/* Prints the text so far and empties it; prints nothing if out of memory. */
static void print_json(struct vamp_json *json, FILE *stream)
{
    char *text = vamp_json_take(json);
    (void)fputs(vamp_text_or(text, ""), stream);
    free(text);
    json->spaced = true;
}

static void put_item(struct vamp_json *json, const struct vamp_diagnostic *item)
{
    vamp_json_open(json, NULL, '{');
    vamp_json_text(json, "severity", severity_words[item->severity]);
    vamp_json_text(json, "file", item->file);
    if (item->line > 0) {
        vamp_json_unsigned(json, "line", item->line);
        vamp_json_unsigned(json, "column", item->column);
    }
    vamp_json_text(json, "path", item->path);
    vamp_json_text(json, "text", item->text);
    if (item->allowed[0] != '\0') {
        vamp_json_text(json, "allowed", item->allowed);
    }
    if (item->near[0] != '\0') {
        vamp_json_text(json, "did_you_mean", item->near);
    }
    vamp_json_close(json, '}');
}

/* Prints one diagnostic per line. */
void vamp_diagnostics_print_json(const struct vamp_diagnostics *diagnostics, const char *file,
                                 FILE *stream)
{
    struct vamp_json json = {.spaced = true};
    vamp_json_open(&json, NULL, '{');
    vamp_json_text(&json, "file", file);
    vamp_json_unsigned(&json, "errors", diagnostics->error_count);
    vamp_json_unsigned(&json, "warnings", diagnostics->warning_count);
    vamp_json_open(&json, "diagnostics", '[');
    print_json(&json, stream);
    for (unsigned i = 0; i < diagnostics->count; i++) {
        (void)fputs(i == 0 ? "\n  " : ",\n  ", stream);
        put_item(&json, &diagnostics->items[i]);
        print_json(&json, stream);
    }
    (void)fputs(diagnostics->count > 0 ? "\n]}\n" : "]}\n", stream);
}

/* ---- locations */

/* Copies as much of the line as fits; in a long line, the offset is in the last third of the copy.
 */
static void copy_excerpt(const char *line, size_t length, size_t offset,
                         struct vamp_diagnostic *diagnostic)
{
    const size_t width = 100;
    size_t first = vamp_minus(offset, width * 3 / 4);
    while (first < offset && !vamp_utf8_begins(line[first])) {
        first++;
    }
    char *excerpt = diagnostic->excerpt;
    size_t used = 0;
    unsigned caret = 0;
    if (first > 0) {
        memcpy(excerpt, "...", 3);
        used = caret = 3;
    }
    size_t at = first;
    for (; at < length && used < sizeof diagnostic->excerpt - 8; at++) {
        if (at - first >= width && vamp_utf8_begins(line[at])) {
            memcpy(excerpt + used, "...", 3);
            used += 3;
            break;
        }
        excerpt[used++] = (unsigned char)line[at] < 0x20 || line[at] == 0x7f ? ' ' : line[at];
        caret += at < offset && vamp_utf8_begins(line[at]);
    }
    while (used > caret && excerpt[used - 1] == ' ') {
        used--;
    }
    excerpt[used] = '\0';
    diagnostic->caret = caret;
}

void config_file_place(const struct config_file *file, size_t offset,
                       struct vamp_diagnostic *diagnostic)
{
    offset = VAMP_MIN(offset, file->length);
    size_t line_start = 0;
    unsigned line = 1;
    for (size_t i = 0; i < offset; i++) {
        if (file->bytes[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    if (line == 1 && strncmp(file->bytes, CONFIG_BYTE_ORDER_MARK, 3) == 0 && offset >= 3) {
        line_start = 3;
    }
    unsigned column = 1;
    for (size_t i = line_start; i < offset; i++) {
        column += vamp_utf8_begins(file->bytes[i]);
    }
    diagnostic->line = line;
    diagnostic->column = column;
    const char *start = file->shown + line_start;
    copy_excerpt(start, strcspn(start, "\n"), offset - line_start, diagnostic);
}

/* ---- errors of a load */

/* Returns whether `path` is `inner` or an ancestor of it. */
static bool path_encloses(const char *path, const char *inner)
{
    const size_t length = strlen(path);
    return strncmp(path, inner, length) == 0 && (inner[length] == '\0' || inner[length] == '/');
}

enum config_level config_level_of(const struct config_loader *loader, const char *path)
{
    bool exact = false;
    const struct config_value *value = config_at(loader->tree.root, path, &exact);
    return exact ? value->level : CONFIG_LEVEL_DEFAULT;
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

/* Creates a diagnostic about `value`, or about a missing member of it. */
static struct vamp_diagnostic VAMP_PRINTF(5, 0)
    make_problem(const struct config_loader *loader, const struct config_value *value,
                 const char *path, bool at_key, const char *format, va_list arguments)
{
    struct vamp_diagnostic diagnostic = {.severity = VAMP_SEVERITY_ERROR};
    (void)snprintf(diagnostic.file, sizeof diagnostic.file, "%s",
                   vamp_text_or(value->origin, loader->name));
    (void)snprintf(diagnostic.path, sizeof diagnostic.path, "%.*s", (int)sizeof diagnostic.path - 1,
                   path);
    (void)vsnprintf(diagnostic.text, sizeof diagnostic.text, format, arguments);
    const bool kept = loader->diagnostics->count < VAMP_DIAGNOSTICS_MAX;
    if (kept && value->origin == NULL && loader->file.bytes != NULL) {
        const bool keyed = at_key && value->key_offset > 0;
        config_file_place(&loader->file, keyed ? value->key_offset : value->offset, &diagnostic);
    }
    return diagnostic;
}

struct vamp_diagnostic config_value_problem(const struct config_loader *loader,
                                            const struct config_value *value, enum config_spot spot,
                                            const char *format, ...)
{
    char path[CONFIG_PATH_BYTES];
    config_value_path(value, path);
    va_list arguments;
    va_start(arguments, format);
    const struct vamp_diagnostic problem =
        make_problem(loader, value, path, spot == CONFIG_AT_KEY, format, arguments);
    va_end(arguments);
    return problem;
}

static struct vamp_diagnostic VAMP_PRINTF(4, 0)
    path_problem(const struct config_loader *loader, const char *path, enum config_spot spot,
                 const char *format, va_list arguments)
{
    bool exact = false;
    const struct config_value *value = config_at(loader->tree.root, path, &exact);
    return make_problem(loader, value, path, exact && spot == CONFIG_AT_KEY, format, arguments);
}

struct vamp_diagnostic config_problem(const struct config_loader *loader, const char *path,
                                      enum config_spot spot, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const struct vamp_diagnostic problem = path_problem(loader, path, spot, format, arguments);
    va_end(arguments);
    return problem;
}

static void VAMP_PRINTF(4, 0)
    add_problem(const struct config_loader *loader, const char *path, enum vamp_severity severity,
                const char *format, va_list arguments)
{
    struct vamp_diagnostic problem = path_problem(loader, path, CONFIG_AT_VALUE, format, arguments);
    problem.severity = severity;
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

void config_error(const struct config_loader *loader, const char *path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_problem(loader, path, VAMP_SEVERITY_ERROR, format, arguments);
    va_end(arguments);
}

void config_output_error(const struct config_loader *loader, unsigned output, const char *inside,
                         const char *format, ...)
{
    char path[CONFIG_PATH_BYTES];
    (void)snprintf(path, sizeof path, "/outputs/%u/%s", loader->output_index[output], inside);
    va_list arguments;
    va_start(arguments, format);
    add_problem(loader, path, VAMP_SEVERITY_ERROR, format, arguments);
    va_end(arguments);
}

void config_warning(const struct config_loader *loader, const char *path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_problem(loader, path, VAMP_SEVERITY_WARNING, format, arguments);
    va_end(arguments);
}

void config_expression_error(const struct config_loader *loader, const char *path,
                             const char *message)
{
    static const char before_line[] = "line ", before_column[] = ", column ";
    struct vamp_diagnostic problem = config_problem(loader, path, CONFIG_AT_VALUE, "%s", message);
    unsigned long line = 0, column = 0;
    char *rest = NULL;
    bool located = strncmp(message, before_line, sizeof before_line - 1) == 0;
    if (located) {
        line = strtoul(message + sizeof before_line - 1, &rest, 10);
        located = strncmp(rest, before_column, sizeof before_column - 1) == 0;
    }
    if (located) {
        column = strtoul(rest + sizeof before_column - 1, &rest, 10);
        located = *rest == ':';
    }
    bool exact = false;
    const struct config_value *value = config_at(loader->tree.root, path, &exact);
    if (located && exact && value->origin == NULL && value->type == CONFIG_TEXT) {
        config_file_place(
            &loader->file,
            config_text_offset(&loader->file, value->offset, (unsigned)line, (unsigned)column),
            &problem);
    }
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

void config_near(struct vamp_diagnostic *diagnostic, const char *near)
{
    if (near != NULL) {
        (void)snprintf(diagnostic->near, sizeof diagnostic->near, "%s", near);
    }
}
