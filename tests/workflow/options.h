/* SPDX-License-Identifier: BSD-3-Clause */
/* The command lines of the demo workflow's programs: options with long names, from one table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPTION_ROWS_MAX = 32, OPTION_TEXTS_MAX = 64 };

/* Of an option that may be repeated; the texts are those of argv. */
struct option_texts {
    const char *texts[OPTION_TEXTS_MAX];
    size_t count;
};

/* One of the pointers says where the value goes, and so what is wanted. */
struct option_row {
    const char *name; /* without its dashes; NULL ends the table */
    uint64_t *number, min, max;
    const char **text;
    struct option_texts *texts;
    bool *flag;
};

/* Sets what is given and leaves the rest alone. Ends the program after --help, and with
 * WORKFLOW_USAGE when something is not understood. */
void parse_options(const struct option_row *rows, const char *usage, int argc, char **argv);
/* Ends the program: WORKFLOW_USAGE, with `wrong` and the usage on stderr. */
_Noreturn void refuse_options(const char *wrong, const char *usage);
