/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of a program. One table per program drives parsing, --help and the manual.
 * Options that set the configuration become overrides for vamp_config_load.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "config/config.h"
#include "vampire/core/err.h"
#include "vampire/core/options/command_line.h"
#include "vampire/source/live.h"

/* The meaning of an option; each program's table contains some of them. Those from VAMP_KEY_RARE on
 * are listed only by --help=all. RUN and HELP_ALL have no option of their own. */
enum vamp_option_key {
    VAMP_KEY_RUN,
    VAMP_KEY_CONFIG,
    VAMP_KEY_INFO_FILE,
    VAMP_KEY_INFO,
    VAMP_KEY_WORKFLOW,
    VAMP_KEY_COMPONENT,
    VAMP_KEY_WAIT,
    VAMP_KEY_READY_FILE,
    VAMP_KEY_SET,
    VAMP_KEY_REPLAY,
    VAMP_KEY_QUIET,
    VAMP_KEY_CHECK_CONFIG,
    VAMP_KEY_DUMP_CONFIG,
    VAMP_KEY_LIST_METRICS,
    VAMP_KEY_SAMPLES_SHOW,
    VAMP_KEY_EXAMINE,
    VAMP_KEY_SUMMARY,
    VAMP_KEY_EXPORT,
    VAMP_KEY_RECOVER,
    VAMP_KEY_HELP,
    VAMP_KEY_VERSION,
    VAMP_KEY_RARE,
    VAMP_KEY_DRY_RUN = VAMP_KEY_RARE,
    VAMP_KEY_INTRUSIVE,
    VAMP_KEY_JSON,
    VAMP_KEY_PRINT_SCHEMA,
    VAMP_KEY_HELP_ALL,
    VAMP_KEY_COUNT,
};

/* A program with a configuration. */
struct vamp_program {
    const char *name; /* "vampire" */
    enum vamp_config_program config;
    const struct vamp_command_option *options; /* with keys of enum vamp_option_key */
    const char *setting;                       /* example argument for -o */
    const char *commands;                      /* the commands, of which only one may be given */
    /* Sections of --help. */
    const char *usage, *examples, *configuration, *signals, *exit_codes;
    const struct vamp_live *(*live)(
        struct vamp_err *err); /* support for joining a pool; NULL: not available */
};

#define VAMP_OVERRIDES_MAX 128

struct vamp_options {
    const struct vamp_program *program;
    int command; /* key of the option that selects the command; VAMP_KEY_RUN: no such option */
    const char *config_file; /* NULL: defaults only; borrowed from argv */
    bool json;               /* --check-config and --list-metrics: machine-readable output */
    bool quiet;
    const char *ready_file; /* NULL: none; borrowed from argv */
    bool dry_run;           /* --recover: change nothing */
    bool intrusive;         /* --examine: include tests that could disturb other components */
    char **files; /* of --summary, --export (the first is the target), --recover; in argv */
    int file_count;
    struct vamp_config_override
        overrides[VAMP_OVERRIDES_MAX]; /* in the order given; the last one has precedence */
    size_t override_count;
    char *texts[VAMP_OVERRIDES_MAX];   /* owned: configuration paths of -o */
    char *secrets[VAMP_OVERRIDES_MAX]; /* owned: copies of values that were overwritten in argv */
};

/* Parses the command line. Returns 0; -EINVAL with a text that ends in "see PROGRAM --help"; or
 * -ENOMEM. Texts point into argv, which must outlive `*ret_options`; the pool manager's info is
 * overwritten in argv. On failure there is nothing to free. Prints nothing. */
VAMP_MUST_CHECK int vamp_options_parse(const struct vamp_program *program, int argc, char **argv,
                                       struct vamp_options *ret_options, struct vamp_err *err);
void vamp_options_done(struct vamp_options *options);
/* Prints --help: usage, the common options, further reading. */
void vamp_options_help(const struct vamp_program *program, FILE *stream);
/* Prints --help=all: all options, configuration, environment, signals, exit codes. */
void vamp_options_help_all(const struct vamp_program *program, FILE *stream);

/* Prints --list-metrics: the catalogue as a table or as one JSON object. `unknown`: information
 * that this machine's Maestro does not provide, one bit per enum vamp_unknown. */
void vamp_list_metrics(FILE *stream, bool json, uint32_t unknown);
