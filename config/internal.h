/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stages of the configuration, in the order in which load.c runs them:
 *
 *   report.c                 errors, with the line and column of an offset
 *   read.c                   JSON with comments to values that have an offset (value.c)
 *   secret.c                 values that no message may quote
 *   override.c               environment and command line, added to the values
 *   load.c, walk.c           from values to structs, along the option tables (parts.c)
 *   check.c, check_*.c       checks across options
 *
 * Every stage reports (report.c) to the same list of diagnostics and continues, so that all errors
 * are reported at once; only unreadable JSON and running out of memory (`-ENOMEM`) end the load.
 * print.c and help.c print from the same tables.
 */
#pragma once

#include "config/config.h"
#include "filters/event_filter.h"
#include "vampire/alarms/action.h"

/* ---- the file's bytes: read.c reads them, report.c finds locations in them */

#define CONFIG_FILE_BYTES_MAX ((size_t)256 * 1024)
#define CONFIG_BYTE_ORDER_MARK "\xef\xbb\xbf"

struct config_file {
    char *bytes; /* as read, terminated; NULL: no file */
    char *shown; /* the same for excerpts, with secrets hidden (secret.c) */
    size_t length;
};

/* Reads the file called `name` ("-": standard input). 0, -ENOMEM, or another -errno with text. */
VAMP_MUST_CHECK int config_file_read(struct config_file *file, const char *name,
                                     struct vamp_err *err);
void config_file_done(struct config_file *file);
/* Line, column and excerpt of an offset into the diagnostic. */
void config_file_place(const struct config_file *file, size_t offset,
                       struct vamp_diagnostic *diagnostic);

/* ---- value.c: what was read */

#define CONFIG_PATH_BYTES 1024

enum config_type {
    CONFIG_OBJECT,
    CONFIG_LIST,
    CONFIG_TEXT,
    CONFIG_INTEGER,
    CONFIG_REAL, /* not whole, or over 2^53 */
    CONFIG_TRUE,
    CONFIG_FALSE,
    CONFIG_NULL
};

/* The origin of a value; a stronger level wins. */
enum config_level {
    CONFIG_LEVEL_DEFAULT,
    CONFIG_LEVEL_FILE,
    CONFIG_LEVEL_ENVIRONMENT,
    CONFIG_LEVEL_COMMAND
};

/* One value with its location. Members and items keep their order; of two members with one key the
 * walk reports the second. */
struct config_value {
    enum config_type type;
    enum config_level level;
    const char *origin;  /* what set it, such as "--workflow"; borrowed; NULL: the file */
    const char *refused; /* the origin of an attempt to set something inside this scalar; NULL */
    const char *key;     /* of a member of an object, else "" */
    const char *text;    /* TEXT: the meaning; INTEGER, REAL: as written; else "" */
    int64_t integer;     /* INTEGER */
    uint32_t offset, key_offset; /* in the file, of the value and of the key's opening quote */
    uint32_t end;                /* the offset after it */
    uint32_t index;              /* among the values of its parent */
    uint32_t count;              /* OBJECT, LIST: how many values */
    struct config_value *parent, *next, *first, *last;
    struct config_value *allocated_before;
    char room[]; /* for key and text */
};

/* Owns its values. */
struct config_tree {
    struct config_value *root;
    struct config_value *allocated; /* the last one */
    uint32_t count;                 /* of all allocated */
};

/* Appends a value to `parent` (NULL: to none), with space for a key and a text of these lengths and
 * their terminators. NULL: out of memory. */
struct config_value *config_value_add(struct config_tree *tree, struct config_value *parent,
                                      size_t key_bytes, size_t text_bytes);
/* Removes all values from a list or object. */
void config_value_clear(struct config_value *value);
void config_tree_done(struct config_tree *tree);

/* NULL: there is none, or the first argument is NULL or of another type. */
struct config_value *config_member(const struct config_value *object, const char *key);
struct config_value *config_item(const struct config_value *list, size_t index);
/* A member's text; NULL also if it is not a text. */
const char *config_member_text(const struct config_value *object, const char *key);
/* The member or item that a component of a path names. NULL: there is none. */
struct config_value *config_child(const struct config_value *parent, const char *component);
/* The value at a JSON pointer, or the nearest value around it (`*ret_exact` false). */
const struct config_value *config_at(const struct config_value *root, const char *path,
                                     bool *ret_exact);
/* The JSON pointer of a value; one that is too long is cut. */
void config_value_path(const struct config_value *value, char path[static CONFIG_PATH_BYTES]);
/* Appends "/key" (escaped as in RFC 6901) or "/index" to a path; what does not fit is cut. Returns
 * the old length: writing '\0' there undoes it. */
size_t config_path_push(char path[static CONFIG_PATH_BYTES], const char *key);
size_t config_path_push_index(char path[static CONFIG_PATH_BYTES], size_t index);

/* ---- read.c: from text to values */

#define CONFIG_VALUES_MAX 8192
#define CONFIG_DEPTH_MAX 16

/* An error that ends the reading. */
struct config_fault {
    size_t offset;
    char text[160];
    /* The end of the token that the text quotes, and the text without it; 0: it quotes none. */
    size_t quoted_end;
    char unquoted[160];
};

struct config_reading {
    struct config_tree *tree;
    /* Becomes the object or list read; the values in it have its origin and level. Empty before. */
    struct config_value *into;
    struct config_fault *fault;
};

/* Reads one object or list; text[length] is 0. 0, -EINVAL with a fault, or -ENOMEM. Values before
 * an error stay in the tree. */
VAMP_MUST_CHECK int config_read(const char *text, size_t length,
                                const struct config_reading *reading);

/* The offset of a character inside the text value whose opening quote is at `quote` in a file that
 * was read without errors. Lines and columns count from 1 in the decoded text; its end if it is
 * shorter. */
size_t config_text_offset(const struct config_file *file, size_t quote, unsigned line,
                          unsigned column);

/* ---- secret.c: values that no message may quote */

/* Whether a value is a secret option's, or part of one. */
bool config_is_secret(const struct config_value *value);
/* Hides the values of secret options in the excerpts of a file that was read into the tree. */
void config_hide_values(struct config_file *file, const struct config_tree *tree);
/* Hides users and passwords in addresses, http://USER:PASSWORD@HOST, of any file. */
void config_hide_addresses(struct config_file *file);
/* The same for a file that cannot be read: hides everything from the returned offset on. */
size_t config_hide_rest(struct config_file *file);

/* ---- the state of one load */

struct config_loader {
    const struct vamp_config_request *request;
    struct vamp_config *config;
    struct vamp_diagnostics *diagnostics;
    struct vamp_err *err;
    const char *name; /* of the file, for messages */
    struct config_file file;
    struct config_tree tree;
    /* The position of each of config->outputs in the file's list, some of which may be wrong. */
    unsigned output_index[VAMP_OUTPUTS_MAX];
    /* The same for config->alarms. */
    unsigned alarm_index[VAMP_ALARM_RULES_MAX];
};

/* ---- parts.c: the parts of a configuration */

extern const struct vamp_opt config_root_options[];       /* fills struct vamp_config */
extern const struct vamp_opt config_statistics_options[]; /* fills struct vamp_config */

enum config_kind {
    CONFIG_OPTIONS, /* one table that fills struct vamp_config */
    CONFIG_TEXTS,   /* an object of expressions by name */
    CONFIG_SOURCE,  /* an object with a "type" */
    CONFIG_ALARMS,  /* a list of rules, in them lists of actions with a "type" */
    CONFIG_OUTPUTS, /* a list of objects with a "type" */
};

/* A part of the file, in the order in which the dump has them. */
struct config_part {
    enum config_kind kind;
    const char *key;                /* "": the options of the file's own object */
    const char *help;               /* without full stop */
    const struct vamp_opt *options; /* of OPTIONS, else NULL */
    const char *filters_help;       /* of OPTIONS that contain an object "filters", else NULL */
    size_t texts;                   /* offset of the filters or TEXTS in struct vamp_config */
};
/* For each program: the file's own options first; ended by a NULL key. */
extern const struct config_part *const config_parts[VAMP_CONFIG_PROGRAM_COUNT];
struct vamp_config_texts *config_part_texts(const struct config_part *part,
                                            struct vamp_config *config);

#define CONFIG_PARTS_MAX 12
#define CONFIG_TABLES_MAX 4

/* An object of the file, which consists of option tables. Bases are NULL if only its shape is of
 * interest. */
struct config_object {
    char what[64];              /* "an output of type hdf5", for messages */
    const char *type, *summary; /* NULL: an object without "type" */
    const char *const *others;  /* members that are walked elsewhere; NULL: none */
    const struct vamp_opt_conditions *conditions; /* of the options; NULL: each has an effect */
    const void *chosen;                           /* the struct that the conditions evaluate */
    struct config_table {
        const char *key, *help; /* of an object inside; NULL: in this one */
        const struct vamp_opt *options;
        void *base;                  /* what they fill */
    } tables[CONFIG_TABLES_MAX + 1]; /* ended by NULL options; those of this object first */
};
struct config_object config_part_object(const struct config_part *part, struct vamp_config *config);
struct config_object config_source_object(const struct vamp_source_ops *ops, void *options);
struct config_object config_output_object(const struct vamp_writer_ops *ops,
                                          struct vamp_config_output *output);
struct config_object config_action_object(const struct vamp_alarm_action_ops *ops, void *options);
/* The shape of one type of source, output or (ALARMS) action. False: there are fewer. */
bool config_type(enum vamp_config_program program, enum config_kind kind, unsigned index,
                 struct config_object *ret_object);
/* Sets the defaults in all bases. As vamp_opt_presets. */
VAMP_MUST_CHECK int config_object_presets(const struct config_object *object, struct vamp_err *err);
/* Frees what the tables own in their bases. */
void config_object_done(const struct config_object *object);

/* ---- report.c: errors with their locations */

enum config_spot { CONFIG_AT_KEY, CONFIG_AT_VALUE };

/* Starts a diagnostic about a value. The caller may set `allowed` and `near`, then passes it to
 * vamp_diagnostics_add. */
struct vamp_diagnostic config_value_problem(const struct config_loader *loader,
                                            const struct config_value *value, enum config_spot spot,
                                            const char *format, ...) VAMP_PRINTF(4, 5);
/* The same about a path. If nothing was given there, the location is that of the nearest enclosing
 * value. */
struct vamp_diagnostic config_problem(const struct config_loader *loader, const char *path,
                                      enum config_spot spot, const char *format, ...)
    VAMP_PRINTF(4, 5);
/* Adds an error that needs neither `allowed` nor `near`. */
void config_error(const struct config_loader *loader, const char *path, const char *format, ...)
    VAMP_PRINTF(3, 4);
/* The same for an option of an output; `inside` is its path, as in "rotate/size". */
void config_output_error(const struct config_loader *loader, unsigned output, const char *inside,
                         const char *format, ...) VAMP_PRINTF(4, 5);
void config_warning(const struct config_loader *loader, const char *path, const char *format, ...)
    VAMP_PRINTF(3, 4);
/* Adds an error in an expression, whose message begins with "line L, column C: " within that text:
 * it is reported at that character of the file, unless the text came from elsewhere. */
void config_expression_error(const struct config_loader *loader, const char *path,
                             const char *message);
/* The JSON pointer of an output as the file numbers it, or of its member `key` unless NULL. */
void config_output_path(const struct config_loader *loader, unsigned output, const char *key,
                        char path[static CONFIG_PATH_BYTES]);
void config_near(struct vamp_diagnostic *diagnostic, const char *near);
/* Whether an error was reported at this path or inside it; no other one is then needed there. */
bool config_is_wrong(const struct config_loader *loader, const char *path);
/* The level of the value at this path; DEFAULT: none was given. */
enum config_level config_level_of(const struct config_loader *loader, const char *path);

/* ---- override.c: adds environment and command line to the values */
VAMP_MUST_CHECK int config_apply_overrides(struct config_loader *loader);
/* After the walk, which reports most of these values as wrong: reports attempts to set something
 * inside a text, a number or a truth value. */
void config_check_overrides(const struct config_loader *loader);

/* ---- print.c: describes an option; `end` follows the allowed values, NULL: without these */
#define CONFIG_DESCRIPTION_BYTES (1024 + 2 * VAMP_OPT_ALLOWED_BYTES)
void config_describe_option(const struct vamp_opt *opt,
                            const struct vamp_opt_conditions *conditions, const char *end,
                            char text[static CONFIG_DESCRIPTION_BYTES]);

/* ---- walk.c: one object */

/* Walks an object and those of its tables inside it. 0 (errors are in the diagnostics) or
 * -ENOMEM. */
VAMP_MUST_CHECK int config_walk_object(const struct config_loader *loader,
                                       const struct config_object *object,
                                       const struct config_value *value);
/* Reports a second member of this key. False: it is the first. */
bool config_report_duplicate(const struct config_loader *loader, const struct config_value *member);
/* "the number 5", "the text \"x\"", "a list"; of a secret only "a number" or "a text". */
void config_describe(const struct config_value *value, char *text, size_t bytes);
/* Reports that a value is not of the `needed` kind. */
void config_report_found(const struct config_loader *loader, const struct config_value *value,
                         const char *needed);
/* The type in an object's "type", or a text by itself if `by_name`; `article` is "an output".
 * NULL: it is wrong or missing, which was reported. */
const char *config_find_type(const struct config_loader *loader, enum config_kind kind,
                             const struct config_value *value, const char *article, bool by_name);

/* ---- alarms.c: the list "alarms" */

VAMP_MUST_CHECK int config_walk_alarms(struct config_loader *loader);
/* Compiles the rules; the statistics' options are final. */
void config_check_alarms(struct config_loader *loader);
void config_alarms_done(struct vamp_config *config);

/* ---- collect.c: the section "collect" */
extern const struct vamp_opt config_collect_options[]; /* fills struct vamp_config */
void config_check_collect(const struct config_loader *loader);

/* ---- samples.c: the section "samples" */
extern const struct vamp_opt config_samples_options[]; /* fills struct vamp_config */
/* Declares the section's metrics; must precede any lookup of metrics. */
void config_check_samples(const struct config_loader *loader);

/* ---- check_filters.c: expressions */

/* Compiles the named filters; must precede the checks of all other filters. */
VAMP_MUST_CHECK int config_check_named(struct config_loader *loader);
/* Compiles an expression and reports its errors, at its own location or at that of the named filter
 * that contains the error. `*ret_kinds` are the kinds that can pass, all if it or a named filter is
 * wrong. 0 or -ENOMEM. */
VAMP_MUST_CHECK int config_check_expression(const struct config_loader *loader, const char *path,
                                            const char *text, enum vamp_filter_place place,
                                            uint64_t *ret_kinds);

/* Composes the section "events" into `config->filter` and checks each part of it. */
VAMP_MUST_CHECK int config_compose_filter(struct config_loader *loader);

/* ---- check_metrics.c: single metrics, their filters, the selected CDOs */

VAMP_MUST_CHECK int config_check_metrics(const struct config_loader *loader);
VAMP_MUST_CHECK int config_check_metric_filters(struct config_loader *loader);
/* Declares attributes of CDOs, "NAME" or "NAME=PATTERN"; must precede any use of labels. */
VAMP_MUST_CHECK int config_declare_attributes(const struct config_loader *loader, const char *path,
                                              const struct vamp_strings *texts);
/* Reports that there is no metric of this name, with the nearest. */
void config_report_no_metric(const struct config_loader *loader, const char *path,
                             const char *name);

/* ---- check.c, check_outputs.c: checks across options */
/* The text of an option in its struct; NULL: it is unset, no text, or `opt` is NULL. */
const char *config_opt_text(const struct vamp_opt *opt, const void *base);
VAMP_MUST_CHECK int config_check(struct config_loader *loader);
VAMP_MUST_CHECK int config_check_outputs(struct config_loader *loader);
