/* SPDX-License-Identifier: BSD-3-Clause */
/* All configured outputs, and the results of the outputs replaced by reloads. Worker thread. */
#pragma once

#include <stdbool.h>

#include "config/config.h"
#include "programs/run/rules.h"
#include "programs/run/status.h"
#include "writers/output/output.h"

struct vamp_run_output {
    struct vamp_output *output;
    struct vamp_reminder waits;    /* the failure that the output waits to recover from */
    uint64_t written_before_waits; /* number of elements written at its last failure */
    unsigned outages; /* number of failure periods; between two of them the output wrote elements */
    char outage[VAMP_ERR_TEXT_BYTES]; /* reason for the latest failure period */
    /* Results, before a reload, of the output with the same name. */
    struct vamp_output_account before;
    struct vamp_paths paths_before;
};

struct vamp_outputs {
    struct vamp_run_output items[VAMP_OUTPUTS_MAX];
    unsigned count;
    bool lost;         /* an output has lost elements, or failed to close a target correctly */
    bool takes_events; /* an output receives events, in addition to buckets */
    /* Storage for past events; NULL: no output has "when". */
    struct vamp_history *history;
    bool keeps_filtered; /* past events include those that the filters rejected */
    bool left_behind; /* an output's thread is stuck; memory that it may still use is never freed */
};

/* Opens every output, so that a wrong path is detected before anything starts. Returns 0 or -errno,
 * with all outputs closed again. `config` must outlive the outputs. `before`: the outputs to be
 * replaced, which are still open; they continue to write their files, and the new ones begin with
 * later segments. NULL: none. All objects in the context must outlive the outputs; the context's
 * filter, segments and event kinds are set for each output. `rules` receive the filters of the
 * outputs; NULL: outputs have no filters. */
VAMP_MUST_CHECK int vamp_outputs_open(struct vamp_outputs *outputs,
                                      const struct vamp_config *config,
                                      const struct vamp_output_context *context,
                                      struct vamp_rules *rules, const struct vamp_outputs *before,
                                      struct vamp_err *err);
/* Adds to each output the counters and paths of the replaced output with the same name. The
 * replaced outputs must have finished. `same_alarms`: the alarms are kept, and activities that
 * firing alarms started continue as well. */
void vamp_outputs_continue(struct vamp_outputs *outputs, const struct vamp_outputs *before,
                           bool same_alarms);
/* Passes an event, which may be a control event, to every output. */
void vamp_outputs_record(struct vamp_outputs *outputs, const struct vamp_event *event, bool passed);
/* Like vamp_outputs_record, but only if an output receives events. */
static inline void vamp_outputs_pass_on(struct vamp_outputs *outputs,
                                        const struct vamp_event *event, bool passed)
{
    if (outputs->takes_events && event->kind != VAMP_EVENT_UNWANTED) {
        vamp_outputs_record(outputs, event, passed);
    }
}
/* Makes all events so far available to the outputs' threads. Called when no further events are
 * available at the moment. */
void vamp_outputs_publish(struct vamp_outputs *outputs);
/* Passes the bucket to every output and releases it. */
void vamp_outputs_submit(struct vamp_outputs *outputs, const struct vamp_bucket *bucket);
/* Returns the counters, including those from before a reload. */
void vamp_run_output_account(const struct vamp_run_output *output,
                             struct vamp_output_account *ret_account);
/* Returns the counters of all outputs, in their order. */
void vamp_outputs_accounts(const struct vamp_outputs *outputs,
                           struct vamp_output_account ret_accounts[static VAMP_OUTPUTS_MAX]);
/* Like vamp_output_paths; only after vamp_outputs_finish. */
size_t vamp_run_output_paths(const struct vamp_run_output *output,
                             void (*each)(void *context, const char *path), void *context);
/* Passes the counters of the outputs to the statistics (NULL: none), and prints new failures and
 * notices. */
void vamp_outputs_report(struct vamp_outputs *outputs, struct vamp_stats *stats,
                         struct vamp_status *status);
/* Completes and closes all outputs in parallel, by `ending->until_ns`. A second and a half before
 * that time, or after half of the remaining time if that is shorter, the outputs drop pending
 * elements; half a second before it, outputs that have not closed are left behind. Reports errors,
 * and sets `lost` and `left_behind`. */
void vamp_outputs_finish(struct vamp_outputs *outputs, const struct vamp_ending *ending,
                         struct vamp_status *status);
/* Frees the outputs; their paths and counters can be read until then. */
void vamp_outputs_done(struct vamp_outputs *outputs);
