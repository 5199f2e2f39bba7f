/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/bucket/run_labels.h"

#include <inttypes.h>
#include <stdio.h>

const char *const vamp_run_label_words[VAMP_RUN_LABEL_COUNT + 1] = {
    [VAMP_RUN_WORKFLOW] = "workflow", [VAMP_RUN_RUN] = "run",   [VAMP_RUN_HOST] = "host",
    [VAMP_RUN_PID] = "pid",           [VAMP_RUN_USER] = "user", [VAMP_RUN_BATCH_JOB] = "batch_job",
};

const char *vamp_run_label(const struct vamp_run *run, enum vamp_run_label label,
                           char scratch[static VAMP_RUN_LABEL_BYTES])
{
    switch (label) {
    case VAMP_RUN_WORKFLOW:
        return run->workflow;
    case VAMP_RUN_RUN:
        return run->id;
    case VAMP_RUN_HOST:
        return run->host;
    case VAMP_RUN_PID:
        (void)snprintf(scratch, VAMP_RUN_LABEL_BYTES, "%" PRIu64, run->pid);
        return scratch;
    case VAMP_RUN_USER:
        return run->user;
    case VAMP_RUN_BATCH_JOB:
        return run->batch_job;
    }
    return "";
}

uint64_t vamp_run_labels_to_add(const struct vamp_schema *schema, uint64_t labels)
{
    uint32_t own = 0;
    for (unsigned i = 0; i < schema->label_set_count; i++) {
        own |= vamp_label_set_bits(&schema->label_sets[i]);
    }
    if ((own >> VAMP_LABEL_WORKFLOW & 1U) != 0) {
        labels &= ~(UINT64_C(1) << VAMP_RUN_WORKFLOW);
    }
    if ((own >> VAMP_LABEL_RUN & 1U) != 0) {
        labels &= ~(UINT64_C(1) << VAMP_RUN_RUN);
    }
    return labels;
}

void vamp_run_labels_json(struct vamp_json *json, const struct vamp_run *run)
{
    char scratch[VAMP_RUN_LABEL_BYTES];
    for (unsigned label = 0; label < VAMP_RUN_LABEL_COUNT; label++) {
        const char *value = vamp_run_label(run, (enum vamp_run_label)label, scratch);
        if (label == VAMP_RUN_PID) {
            vamp_json_unsigned(json, vamp_run_label_words[label], run->pid);
        } else {
            vamp_json_long_text(json, vamp_run_label_words[label], value, VAMP_RUN_TEXT_BYTES);
        }
    }
}
