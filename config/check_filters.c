/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expressions of the filter language: the named ones in "filters", all that refer to them, and the
 * section "events", which is combined into one expression. Each part of that section is first
 * compiled separately, so that an error is located at the part.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"
#include "filters/event_filter.h"

#define MASK_JOIN_LEAVE (VAMP_EVENT_BIT(VAMP_EVENT_JOIN) | VAMP_EVENT_BIT(VAMP_EVENT_LEAVE))

static int no_memory(const struct config_loader *loader)
{
    return vamp_err_set_errno(loader->err, ENOMEM, "check the filters");
}

/* ---- any expression */

/* Attributes of CDOs are permitted only for live sources: events do not contain them, so only a
 * pool manager can evaluate them. */
static enum vamp_filter_place first_place(const struct vamp_config *config)
{
    return config->source->knows_attributes ? VAMP_FILTER_FIRST : VAMP_FILTER_INSIDE;
}

/* Determines the event kinds that can pass. Returns 0, or the error of vamp_event_filter_compile.
 */
static int find_kinds(const struct config_loader *loader, const char *text,
                      enum vamp_filter_place place, uint64_t *ret_kinds, struct vamp_err *err)
{
    struct vamp_event_filter *filter = NULL;
    const int code = vamp_event_filter_compile(text, place, &loader->config->named, &filter, err);
    if (code == 0) {
        *ret_kinds = vamp_event_filter_kinds(filter);
        vamp_event_filter_free(filter);
    }
    return code;
}

/* An error whose text begins with "@NAME, line L, column C: " is in the named filter NAME; it is
 * reported there, and only once. */
static void report_expression(const struct config_loader *loader, const char *path,
                              const char *text)
{
    const char *comma = strstr(text, ", line ");
    if (text[0] != '@' || comma == NULL) {
        config_expression_error(loader, path, text);
        return;
    }
    char name[256], inside[CONFIG_PATH_BYTES] = "/filters";
    (void)snprintf(name, sizeof name, "%.*s", (int)(comma - text - 1), text + 1);
    (void)config_path_push(inside, name);
    if (!config_is_wrong(loader, inside)) {
        config_expression_error(loader, inside, comma + 2);
    }
}

int config_check_expression(const struct config_loader *loader, const char *path, const char *text,
                            enum vamp_filter_place place, uint64_t *ret_kinds)
{
    struct vamp_err err = VAMP_ERR_NONE;
    const int code = find_kinds(loader, text, place, ret_kinds, &err);
    if (code == -ENOMEM) {
        return no_memory(loader);
    }
    if (code != 0) {
        report_expression(loader, path, err.text);
    }
    if (code != 0 || config_is_wrong(loader, path) || config_is_wrong(loader, "/filters")) {
        *ret_kinds = VAMP_EVENT_KINDS_ALL;
    }
    return 0;
}

/* ---- filters by name */

int config_check_named(struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    const struct vamp_config_texts *filters = &config->filters;
    char path[CONFIG_PATH_BYTES] = "/filters";
    int code = 0;
    for (size_t i = 0; i < filters->count; i++) {
        struct vamp_err err = VAMP_ERR_NONE;
        const size_t length = config_path_push(path, filters->items[i].name);
        if (vamp_named_filters_add(&config->named, filters->items[i].name, filters->items[i].text,
                                   &err) != 0) {
            config_error(loader, path, "%s", err.text);
        }
        path[length] = '\0';
    }
    /* Every name must be defined before the first expression is checked. */
    for (size_t i = 0; i < filters->count && code == 0; i++) {
        uint64_t kinds = VAMP_EVENT_KINDS_ALL;
        const size_t length = config_path_push(path, filters->items[i].name);
        if (!config_is_wrong(loader, path)) {
            code = config_check_expression(loader, path, filters->items[i].text,
                                           first_place(config), &kinds);
        }
        if (code == 0 && kinds == 0) {
            config_warning(loader, path, "this filter is never true");
        }
        path[length] = '\0';
    }
    return code;
}

/* ---- the section "events" */

/* Writes a text literal of the filter language. */
static void put_text(FILE *stream, const char *text)
{
    (void)fputc('"', stream);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            (void)fputc('\\', stream);
        }
        (void)fputc(*text, stream);
    }
    (void)fputc('"', stream);
}

static void put_glob(FILE *stream, const char *field, const char *glob)
{
    (void)fprintf(stream, "(%s glob ", field);
    put_text(stream, glob);
    (void)fputc(')', stream);
}

/* Writes a condition that is true if any of the patterns matches. */
static void put_globs(FILE *stream, const char *blank, const char *field,
                      const struct vamp_strings *globs)
{
    const char *open = "", *before = "", *close = "";
    if (globs->count > 1) {
        open = "(or", before = " ", close = ")";
    }
    if (globs->count > 0) {
        (void)fprintf(stream, "%s%s", blank, open);
    }
    for (size_t i = 0; i < globs->count; i++) {
        (void)fputs(before, stream);
        put_glob(stream, field, globs->items[i]);
    }
    (void)fputs(close, stream);
}

/* The option's bits are indices of enum names, which are one lower than the kinds' numbers. */
static uint64_t kinds_mask(const struct vamp_config_events *events)
{
    return events->kinds << 1;
}

static void put_kinds(FILE *stream, const char *blank, uint64_t mask)
{
    (void)fprintf(stream, "%s(.event.kind in (", blank);
    const char *before = "";
    for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        if ((mask & VAMP_EVENT_BIT(kind)) != 0) {
            (void)fputs(before, stream);
            put_text(stream, vamp_event_kind_name(kind));
            before = " ";
        }
    }
    (void)fputs("))", stream);
}

/* Writes all conditions, which must hold together; nothing if every event counts. */
static void put_events(FILE *stream, const struct vamp_config_events *events)
{
    const bool kinds = kinds_mask(events) != VAMP_EVENT_KINDS_ALL;
    const int parts = kinds + (events->components.count > 0) + (events->cdo_names.count > 0) +
                      (events->min_size_bytes > 0) + (events->filter != NULL);
    const char *open = "", *blank = "", *end = "", *close = "";
    if (parts > 1) {
        open = "(and", blank = " ", close = ")";
        end = "\n"; /* the filter may end with a comment */
    }
    (void)fputs(open, stream);
    if (kinds) {
        put_kinds(stream, blank, kinds_mask(events));
    }
    put_globs(stream, blank, ".component.name", &events->components);
    put_globs(stream, blank, ".cdo.name", &events->cdo_names);
    if (events->min_size_bytes > 0) {
        (void)fprintf(stream, "%s(.cdo.size >= %" PRIu64 ")", blank, events->min_size_bytes);
    }
    if (events->filter != NULL) {
        (void)fprintf(stream, "%s%s%s", blank, events->filter, end);
    }
    (void)fputs(close, stream);
}

/* Returns the expression for one pattern of a field, or for the whole section if the field is NULL.
 * Returns NULL if out of memory. */
static char *compose(const struct vamp_config_events *events, const char *field, const char *glob)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL) {
        return NULL;
    }
    if (field != NULL) {
        put_glob(stream, field, glob);
    } else {
        put_events(stream, events);
    }
    const bool failed = ferror(stream) != 0;
    if (fclose(stream) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}

/* Compiles a combined expression, whose lines and columns have no meaning for the user: errors are
 * reported with the prefix `what`, and `*ret_kinds` is left unchanged. Returns 0 or -ENOMEM. */
static int check_composed(const struct config_loader *loader, const char *path, const char *what,
                          const char *text, enum vamp_filter_place place, uint64_t *ret_kinds)
{
    struct vamp_err err = VAMP_ERR_NONE;
    const int code = find_kinds(loader, text, place, ret_kinds, &err);
    if (code == -ENOMEM) {
        return no_memory(loader);
    }
    if (code != 0) {
        const char *reason = strstr(err.text, ": ");
        config_error(loader, path, "%s%s", what, reason != NULL ? reason + 2 : err.text);
    }
    return 0;
}

static int check_globs(const struct config_loader *loader, const char *key, const char *field,
                       const struct vamp_strings *globs)
{
    int code = 0;
    for (size_t i = 0; i < globs->count && code == 0; i++) {
        uint64_t kinds = 0;
        char path[CONFIG_PATH_BYTES];
        (void)snprintf(path, sizeof path, "/events/%s/%zu", key, i);
        char *text = compose(NULL, field, globs->items[i]);
        if (text == NULL) {
            return no_memory(loader);
        }
        code = check_composed(loader, path, "", text, VAMP_FILTER_INSIDE, &kinds);
        free(text);
    }
    return code;
}

int config_compose_filter(struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    const struct vamp_config_events *events = &config->events;
    uint64_t kinds = VAMP_EVENT_KINDS_ALL;
    config->event_kinds = VAMP_EVENT_KINDS_ALL;
    int code = check_globs(loader, "components", ".component.name", &events->components);
    if (code == 0) {
        code = check_globs(loader, "cdo_names", ".cdo.name", &events->cdo_names);
    }
    if (code == 0 && events->filter != NULL) {
        code = config_check_expression(loader, "/events/filter", events->filter,
                                       first_place(config), &kinds);
    }
    /* Errors in a part would only be repeated for the whole section. */
    if (code != 0 || config_is_wrong(loader, "/filters")) {
        return code;
    }
    if ((kinds & VAMP_EVENT_KINDS_ALL) == 0) {
        config_error(loader, "/events/filter", "this filter is never true");
    }
    if (config_is_wrong(loader, "/events")) {
        return 0;
    }
    if (kinds_mask(events) == 0) {
        config_error(loader, "/events/kinds", "no kind is named, so no event would ever count");
        return 0;
    }
    /* The parts are correct; their combination may be too long, or never true. */
    char *text = compose(events, NULL, NULL);
    if (text == NULL) {
        return no_memory(loader);
    }
    if (text[0] == '\0') { /* every event counts */
        free(text);
        return 0;
    }
    config->filter = text;
    kinds = VAMP_EVENT_KINDS_ALL;
    code = check_composed(loader, "/events",
                          "the conditions of this section are too much for one filter: ",
                          config->filter, first_place(config), &kinds);
    kinds &= VAMP_EVENT_KINDS_ALL;
    config->event_kinds = kinds | MASK_JOIN_LEAVE;
    if (code == 0 && kinds == 0) {
        config_error(loader, "/events",
                     "no event would ever count: no kind of event meets all conditions of this "
                     "section");
    }
    return code;
}
