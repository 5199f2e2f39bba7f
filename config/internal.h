/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stages of the configuration, in the order in which load.c runs them:
 *
 *   report.c                 errors, with the line and column of an offset
 *   read.c                   parses JSON with comments into values with offsets (value.c)
 *   secret.c                 secret values, which no message may quote
 *   override.c               environment and command line, added to the values
 *   load.c, walk.c           copy values into structs, using the option tables (parts.c)
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
    char *bytes; /* contents, NUL-terminated; NULL: no file */
    char *shown; /* copy for excerpts, with secrets hidden (secret.c) */
    size_t length;
};

/* Reads the file `name` ("-": standard input). Returns 0, -ENOMEM or another -errno with text. */
VAMP_MUST_CHECK int config_file_read(struct config_file *file, const char *name,
                                     struct vamp_err *err);
void config_file_done(struct config_file *file);
/* Sets line, column and excerpt of the diagnostic from an offset in the file. */
void config_file_place(const struct config_file *file, size_t offset,
                       struct vamp_diagnostic *diagnostic);

/* ---- value.c: the parsed values */

#define CONFIG_PATH_BYTES 1024

enum config_type {
    CONFIG_OBJECT,
    CONFIG_LIST,
    CONFIG_TEXT,
    CONFIG_INTEGER,
    CONFIG_REAL, /* not an integer, or over 2^53 */
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

/* One value with its location. Members and items keep their order. If an object has two members
 * with the same key, the walk reports the second one. */
struct config_value {
    enum config_type type;
    enum config_level level;
    const char *origin; /* origin of the value, such as "--workflow"; borrowed; NULL: the file */
    const char
        *refused; /* origin of an override that addressed a member inside this scalar; NULL: none */
    const char *key;             /* key of a member of an object, else "" */
    const char *text;            /* TEXT: decoded text; INTEGER, REAL: as written; else "" */
    int64_t integer;             /* value of an INTEGER */
    uint32_t offset, key_offset; /* offsets in the file: the value, the opening quote of its key */
    uint32_t end;                /* offset of the first byte after the value */
    uint32_t index;              /* index among the values of its parent */
    uint32_t count;              /* OBJECT, LIST: number of values */
    struct config_value *parent, *next, *first, *last;
    struct config_value *allocated_before;
    char room[]; /* storage for key and text */
};

/* All values of one file; owns them. */
struct config_tree {
    struct config_value *root;
    struct config_value *allocated; /* head of the list of all allocated values */
    uint32_t count;                 /* number of allocated values */
};

/* Appends a value to `parent` (NULL: to none), with storage for a key and a text of the given
 * lengths and their terminators. Returns NULL if out of memory. */
struct config_value *config_value_add(struct config_tree *tree, struct config_value *parent,
                                      size_t key_bytes, size_t text_bytes);
/* Removes all values from a list or object. */
void config_value_clear(struct config_value *value);
void config_tree_done(struct config_tree *tree);

/* Returns a member of an object; NULL: no such member, or `object` is NULL or not an object. */
struct config_value *config_member(const struct config_value *object, const char *key);
struct config_value *config_item(const struct config_value *list, size_t index);
/* Returns the text of a member; NULL: no such member, or its value is not a text. */
const char *config_member_text(const struct config_value *object, const char *key);
/* Returns the member or item that a component of a path addresses; NULL: none. */
struct config_value *config_child(const struct config_value *parent, const char *component);
/* Returns the value at a JSON pointer, or its nearest existing ancestor (`*ret_exact` is then
 * false). */
const struct config_value *config_at(const struct config_value *root, const char *path,
                                     bool *ret_exact);
/* Writes the JSON pointer of a value; a longer one is truncated. */
void config_value_path(const struct config_value *value, char path[static CONFIG_PATH_BYTES]);
/* Appends "/key" (escaped as in RFC 6901) or "/index" to a path, truncated to the buffer. Returns
 * the previous length: writing '\0' there removes the component again. */
size_t config_path_push(char path[static CONFIG_PATH_BYTES], const char *key);
size_t config_path_push_index(char path[static CONFIG_PATH_BYTES], size_t index);

/* ---- read.c: from text to values */

#define CONFIG_VALUES_MAX 8192
#define CONFIG_DEPTH_MAX 16

/* A syntax error, which ends the parsing. */
struct config_fault {
    size_t offset;
    char text[160];
    /* The end of the token quoted in the error text, and the error text without the quotation; 0:
     * no token is quoted. */
    size_t quoted_end;
    char unquoted[160];
};

struct config_reading {
    struct config_tree *tree;
    /* Receives the parsed object or list, whose values inherit its origin and level. Must be empty.
     */
    struct config_value *into;
    struct config_fault *fault;
};

/* Parses one object or list; text[length] must be 0. Returns 0, -EINVAL with a fault, or -ENOMEM.
 * Values parsed before an error stay in the tree. */
VAMP_MUST_CHECK int config_read(const char *text, size_t length,
                                const struct config_reading *reading);

/* Returns the file offset of a character in the text value whose opening quote is at `quote`; the
 * file must have been parsed without errors. Line and column count from 1 in the decoded text.
 * Returns the offset of the end of the value if the text is shorter. */
size_t config_text_offset(const struct config_file *file, size_t quote, unsigned line,
                          unsigned column);

/* ---- secret.c: values that no message may quote */

/* Returns whether a value belongs to a secret option, or is inside such a value. */
bool config_is_secret(const struct config_value *value);
/* Hides the values of secret options in the excerpts of a parsed file. */
void config_hide_values(struct config_file *file, const struct config_tree *tree);
/* Hides user names and passwords in addresses, http://USER:PASSWORD@HOST, in the excerpts of any
 * file. */
void config_hide_addresses(struct config_file *file);
/* For a file that cannot be parsed: hides everything in its excerpts from the returned offset on.
 */
size_t config_hide_rest(struct config_file *file);

/* ---- the state of one load */

struct config_loader {
    const struct vamp_config_request *request;
    struct vamp_config *config;
    struct vamp_diagnostics *diagnostics;
    struct vamp_err *err;
    const char *name; /* name of the file in messages */
    struct config_file file;
    struct config_tree tree;
    /* The index in the file's list for each of config->outputs: outputs with errors are skipped. */
    unsigned output_index[VAMP_OUTPUTS_MAX];
    /* The same mapping for config->alarms. */
    unsigned alarm_index[VAMP_ALARM_RULES_MAX];
};

/* ---- parts.c: the sections of a configuration */

extern const struct vamp_opt config_root_options[];       /* fills struct vamp_config */
extern const struct vamp_opt config_statistics_options[]; /* fills struct vamp_config */

enum config_kind {
    CONFIG_OPTIONS, /* one option table that fills struct vamp_config */
    CONFIG_TEXTS,   /* an object whose members are named expressions */
    CONFIG_SOURCE,  /* an object with a "type" */
    CONFIG_ALARMS,  /* a list of rules, each with a list of actions that have a "type" */
    CONFIG_OUTPUTS, /* a list of objects with a "type" */
};

/* A section of the file; the table has the order of the dump. */
struct config_part {
    enum config_kind kind;
    const char *key;                /* "": the options at the top level of the file */
    const char *help;               /* help text, without full stop */
    const struct vamp_opt *options; /* for OPTIONS, else NULL */
    const char *filters_help;       /* for OPTIONS with an object "filters", else NULL */
    size_t texts; /* offset of the filters or TEXTS in struct vamp_config, in bytes */
};
/* The sections of each program, top-level options first; ends with a NULL key. */
extern const struct config_part *const config_parts[VAMP_CONFIG_PROGRAM_COUNT];
struct vamp_config_texts *config_part_texts(const struct config_part *part,
                                            struct vamp_config *config);

#define CONFIG_PARTS_MAX 12
#define CONFIG_TABLES_MAX 4

/* An object of the file, described by option tables. The bases may be NULL if only its structure is
 * needed. */
struct config_object {
    char what[64];              /* "an output of type hdf5", for messages */
    const char *type, *summary; /* NULL: an object without "type" */
    const char *const *others;  /* members handled elsewhere; NULL: none */
    const struct vamp_opt_conditions
        *conditions;    /* conditions under which options have an effect; NULL: always */
    const void *chosen; /* the struct on which the conditions are evaluated */
    struct config_table {
        const char *key, *help; /* key and help of a nested object; NULL: options of this object */
        const struct vamp_opt *options;
        void *base; /* the struct that the table fills */
    } tables[CONFIG_TABLES_MAX +
             1]; /* ends with NULL options; the tables of this object come first */
};
struct config_object config_part_object(const struct config_part *part, struct vamp_config *config);
struct config_object config_source_object(const struct vamp_source_ops *ops, void *options);
struct config_object config_output_object(const struct vamp_writer_ops *ops,
                                          struct vamp_config_output *output);
struct config_object config_action_object(const struct vamp_alarm_action_ops *ops, void *options);
/* Returns the structure of the type number `index` of a source, output or (ALARMS) action. Returns
 * false if there are fewer types. */
bool config_type(enum vamp_config_program program, enum config_kind kind, unsigned index,
                 struct config_object *ret_object);
/* Sets the defaults in all bases. Returns the same values as vamp_opt_presets. */
VAMP_MUST_CHECK int config_object_presets(const struct config_object *object, struct vamp_err *err);
/* Frees the memory that the tables own in their bases. */
void config_object_done(const struct config_object *object);

/* ---- report.c: errors with their locations */

enum config_spot { CONFIG_AT_KEY, CONFIG_AT_VALUE };

/* Returns a diagnostic located at a value. The caller may set `allowed` and `near`, and then passes
 * it to vamp_diagnostics_add. */
struct vamp_diagnostic config_value_problem(const struct config_loader *loader,
                                            const struct config_value *value, enum config_spot spot,
                                            const char *format, ...) VAMP_PRINTF(4, 5);
/* Returns a diagnostic located at a path. If the path has no value, its location is that of the
 * nearest ancestor. */
struct vamp_diagnostic config_problem(const struct config_loader *loader, const char *path,
                                      enum config_spot spot, const char *format, ...)
    VAMP_PRINTF(4, 5);
/* Adds an error that needs neither `allowed` nor `near`. */
void config_error(const struct config_loader *loader, const char *path, const char *format, ...)
    VAMP_PRINTF(3, 4);
/* Adds an error for an option of an output; `inside` is the path in the output, such as
 * "rotate/size". */
void config_output_error(const struct config_loader *loader, unsigned output, const char *inside,
                         const char *format, ...) VAMP_PRINTF(4, 5);
void config_warning(const struct config_loader *loader, const char *path, const char *format, ...)
    VAMP_PRINTF(3, 4);
/* Adds an error in an expression. The message begins with "line L, column C: ", the position in the
 * expression's text; the error is reported at that position in the file, unless the text has
 * another origin. */
void config_expression_error(const struct config_loader *loader, const char *path,
                             const char *message);
/* Writes the JSON pointer of an output, numbered as in the file, or of its member `key` (NULL:
 * none). */
void config_output_path(const struct config_loader *loader, unsigned output, const char *key,
                        char path[static CONFIG_PATH_BYTES]);
void config_near(struct vamp_diagnostic *diagnostic, const char *near);
/* Returns whether an error was reported at this path or below it; further errors there are
 * suppressed. */
bool config_is_wrong(const struct config_loader *loader, const char *path);
/* Returns the level of the value at this path; DEFAULT: not set. */
enum config_level config_level_of(const struct config_loader *loader, const char *path);

/* ---- override.c: adds environment and command line to the values */
VAMP_MUST_CHECK int config_apply_overrides(struct config_loader *loader);
/* Reports overrides that address a member inside a text, a number or a boolean. Runs after the
 * walk, which reports most of these values as errors. */
void config_check_overrides(const struct config_loader *loader);

/* ---- print.c: describes an option; `end` follows the permitted values, NULL: they are left out */
#define CONFIG_DESCRIPTION_BYTES (1024 + 2 * VAMP_OPT_ALLOWED_BYTES)
void config_describe_option(const struct vamp_opt *opt,
                            const struct vamp_opt_conditions *conditions, const char *end,
                            char text[static CONFIG_DESCRIPTION_BYTES]);

/* ---- walk.c: objects */

/* Walks an object and the nested objects in its tables. Returns 0 (errors are in the diagnostics)
 * or -ENOMEM. */
VAMP_MUST_CHECK int config_walk_object(const struct config_loader *loader,
                                       const struct config_object *object,
                                       const struct config_value *value);
/* Reports a duplicate member. Returns false if the member is the first with its key. */
bool config_report_duplicate(const struct config_loader *loader, const struct config_value *member);
/* Describes a value in a message: "the number 5", "the text \"x\"", "a list"; a secret only as "a
 * number" or "a text". */
void config_describe(const struct config_value *value, char *text, size_t bytes);
/* Reports that a value is not of the `needed` kind. */
void config_report_found(const struct config_loader *loader, const struct config_value *value,
                         const char *needed);
/* Returns the type in an object's "type", or given as a plain text if `by_name`; `article` is for
 * messages: "an output". Returns NULL if it is wrong or missing, after reporting an error. */
const char *config_find_type(const struct config_loader *loader, enum config_kind kind,
                             const struct config_value *value, const char *article, bool by_name);

/* ---- alarms.c: the list "alarms" */

VAMP_MUST_CHECK int config_walk_alarms(struct config_loader *loader);
/* Compiles the rules; the options of the statistics must be final. */
void config_check_alarms(struct config_loader *loader);
void config_alarms_done(struct vamp_config *config);

/* ---- collect.c: the section "collect" */
extern const struct vamp_opt config_collect_options[]; /* fills struct vamp_config */
void config_check_collect(const struct config_loader *loader);

/* ---- samples.c: the section "samples" */
extern const struct vamp_opt config_samples_options[]; /* fills struct vamp_config */
/* Declares the metrics of the section; must precede any lookup of metrics. */
void config_check_samples(const struct config_loader *loader);

/* ---- check_filters.c: expressions */

/* Compiles the named filters; must precede the checks of all other filters. Returns 0 or -ENOMEM.
 */
VAMP_MUST_CHECK int config_check_named(struct config_loader *loader);
/* Compiles an expression and reports its errors, located in the expression or in the named filter
 * that contains them. `*ret_kinds` receives the event kinds that can pass, which are all kinds if
 * there is an error. Returns 0 or -ENOMEM. */
VAMP_MUST_CHECK int config_check_expression(const struct config_loader *loader, const char *path,
                                            const char *text, enum vamp_filter_place place,
                                            uint64_t *ret_kinds);

/* Combines the section "events" into `config->filter` and checks each of its parts. Returns 0 or
 * -ENOMEM. */
VAMP_MUST_CHECK int config_compose_filter(struct config_loader *loader);

/* ---- check_metrics.c: metrics, their filters, selected CDOs */

VAMP_MUST_CHECK int config_check_metrics(const struct config_loader *loader);
VAMP_MUST_CHECK int config_check_metric_filters(struct config_loader *loader);
/* Declares CDO attributes, "NAME" or "NAME=PATTERN"; must precede any use of labels. */
VAMP_MUST_CHECK int config_declare_attributes(const struct config_loader *loader, const char *path,
                                              const struct vamp_strings *texts);
/* Reports an unknown metric and suggests the most similar name. */
void config_report_no_metric(const struct config_loader *loader, const char *path,
                             const char *name);

/* ---- check.c, check_outputs.c: checks across options */
/* Returns the text of an option in its struct; NULL: unset, not a text, or `opt` is NULL. */
const char *config_opt_text(const struct vamp_opt *opt, const void *base);
VAMP_MUST_CHECK int config_check(struct config_loader *loader);
VAMP_MUST_CHECK int config_check_outputs(struct config_loader *loader);
