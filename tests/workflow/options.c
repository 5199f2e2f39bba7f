/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/workflow/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/workflow/report.h"

static void take(const struct option_row *row)
{
    if (row->number != NULL) {
        *row->number = parse_number(row->name, optarg, row->min, row->max);
    } else if (row->text != NULL) {
        *row->text = optarg;
    } else if (row->flag != NULL) {
        *row->flag = true;
    } else if (row->texts->count < OPTION_TEXTS_MAX) {
        row->texts->texts[row->texts->count++] = optarg;
    } else {
        fprintf(stderr, "--%s: '%s' is one too many, %d are allowed\n", row->name, optarg,
                OPTION_TEXTS_MAX);
        exit(WORKFLOW_USAGE);
    }
}

void refuse_options(const char *wrong, const char *usage)
{
    fprintf(stderr, "%s\n%s", wrong, usage);
    exit(WORKFLOW_USAGE);
}

void parse_options(const struct option_row *rows, const char *usage, int argc, char **argv)
{
    enum { HELP = OPTION_ROWS_MAX };
    struct option options[OPTION_ROWS_MAX + 2] = {{"help", no_argument, NULL, HELP}};
    for (int i = 0; i < OPTION_ROWS_MAX && rows[i].name != NULL; i++) {
        int argument = rows[i].flag != NULL ? no_argument : required_argument;
        options[i + 1] = (struct option){rows[i].name, argument, NULL, i};
    }
    for (int key; (key = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (key == HELP) {
            fputs(usage, stdout);
            exit(0);
        }
        if (key == '?') {
            fputs(usage, stderr);
            exit(WORKFLOW_USAGE);
        }
        take(&rows[key]);
    }
    if (optind < argc) {
        refuse_options("only options are understood", usage);
    }
}
