/* SPDX-License-Identifier: BSD-3-Clause */
/* All configured outputs together, and what they did before a reload. Worker thread. */
#pragma once

#include <stdbool.h>

#include "config/config.h"
#include "programs/run/rules.h"
#include "programs/run/status.h"
#include "writers/output/output.h"

struct vamp_run_output {
    struct vamp_output *output;
    struct vamp_reminder waits;       /* the failure for which it waits */
    uint64_t written_before_waits;    /* elements, at its last failure */
    unsigned outages;                 /* times of failures, between which it wrote */
    char outage[VAMP_ERR_TEXT_BYTES]; /* why, the newest time */
    /* What an output of this name did before a reload; without a name: nothing. */
    struct vamp_output_account before;
    struct vamp_paths paths_before;
};

struct vamp_outputs {
    struct vamp_run_output items[VAMP_OUTPUTS_MAX];
    unsigned count;
    bool lost;         /* an output has lost something, or closed a target badly */
    bool takes_events; /* an output does, not only buckets */
    /* Where the past is kept; NULL: no output has "when". */
    struct vamp_history *history;
    bool keeps_filtered; /* in the past are events that the filters turn away, too */
    bool left_behind;    /* a thread is stuck: memory that it may still use is never freed */
};

/* Opens every output, so that a wrong path is known before anything starts. 0 or -errno with all
 * closed again. `config` must outlive the outputs. `before`: the outputs whose place these will
 * take, still open; they continue to write their files, and the new ones begin with later segments.
 * NULL: none. What the context names outlives the outputs; its filter, segments and kinds of events
 * are those of each output. `rules` take the filters of the outputs; NULL: none has one. */
VAMP_MUST_CHECK int vamp_outputs_open(struct vamp_outputs *outputs,
                                      const struct vamp_config *config,
                                      const struct vamp_output_context *context,
                                      struct vamp_rules *rules, const struct vamp_outputs *before,
                                      struct vamp_err *err);
/* Adds the accounts and the paths of the previous outputs, which have finished. `same_alarms`: what
 * alarms that fire had begun goes on, too. */
void vamp_outputs_continue(struct vamp_outputs *outputs, const struct vamp_outputs *before,
                           bool same_alarms);
/* Passes the event or mark to every output. */
void vamp_outputs_record(struct vamp_outputs *outputs, const struct vamp_event *event, bool passed);
/* No more events come for now: every output sees all of them. */
void vamp_outputs_publish(struct vamp_outputs *outputs);
/* Passes the bucket to every output and releases it. */
void vamp_outputs_submit(struct vamp_outputs *outputs, const struct vamp_bucket *bucket);
/* Includes what was done before a reload. */
void vamp_run_output_account(const struct vamp_run_output *output,
                             struct vamp_output_account *ret_account);
/* The accounts of all of them, in their order. */
void vamp_outputs_accounts(const struct vamp_outputs *outputs,
                           struct vamp_output_account ret_accounts[static VAMP_OUTPUTS_MAX]);
/* As vamp_output_paths; after vamp_outputs_finish only. */
size_t vamp_run_output_paths(const struct vamp_run_output *output,
                             void (*each)(void *context, const char *path), void *context);
/* Passes the accounts of the outputs to the statistics, if there are any (NULL), and prints new
 * failures and remarks. */
void vamp_outputs_report(struct vamp_outputs *outputs, struct vamp_stats *stats,
                         struct vamp_status *status);
/* Completes and closes all of them side by side, by `ending->until_ns`: a second and a half before,
 * or half of the time left if that is less, they give up what waits, and half a second before those
 * that did not close are left behind. Says what went wrong, and sets `lost` and `left_behind`. */
void vamp_outputs_finish(struct vamp_outputs *outputs, const struct vamp_ending *ending,
                         struct vamp_status *status);
/* Frees the outputs; after vamp_outputs_finish their paths and accounts can be read until here. */
void vamp_outputs_done(struct vamp_outputs *outputs);
