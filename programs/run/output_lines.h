/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of a summary that every program with outputs has: what each of them wrote, and where. */
#ifndef VAMP_RUN_SUMMARY_OUTPUTS_H
#define VAMP_RUN_SUMMARY_OUTPUTS_H

#include <stdio.h>

#include "programs/run/outputs.h"

#define VAMP_SUMMARY_NAME_COLUMNS 22 /* of the names at the start of lines */

struct vamp_summary_output {
    struct vamp_output_account account;
    const char *unit;  /* "bucket", "event" */
    uint64_t deleted;  /* older files */
    uint64_t left_out; /* by a bound of the format: `left_out_what` */
    const char *left_out_what;
    /* Calls `each` with the paths of its files and returns how many there are. */
    size_t (*paths)(const void *context, void (*each)(void *of_each, const char *path),
                    void *of_each);
    const void *context;
};

void vamp_summary_output_print(FILE *stream, const struct vamp_summary_output *output);
/* What finished outputs say; borrowed from them. */
void vamp_summary_of_outputs(const struct vamp_outputs *outputs,
                             struct vamp_summary_output ret_outputs[static VAMP_OUTPUTS_MAX]);

#endif
