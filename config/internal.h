/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the stages of the configuration and by nobody else: text -> positions -> JSON with
 * overrides -> walk along the option tables -> checks across options. Every stage adds to the same
 * list of diagnostics and goes on, so that all mistakes are told at once; only want of memory
 * ends a stage (`-ENOMEM`).
 */
#ifndef VAMP_CONFIG_INTERNAL_H
#define VAMP_CONFIG_INTERNAL_H

#include <jansson.h>

#include "config/config.h"
#include "filters/event_filter.h"

/* ---- config_text.c: the file's bytes */

#define CONFIG_FILE_BYTES_MAX ((size_t)256 * 1024)
#define CONFIG_DEPTH_MAX 16

struct config_text {
    char *bytes;   /* as read, terminated; NULL: no file */
    char *blanked; /* the same length, comments are blanks: what the JSON reader sees */
    size_t length;
};

/* Reads `file` ("-": standard input). 0, -ENOMEM, or another -errno with text. */
VAMP_MUST_CHECK int config_text_read(struct config_text *text, const char *file,
                                     struct vamp_err *err);
void config_text_done(struct config_text *text);
/* A mistake in the bytes, before they are JSON. */
struct config_fault {
    size_t offset;
    const char *text; /* constant */
};
/* Blanks the comments and checks the nesting. False: `*ret_fault` says what is wrong where. */
bool config_text_blank(struct config_text *text, struct config_fault *ret_fault);
/* Line, column and excerpt of an offset into the diagnostic. */
void config_text_place(const struct config_text *text, size_t offset,
                       struct vamp_diagnostic *diagnostic);

/* ---- config_positions.c: where each value stands */

#define CONFIG_VALUES_MAX 8192
#define CONFIG_PATH_BYTES 1024

/* One value. Its path is the chain of parents; 0 is the root, its own parent. */
struct config_position {
    uint32_t parent;
    uint32_t index;      /* in its list or object */
    uint32_t key_offset; /* of the opening quote; unused in lists */
    uint32_t value_offset;
    bool keyed; /* member of an object */
};

struct config_positions {
    const char *text; /* borrowed: the blanked text */
    struct config_position *items;
    unsigned count;
};

/* `text` must be valid JSON. 0, -ENOMEM, or -E2BIG beyond CONFIG_VALUES_MAX. */
VAMP_MUST_CHECK int config_positions_init(struct config_positions *positions, const char *text,
                                          struct vamp_err *err);
void config_positions_done(struct config_positions *positions);
/* The value at a JSON pointer, or the nearest value around it (`*ret_exact` false). NULL: nothing
 * was scanned. */
const struct config_position *config_positions_find(const struct config_positions *positions,
                                                    const char *path, bool *ret_exact);
/* The offset of a place inside a text value, whose lines and columns count from 1 and are those of
 * the text's meaning; its end when it is shorter. */
size_t config_positions_inside(const struct config_positions *positions,
                               const struct config_position *position, unsigned line,
                               unsigned column);
/* The next member at or behind item `*from` whose key its object had before; NULL: none. */
const struct config_position *config_positions_duplicate(const struct config_positions *positions,
                                                         unsigned *from,
                                                         const struct config_position **ret_first);
/* JSON pointer of a value; cut when longer than `bytes`. */
void config_positions_path(const struct config_positions *positions,
                           const struct config_position *position, char *path, size_t bytes);
/* Appends "/key" (escaped as in RFC 6901) or "/index" to a path in a buffer of CONFIG_PATH_BYTES;
 * what does not fit is cut. Returns the old length: writing '\0' there undoes it. */
size_t config_path_push(char path[static CONFIG_PATH_BYTES], const char *key);
size_t config_path_push_index(char path[static CONFIG_PATH_BYTES], size_t index);
/* Copies the first component of a pointer, unescaped; returns what follows it. */
const char *config_path_component(const char *path, char *component, size_t bytes);

/* ---- one load under way */

/* Where a value came from; a stronger level wins. */
enum config_level {
    CONFIG_LEVEL_DEFAULT,
    CONFIG_LEVEL_FILE,
    CONFIG_LEVEL_ENVIRONMENT,
    CONFIG_LEVEL_COMMAND
};

struct config_origin {
    char *path;       /* JSON pointer, owned */
    const char *name; /* "--workflow"; borrowed */
    enum config_level level;
};

struct config_loader {
    const struct vamp_config_request *request;
    struct vamp_config *config;
    struct vamp_diagnostics *diagnostics;
    struct vamp_err *err;
    const char *file; /* for messages */
    struct config_text text;
    struct config_positions positions;
    json_t *root;
    struct config_origin *origins;
    size_t origin_count;
    char path[CONFIG_PATH_BYTES]; /* JSON pointer of what is being walked */
    /* Where each of config->outputs stands in the file's list, of which some may be wrong. */
    unsigned output_index[VAMP_OUTPUTS_MAX];
};

/* ---- config_memory.c: jansson's allocations, watched */

struct config_memory_watch {
    json_malloc_t usual_malloc;
    json_free_t usual_free;
    bool lacked_before;
};
/* Begins and ends the watch; watches may be nested. One thread at a time, as jansson demands. */
void config_memory_watch(struct config_memory_watch *watch);
/* While jansson reads a text of so many bytes and until _release, it has a reserve and lacks
 * nothing itself; what it made must be freed before when config_memory_lacked. 0 or -ENOMEM. */
VAMP_MUST_CHECK int config_memory_reserve(size_t text_bytes);
void config_memory_release(void);
/* Whether an allocation has failed since the innermost watch began. */
bool config_memory_lacked(void);
/* The same, at the end of the watch. */
bool config_memory_unwatch(const struct config_memory_watch *watch);

/* ---- config_report.c */

enum config_spot { CONFIG_AT_KEY, CONFIG_AT_VALUE };

/* Starts a diagnostic about the value at a path. The caller may add `allowed` and `near`, then
 * hands it to vamp_diagnostics_add. */
struct vamp_diagnostic config_problem(const struct config_loader *loader, const char *path,
                                      enum config_spot spot, const char *format, ...)
    VAMP_PRINTF(4, 5);
/* The whole of it for an error without more to say. */
void config_error(const struct config_loader *loader, const char *path, const char *format, ...)
    VAMP_PRINTF(3, 4);
void config_warning(const struct config_loader *loader, const char *path, const char *format, ...)
    VAMP_PRINTF(3, 4);
/* An error in an expression, whose message begins with "line L, column C: " within that text: the
 * place in the file becomes that one where it can. */
void config_expression_error(const struct config_loader *loader, const char *path,
                             const char *message);
void config_near(struct vamp_diagnostic *diagnostic, const char *near);
/* Whether an error was noted at this path or inside it, so that nothing more need be said of it. */
bool config_is_wrong(const struct config_loader *loader, const char *path);
/* Who set a path from outside the file, NULL: nobody. */
const struct config_origin *config_origin_find(const struct config_loader *loader,
                                               const char *path);
enum config_level config_level_of(const struct config_loader *loader, const char *path);

/* ---- config_override.c: environment and command line into the JSON tree */
VAMP_MUST_CHECK int config_apply_overrides(struct config_loader *loader);

/* ---- config_walk.c: one object */

/* What an object may hold: options of up to two tables, and members that are walked elsewhere. */
struct config_shape {
    const struct vamp_opt *tables[2]; /* the second may be NULL */
    void *bases[2];
    const char *const *others; /* NULL-terminated, never NULL */
    const char *what;          /* "the section \"events\"", for messages */
};
/* The object stands at loader->path. 0 (mistakes are in the diagnostics) or -ENOMEM. */
VAMP_MUST_CHECK int config_walk_object(struct config_loader *loader,
                                       const struct config_shape *shape, json_t *object);
/* "the number 5", "the text \"x\"", "a list". */
void config_describe(const json_t *value, char *text, size_t bytes);

/* ---- config_walk_root.c: the whole file */
VAMP_MUST_CHECK int config_walk(struct config_loader *loader);

/* ---- config_tables.c */
extern const struct vamp_opt config_root_options[];       /* fills struct vamp_config */
extern const struct vamp_opt config_statistics_options[]; /* fills struct vamp_config */
extern const struct vamp_opt config_events_options[];     /* fills struct vamp_config */
extern const struct vamp_opt config_sampling_options[];   /* fills struct vamp_config */
extern const struct vamp_opt config_sink_options[];       /* fills struct vamp_config_sink */
extern const struct vamp_opt config_rotate_options[];     /* fills struct vamp_config_sink */

/* Sections that fill struct vamp_config, the root first with an empty key; ended by NULL help. */
struct config_section {
    const char *key;
    const struct vamp_opt *options;
    const char *help;
};
extern const struct config_section config_sections[];

/* Whether an ENUM's words are numbers, so that JSON numbers stand for them. */
bool config_numeric_choices(const struct vamp_opt *opt);

/* ---- config_filter.c */
/* Composes `events` into `config->filter` and checks each part of it. */
VAMP_MUST_CHECK int config_compose_filter(struct config_loader *loader);

/* ---- config_texts.c: expressions by name */
#define CONFIG_FILTERS_HELP                                                                        \
    "Expressions of the filter language by name; every filter, these included, may refer to one "  \
    "as "                                                                                          \
    "@NAME"
#define CONFIG_METRIC_FILTERS_HELP                                                                 \
    "Expressions by the name of a counter or histogram: an event counts for that metric only if "  \
    "it "                                                                                          \
    "holds, too; which event that is vampire --list-metrics says"
/* Reads "filters" and "statistics.filters". */
VAMP_MUST_CHECK int config_walk_texts(struct config_loader *loader);
/* Checks them; the former before every other filter is. */
VAMP_MUST_CHECK int config_check_named(struct config_loader *loader);
VAMP_MUST_CHECK int config_check_metric_filters(struct config_loader *loader);
/* Notes that there is no metric of this name, with the nearest. */
void config_report_no_metric(const struct config_loader *loader, const char *path,
                             const char *name);
void config_texts_done(struct vamp_config_texts *texts);
/* A new JSON object with them; NULL without memory. */
json_t *config_texts_dump(const struct vamp_config_texts *texts);
/* Compiles an expression and notes what is wrong with it, at its own place or at that of the named
 * filter in which the mistake is. `*ret_kinds` are the kinds that can pass, 0 also when it is
 * wrong. 0 or -ENOMEM. */
VAMP_MUST_CHECK int config_check_expression(const struct config_loader *loader, const char *path,
                                            const char *text, enum vamp_filter_place place,
                                            uint64_t *ret_kinds);
/* Attributes of CDOs are not in the events: only a live pool manager can decide on them. */
enum vamp_filter_place config_first_place(const struct vamp_config *config);

/* ---- config_metrics.c: single metrics and the selected CDOs */
VAMP_MUST_CHECK int config_check_metrics(const struct config_loader *loader);

/* ---- config_check.c, config_check_outputs.c: across options */
VAMP_MUST_CHECK int config_check(struct config_loader *loader);
VAMP_MUST_CHECK int config_check_outputs(struct config_loader *loader);

#endif
