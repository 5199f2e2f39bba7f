/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pending operations of a CDO and references to it ("entries"), in one list per record and one list
 * per component. Most CDOs have one or two entries. Private to the pairing; worker thread.
 */
#pragma once

#include "vampire/stats/pairing/records.h"

static inline void *vamp_pending_of(const struct vamp_tracker *tracker, uint32_t number)
{
    return vamp_slab_item(&tracker->pending, number);
}
static inline struct vamp_cdo *vamp_pending_record(const struct vamp_tracker *tracker,
                                                   const struct vamp_pending *pending)
{
    return vamp_slab_item(&tracker->cdos.slab, pending->cdo);
}
static inline struct vamp_transport *vamp_pending_transport(const struct vamp_tracker *tracker,
                                                            const struct vamp_pending *pending)
{
    return vamp_slab_item(&tracker->transports, pending->more);
}
static inline struct vamp_moment vamp_pending_since(const struct vamp_pending *pending)
{
    return (struct vamp_moment){pending->since_ns, pending->sequence};
}

/* Returns the component of the event, for entries of this kind. The component of a received JOIN
 * that was not handled yet has no row. */
static inline struct vamp_who vamp_track_who(const struct vamp_track_context *at, unsigned kind)
{
    struct vamp_who who = {0, at->row, (uint8_t)kind, false};
    if (kind == VAMP_EVENT_JOIN) {
        who.row = 0;
    } else if (at->row == 0 && vamp_event_has(at->event, VAMP_HAS_APP)) {
        who.app_id = at->event->app_id;
        who.by_id = true;
    }
    return who;
}
/* Returns the entry, or NULL if there is none. `cdo` is NULL if there is no record. */
struct vamp_pending *vamp_pending_find(const struct vamp_tracker *tracker,
                                       const struct vamp_cdo *cdo, const struct vamp_who *who);

/* Sets `ret_lookup` for an entry of the event's component and CDO. */
static inline void vamp_lookup_of(struct vamp_track_context *at, unsigned kind,
                                  struct vamp_lookup *ret_lookup)
{
    ret_lookup->key = &at->cdo_key;
    ret_lookup->record = at->record;
    ret_lookup->who = vamp_track_who(at, kind);
}
/* Sets `ret_lookup` for the event's transport, which is identified by its number; without a number,
 * by CDO and sink. */
void vamp_lookup_of_transport(const struct vamp_track_context *at, struct vamp_lookup *ret_lookup);
/* Returns the entry, or NULL if there is none. */
static inline struct vamp_pending *vamp_pending_lookup(const struct vamp_track_context *at,
                                                       const struct vamp_lookup *lookup)
{
    return vamp_pending_find(at->tracker, lookup->record, &lookup->who);
}

/* Returns the class of a kind. Deliveries belong to the class of received operations. */
static inline enum vamp_pending_class vamp_pending_class_of(unsigned kind)
{
    static_assert(VAMP_PENDING_REFERENCE - VAMP_PENDING_DELIVERY == VAMP_CLASS_REFERENCES,
                  "in the same order");
    if (kind <= VAMP_PENDING_DELIVERY) {
        return VAMP_CLASS_RECEIVED;
    }
    return (enum vamp_pending_class)(kind - VAMP_PENDING_DELIVERY);
}
/* Initializes the order of a class of at most `most` entries. Returns 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_class_init(struct vamp_class_account *account, uint32_t most);
/* Returns the oldest entry of a class, which must not be empty. */
struct vamp_pending *vamp_pending_oldest(struct vamp_tracker *tracker,
                                         enum vamp_pending_class class);
/* Returns the entry that must be removed before another one of this kind is added; NULL below the
 * limit. */
static inline struct vamp_pending *vamp_pending_to_evict(struct vamp_tracker *tracker,
                                                         unsigned kind)
{
    const enum vamp_pending_class class = vamp_pending_class_of(kind);
    uint32_t most = tracker->max_pending;
    if (kind == VAMP_PENDING_REFERENCE) {
        most = tracker->max_cdos;
    }
    return tracker->classes[class].count < most ? NULL : vamp_pending_oldest(tracker, class);
}
/* Restarts the operation at the current event. Its position in the order of its class is kept. */
static inline void vamp_pending_restart(const struct vamp_track_context *at,
                                        struct vamp_pending *pending)
{
    pending->sequence = at->tracker->events & VAMP_SEQUENCE_MAX;
    pending->since_ns = at->event->time_ns;
}
/* Adds the entry, which must not exist yet. At the limit, evicts the oldest entry of its class,
 * which must not be an offer. For a transport, the caller must initialize struct vamp_transport
 * except its `slot`. */
struct vamp_pending *vamp_pending_add(struct vamp_track_context *at,
                                      const struct vamp_lookup *lookup);
/* Moves the entry to the front of its CDO's list. */
void vamp_pending_to_front(const struct vamp_tracker *tracker, struct vamp_pending *pending);
/* Removes the entry, and its record if the record is no longer needed. */
void vamp_pending_remove(struct vamp_track_context *at, struct vamp_pending *pending);
/* Removes a record that is not tracked and whose list is empty. */
void vamp_pending_remove_record(struct vamp_track_context *at, struct vamp_cdo *record);

static inline void vamp_in_flight_set(struct vamp_in_flight *in_flight, uint32_t now)
{
    in_flight->now = now;
    in_flight->least = VAMP_MIN(in_flight->least, now);
    in_flight->most = VAMP_MAX(in_flight->most, now);
}
/* Adds `change` (1 or -1) to the row's pending operations of a kind (VAMP_IN_FLIGHT_...). */
static inline void vamp_pending_count(struct vamp_tracker *tracker, uint32_t row, unsigned kind,
                                      int change)
{
    struct vamp_in_flight *in_flight = &tracker->tallies[row].in_flight[kind];
    vamp_in_flight_set(in_flight, in_flight->now + (uint32_t)change);
}

/* Copies the name of the event's CDO for an entry that is being added. Returns the number of the
 * copy; 0 if the event has no name, or if the metric of this age is not computed. */
uint32_t vamp_pending_name_add(struct vamp_track_context *at, enum vamp_age age);
/* Returns the text of a name, whose number must not be 0. */
const char *vamp_pending_name(const struct vamp_tracker *tracker, uint32_t name);
/* Sizes of the names in the slabs `names`. */
extern const size_t vamp_name_bytes[VAMP_NAME_SIZES];

static inline bool vamp_track_is_transport(unsigned kind)
{
    return kind >= VAMP_EVENT_TRANSPORT_INIT && kind <= VAMP_EVENT_TRANSPORT_FAILED;
}
