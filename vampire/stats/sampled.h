/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Counts samples in the declared metrics. A series here is one measurement with its tags and one
 * field. Gauges: the newest value of each series; those with the same labels add. Counters: the
 * increase since the previous sample of the series; the whole value if it fell (the counter was
 * reset), nothing for the first sample. Histograms: each value. A sample older than the previous
 * one of its series is only accounted. Memory is limited; worker thread.
 */
#pragma once

#include "vampire/core/event/components.h"
#include "vampire/stats/cells/cells.h"

struct vamp_sampled;

#define VAMP_UNDECLARED_NAMES_MAX 64

/* Accounting of samples. */
struct vamp_sampled_account {
    uint64_t counted; /* in a metric */
    uint64_t late;    /* included in `counted`: in a later bucket, since their own was closed */
    uint64_t undeclared, disordered;
    uint64_t out_of_range; /* beyond 64 bits, or negative counters or histogram values */
    uint64_t no_room;      /* at the limit of series or of max_histogram_memory */
    uint64_t filtered;     /* excluded by a metric's filter */
    uint64_t unreadable;   /* in damaged recordings */
    uint64_t resets;       /* of counters */
    struct vamp_undeclared {
        char name[256]; /* "measurement.field" */
        uint64_t samples;
    } names[VAMP_UNDECLARED_NAMES_MAX]; /* the first undeclared ones */
    unsigned name_count;
};

/* `cells` have their layout; `components` are those that labels name. Both must outlive it. 0 or
 * -ENOMEM. */
VAMP_MUST_CHECK int vamp_sampled_create(struct vamp_cells *cells,
                                        struct vamp_components *components,
                                        struct vamp_sampled **ret_sampled, struct vamp_err *err);
void vamp_sampled_free(struct vamp_sampled *sampled);
/* Counts a sample in this slot; `late`: its own bucket is closed. */
void vamp_sampled_observe(struct vamp_sampled *sampled, struct vamp_slot *slot,
                          const struct vamp_event *event, bool late);
const struct vamp_sampled_account *vamp_sampled_account(const struct vamp_sampled *sampled);
