/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of a command line, from one table: parsing, --help and the manual's list read it.
 * All programs of this project have one.
 *
 * A table ends with an entry whose name is NULL. Tables are constant; nothing here is kept between
 * calls but getopt's own state, so one thread reads one command line at a time.
 */
#pragma once

#include <stdio.h>

#include "vampire/core/err.h"

/* Options of a program at most; a longer table is an error of vamp_command_line_next. */
#define VAMP_COMMAND_OPTIONS_MAX 64

struct vamp_command_option {
    const char *name;     /* with its dashes */
    char letter;          /* 0: none */
    int key;              /* what the program calls it, >= 0 */
    const char *argument; /* what follows it; NULL: nothing; "[=FILE]": may be missing */
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

/* Where in argv the words begin that belong to no option, after _next has returned 0; it has moved
 * them to the end. */
int vamp_command_line_rest(void);

/* The lines of --help, at most 100 characters wide: the options before the one whose key is
 * `before`, -1: all of them. */
void vamp_command_options_help(const struct vamp_command_option *options, int before, FILE *stream);
