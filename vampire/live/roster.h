/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The components in the workflow, as far as its events show, used to detect the end of the
 * workflow. At most VAMP_ROSTER_MAX present components are stored; further ones are only counted.
 * Source thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/event/event.h"
#include "vampire/core/map.h"

#define VAMP_ROSTER_MAX 65536

struct vamp_roster {
    struct map present; /* application ids of present components */
    uint64_t uncounted; /* number of present components that are not in the map */
    uint64_t left;      /* number of components that have left so far */
    uint64_t seen[64];  /* cache of some ids in `present`, indexed by id modulo 64; 0: none */
};

/* A zero-initialised roster is empty. */
void vamp_roster_done(struct vamp_roster *roster);
/* Updates the roster from an event sent after its operation was handled. JOIN adds its component
 * and LEAVE removes it. DECLARE, SEAL, OFFER, REQUIRE and DEMAND add theirs, because components
 * that joined before vampire are visible only through their operations. Events that may also follow
 * a LEAVE (releases, transports) add no component, nor do SUBSCRIBE and UNSUBSCRIBE: observers,
 * including vampire, are not part of the workflow. */
void vamp_roster_observe(struct vamp_roster *roster, const struct vamp_event *event);
/* Returns whether the event's component is known to be present and the event does not change the
 * roster. */
static inline bool vamp_roster_knows(const struct vamp_roster *roster,
                                     const struct vamp_event *event)
{
    return event->app_id != 0 && roster->seen[event->app_id % 64] == event->app_id &&
           event->kind != VAMP_EVENT_LEAVE;
}
/* Returns whether at least one component has left and none of the observed components is present.
 */
bool vamp_roster_all_left(const struct vamp_roster *roster);
