/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histories of CDOs, kept at level `cdo`, and attributes of CDOs, read at every level. A history
 * becomes a row of the bucket in which the CDO's record ends. Memory is allocated when the tracker
 * is created. Private to the pairing; worker thread.
 */
#pragma once

#include "vampire/stats/pairing/records.h"

/* Returns the history of a record, or NULL if no histories are kept. */
const struct vamp_cdo_history *vamp_track_history(const struct vamp_tracker *tracker,
                                                  const struct vamp_cdo *cdo);

/* Returns whether histories are kept. Only then may the functions vamp_cdo_history_* be called. */
static inline bool vamp_track_keeps_histories(const struct vamp_tracker *tracker)
{
    return tracker->histories != NULL;
}
/* Starts the history of the CDO of `at`, whose record is new. */
void vamp_cdo_history_begin(struct vamp_track_context *at);
/* Adds the event of `at` to the history of its CDO, which must have a record. */
void vamp_cdo_history_add(struct vamp_track_context *at);
/* Marks the CDO for a row if the event, which was handled, selects it. Included in
 * vamp_cdo_history_add; called separately for transports. `at->cdo` may be NULL. */
void vamp_cdo_history_select(struct vamp_track_context *at);
/* Counts a completed transport of the CDO. `at->cdo` may be NULL. */
void vamp_cdo_history_add_transport(struct vamp_track_context *at);
/* Ends the history, since the record ends at the event of `at`: adds a row to the event's bucket.
 */
void vamp_cdo_history_end(struct vamp_track_context *at, const struct vamp_cdo *cdo,
                          enum vamp_cdo_end end);

/* Sets the attributes of the event's CDO. They are read once per record, from the first event that
 * contains the CDO's name. Must be called before the event changes the record. */
void vamp_track_find_attributes(struct vamp_track_context *at);
