/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All mistakes of a configuration, each with its place. A bounded list: mistakes that do not fit
 * are counted and reported as a number. Adding cannot fail, so that checks stay simple.
 */
#ifndef VAMP_CONFIG_DIAGNOSTICS_H
#define VAMP_CONFIG_DIAGNOSTICS_H

#include <stdbool.h>
#include <stdio.h>

#include "vampire/core/err.h"
#include "vampire/core/options/options.h"

#define VAMP_DIAGNOSTICS_MAX 64

enum vamp_severity { VAMP_SEVERITY_ERROR, VAMP_SEVERITY_WARNING };

struct vamp_diagnostic {
    enum vamp_severity severity;
    char file[256];  /* or "-o", "--workflow", "environment variable MSTRO_WORKFLOW_NAME" */
    unsigned line;   /* from 1; 0: no place in a file */
    unsigned column; /* in characters, from 1 */
    char path[256];  /* JSON pointer, "/outputs/0/queue"; "" is the whole configuration */
    char text[384];  /* what is wrong, no full stop */
    char allowed[VAMP_OPT_ALLOWED_BYTES]; /* what is allowed; "" when the text says it */
    char near[96];                        /* what was probably meant; "" */
    char excerpt[160]; /* the source line, or the part of it around the column; "" */
    unsigned caret;    /* column of the mark below the excerpt, from 0 */
};

struct vamp_diagnostics {
    struct vamp_diagnostic *items; /* sorted by place once printed */
    unsigned count;
    unsigned error_count, warning_count; /* all of them, also those that did not fit */
};

/* 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_diagnostics_init(struct vamp_diagnostics *diagnostics,
                                          struct vamp_err *err);
void vamp_diagnostics_done(struct vamp_diagnostics *diagnostics);

/* Copies the diagnostic in; counted only when the list is full. */
void vamp_diagnostics_add(struct vamp_diagnostics *diagnostics,
                          const struct vamp_diagnostic *diagnostic);
/* Into the order of their places: line, column; those without a line last, as they came. */
void vamp_diagnostics_sort(struct vamp_diagnostics *diagnostics);

/* "FILE:LINE:COLUMN: error: TEXT (at /path)", the excerpt with a caret, "allowed: ..." and "did you
 * mean ...?" below it. `colour`: with terminal colours. */
void vamp_diagnostics_print(const struct vamp_diagnostics *diagnostics, FILE *stream, bool colour);
/* One JSON object: {"file", "errors", "warnings", "diagnostics": [{...}]}; with a newline. */
void vamp_diagnostics_print_json(const struct vamp_diagnostics *diagnostics, const char *file,
                                 FILE *stream);

#endif
