/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The components in the workflow, as far as its events show, to detect its end. Bounded: over
 * VAMP_ROSTER_MAX present components, further ones are only counted. Source thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/event/event.h"
#include "vampire/core/map.h"

#define VAMP_ROSTER_MAX 65536

struct vamp_roster {
    struct map present; /* application ids */
    uint64_t uncounted; /* present but not in the map */
    uint64_t left;      /* components that have left so far */
    uint64_t seen[64];  /* some of `present`, indexed by id modulo 64; 0: none */
};

/* Zero-initialised is empty. */
void vamp_roster_done(struct vamp_roster *roster);
/* Updates the roster from an event sent after its operation was handled. JOIN adds and LEAVE
 * removes. DECLARE, SEAL, OFFER, REQUIRE and DEMAND add their component, since one that joined
 * before us is known only by its operations. Events that may also follow a LEAVE (releasing,
 * transports) add no component, nor do SUBSCRIBE and UNSUBSCRIBE: watchers, vampire included, are
 * not part of the workflow. */
void vamp_roster_observe(struct vamp_roster *roster, const struct vamp_event *event);
/* Whether the event's component is known to be present and the event does not change the roster. */
static inline bool vamp_roster_knows(const struct vamp_roster *roster,
                                     const struct vamp_event *event)
{
    return event->app_id != 0 && roster->seen[event->app_id % 64] == event->app_id &&
           event->kind != VAMP_EVENT_LEAVE;
}
/* Whether at least one component has left and none of the observed ones is present. */
bool vamp_roster_all_left(const struct vamp_roster *roster);
