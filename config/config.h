/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration: one JSON file (with // and block comments), converted to plain data by option
 * tables. The whole file is validated and all errors are reported at once; a loaded configuration
 * is complete and never changes.
 *
 * Precedence, weakest first: built-in default, configuration file, environment
 * (MSTRO_WORKFLOW_NAME, MSTRO_COMPONENT_NAME, MSTRO_POOL_MANAGER_INFO, with the same meaning as for
 * every Maestro component; an empty variable counts as not set), command line. `source.info` and
 * `source.info_file` both specify the pool manager: the one set at the stronger level wins.
 *
 * Not thread-safe; any thread may read a loaded configuration.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "filters/event_filter.h"
#include "vampire/alarms/rule.h"
#include "vampire/core/err.h"
#include "vampire/core/options/options.h"
#include "vampire/core/values.h"
#include "vampire/source/samples.h"
#include "vampire/source/source.h"
#include "vampire/stats/stats.h"
#include "writers/nats/server.h"
#include "writers/output/output.h"
#include "writers/writer.h"

/* ---- errors
 *
 * All errors of a configuration with their locations. The list has a fixed capacity: errors that do
 * not fit are only counted. Adding an error cannot fail, so the checks need no error handling. */

#define VAMP_DIAGNOSTICS_MAX 64

enum vamp_severity { VAMP_SEVERITY_ERROR, VAMP_SEVERITY_WARNING };

struct vamp_diagnostic {
    enum vamp_severity severity;
    char file[256];  /* or "-o", "--workflow", "environment variable MSTRO_WORKFLOW_NAME" */
    unsigned line;   /* counted from 1; 0: the error has no location in a file */
    unsigned column; /* in characters, counted from 1 */
    char path[256];  /* JSON pointer, "/outputs/0/queue"; "" is the whole configuration */
    char text[384];  /* description of the error, without full stop */
    char allowed[VAMP_OPT_ALLOWED_BYTES]; /* permitted values; "" if the text lists them */
    char near[96];                        /* suggested correction; "": none */
    char excerpt[160]; /* the source line, or its part around the column; "": none */
    unsigned caret;    /* column of the caret below the excerpt, counted from 0 */
};

struct vamp_diagnostics {
    struct vamp_diagnostic *items; /* sorted by location once printed */
    unsigned count;
    unsigned error_count, warning_count; /* totals, including diagnostics that did not fit */
};

/* Returns 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_diagnostics_init(struct vamp_diagnostics *diagnostics,
                                          struct vamp_err *err);
void vamp_diagnostics_done(struct vamp_diagnostics *diagnostics);

/* Adds a copy; a full list only counts the diagnostic. */
void vamp_diagnostics_add(struct vamp_diagnostics *diagnostics,
                          const struct vamp_diagnostic *diagnostic);
/* Sorts by line and column. Diagnostics without a line come last, in the order in which they were
 * added. */
void vamp_diagnostics_sort(struct vamp_diagnostics *diagnostics);

/* Prints "FILE:LINE:COLUMN: error: TEXT (at /path)", followed by the excerpt with a caret,
 * "allowed: ..." and "did you mean ...?". `colour`: with terminal colours. */
void vamp_diagnostics_print(const struct vamp_diagnostics *diagnostics, FILE *stream, bool colour);
/* Prints one JSON object, {"file", "errors", "warnings", "diagnostics": [{...}]}, and a newline. */
void vamp_diagnostics_print_json(const struct vamp_diagnostics *diagnostics, const char *file,
                                 FILE *stream);

/* ---- the loaded configuration */

/* The section "events": shortcuts, which are combined into one filter text. */
struct vamp_config_events {
    uint64_t kinds; /* bits of indices in the table of kinds; see event_kinds below */
    struct vamp_strings components, cdo_names; /* glob patterns */
    uint64_t min_size_bytes;
    char *filter; /* expression as written; NULL: none */
};

/* An expression of the filter language, with its name or the metric to which it applies. */
struct vamp_config_text {
    char *name, *text;
};
/* List of expressions, owned. */
struct vamp_config_texts {
    struct vamp_config_text *items;
    size_t count;
};

/* The section "sampling". */
struct vamp_config_sampling {
    uint64_t fraction; /* number of counted CDOs per million */
};

struct vamp_config_output {
    const struct vamp_writer_ops *ops;
    void *options; /* options of the output's type, filled by its option table */
    struct vamp_output_settings settings;
};

/* The program that the configuration is for; each program has its own sections and outputs. */
enum vamp_config_program {
    VAMP_CONFIG_VAMPIRE,
    VAMP_CONFIG_COLLECT, /* vampire-collect: "collect" and "outputs" of buckets */
};
#define VAMP_CONFIG_PROGRAM_COUNT 2

/* The section "collect". */
struct vamp_config_collect {
    struct vamp_nats_server server;
    char *subject;  /* subject of the subscription; never NULL */
    char *consumer; /* durable JetStream consumer; NULL: a plain subscription */
    char *answer;   /* subject of requests; NULL: requests are not answered */
    char *name;     /* name of the view, used instead of a workflow's name; never NULL */
    int64_t bucket_ns, delay_ns, forget_ns;
    unsigned level;    /* enum vamp_level */
    unsigned sub_bins; /* index into "4", "8", "16" */
    uint64_t max_runs, max_series;
    uint64_t waiting_bytes;         /* limit for messages whose bucket is still open */
    uint64_t queue_bytes;           /* limit for messages that are not processed yet */
    struct vamp_strings attributes; /* label names */
};

struct vamp_config {
    enum vamp_config_program program;
    struct vamp_config_collect collect; /* contains the defaults, except for vampire-collect */

    char *workflow;  /* NULL only if the source is not live or there is no run */
    char *component; /* never NULL */
    uint64_t ring_bytes;

    const struct vamp_source_ops *source;
    void *source_options; /* options of the source's type, filled by its option table */

    struct vamp_samples_options samples; /* `replayed` is set if the source is not live */
    struct vamp_strings declared; /* samples.metrics: declarations in the syntax of vamp_declare */

    struct vamp_stats_options statistics; /* lateness_ns is resolved, never -1 */
    char *series_key_file;                /* NULL: series ids are not keyed */
    char *selected;                       /* expression; NULL: all CDOs have a record */
    struct vamp_strings metrics;    /* "+name" and "-name"; resolved to bits in `statistics` */
    struct vamp_strings attributes; /* CDO attributes, in the syntax of filters/extract.h */
    struct vamp_strings models; /* rules in the syntax of components.h; empty: the built-in rules */
    unsigned sub_bins;          /* index into "4", "8", "16" */

    struct vamp_config_events events;
    /* Event kinds that the source must deliver: one bit per enum vamp_event_kind. JOIN and LEAVE
     * are always included, because they provide component names; `filter` can still exclude them
     * from the statistics. */
    uint64_t event_kinds;
    struct vamp_config_texts
        filters;                     /* named filters, which other expressions reference as @name */
    struct vamp_named_filters named; /* the same filters, in the form used by the filter language */
    struct vamp_config_texts metric_filters; /* "statistics.filters": one filter per metric */
    struct vamp_config_sampling sampling;
    /* The section `events` as one expression; NULL: every event counts. It may use CDO attributes
     * (VAMP_FILTER_FIRST) only if the source is live. */
    char *filter;

    char *silences;                   /* path of a file; NULL: none */
    struct vamp_alarm_config *alarms; /* owned; compiled, without errors */
    unsigned alarm_count;

    int64_t finish_ns; /* time limit for the end of a run, shared by all outputs */
    struct vamp_config_output outputs[VAMP_OUTPUTS_MAX];
    unsigned output_count;

    char *effective_text; /* vamp_config_dump on one line, stored in output files */
};

/* One value set on the command line. */
struct vamp_config_override {
    const char *path;   /* "statistics.bucket", "outputs.0.path", "outputs.history.path" */
    const char *value;  /* text; the elements of a list are separated by commas */
    const char *origin; /* name of the option in messages: "--workflow", "-o" */
};

struct vamp_config_request {
    enum vamp_config_program program;
    const char *file; /* NULL: defaults only; "-": standard input */
    const struct vamp_config_override *overrides;
    size_t override_count;
    /* Reads a variable; NULL: the environment is ignored. */
    const char *(*environment)(const char *name);
    /* Memory size for the check of the memory limits, in bytes; 0: the memory of this machine. */
    uint64_t memory_bytes;
    bool run; /* also check for the settings that only a run requires, such as the workflow to join
               */
    bool paths; /* check that the directories of the outputs exist and are writable */
};

/* Reads the file and applies the environment and the command line. Returns 0; -EINVAL if
 * `diagnostics` contains at least one error; or another -errno (-ENOMEM, or an error from reading
 * the file) with text in err. Warnings may be added to `diagnostics` in any case. On failure
 * nothing remains allocated. */
VAMP_MUST_CHECK int vamp_config_load(const struct vamp_config_request *request,
                                     struct vamp_config **ret_config,
                                     struct vamp_diagnostics *diagnostics, struct vamp_err *err);
/* Frees the configuration, which may be NULL. */
void vamp_config_free(struct vamp_config *config);

/* Returns whether a section of the effective configuration ("source", "ring", "statistics",
 * "alarms") is identical in both. "statistics" does not include the filters of metrics and the
 * selection of CDOs here. Also returns false if out of memory. */
bool vamp_config_same(const struct vamp_config *one, const struct vamp_config *other,
                      const char *section);
/* Returns whether a rule has the action `level`, which keeps CDO records only while one of the
 * rule's alarms fires. The statistics then work at level cdo, regardless of "statistics.level". */
bool vamp_config_cdos_while_firing(const struct vamp_config *config);
/* Prints, for each output with a budget, the expected number of lines with all labels for several
 * workflow sizes, and which labels would be aggregated away. */
void vamp_config_forecast(const struct vamp_config *config, FILE *out);
/* Returns the effective configuration with all defaults as JSON, indented by `indent` blanks per
 * level (0: one line), without secrets and without options that have no effect. Loading the text
 * yields the same configuration. The caller frees the text, which ends without a newline; NULL: out
 * of memory. */
char *vamp_config_dump(const struct vamp_config *config, unsigned indent);
/* Returns the JSON Schema (2020-12) of the program's file, generated from the option tables. The
 * caller frees the text, which ends without a newline; NULL: out of memory. Comments are not JSON:
 * they must be removed before validation. */
char *vamp_config_schema(enum vamp_config_program program);
/* Prints all options with type, default and help, for --help and the manual. */
void vamp_config_help(enum vamp_config_program program, FILE *stream);
