/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts samples in the declared metrics. In this module a series is one measurement with its tags
 * and one field.
 *
 * Gauges: the newest value of each series; values of series with the same labels are added.
 * Counters: the increase since the previous sample of the series; after a reset (the value fell)
 * the whole value; nothing for the first sample. Histograms: each value. A sample older than the
 * previous one of its series is not counted, only included in the accounting.
 *
 * Memory is limited. Owned by the worker thread.
 */
#pragma once

#include "vampire/core/event/components.h"
#include "vampire/stats/cells/cells.h"

struct vamp_sampled;

#define VAMP_UNDECLARED_NAMES_MAX 64

/* Accounting of samples; cumulative since the start. */
struct vamp_sampled_account {
    uint64_t counted; /* counted in a metric */
    /* Included in `counted`; counted in a later bucket, since their own was closed. */
    uint64_t late;
    uint64_t undeclared, disordered;
    uint64_t out_of_range; /* does not fit into 64 bits, or negative in a counter or histogram */
    uint64_t no_room;      /* dropped at the limit of series or of max_histogram_memory */
    uint64_t filtered;     /* excluded by a metric's filter */
    uint64_t unreadable;   /* unreadable in damaged recordings */
    uint64_t resets;       /* resets of counters */
    struct vamp_undeclared {
        char name[256]; /* "measurement.field" */
        uint64_t samples;
    } names[VAMP_UNDECLARED_NAMES_MAX]; /* the first undeclared fields that were received */
    unsigned name_count;
};

/* `cells` must include the declared metrics; `components` is the table of the names in labels. Both
 * must outlive `sampled`. Returns 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_sampled_create(struct vamp_cells *cells,
                                        struct vamp_components *components,
                                        struct vamp_sampled **ret_sampled, struct vamp_err *err);
void vamp_sampled_free(struct vamp_sampled *sampled);
/* Counts a sample in this slot. `late`: the sample's own bucket is closed already. */
void vamp_sampled_observe(struct vamp_sampled *sampled, struct vamp_slot *slot,
                          const struct vamp_event *event, bool late);
const struct vamp_sampled_account *vamp_sampled_account(const struct vamp_sampled *sampled);
