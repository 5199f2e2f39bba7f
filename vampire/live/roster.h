/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is in the workflow, as far as its events show: to know when it has ended. Bounded: at
 * VAMP_ROSTER_MAX components present at once the rest is only counted. Source thread only.
 */
#ifndef VAMP_LIVE_ROSTER_H
#define VAMP_LIVE_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/event/event.h"

#define VAMP_ROSTER_MAX 65536

/* A set of application ids, which the pool manager gives out. Not a map of core/map.h, whose
 * entries are objects: open addressing with linear probing; 0 marks a free slot, so the id 0 has a
 * flag of its own. */
struct vamp_roster {
    uint64_t *slots;
    size_t slot_count;  /* a power of two, or 0 */
    size_t present;     /* in `slots` */
    uint64_t uncounted; /* present but not in `slots` */
    uint64_t left;      /* components that left, ever */
    bool zero_present;
    bool pool_ended; /* a component left because the pool manager shut down */
};

/* Zero-initialised is empty. */
void vamp_roster_done(struct vamp_roster *roster);
/* Learns from an event sent after its operation was handled. JOIN adds and LEAVE removes. DECLARE,
 * SEAL, OFFER, REQUIRE and DEMAND add whom they name, since a component that joined before us is
 * seen only by what it does. What may also follow a LEAVE (releasing, transports) adds no
 * component, nor do SUBSCRIBE and UNSUBSCRIBE: watchers, ourselves among them, are not the
 * workflow. */
void vamp_roster_observe(struct vamp_roster *roster, const struct vamp_event *event);
/* At least one component has left and none that was seen is still there. */
bool vamp_roster_all_left(const struct vamp_roster *roster);

#endif
