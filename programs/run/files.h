/* SPDX-License-Identifier: BSD-3-Clause */
/* vampire --summary: the summary of runs, from their files. */
#ifndef VAMP_RUN_SUMMARY_FILES_H
#define VAMP_RUN_SUMMARY_FILES_H

#include <stdio.h>

/* Prints to `out` a summary for each run and output among the files, in the order in which they
 * come: the segments of a run are one. Reports to `error` what cannot be read, and continues with
 * the other files. Returns the exit code (enum vamp_exit_code). */
int vamp_summary_of_files(char *const *paths, size_t count, FILE *out, FILE *error);

#endif
