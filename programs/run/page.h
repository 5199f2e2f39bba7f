/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints text about a run for users: the summary at the end, and the state on SIGUSR1. */
#pragma once

#include <stdio.h>

#include "programs/run/outputs.h"
#include "vampire/alarms/alarms.h"

/* A sequence of lines, each of which begins with a name. */
struct vamp_page {
    FILE *stream;
    int columns; /* width of the names */
};

#define VAMP_PAGE_SUMMARY_COLUMNS 22

/* Prints the text and a newline. Control characters and line separators are printed as '?', as in
 * vamp_page_line. */
void vamp_page_title(const struct vamp_page *page, const char *format, ...) VAMP_PRINTF(2, 3);
/* Prints "  NAME text" and a newline. */
void vamp_page_line(const struct vamp_page *page, const char *name, const char *format, ...)
    VAMP_PRINTF(3, 4);
/* Prints the results and paths of finished outputs. */
void vamp_page_outputs(const struct vamp_page *page, const struct vamp_outputs *outputs);
/* Prints the rules that have fired, are pending or have reached a limit; `all`: every rule.
 * `alarms` NULL: prints nothing. */
void vamp_page_alarms(const struct vamp_page *page, const struct vamp_alarms *alarms, bool all);
