/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keys under which the event at hand is looked up in the tables of the tracker. Private to the
 * pairing; worker thread.
 */
#ifndef VAMP_STATS_PAIRING_KEYS_H
#define VAMP_STATS_PAIRING_KEYS_H

#include "vampire/stats/pairing/records.h"

/* For vamp_track_find_key, of an event without a CDO's id. */
bool vamp_track_find_key_by_name(const struct vamp_event *event, struct vamp_key *ret_key);
/* The event's CDO as a key; false when it has none. `key` is one of zeros, or of two words. */
static inline bool vamp_track_find_key(const struct vamp_event *event, struct vamp_key *key)
{
    if (!vamp_event_has(event, VAMP_HAS_CDO_ID)) {
        return vamp_track_find_key_by_name(event, key);
    }
    vamp_key_set_two(key, event->cdo_id.high, event->cdo_id.low);
    return true;
}
/* The key of a CDO by the event's name. */
struct vamp_key vamp_track_name_key(const struct vamp_event *event);

/* A pending entry's kind that is no event kind's number. */
#define VAMP_KEY_DEMAND 256
#define VAMP_KEY_BY_ID (UINT64_C(1) << 32)

/* Of something pending. By row, since an id may join again; by id where the component table was
 * full. */
static inline struct vamp_key vamp_track_pending_key(const struct vamp_track_context *at,
                                                     const struct vamp_key *cdo, uint64_t kind)
{
    if (at->event->kind == VAMP_EVENT_JOIN) {
        return vamp_key_of_four(cdo, 0, kind); /* has no row yet when it is received */
    }
    if (at->row == 0 && vamp_event_has(at->event, VAMP_HAS_APP)) {
        return vamp_key_of_four(cdo, at->event->app_id, kind | VAMP_KEY_BY_ID);
    }
    return vamp_key_of_four(cdo, at->row, kind);
}

static inline struct vamp_key vamp_track_demand_key(const struct vamp_track_context *at)
{
    return vamp_track_pending_key(at, &at->cdo_key, VAMP_KEY_DEMAND);
}

/* Of an operation that was received. Of a CDO not declared yet only the name is known, so both ends
 * of a declare go by name. */
static inline struct vamp_key vamp_track_operation_key(const struct vamp_track_context *at)
{
    if (at->event->kind == VAMP_EVENT_DECLARE && vamp_event_has(at->event, VAMP_HAS_CDO_NAME)) {
        const struct vamp_key named = vamp_track_name_key(at->event);
        return vamp_track_pending_key(at, &named, VAMP_EVENT_DECLARE);
    }
    return vamp_track_pending_key(at, &at->cdo_key, at->event->kind);
}

/* Of what the component holds of the CDO. */
static inline struct vamp_key vamp_hold_key(const struct vamp_track_context *at)
{
    return vamp_key_of_four(&at->cdo_key, at->row, 0);
}

/* The id of the component to which a transport goes; 0: none. */
static inline uint64_t vamp_track_sink_id(const struct vamp_event *event)
{
    return vamp_event_has(event, VAMP_HAS_APP) ? event->app_id : 0;
}

/* Of a transport: by its number; without one by CDO and sink. False when there is neither. */
static inline bool vamp_track_transport_key(const struct vamp_track_context *at,
                                            struct vamp_key *ret_key)
{
    const struct vamp_event *event = at->event;
    if (vamp_event_has(event, VAMP_HAS_TRANSPORT)) {
        const struct vamp_key number = vamp_key_of_two(event->transport_id, 0);
        *ret_key = vamp_key_of_four(&number, 0, 1);
        return true;
    }
    *ret_key = vamp_key_of_four(&at->cdo_key, vamp_track_sink_id(event), 2);
    return at->has_cdo;
}

#endif
