/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ownership of CDOs: the component to which a record belongs, references of other components,
 * offers, and the resulting content of the pool. Private to the pairing; worker thread.
 */
#pragma once

#include "vampire/stats/pairing/records.h"

/* Adds (`sign` 1) a CDO and its bytes to the totals of the pool, or subtracts them (-1). Does
 * nothing if the CDO is not in the pool. */
void vamp_track_weigh(struct vamp_track_context *at, const struct vamp_cdo *cdo, int sign);
/* Must be called before the size or the offers of a CDO change: subtracts the CDO from the totals
 * of the pool. The event's own CDO is subtracted once and added again when the event has been
 * handled. */
static inline void vamp_cdo_change(struct vamp_track_context *at, const struct vamp_cdo *cdo)
{
    if (cdo == at->cdo) {
        if (at->changing) {
            return;
        }
        at->changing = true;
    }
    vamp_track_weigh(at, cdo, -1);
}
/* Must be called after the changes, for a CDO that may not be the event's own: adds it again. */
static inline void vamp_cdo_changed(struct vamp_track_context *at, const struct vamp_cdo *cdo)
{
    if (cdo != at->cdo) {
        vamp_track_weigh(at, cdo, 1);
    }
}
/* Sets the change of the bytes in the pool that this event causes in the gauge, whose maximum is
 * 2^63 - 1. Needed only if `pool_changed` is set. */
static inline void vamp_track_show_bytes(struct vamp_tracker *tracker,
                                         struct vamp_observation *seen)
{
    const int64_t shown = (int64_t)VAMP_MIN(tracker->pool_bytes, (vamp_bytes)INT64_MAX);
    seen->pool_bytes = shown - tracker->shown_bytes;
    tracker->shown_bytes = shown;
}

/* Returns whether the component of the event owns the record of the CDO of `at`. */
static inline bool vamp_cdo_is_owned(const struct vamp_track_context *at)
{
    return at->cdo->record.item.row == at->row;
}
/* Returns the name number of the owner. */
static inline uint32_t vamp_cdo_owner_name(const struct vamp_track_context *at,
                                           const struct vamp_cdo *cdo)
{
    const uint32_t row = cdo->record.item.row;
    if (row == 0) {
        return VAMP_NAME_UNKNOWN;
    }
    const struct vamp_component *owner = at->component;
    if (row != at->row) {
        owner = vamp_components_row(at->tracker->components, row);
    }
    return vamp_track_name(at->tracker, owner);
}
/* Sets the producer of the awaited CDO, if it is known. */
static inline void vamp_track_name_producer(struct vamp_track_context *at)
{
    at->seen->producer = VAMP_NAME_UNKNOWN;
    if (at->cdo != NULL && (at->cdo->flags & VAMP_CDO_MAKER) != 0) {
        at->seen->producer = vamp_cdo_owner_name(at, at->cdo);
    }
}
/* Changes flags of the CDO of `at`. */
static inline void vamp_cdo_set_flags(struct vamp_track_context *at, unsigned set, unsigned clear)
{
    struct vamp_cdo *cdo = at->cdo;
    const uint8_t flags = (uint8_t)((cdo->flags | set) & ~clear);
    if (((flags ^ cdo->flags) & VAMP_CDO_OFFERED) != 0) {
        vamp_cdo_change(at, cdo);
    }
    cdo->flags = flags;
}

/* As vamp_track_learn_size, for a CDO whose size is unknown or not counted. */
void vamp_track_learn_new_size(struct vamp_track_context *at);
/* Stores the event's size in the tracked CDO of `at` if the CDO has no counted size yet. If the
 * event has no size, copies the CDO's size to the observation. */
static inline void vamp_track_learn_size(struct vamp_track_context *at)
{
    const struct vamp_cdo *cdo = at->cdo;
    const uint32_t known = VAMP_CDO_SIZED | VAMP_CDO_COUNTED;
    if ((cdo->flags & known) != known) {
        vamp_track_learn_new_size(at);
    }
    if (!at->seen->size_known && (cdo->flags & VAMP_CDO_SIZED) != 0) {
        at->seen->size_known = true;
        at->seen->size_bytes = cdo->size_bytes;
    }
}

/* Adds a record for the CDO of `at`, which has none, owned by the component of the event. At the
 * limit the oldest record is evicted. */
void vamp_cdo_add(struct vamp_track_context *at);
/* Ends the tracking of the CDO, and counts it if its size was never reported. */
void vamp_cdo_forget(struct vamp_track_context *at, struct vamp_cdo *cdo, enum vamp_cdo_end end);
/* Makes the component of the event the owner and the producer of the CDO of `at`. */
void vamp_cdo_become_producer(struct vamp_track_context *at);
/* Transfers ownership of a CDO that its owner no longer uses and other components offer, to the
 * component that most recently started to offer it. */
void vamp_cdo_hand_over(struct vamp_track_context *at, struct vamp_cdo *cdo);
/* Resets the count of demands: the CDO has left the pool, and demands are counted from 0 when it is
 * offered again. */
static inline void vamp_cdo_reset_demands(struct vamp_cdo *cdo)
{
    cdo->demands = 0;
    cdo->flags &= (uint8_t)~VAMP_CDO_DEMANDED;
    cdo->offered_ns = 0; /* also clears `first_unoffered`: the list is empty */
}

/* Returns the reference of this row to the CDO of `at`; NULL if there is none, or if the row owns
 * the CDO. */
struct vamp_pending *vamp_reference_find(const struct vamp_track_context *at, uint32_t row);
/* Returns the same reference as vamp_reference_find, but adds it if it is missing; at the limit,
 * the oldest reference is evicted. */
struct vamp_pending *vamp_reference_need(struct vamp_track_context *at, uint32_t row);
/* Start and end the offer of the reference's component. vamp_cdo_change must have been called for
 * the CDO. */
void vamp_reference_begin_offer(struct vamp_track_context *at, struct vamp_cdo *cdo,
                                struct vamp_pending *reference);
void vamp_reference_stop_offer(struct vamp_track_context *at, struct vamp_cdo *cdo,
                               struct vamp_pending *reference);
/* Returns the reference that most recently started to offer the CDO; there must be one. */
struct vamp_pending *vamp_reference_last_offer(const struct vamp_tracker *tracker,
                                               const struct vamp_cdo *cdo);
/* Returns whether the component of the event offers the CDO of `at`, which must be tracked. */
bool vamp_track_offers(struct vamp_track_context *at);

/* Accounts for a CDO whose record ends without a reported size. Returns whether the CDO is to be
 * counted as created now; false if it was counted already, or if it may have been counted before it
 * was evicted. The latter is counted in the accounting of `slot`. */
bool vamp_cdo_count_unsized(const struct vamp_tracker *tracker, const struct vamp_cdo *cdo,
                            struct vamp_slot *slot);

/* Ends the tracking of all remaining CDOs. */
void vamp_track_forget_cdos(struct vamp_track_context *at);
/* Handles the leave of a component with a row: its CDOs no longer have an owner, and its pending
 * operations are removed. */
void vamp_track_leave_cdos(struct vamp_track_context *at);
