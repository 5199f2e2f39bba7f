/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about the run that formats can add to every series as labels. */
#ifndef VAMP_WRITERS_FORMAT_RUN_LABELS_H
#define VAMP_WRITERS_FORMAT_RUN_LABELS_H

#include "vampire/stats/bucket/bucket.h"

enum vamp_run_label {
    VAMP_RUN_WORKFLOW,
    VAMP_RUN_RUN, /* the run's id */
    VAMP_RUN_HOST,
    VAMP_RUN_PID,
    VAMP_RUN_USER,
    VAMP_RUN_BATCH_JOB,
};
#define VAMP_RUN_LABEL_COUNT 6
extern const char *const vamp_run_label_words[]; /* "workflow", "run", ..., ended by NULL */

/* The value, never NULL: one of the run's texts, or `scratch`. */
#define VAMP_RUN_LABEL_BYTES 24
const char *vamp_run_label(const struct vamp_run *run, enum vamp_run_label label,
                           char scratch[static VAMP_RUN_LABEL_BYTES]);

/* Those of `labels` (bits) that series do not have themselves: collected ones have the workflow and
 * the run from which they come. */
uint64_t vamp_run_labels_to_add(const struct vamp_schema *schema, uint64_t labels);

#endif
