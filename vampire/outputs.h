/* SPDX-License-Identifier: BSD-3-Clause */
/* All configured outputs together: one sink each. Worker thread. */
#ifndef VAMP_OUTPUTS_H
#define VAMP_OUTPUTS_H

#include <stdbool.h>

#include "vampire/config.h"
#include "vampire/stats/stats.h"
#include "vampire/status.h"
#include "writers/sink.h"

struct vamp_outputs {
    struct vamp_sink *sinks[VAMP_OUTPUTS_MAX];
    unsigned count;
    bool failed; /* an output has reported a failure */
};

/* Opens every output, so that a wrong path is known before anything starts. 0 or -errno with all
 * closed again. `config`, `run` and `schema` must outlive the outputs. */
VAMP_MUST_CHECK int vamp_outputs_open(struct vamp_outputs *outputs,
                                      const struct vamp_config *config, const struct vamp_run *run,
                                      const struct vamp_schema *schema,
                                      const struct vamp_clock *clock, struct vamp_err *err);
/* Gives the bucket to every sink and lets go of it. */
void vamp_outputs_submit(struct vamp_outputs *outputs, const struct vamp_bucket *bucket);
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
