/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Options of a command line, from one table that is used for parsing, --help and the manual.
 *
 * A table ends with an entry whose name is NULL. Tables are constant. getopt's state is global, so
 * only one thread may parse one command line at a time.
 */
#pragma once

#include <stdio.h>

#include "vampire/core/err.h"

/* Limit of options of a program, checked by vamp_command_line_next. */
#define VAMP_COMMAND_OPTIONS_MAX 64

struct vamp_command_option {
    const char *name;     /* with its dashes */
    char letter;          /* 0: none */
    int key;              /* identifies it in the program, >= 0 */
    const char *argument; /* name of its argument; NULL: none; "[=FILE]": optional */
    const char *help;     /* a sentence without capital and full stop */
};

struct vamp_command_line {
    const char *program; /* for "see PROGRAM --help" */
    const struct vamp_command_option *options;
    int argc;
    char **argv;
};

/* One option as given; texts point into argv and into the table. */
struct vamp_command_given {
    int key;
    const char *name;     /* with its dashes, as in the table */
    const char *argument; /* NULL: none */
};

/* Starts over at the first word. */
void vamp_command_line_start(void);
/* The next option: 1 and `*ret_given`. 0 when there is none left. -EINVAL with a text that ends in
 * "see PROGRAM --help". */
VAMP_MUST_CHECK int vamp_command_line_next(const struct vamp_command_line *line,
                                           struct vamp_command_given *ret_given,
                                           struct vamp_err *err);

/* Index in argv of the first word that belongs to no option, after _next has returned 0; such words
 * were moved to the end. */
int vamp_command_line_rest(void);

/* The lines of --help, at most 100 characters wide: the options before the one whose key is
 * `before`, -1: all of them. */
void vamp_command_options_help(const struct vamp_command_option *options, int before, FILE *stream);
