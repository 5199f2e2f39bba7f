/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys under which events are looked up. Private to the pairing; worker thread. */
#pragma once

#include "vampire/stats/pairing/records.h"

/* Returns the key of a CDO derived from the name in the event. */
struct vamp_key vamp_track_name_key(const struct vamp_event *event);
/* As vamp_track_find_key, for events without a CDO id. */
bool vamp_track_find_key_by_name(const struct vamp_event *event, struct vamp_key *ret_key);
/* Sets the key of the event's CDO. Returns false if the event has none. */
static inline bool vamp_track_find_key(const struct vamp_event *event, struct vamp_key *key)
{
    if (!vamp_event_has(event, VAMP_HAS_CDO_ID)) {
        return vamp_track_find_key_by_name(event, key);
    }
    *key = vamp_key_of_two(event->cdo_id.high, event->cdo_id.low);
    return true;
}

/* Returns the key of an object that is identified by a number and is not a CDO. The second word is
 * random, so that no CDO id can be constructed that collides with it. */
static inline struct vamp_key vamp_track_number_key(const struct vamp_tracker *tracker,
                                                    uint64_t number)
{
    return vamp_key_of_two(number, tracker->number_word);
}
