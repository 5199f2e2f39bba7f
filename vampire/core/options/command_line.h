/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command-line options from one table, which is used for parsing, --help and the manual. All
 * programs use it.
 *
 * A table ends with an entry whose name is NULL and is constant. Only getopt keeps state between
 * calls, so one thread parses one command line at a time.
 */
#pragma once

#include <stdio.h>

#include "vampire/core/err.h"

/* Maximum number of options of a program; a longer table is an error of vamp_command_line_next. */
#define VAMP_COMMAND_OPTIONS_MAX 64

struct vamp_command_option {
    const char *name;     /* including the dashes */
    char letter;          /* 0: none */
    int key;              /* identifies the option in the program; at least 0 */
    const char *argument; /* name of the argument; NULL: none; "[=FILE]": optional */
    const char *help;     /* description without capital letter and full stop */
};

struct vamp_command_line {
    const char *program; /* name of the program, for "see PROGRAM --help" */
    const struct vamp_command_option *options;
    int argc;
    char **argv;
};

/* A parsed option; its texts point into argv and into the table. */
struct vamp_command_given {
    int key;
    const char *name;     /* including the dashes, as in the table */
    const char *argument; /* NULL: none */
};

/* Restarts parsing at the first word. */
void vamp_command_line_start(void);
/* Returns 1 with the next option in `*ret_given`, 0 after the last one, or -EINVAL with a text that
 * ends in "see PROGRAM --help". */
VAMP_MUST_CHECK int vamp_command_line_next(const struct vamp_command_line *line,
                                           struct vamp_command_given *ret_given,
                                           struct vamp_err *err);

/* Returns the index in argv of the first word that is not an option. Valid after
 * vamp_command_line_next has returned 0; vamp_command_line_next moves these words to the end. */
int vamp_command_line_rest(void);

/* Prints the lines of --help, at most 100 characters wide, for the options before the one whose key
 * is `before`; -1: all options. */
void vamp_command_options_help(const struct vamp_command_option *options, int before, FILE *stream);
