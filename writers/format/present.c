/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/present.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool vamp_present_take(struct vamp_present *present, const struct vamp_delivery *delivery)
{
    const struct vamp_component_row *rows = delivery->components;
    const unsigned delivered = delivery->component_count;
    unsigned count = delivered > 0 ? rows[delivered - 1].index + 1 : 0;
    if (count > present->count) {
        struct vamp_component *all = realloc(present->rows, count * sizeof *all);
        if (all == NULL) {
            return false;
        }
        memset(all + present->count, 0, (count - present->count) * sizeof *all);
        present->rows = all;
        present->count = count;
    }
    for (unsigned i = 0; i < delivered; i++) {
        present->rows[rows[i].index] = rows[i].component;
    }
    return true;
}

void vamp_present_done(struct vamp_present *present)
{
    free(present->rows);
}

bool vamp_present_next(const struct vamp_present *present, unsigned *at,
                       struct vamp_where_labels *ret_labels)
{
    while (*at < present->count) {
        const struct vamp_component *component = &present->rows[(*at)++];
        const struct vamp_component_where *where = component->where;
        const bool has_left = component->left_ns != INT64_MIN;
        if (where == NULL || has_left) {
            continue;
        }
        /* With a precision of 0, the number 0 becomes an empty text. */
        (void)snprintf(ret_labels->pid, sizeof ret_labels->pid, "%.0" PRIu64, where->pid);
        const char *const labels[VAMP_WHERE_LABELS][2] = {{"component", component->name},
                                                          {"component_host", where->host},
                                                          {"component_pid", ret_labels->pid},
                                                          {"component_user", where->user},
                                                          {"component_batch_job", where->job}};
        memcpy(ret_labels->label, labels, sizeof labels);
        return true;
    }
    return false;
}
