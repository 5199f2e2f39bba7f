/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stories of single CDOs, told at level `cdo`: beside each record of the CDO table one record
 * with name and times, which becomes a row of the bucket in which the CDO's record ends. Private to
 * the statistics; worker thread. Everything is allocated at creation.
 */
#ifndef VAMP_STATS_STORY_H
#define VAMP_STATS_STORY_H

#include "vampire/stats/track.h"

struct vamp_story {
    struct vamp_cdo_id id;
    bool id_known, selected;
    uint64_t demands, consumers;
    int64_t times_ns[VAMP_CDO_TIME_COUNT];
    char name[VAMP_CDO_NAME_BYTES];
};

/* The event's name, cut to what a row holds. */
void vamp_story_copy_name(const struct vamp_event *event, char name[static VAMP_CDO_NAME_BYTES]);

/* All of these do nothing when no stories are told (tracker->stories is NULL). */

/* The CDO of `at` has a new record. */
void vamp_story_begin(struct vamp_track_context *at);
/* Learns from the event what it says of its CDO, which has a record. */
void vamp_story_learn(struct vamp_track_context *at);
/* The CDO gets a row if the event, handled already, selects it. Part of learning; transports, which
 * tell nothing else of a CDO, ask for this alone. `at->cdo` may be NULL. */
void vamp_story_select(struct vamp_track_context *at);
/* A transport of the CDO was completed. */
void vamp_story_transported(struct vamp_track_context *at);
/* The record ends, by the event of `at`: the row goes to the event's bucket. */
void vamp_story_end(struct vamp_track_context *at, const struct vamp_cdo *cdo,
                    enum vamp_cdo_end end);
/* The component leaves, and all its CDOs end. Before they are dead. */
void vamp_story_owner_leaves(struct vamp_track_context *at);
/* The run is over: rows of all that is left go to this bucket. */
void vamp_story_finish(struct vamp_tracker *tracker, struct vamp_slot *slot);

#endif
