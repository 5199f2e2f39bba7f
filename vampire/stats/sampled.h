/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples into the declared metrics. A series here is what one sender says of one thing: its
 * measurement, tags and field. Of a gauge the newest value of each counts, and those that have the
 * same labels add up; of a counter what it grew by since the sample before, all of it when it fell
 * (it began again), and nothing at the first; of a histogram each value. What is older than the
 * sample before of its series says nothing new and is only accounted. Bounded; worker thread.
 */
#pragma once

#include "vampire/core/event/components.h"
#include "vampire/stats/cells/cells.h"

struct vamp_sampled;

#define VAMP_UNDECLARED_NAMES_MAX 64

/* What became of the samples. */
struct vamp_sampled_account {
    uint64_t counted; /* in a metric */
    uint64_t late;    /* of these: their bucket was closed, and they are in a later one */
    uint64_t undeclared, disordered;
    uint64_t out_of_range; /* of 64 bits, or negative where that cannot be */
    uint64_t no_room;      /* for one more series, or in max_histogram_memory */
    uint64_t filtered;     /* left out by a metric's filter */
    uint64_t unreadable;   /* no sample: of a damaged recording */
    uint64_t resets;       /* of counters */
    struct vamp_undeclared {
        char name[256]; /* "measurement.field" */
        uint64_t samples;
    } names[VAMP_UNDECLARED_NAMES_MAX]; /* of the undeclared: the first that came */
    unsigned name_count;
};

/* Of cells that are laid out, and the components that labels are names of; both outlive it. 0 or
 * -ENOMEM. */
VAMP_MUST_CHECK int vamp_sampled_create(struct vamp_cells *cells,
                                        struct vamp_components *components,
                                        struct vamp_sampled **ret_sampled, struct vamp_err *err);
void vamp_sampled_free(struct vamp_sampled *sampled);
/* Counts a sample in this slot; `late`: its own is closed. */
void vamp_sampled_observe(struct vamp_sampled *sampled, struct vamp_slot *slot,
                          const struct vamp_event *event, bool late);
const struct vamp_sampled_account *vamp_sampled_account(const struct vamp_sampled *sampled);
