/* SPDX-License-Identifier: BSD-3-Clause */
/* All configured outputs together: one sink each, of buckets or of events. Worker thread. */
#ifndef VAMP_RUN_OUTPUTS_H
#define VAMP_RUN_OUTPUTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "config/config.h"
#include "filters/event_filter.h"
#include "vampire/core/clock.h"
#include "vampire/run/status.h"
#include "vampire/stats/stats.h"
#include "writers/event_sink.h"
#include "writers/paths.h"
#include "writers/pick.h"
#include "writers/sink.h"

#define VAMP_OUTPUTS_PATIENCE_NS (10 * VAMP_NS_PER_SECOND)

/* One of the two, by the writer's format. */
struct vamp_output {
    unsigned queue_length; /* of `buckets` */
    bool stuck;            /* made us wait too long once: nobody waits for it again */
    unsigned first_segment;
    bool left_behind; /* its thread is stuck: what it may still look at is never freed */
    struct vamp_sink *buckets;
    struct vamp_pick *pick; /* NULL: `buckets` gets all metrics */
    struct vamp_event_sink *events;
    struct vamp_event_filter *filter; /* of `events`; NULL: none */
    /* What an output of this name did before a reload; without a name: nothing. */
    struct vamp_output_account before;
    struct vamp_paths paths_before;
};

/* What every output is told. All of it outlives the outputs. */
struct vamp_outputs_context {
    const struct vamp_run *run;
    const struct vamp_schema *schema;
    const struct vamp_clock *clock;
    const struct vamp_components *components;
    const struct vamp_components *present; /* who was there before; NULL: the run begins */
};

struct vamp_outputs {
    struct vamp_output items[VAMP_OUTPUTS_MAX];
    unsigned count;
    /* Set by the caller after opening, for a source that can wait: what finds no room waits too,
     * while `*stop` is 0 and an output goes on within VAMP_OUTPUTS_PATIENCE_NS. */
    bool patient;
    const atomic_int *stop;
    const struct vamp_components *components;
    bool failed; /* an output has reported a failure */
};

/* Opens every output, so that a wrong path is known before anything starts. 0 or -errno with all
 * closed again. `config` must outlive the outputs. `before`: the outputs whose place these will
 * take, still open; their files go on being written and these begin with later segments. NULL:
 * there are none. */
VAMP_MUST_CHECK int vamp_outputs_open(struct vamp_outputs *outputs,
                                      const struct vamp_config *config,
                                      const struct vamp_outputs_context *context,
                                      const struct vamp_outputs *before, struct vamp_err *err);
/* Takes over the accounts and the paths of the outputs before, which have finished. */
void vamp_outputs_continue(struct vamp_outputs *outputs, const struct vamp_outputs *before);
/* Gives the event to every sink of events whose own filter it passes; joins, leaves and marks to
 * all of them. */
void vamp_outputs_record(struct vamp_outputs *outputs, const struct vamp_event *event, bool passed);
/* Gives the bucket to every sink of buckets and lets go of it. */
void vamp_outputs_submit(struct vamp_outputs *outputs, const struct vamp_bucket *bucket);
void vamp_output_account(const struct vamp_output *output, struct vamp_output_account *ret_account);
/* As vamp_sink_paths; after vamp_outputs_finish only. */
size_t vamp_output_paths(const struct vamp_output *output,
                         void (*each)(void *context, const char *path), void *context);
/* Tells the statistics how the outputs stand, and a person what newly failed. */
void vamp_outputs_report(struct vamp_outputs *outputs, struct vamp_stats *stats,
                         struct vamp_status *status);
/* Completes and closes all of them. 0, or the first error; all are closed either way. */
VAMP_MUST_CHECK int vamp_outputs_finish(struct vamp_outputs *outputs,
                                        const struct vamp_ending *ending,
                                        struct vamp_status *status);
/* Frees the sinks; after vamp_outputs_finish their paths and accounts can be read until here. */
void vamp_outputs_done(struct vamp_outputs *outputs);

#endif
