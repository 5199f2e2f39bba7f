/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ends of waits: operations received and handled, demands and the data that satisfy them.
 * Private to the pairing; worker thread.
 */
#pragma once

#include "vampire/stats/pairing/records.h"

/* The pool manager has received an operation and not handled it yet. */
void vamp_track_received(struct vamp_track_context *at);
/* It has handled an operation of a kind of which received ones were seen. */
void vamp_track_handled(struct vamp_track_context *at);

/* A DEMAND was handled, or received (`before`). Returns whether its data had already arrived. */
bool vamp_track_demand(struct vamp_track_context *at, bool before);
/* A transport for the pending demand failed: another one may follow, or the demand is over. */
void vamp_track_demand_failed(struct vamp_track_context *at);
/* Whether the component has a pending demand of this CDO. */
bool vamp_track_is_demanded(struct vamp_track_context *at);
/* Ends the pending demand of this CDO and component and copies it to `ret_ended`, which may be
 * NULL; false when there is none. */
bool vamp_track_demand_end(struct vamp_track_context *at, struct vamp_pending *ret_ended);
/* The next component with a pending demand of the CDO; false at the end. `*position` starts at 0.
 */
bool vamp_track_next_demander(const struct vamp_track_context *at, uint32_t *position,
                              uint32_t *ret_row);

/* Data arrived before their DEMAND, which will find them; or, `awaited`, before the *after* event
 * of a DEMAND that they satisfied, which then starts no wait. */
void vamp_track_deliver(struct vamp_track_context *at, bool awaited);
/* Removes one of the component's deliveries of the CDO (RETRACT), or all of them (DISPOSE). */
void vamp_track_drop_delivery(struct vamp_track_context *at, bool all);

/* Unattributed deliveries: data that moved, or will, to one of the CDO's demanders, and it is not
 * known to which. */
/* Adds one. When there are as many as demands, all of these are satisfied, with unknown waits. */
void vamp_track_deliver_unattributed(struct vamp_track_context *at);
/* A demand of the CDO ended without a transport of its own: removes one. False: there is none. */
bool vamp_track_take_unattributed(struct vamp_track_context *at);
void vamp_track_forget_unattributed(struct vamp_track_context *at);
/* Demands of the component whose data may have been attributed to another component: at least as
 * many transports named the CDO's source only as there are demands. */
uint32_t vamp_track_count_doubtful(const struct vamp_track_context *at);

/* Drops the counters of the row's demands, withdraws and deliveries, which are removed. */
void vamp_track_drop_pending(struct vamp_tracker *tracker, uint32_t row);
