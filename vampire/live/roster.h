/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is in the workflow, as far as its events show: to know when it has ended. Bounded: at
 * VAMP_ROSTER_MAX components present at once the rest is only counted. Source thread only.
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
    uint64_t left;      /* components that left, ever */
    uint64_t seen[64];  /* some of `present`, each at its id's remainder; 0: none */
};

/* Zero-initialised is empty. */
void vamp_roster_done(struct vamp_roster *roster);
/* Learns from an event sent after its operation was handled. JOIN adds and LEAVE removes. DECLARE,
 * SEAL, OFFER, REQUIRE and DEMAND add whom they name, since a component that joined before us is
 * seen only by what it does. What may also follow a LEAVE (releasing, transports) adds no
 * component, nor do SUBSCRIBE and UNSUBSCRIBE: watchers, ourselves among them, are not the
 * workflow. */
void vamp_roster_observe(struct vamp_roster *roster, const struct vamp_event *event);
/* True: an event of a component that is present, from which nothing is to be learned. */
static inline bool vamp_roster_knows(const struct vamp_roster *roster,
                                     const struct vamp_event *event)
{
    return event->app_id != 0 && roster->seen[event->app_id % 64] == event->app_id &&
           event->kind != VAMP_EVENT_LEAVE;
}
/* At least one component has left and none that was seen is still there. */
bool vamp_roster_all_left(const struct vamp_roster *roster);
