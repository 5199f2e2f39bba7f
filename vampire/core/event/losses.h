/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events that found no room in a ring, until the loss can be reported: the producer notes each
 * event it had to drop, and puts marks with the exact numbers into the ring, in order, as soon as
 * there is room. Producer's thread. Zero-initialised is empty.
 */
#ifndef VAMP_CORE_EVENT_LOSSES_H
#define VAMP_CORE_EVENT_LOSSES_H

#include "vampire/core/event/ring.h"

struct vamp_losses {
    bool any; /* of all below */
    uint64_t lost[VAMP_LOSS_COUNT];
    uint64_t rejected;
    int64_t time_ns;      /* of the newest one */
    bool gone, unwatched; /* marks that found no room; they are never dropped */
    int64_t gone_ns, unwatched_ns;
};

/* Puts marks for everything noted into the ring, in the room of an event of this kind. False: no
 * room for all of them. */
bool vamp_losses_report(struct vamp_losses *losses, struct vamp_ring *ring, unsigned kind);
/* Puts `event` into the ring, after marks for everything noted before. False: no room, and the
 * event has to be noted. */
static inline bool vamp_losses_push(struct vamp_losses *losses, struct vamp_ring *ring,
                                    const struct vamp_event *event)
{
    return (!losses->any || vamp_losses_report(losses, ring, event->kind)) &&
           vamp_ring_push(ring, event);
}
/* `event` was dropped because the ring was full, which is a loss of reason `reason`. A mark keeps
 * its own meaning; one of time loses nothing, and those of a pool that is gone are put into the
 * ring later. */
void vamp_losses_note(struct vamp_losses *losses, const struct vamp_event *event,
                      enum vamp_loss reason);
/* At the end of the stream: puts marks for everything noted into the ring; false when it is still
 * full. */
bool vamp_losses_finish(struct vamp_losses *losses, struct vamp_ring *ring);

#endif
