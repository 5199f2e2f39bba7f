/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The section "events" as one expression of the filter language, so that there is only one
 * mechanism. Each part is compiled by itself first: then a mistake has the place of that part.
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
    return vamp_err_set_errno(loader->err, ENOMEM, "compose the event filter");
}

/* Closes a stream in memory, which may be NULL. False: there was no memory. */
static bool is_written(FILE *stream)
{
    const bool failed = stream == NULL || ferror(stream) != 0;
    return (stream == NULL || fclose(stream) == 0) && !failed;
}

/* A text literal of the language. */
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

/* One pattern must match. */
static void put_globs(FILE *stream, const char *field, const struct vamp_strings *globs)
{
    (void)fputs(globs->count > 1 ? "(or" : "", stream);
    for (size_t i = 0; i < globs->count; i++) {
        (void)fputs(globs->count > 1 ? " " : "", stream);
        put_glob(stream, field, globs->items[i]);
    }
    (void)fputs(globs->count > 1 ? ")" : "", stream);
}

/* Bits of indices into the words are bits of kinds, one lower. */
static uint64_t kinds_mask(const struct vamp_config_events *events)
{
    return events->kinds << 1;
}

static void put_kinds(FILE *stream, uint64_t mask)
{
    (void)fputs("(.event.kind in (", stream);
    const char *blank = "";
    for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        if ((mask & VAMP_EVENT_BIT(kind)) != 0) {
            (void)fputs(blank, stream);
            put_text(stream, vamp_event_kind_name(kind));
            blank = " ";
        }
    }
    (void)fputs("))", stream);
}

/* The conditions that must all hold; none when every event counts. */
static void put_events(FILE *stream, const struct vamp_config_events *events)
{
    bool kinds = kinds_mask(events) != VAMP_EVENT_KINDS_ALL;
    int parts = kinds + (events->components.count > 0) + (events->cdo_names.count > 0) +
                (events->min_size_bytes > 0) + (events->filter != NULL);
    const char *blank = parts > 1 ? " " : "";
    (void)fputs(parts > 1 ? "(and" : "", stream);
    if (kinds) {
        (void)fputs(blank, stream);
        put_kinds(stream, kinds_mask(events));
    }
    if (events->components.count > 0) {
        (void)fputs(blank, stream);
        put_globs(stream, ".component.name", &events->components);
    }
    if (events->cdo_names.count > 0) {
        (void)fputs(blank, stream);
        put_globs(stream, ".cdo.name", &events->cdo_names);
    }
    if (events->min_size_bytes > 0) {
        (void)fprintf(stream, "%s(.cdo.size >= %" PRIu64 ")", blank, events->min_size_bytes);
    }
    if (events->filter != NULL) {
        /* The new line ends a comment that the text may end with. */
        (void)fprintf(stream, "%s%s%s", blank, events->filter, parts > 1 ? "\n" : "");
    }
    (void)fputs(parts > 1 ? ")" : "", stream);
}

/* Compiles what was composed here, in which a line or column has no meaning for the user. A mistake
 * is reported with `what` before the reason, and `*ret_kinds` stays. 0 or -ENOMEM. */
static int check_composed(const struct config_loader *loader, const char *path, const char *what,
                          const char *text, enum vamp_filter_place place, uint64_t *ret_kinds)
{
    struct vamp_event_filter *filter = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    int code = vamp_event_filter_compile(text, place, loader->config->named, &filter, &err);
    if (code == -ENOMEM) {
        return no_memory(loader);
    }
    if (code != 0) {
        const char *reason = strstr(err.text, ": ");
        config_error(loader, path, "%s%s", what, reason != NULL ? reason + 2 : err.text);
        return 0;
    }
    *ret_kinds = vamp_event_filter_kinds(filter);
    vamp_event_filter_free(filter);
    return 0;
}

static int check_glob(const struct config_loader *loader, const char *path, const char *field,
                      const char *glob)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream != NULL) {
        put_glob(stream, field, glob);
    }
    if (!is_written(stream)) {
        free(text);
        return no_memory(loader);
    }
    uint64_t kinds = 0;
    const int code = check_composed(loader, path, "", text, VAMP_FILTER_INSIDE, &kinds);
    free(text);
    return code;
}

static int check_globs(const struct config_loader *loader, const char *path, const char *field,
                       const struct vamp_strings *globs)
{
    int code = 0;
    for (size_t i = 0; i < globs->count && code == 0; i++) {
        char item[CONFIG_PATH_BYTES];
        (void)snprintf(item, sizeof item, "%s", path);
        (void)config_path_push_index(item, i);
        code = check_glob(loader, item, field, globs->items[i]);
    }
    return code;
}

/* The part that alone lets nothing pass, or all of them together. */
static void report_never(const struct config_loader *loader)
{
    if (kinds_mask(&loader->config->events) == 0) {
        config_error(loader, "/events/kinds", "no kind is named, so no event would ever count");
    } else {
        config_error(loader, "/events",
                     "no event would ever count: no kind of event meets all conditions of this "
                     "section");
    }
}

/* All of it in one text, NULL when every event counts. */
static int compose_filter(struct config_loader *loader)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream != NULL) {
        put_events(stream, &loader->config->events);
    }
    if (!is_written(stream)) {
        free(text);
        return no_memory(loader);
    }
    if (text[0] == '\0') {
        free(text);
        text = NULL;
    }
    loader->config->filter = text;
    return 0;
}

static int check_parts(const struct config_loader *loader, uint64_t *ret_filter_kinds)
{
    const struct vamp_config_events *events = &loader->config->events;
    int code = check_globs(loader, "/events/components", ".component.name", &events->components);
    if (code == 0) {
        code = check_globs(loader, "/events/cdo_names", ".cdo.name", &events->cdo_names);
    }
    if (code == 0 && events->filter != NULL) {
        code = config_check_expression(loader, "/events/filter", events->filter,
                                       config_first_place(loader->config), ret_filter_kinds);
    }
    return code;
}

int config_compose_filter(struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    config->event_kinds = VAMP_EVENT_KINDS_ALL;
    uint64_t filter_kinds = VAMP_EVENT_KINDS_ALL;
    int code = check_parts(loader, &filter_kinds);
    if (code == 0 && filter_kinds == 0 && !config_is_wrong(loader, "/events/filter") &&
        !config_is_wrong(loader, "/filters")) {
        config_error(loader, "/events/filter", "this filter is never true");
        return 0;
    }
    if (code != 0 || config_is_wrong(loader, "/events") || config_is_wrong(loader, "/filters")) {
        return code;
    }
    if (kinds_mask(&config->events) == 0) {
        report_never(loader);
        return 0;
    }
    code = compose_filter(loader);
    if (code != 0 || config->filter == NULL) {
        return code;
    }
    uint64_t kinds = VAMP_EVENT_KINDS_ALL;
    code = check_composed(loader, "/events",
                          "the conditions of this section are too much for one filter: ",
                          config->filter, config_first_place(config), &kinds);
    config->event_kinds = kinds | MASK_JOIN_LEAVE;
    if (code == 0 && kinds == 0) {
        report_never(loader);
    }
    return code;
}
