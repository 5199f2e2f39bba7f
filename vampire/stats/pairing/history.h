/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The histories of single CDOs, kept at level `cdo`: for each record of the CDO table one record
 * with name and times, which becomes a row of the bucket in which the CDO's record ends. Private to
 * the statistics; worker thread. Everything is allocated at creation.
 */
#ifndef VAMP_STATS_PAIRING_HISTORY_H
#define VAMP_STATS_PAIRING_HISTORY_H

#include "vampire/stats/pairing/records.h"

struct vamp_cdo_history {
    struct vamp_cdo_id id;
    bool id_known, selected;
    uint64_t demands, consumers;
    int64_t times_ns[VAMP_CDO_TIME_COUNT];
    char name[VAMP_CDO_NAME_BYTES];
};

/* Of the CDO with this record; NULL: no histories are kept. */
const struct vamp_cdo_history *vamp_track_history(const struct vamp_tracker *tracker,
                                                  const struct vamp_cdo *cdo);

/* Whether histories are kept: to be asked before any of the functions below, except the last. */
static inline bool vamp_track_keeps_histories(const struct vamp_tracker *tracker)
{
    return tracker->histories != NULL;
}
/* The CDO of `at` has a new record. */
void vamp_cdo_history_begin(struct vamp_track_context *at);
/* Adds what the event says about its CDO, which has a record. */
void vamp_cdo_history_add(struct vamp_track_context *at);
/* The CDO gets a row if the event, handled already, selects it. Part of vamp_cdo_history_add;
 * called alone for transports, which add nothing else. `at->cdo` may be NULL. */
void vamp_cdo_history_select(struct vamp_track_context *at);
/* A transport of the CDO was completed. */
void vamp_cdo_history_add_transport(struct vamp_track_context *at);
/* The record ends, by the event of `at`: the row goes to the event's bucket. */
void vamp_cdo_history_end(struct vamp_track_context *at, const struct vamp_cdo *cdo,
                          enum vamp_cdo_end end);
/* The component leaves and all its CDOs end: to be called before their records are marked dead. */
void vamp_cdo_history_end_owned(struct vamp_track_context *at);

#endif
