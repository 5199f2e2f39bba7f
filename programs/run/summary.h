/* SPDX-License-Identifier: BSD-3-Clause */
/* The summary a person reads: of a run that has ended, or of the files of a run. */
#ifndef VAMP_RUN_SUMMARY_H
#define VAMP_RUN_SUMMARY_H

#include <stdio.h>

#include "programs/run/output_lines.h"
#include "vampire/alarms/actions/services.h"
#include "vampire/alarms/alarms.h"
#include "vampire/core/event/components.h"
#include "vampire/stats/bucket/totals.h"

/* A filter that let no event pass. */
struct vamp_summary_filter {
    const char *path; /* of the configuration */
    uint64_t seen;    /* events */
};
typedef void vamp_summary_filter_fn(void *of_each, const struct vamp_summary_filter *filter);

/* Everything is borrowed. */
struct vamp_summary {
    const char *workflow;
    const char *state; /* "finished after", "still running after" */
    uint64_t duration_ns;
    const struct vamp_totals *totals;
    const struct vamp_bins *bins;
    /* Rows of the component table; 0 is `(other)`. NULL for a row that is not there. */
    const struct vamp_component *(*component)(const void *components, size_t row);
    const void *components;
    size_t component_count;
    const struct vamp_summary_output *outputs;
    unsigned output_count;
    const struct vamp_action_account *actions;        /* of alarms; NULL: files do not have that */
    const struct vamp_alarms *alarms;                 /* NULL: no rules, or from files */
    const struct vamp_alarm_state_count *file_alarms; /* of files */
    unsigned file_alarm_count;
    uint64_t filter_cut; /* pattern matches that a bound of steps cut short */
    /* Calls `each` for every filter that passed nothing. NULL: files do not have that. */
    void (*filters)(const void *context, vamp_summary_filter_fn *each, void *of_each);
    const void *filters_context;
    /* Of files: buckets whose values are in the totals of counters but not in the times. */
    uint64_t buckets_missing;
    unsigned files_missing; /* of the run's first ones, or between others */
};

void vamp_summary_print(FILE *stream, const struct vamp_summary *summary);

#endif
