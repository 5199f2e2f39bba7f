/* SPDX-License-Identifier: BSD-3-Clause */
/* The summary a person reads at the end of a run. From files, python/vampire/run_summary.py prints
 * the same. */
#ifndef VAMP_RUN_SUMMARY_H
#define VAMP_RUN_SUMMARY_H

#include <stdio.h>

#include "programs/run/outputs.h"
#include "vampire/alarms/actions/services.h"
#include "vampire/alarms/alarms.h"
#include "vampire/core/event/components.h"
#include "vampire/stats/bucket/totals.h"

#define VAMP_SUMMARY_NAME_COLUMNS 22 /* of the names at the start of lines */

/* What an output wrote, and where: the part of a summary that every program has. */
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

/* Lines of those rules that have fired or are pending, and of those at a bound; `all`: of every
 * rule. `alarms` NULL: none. `columns`: of the word "alarms" before the first line. */
void vamp_alarm_lines_print(FILE *stream, const struct vamp_alarms *alarms, int columns, bool all);

/* A filter that let no event pass. */
struct vamp_summary_filter {
    const char *path; /* of the configuration */
    uint64_t seen;    /* events */
};
typedef void vamp_summary_filter_fn(void *of_each, const struct vamp_summary_filter *filter);

/* Everything is borrowed. */
struct vamp_summary {
    const char *workflow;
    const char *state; /* "finished after" */
    uint64_t duration_ns;
    const struct vamp_totals *totals;
    const struct vamp_bins *bins;
    const struct vamp_components *components;
    const struct vamp_summary_output *outputs;
    unsigned output_count;
    const struct vamp_action_account *actions; /* of alarms */
    const struct vamp_alarms *alarms;          /* NULL: no rules */
    uint64_t filter_cut;                       /* pattern matches that a bound of steps cut short */
    /* Calls `each` for every filter that passed nothing. */
    void (*filters)(const void *context, vamp_summary_filter_fn *each, void *of_each);
    const void *filters_context;
};

void vamp_summary_print(FILE *stream, const struct vamp_summary *summary);

#endif
