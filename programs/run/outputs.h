/* SPDX-License-Identifier: BSD-3-Clause */
/* All configured outputs together, and their results before a reload. Worker thread. */
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
    unsigned outages;                 /* periods of failures, between which it wrote */
    char outage[VAMP_ERR_TEXT_BYTES]; /* reason of the latest period */
                                      /* Results of the output of this name before a reload. */
    struct vamp_output_account before;
    struct vamp_paths paths_before;
};

struct vamp_outputs {
    struct vamp_run_output items[VAMP_OUTPUTS_MAX];
    unsigned count;
    bool lost;         /* an output has lost something, or closed a target badly */
    bool takes_events; /* an output receives events, not only buckets */
    /* Storage of past events; NULL: no output has "when". */
    struct vamp_history *history;
    bool keeps_filtered; /* past events include those rejected by the filters */
    bool left_behind;    /* a thread is stuck: memory that it may still use is never freed */
};

/* Opens every output, so that a wrong path is found before anything starts. 0 or -errno with all
 * closed again. `config` must outlive the outputs. `before`: the outputs to be replaced, still
 * open; they continue to write their files, and the new ones begin with later segments. NULL: none.
 * The objects in the context outlive the outputs; its filter, segments and kinds of events are set
 * for each output. `rules` receive the filters of the outputs; NULL: there are none. */
VAMP_MUST_CHECK int vamp_outputs_open(struct vamp_outputs *outputs,
                                      const struct vamp_config *config,
                                      const struct vamp_output_context *context,
                                      struct vamp_rules *rules, const struct vamp_outputs *before,
                                      struct vamp_err *err);
/* Adds the counters and the paths of the previous outputs, which have finished. `same_alarms`:
 * activities of firing alarms continue, too. */
void vamp_outputs_continue(struct vamp_outputs *outputs, const struct vamp_outputs *before,
                           bool same_alarms);
/* Passes the event or control event to every output. */
void vamp_outputs_record(struct vamp_outputs *outputs, const struct vamp_event *event, bool passed);
/* The same for any event: passes it on if an output receives events. */
static inline void vamp_outputs_pass_on(struct vamp_outputs *outputs,
                                        const struct vamp_event *event, bool passed)
{
    if (outputs->takes_events && event->kind != VAMP_EVENT_UNWANTED) {
        vamp_outputs_record(outputs, event, passed);
    }
}
/* Publishes all events so far to every output, when no more come for now. */
void vamp_outputs_publish(struct vamp_outputs *outputs);
/* Passes the bucket to every output and releases it. */
void vamp_outputs_submit(struct vamp_outputs *outputs, const struct vamp_bucket *bucket);
/* The counters, including those before a reload. */
void vamp_run_output_account(const struct vamp_run_output *output,
                             struct vamp_output_account *ret_account);
/* The counters of all outputs, in their order. */
void vamp_outputs_accounts(const struct vamp_outputs *outputs,
                           struct vamp_output_account ret_accounts[static VAMP_OUTPUTS_MAX]);
/* As vamp_output_paths; after vamp_outputs_finish only. */
size_t vamp_run_output_paths(const struct vamp_run_output *output,
                             void (*each)(void *context, const char *path), void *context);
/* Passes the counters of the outputs to the statistics (NULL: none), and prints new failures and
 * remarks. */
void vamp_outputs_report(struct vamp_outputs *outputs, struct vamp_stats *stats,
                         struct vamp_status *status);
/* Completes and closes all outputs in parallel, by `ending->until_ns`: a second and a half before
 * that, or after half of the time left if that is less, they drop pending elements, and half a
 * second before it those that did not close are left behind. Reports errors, and sets `lost` and
 * `left_behind`. */
void vamp_outputs_finish(struct vamp_outputs *outputs, const struct vamp_ending *ending,
                         struct vamp_status *status);
/* Frees the outputs; after vamp_outputs_finish their paths and accounts can be read until here. */
void vamp_outputs_done(struct vamp_outputs *outputs);
