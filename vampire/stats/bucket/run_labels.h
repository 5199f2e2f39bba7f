/* SPDX-License-Identifier: BSD-3-Clause */
/* Run labels: facts about the run that formats can add to every series, and as members of an
 * object. */
#ifndef VAMP_STATS_BUCKET_RUN_LABELS_H
#define VAMP_STATS_BUCKET_RUN_LABELS_H

#include "vampire/core/json_emit.h"
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
/* All of them as members of the object that is open; a text longer than VAMP_RUN_TEXT_BYTES is cut.
 */
#define VAMP_RUN_TEXT_BYTES 256
void vamp_run_labels_json(struct vamp_json *json, const struct vamp_run *run);

/* Those of `labels` (bits) that series do not have themselves: collected ones have the workflow and
 * the run from which they come. */
uint64_t vamp_run_labels_to_add(const struct vamp_schema *schema, uint64_t labels);

#endif
