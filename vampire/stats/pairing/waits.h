/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ends of waits: operations received and handled, demands and the data that satisfy them.
 * Private to the pairing; worker thread.
 */
#pragma once

#include "vampire/stats/pairing/records.h"

/* Handles an event before handling: the pool manager has received an operation. */
void vamp_track_received(struct vamp_track_context *at);
/* Handles an event after handling, of a kind of which events before handling were observed. */
void vamp_track_handled(struct vamp_track_context *at);

/* Handles a DEMAND event after handling, or before (`before`). Returns whether the data had already
 * arrived. */
bool vamp_track_demand(struct vamp_track_context *at, bool before);
/* A transport for the pending demand failed: either another transport follows, or the demand has
 * ended. */
void vamp_track_demand_failed(struct vamp_track_context *at);
/* Returns whether the component has a pending demand for this CDO. */
bool vamp_track_is_demanded(struct vamp_track_context *at);
/* Ends the pending demand of this component for this CDO and copies it to `ret_ended`, which may be
 * NULL. Returns false if there is no such demand. */
bool vamp_track_demand_end(struct vamp_track_context *at, struct vamp_pending *ret_ended);
/* Iterates over the components with a pending demand for the CDO. Returns false at the end.
 * `*position` starts at 0. */
bool vamp_track_next_demander(const struct vamp_track_context *at, uint32_t *position,
                              uint32_t *ret_row);

/* Records data that arrived before the DEMAND that they satisfy; or, with `awaited`, data that
 * satisfied a DEMAND whose *after* event is still to come, which then starts no wait. */
void vamp_track_deliver(struct vamp_track_context *at, bool awaited);
/* Removes one of the component's deliveries of the CDO (RETRACT), or all of them (DISPOSE). */
void vamp_track_drop_delivery(struct vamp_track_context *at, bool all);

/* Unattributed deliveries: data that were or will be transported to one of the components that
 * demand the CDO, without a report to which. */
/* Adds an unattributed delivery. When there are as many as demands, all these demands are
 * satisfied, with unknown waits. */
void vamp_track_deliver_unattributed(struct vamp_track_context *at);
/* Removes an unattributed delivery, because a demand of the CDO ended without a transport of its
 * own. Returns false if there is none. */
bool vamp_track_take_unattributed(struct vamp_track_context *at);
void vamp_track_forget_unattributed(struct vamp_track_context *at);
/* Returns the number of the component's demands whose data may have been attributed to another
 * component: those of CDOs with at least as many transports that named only the source as there are
 * demands. */
uint32_t vamp_track_count_doubtful(const struct vamp_track_context *at);

/* Drops the counters of the row's demands, withdraws and deliveries, which are removed. */
void vamp_track_drop_pending(struct vamp_tracker *tracker, uint32_t row);
