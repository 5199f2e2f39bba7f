/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration: one JSON file (with // and block comments), read through option tables into
 * plain data. Everything is validated and all errors are reported at once; a loaded configuration
 * is complete and never changes.
 *
 * Precedence, weakest first: built-in default, configuration file, environment
 * (MSTRO_WORKFLOW_NAME, MSTRO_COMPONENT_NAME, MSTRO_POOL_MANAGER_INFO, as every Maestro component
 * reads them; an empty variable counts as not set), command line. `source.info` and
 * `source.info_file` both name the pool manager: the one given at the stronger level wins.
 *
 * Not thread-safe; a loaded configuration may be read from every thread.
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
 * All errors of a configuration with their locations. The list is bounded: errors that do not fit
 * are only counted. Adding cannot fail, which keeps the checks simple. */

#define VAMP_DIAGNOSTICS_MAX 64

enum vamp_severity { VAMP_SEVERITY_ERROR, VAMP_SEVERITY_WARNING };

struct vamp_diagnostic {
    enum vamp_severity severity;
    char file[256];  /* or "-o", "--workflow", "environment variable MSTRO_WORKFLOW_NAME" */
    unsigned line;   /* from 1; 0: no location in a file */
    unsigned column; /* in characters, from 1 */
    char path[256];  /* JSON pointer, "/outputs/0/queue"; "" is the whole configuration */
    char text[384];  /* what is wrong, no full stop */
    char allowed[VAMP_OPT_ALLOWED_BYTES]; /* what is allowed; "" when the text says it */
    char near[96];                        /* the probable intention; "" */
    char excerpt[160]; /* the source line, or the part of it around the column; "" */
    unsigned caret;    /* column of the caret below the excerpt, from 0 */
};

struct vamp_diagnostics {
    struct vamp_diagnostic *items; /* sorted by location once printed */
    unsigned count;
    unsigned error_count, warning_count; /* all of them, also those that did not fit */
};

/* 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_diagnostics_init(struct vamp_diagnostics *diagnostics,
                                          struct vamp_err *err);
void vamp_diagnostics_done(struct vamp_diagnostics *diagnostics);

/* Adds a copy; only counts the diagnostic if the list is full. */
void vamp_diagnostics_add(struct vamp_diagnostics *diagnostics,
                          const struct vamp_diagnostic *diagnostic);
/* Sorts by line and column; those without a line come last, in their order of arrival. */
void vamp_diagnostics_sort(struct vamp_diagnostics *diagnostics);

/* "FILE:LINE:COLUMN: error: TEXT (at /path)", the excerpt with a caret, "allowed: ..." and "did you
 * mean ...?" below it. `colour`: with terminal colours. */
void vamp_diagnostics_print(const struct vamp_diagnostics *diagnostics, FILE *stream, bool colour);
/* One JSON object: {"file", "errors", "warnings", "diagnostics": [{...}]}; with a newline. */
void vamp_diagnostics_print_json(const struct vamp_diagnostics *diagnostics, const char *file,
                                 FILE *stream);

/* ---- what was loaded */

/* The section "events": shortcuts, composed into one filter text. */
struct vamp_config_events {
    uint64_t kinds; /* bits of indices into the kinds' table order; see event_kinds below */
    struct vamp_strings components, cdo_names; /* glob patterns */
    uint64_t min_size_bytes;
    char *filter; /* expression as written, NULL: none */
};

/* An expression of the filter language, with its name or its metric. */
struct vamp_config_text {
    char *name, *text;
};
/* Owned. */
struct vamp_config_texts {
    struct vamp_config_text *items;
    size_t count;
};

/* The section "sampling". */
struct vamp_config_sampling {
    uint64_t fraction; /* counted CDOs per million */
};

struct vamp_config_output {
    const struct vamp_writer_ops *ops;
    void *options; /* the format's own, filled by its table */
    struct vamp_output_settings settings;
};

/* The program the configuration is for: each has sections of its own, and outputs. */
enum vamp_config_program {
    VAMP_CONFIG_VAMPIRE,
    VAMP_CONFIG_COLLECT, /* vampire-collect: "collect" and "outputs" of buckets */
};
#define VAMP_CONFIG_PROGRAM_COUNT 2

/* The section "collect". */
struct vamp_config_collect {
    struct vamp_nats_server server;
    char *subject;  /* subscribed to; never NULL */
    char *consumer; /* of JetStream; NULL: a plain subscription */
    char *answer;   /* subject of requests; NULL: none are answered */
    char *name;     /* of the view, instead of a workflow's; never NULL */
    int64_t bucket_ns, delay_ns, forget_ns;
    unsigned level;    /* enum vamp_level */
    unsigned sub_bins; /* as an index into "4", "8", "16" */
    uint64_t max_runs, max_series;
    uint64_t waiting_bytes;         /* of messages whose bucket is not closed */
    uint64_t queue_bytes;           /* of messages not processed yet */
    struct vamp_strings attributes; /* names of labels */
};

struct vamp_config {
    enum vamp_config_program program;
    struct vamp_config_collect collect; /* the defaults unless for vampire-collect */

    char *workflow;  /* NULL only when the source is not live, or the request not for a run */
    char *component; /* never NULL */
    uint64_t ring_bytes;

    const struct vamp_source_ops *source;
    void *source_options; /* the source's own, filled by its table */

    struct vamp_samples_options samples; /* `replayed` is set where the source is not live */
    struct vamp_strings declared;        /* samples.metrics: texts of vamp_declare */

    struct vamp_stats_options statistics; /* lateness_ns is resolved, never -1 */
    char *series_key_file;                /* NULL: ids of series have no key */
    char *selected;                       /* expression, NULL: all CDOs have a record */
    struct vamp_strings metrics;          /* "+name" and "-name"; in `statistics` as bits */
    struct vamp_strings attributes;       /* of CDOs: texts of filters/extract.h */
    struct vamp_strings models;           /* rules of components.h; none: vampire's own */
    unsigned sub_bins;                    /* as an index into "4", "8", "16" */

    struct vamp_config_events events;
    /* What the source must deliver: bit per enum vamp_event_kind. JOIN and LEAVE are always in it,
     * since they provide component names; `filter` still keeps them from being counted. */
    uint64_t event_kinds;
    struct vamp_config_texts filters;        /* by name, for @name in every other one */
    struct vamp_named_filters named;         /* the same for the filter language */
    struct vamp_config_texts metric_filters; /* "statistics.filters": by metric */
    struct vamp_config_sampling sampling;
    /* `events` as one expression; NULL: every event counts. With a live source it may use
     * attributes of CDOs (VAMP_FILTER_FIRST), with others not. */
    char *filter;

    char *silences;                   /* a file, NULL: none */
    struct vamp_alarm_config *alarms; /* owned; compiled without errors */
    unsigned alarm_count;

    int64_t finish_ns; /* time for the end of a run, of all outputs together */
    struct vamp_config_output outputs[VAMP_OUTPUTS_MAX];
    unsigned output_count;

    char *effective_text; /* vamp_config_dump's text on one line; for the files' attribute */
};

/* One value from the command line. */
struct vamp_config_override {
    const char *path;   /* "statistics.bucket", "outputs.0.path", "outputs.history.path" */
    const char *value;  /* text; a list's words separated by commas */
    const char *origin; /* "--workflow", "-o": for messages */
};

struct vamp_config_request {
    enum vamp_config_program program;
    const char *file; /* NULL: defaults only; "-": standard input */
    const struct vamp_config_override *overrides;
    size_t override_count;
    /* NULL: the environment is ignored. */
    const char *(*environment)(const char *name);
    /* For the check of the limits; 0: this machine's. */
    uint64_t memory_bytes;
    bool run;   /* also requires what only a run needs: the workflow to join */
    bool paths; /* check that the outputs' directories exist and can be written to */
};

/* Reads the file and everything that overrides it. 0; -EINVAL: `diagnostics` holds at least one
 * error; another -errno (-ENOMEM, or from reading the file) with text in err. Warnings may be added
 * to `diagnostics` in any case. On failure nothing remains allocated. */
VAMP_MUST_CHECK int vamp_config_load(const struct vamp_config_request *request,
                                     struct vamp_config **ret_config,
                                     struct vamp_diagnostics *diagnostics, struct vamp_err *err);
/* NULL is fine. */
void vamp_config_free(struct vamp_config *config);

/* Whether a section of the effective configuration ("source", "ring", "statistics", "alarms") is
 * the same in both. The filters of metrics and the selection do not belong to "statistics" here.
 * False: out of memory. */
bool vamp_config_same(const struct vamp_config *one, const struct vamp_config *other,
                      const char *section);
/* Whether a rule has the action `level`: CDOs have records while one of its alarms fires, and at no
 * other time. The statistics then work at level cdo, whatever "statistics.level" is. */
bool vamp_config_cdos_while_firing(const struct vamp_config *config);
/* Prints, for each output with a budget, how many lines it would have with all labels in workflows
 * of several sizes, and what would be merged. */
void vamp_config_forecast(const struct vamp_config *config, FILE *out);
/* The effective configuration with all defaults as JSON, `indent` blanks a level (0: one line),
 * without secrets and options that have no effect. It loads to the same configuration. malloc'ed,
 * ends without a newline; NULL: out of memory. */
char *vamp_config_dump(const struct vamp_config *config, unsigned indent);
/* The JSON Schema (2020-12) of the program's file, from the same tables. malloc'ed, ends without
 * a newline; NULL: out of memory. Comments are not JSON: a validator needs them removed first. */
char *vamp_config_schema(enum vamp_config_program program);
/* The list of all options with type, default and help, for --help and the manual. */
void vamp_config_help(enum vamp_config_program program, FILE *stream);
