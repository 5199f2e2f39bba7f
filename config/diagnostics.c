/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/diagnostics.h"

#include <stdlib.h>
#include <string.h>

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
    switch (diagnostic->severity) {
    case VAMP_SEVERITY_ERROR:
        diagnostics->error_count++;
        break;
    case VAMP_SEVERITY_WARNING:
        diagnostics->warning_count++;
        break;
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

/* Insertion: the list is short, and equal places keep their order. */
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

struct palette {
    const char *strong, *error, *warning, *mark, *plain;
};
static const struct palette colours = {"\033[1m", "\033[1;31m", "\033[1;35m", "\033[1;32m",
                                       "\033[0m"};
static const struct palette no_colours = {"", "", "", "", ""};

static void print_place(const struct vamp_diagnostic *item, const struct palette *palette,
                        FILE *stream)
{
    (void)fprintf(stream, "%s%s", palette->strong, item->file);
    if (item->line > 0) {
        (void)fprintf(stream, ":%u:%u", item->line, item->column);
    }
    bool error = item->severity == VAMP_SEVERITY_ERROR;
    (void)fprintf(stream, ":%s %s%s:%s ", palette->plain, error ? palette->error : palette->warning,
                  error ? "error" : "warning", palette->plain);
    if (item->path[0] != '\0') {
        (void)fprintf(stream, "%s: ", item->path);
    }
    (void)fprintf(stream, "%s\n", item->text);
}

static void print_item(const struct vamp_diagnostic *item, const struct palette *palette,
                       FILE *stream)
{
    print_place(item, palette, stream);
    if (item->excerpt[0] != '\0') {
        char clean[sizeof item->excerpt * 3]; /* valid UTF-8: the file may be binary */
        size_t length = vamp_utf8_copy(clean, sizeof clean, item->excerpt);
        (void)fprintf(stream, "    %.*s\n    %*s%s^%s\n", (int)length, clean, (int)item->caret, "",
                      palette->mark, palette->plain);
    }
    if (item->near[0] != '\0') {
        bool word = item->near[0] != '[';
        (void)fprintf(stream, "  did you mean %s%s%s?\n", word ? "\"" : "", item->near,
                      word ? "\"" : "");
    }
    if (item->allowed[0] != '\0') {
        (void)fprintf(stream, "  allowed: %s\n", item->allowed);
    }
}

void vamp_diagnostics_print(const struct vamp_diagnostics *diagnostics, FILE *stream, bool colour)
{
    for (unsigned i = 0; i < diagnostics->count; i++) {
        print_item(&diagnostics->items[i], colour ? &colours : &no_colours, stream);
    }
    unsigned all = diagnostics->error_count + diagnostics->warning_count;
    if (all > diagnostics->count) {
        (void)fprintf(stream, "and %u more that are not shown\n", all - diagnostics->count);
    }
}

/* Prints what was written so far and starts over; nothing without memory. */
static void print_json(struct vamp_json *json, FILE *stream)
{
    char *text = vamp_json_take(json);
    (void)fputs(text != NULL ? text : "", stream);
    free(text);
    json->spaced = true;
}

static void put_item(struct vamp_json *json, const struct vamp_diagnostic *item)
{
    vamp_json_open(json, NULL, '{');
    vamp_json_text(json, "severity", item->severity == VAMP_SEVERITY_ERROR ? "error" : "warning");
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

/* One line for each diagnostic. */
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
