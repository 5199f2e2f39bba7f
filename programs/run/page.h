/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines about a run for people: the summary at the end, the state on SIGUSR1. */
#pragma once

#include <stdio.h>

#include "programs/run/outputs.h"
#include "vampire/alarms/alarms.h"

/* Lines that begin with a name. */
struct vamp_page {
    FILE *stream;
    int columns; /* of the names */
};

#define VAMP_PAGE_SUMMARY_COLUMNS 22

/* "  NAME  text", with a newline. */
void vamp_page_line(const struct vamp_page *page, const char *name, const char *format, ...)
    VAMP_PRINTF(3, 4);
/* Prints what finished outputs wrote, and where. */
void vamp_page_outputs(const struct vamp_page *page, const struct vamp_outputs *outputs);
/* Prints the rules that have fired or are pending, and those at a limit; `all`: every rule.
 * `alarms` NULL: none. */
void vamp_page_alarms(const struct vamp_page *page, const struct vamp_alarms *alarms, bool all);
