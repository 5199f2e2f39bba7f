/* SPDX-License-Identifier: BSD-3-Clause */
/* All configured outputs together: one sink each, of buckets or of events. Worker thread. */
#ifndef VAMP_OUTPUTS_H
#define VAMP_OUTPUTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "vampire/config.h"
#include "vampire/core/clock.h"
#include "vampire/stats/stats.h"
#include "vampire/status.h"
#include "writers/event_sink.h"
#include "writers/sink.h"

#define VAMP_OUTPUTS_PATIENCE_NS (10 * VAMP_NS_PER_SECOND)

/* One of the two, by the writer's format. */
struct vamp_output {
    unsigned queue_length; /* of `buckets` */
    bool stuck;            /* made us wait too long once: nobody waits for it again */
    struct vamp_sink *buckets;
    struct vamp_event_sink *events;
};

struct vamp_outputs {
    struct vamp_output items[VAMP_OUTPUTS_MAX];
    unsigned count;
    /* Set by the caller after opening, for a source that can wait: what finds no room waits too,
     * while `*stop` is 0 and an output goes on within VAMP_OUTPUTS_PATIENCE_NS. */
    bool patient;
    const atomic_int *stop;
    bool failed; /* an output has reported a failure */
};

/* Opens every output, so that a wrong path is known before anything starts. 0 or -errno with all
 * closed again. `config`, `run` and `schema` must outlive the outputs. */
VAMP_MUST_CHECK int vamp_outputs_open(struct vamp_outputs *outputs,
                                      const struct vamp_config *config, const struct vamp_run *run,
                                      const struct vamp_schema *schema,
                                      const struct vamp_clock *clock, struct vamp_err *err);
/* Gives the event to every sink of events. */
void vamp_outputs_record(struct vamp_outputs *outputs, const struct vamp_event *event, bool passed);
/* Gives the bucket to every sink of buckets and lets go of it. */
void vamp_outputs_submit(struct vamp_outputs *outputs, const struct vamp_bucket *bucket);
void vamp_output_account(const struct vamp_output *output, struct vamp_output_account *ret_account);
/* Calls `each` with the path of every file, oldest first; after vamp_outputs_finish only. */
void vamp_output_paths(const struct vamp_output *output,
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
