/* SPDX-License-Identifier: BSD-3-Clause */
/* Three metrics that the program appends to the catalogue when it starts. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "vampire/stats/bucket/metric.h"

enum { APPENDED_STEPS, APPENDED_LEVEL, APPENDED_READ_NS, APPENDED_COUNT };

static const struct vamp_metric appended_metrics[APPENDED_COUNT] = {
    {"model_steps", VAMP_COUNTER, "1", UINT32_C(1) << VAMP_LABEL_COMPONENT, VAMP_SET_BASIC,
     VAMP_MERGE_SUM, 0, "steps of the model", "counted by the component"},
    {"disk_level_bytes", VAMP_GAUGE, "byte", UINT32_C(1) << VAMP_LABEL_COMPONENT, VAMP_SET_BASIC,
     VAMP_MERGE_LARGEST, 0, "bytes on the disk", "reported by the component"},
    {"disk_read_ns", VAMP_HISTOGRAM, "ns",
     UINT32_C(1) << VAMP_LABEL_COMPONENT | UINT32_C(1) << VAMP_LABEL_TIER, VAMP_SET_BASIC,
     VAMP_MERGE_SUM, 0, "time to read from the disk", "measured by the component"},
};

/* Once, before anything has a schema. They have the first ids after those that are built in. */
static inline enum vamp_metric_id append_metrics(void)
{
    for (unsigned i = 0; i < APPENDED_COUNT; i++) {
        enum vamp_metric_id id = VAMP_METRIC_NONE;
        if (vamp_metrics_append(&appended_metrics[i], &id) != 0 ||
            id != VAMP_METRICS_BUILT_IN + i) {
            fail_msg("cannot append %s", appended_metrics[i].name);
        }
    }
    return VAMP_METRICS_BUILT_IN;
}
