/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tracker: pairs events that belong together (a CDO's life, a wait's two ends, a transport)
 * in bounded tables and says in an observation what each event means. Private to the statistics;
 * worker thread. The rules are written down in docs/metrics.md; they follow stream order.
 */
#ifndef VAMP_STATS_PAIRING_TRACK_H
#define VAMP_STATS_PAIRING_TRACK_H

#include "vampire/stats/pairing/observation.h"
#include "vampire/stats/pairing/table.h"

typedef unsigned __int128 vamp_bytes; /* a sum of sizes, each of up to 2^64 - 1 */

struct vamp_tracker {
    const struct vamp_components *components;
    struct vamp_table cdos, holds, received, demands, transports;
    uint64_t events; /* tracked so far: the place of the one at hand in the stream */
    vamp_bytes pool_bytes;
    struct vamp_tally *tallies;         /* by row of the component table */
    bool by_model;                      /* labels are those of models */
    struct vamp_cdo_history *histories; /* by record of `cdos`; NULL: not at level `cdo` */
    /* Whether an event selects its CDO; NULL: every CDO is selected. */
    bool (*select)(void *context, const struct vamp_event *event);
    void *select_context;
};

/* The name number that is the component's label. */
static inline uint32_t vamp_track_name(const struct vamp_tracker *tracker,
                                       const struct vamp_component *component)
{
    return tracker->by_model ? vamp_components_model(tracker->components, component->name_number)
                             : component->name_number;
}

/* 0 or -ENOMEM; vamp_tracker_done is right after either. */
VAMP_MUST_CHECK int vamp_tracker_init(struct vamp_tracker *tracker,
                                      const struct vamp_stats_options *options,
                                      const struct vamp_components *components,
                                      struct vamp_err *err);
void vamp_tracker_done(struct vamp_tracker *tracker);
/* Fills all of `seen` but its slot, which is set already. */
void vamp_track(struct vamp_tracker *tracker, const struct vamp_event *event,
                struct vamp_observation *seen);
/* These events come next: what will be looked up for them is brought near. Changes nothing. At most
 * VAMP_LOOK_AHEAD of them. */
void vamp_track_look_ahead(struct vamp_tracker *tracker, const struct vamp_event *const *events,
                           unsigned count);
/* The pool is gone: what the component of row `row` held has no owner any more, as at a LEAVE; for
 * row 0 this is all that is left, so that row comes last. `leave` is that LEAVE, which no component
 * sent, at the time of the mark. Fills all of `seen` but its slot. False: there was nothing to do.
 */
bool vamp_track_gone(struct vamp_tracker *tracker, uint32_t row, const struct vamp_event *leave,
                     struct vamp_observation *seen);
/* The stream has ended: takes the CDOs of unknown size one after the other. False at the end.
 * `*position` starts at 0. */
bool vamp_track_rest(struct vamp_tracker *tracker, uint32_t *position, uint32_t *ret_component);
/* The run is over: at level `cdo` the rows of all remaining CDOs go to this bucket. */
void vamp_track_finish(struct vamp_tracker *tracker, struct vamp_slot *slot);
/* The name of the event's CDO, cut to what a row holds. */
void vamp_track_copy_name(const struct vamp_event *event, char name[static VAMP_CDO_NAME_BYTES]);

#endif
