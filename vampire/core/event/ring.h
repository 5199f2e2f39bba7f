/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * The queue of events, of limited size, between the source thread (one producer) and the worker
 * thread (one consumer). A push copies the event and its text into the ring (only the text if the
 * event is in its slot) and never blocks; it fails if the ring is full, and the producer counts the
 * loss. The consumer reads events in place. Events become visible to the consumer when they are
 * published, many at a time, since waking it for each event would take the processor from the
 * producer. Nothing is allocated after creation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/event/event.h"

struct vamp_ring;

/* `bytes` is rounded up to a power of two, at least 64 KiB. 0, -ENOMEM or another -errno. */
VAMP_MUST_CHECK int vamp_ring_create(size_t bytes, struct vamp_ring **ret_ring,
                                     struct vamp_err *err);
/* NULL is allowed. Both threads must have ended. */
void vamp_ring_free(struct vamp_ring *ring);

/* Producer: memory for the next event, so that the push need not copy it: in the ring or, if it
 * might not fit, `spare`. Valid until anything is pushed; not initialised. */
struct vamp_event *vamp_ring_slot(struct vamp_ring *ring, struct vamp_event *spare);
/* Producer. False: full, nothing was written. An eighth of the ring is reserved for JOIN and LEAVE,
 * half of that for LEAVE, so that the components of the workflow are known even when other events
 * are lost. */
bool vamp_ring_push(struct vamp_ring *ring, const struct vamp_event *event);
/* The same for a control event that precedes an event of `kind` and may use the same space. */
bool vamp_ring_push_before(struct vamp_ring *ring, const struct vamp_event *event, unsigned kind);
/* Producer: makes all pushed events visible to the consumer and wakes it. Must be called before the
 * producer waits for anything. */
void vamp_ring_publish(struct vamp_ring *ring);
/* Producer: publishes; no event will follow. */
void vamp_ring_close(struct vamp_ring *ring);

/* Consumer: the oldest events not taken yet, at most `max`; returns their number. They are valid
 * until the next vamp_ring_release. */
unsigned vamp_ring_take(struct vamp_ring *ring, const struct vamp_event *events[], unsigned max);
/* Consumer: the same for one event, NULL when there is none. */
static inline const struct vamp_event *vamp_ring_next(struct vamp_ring *ring)
{
    const struct vamp_event *event = NULL;
    return vamp_ring_take(ring, &event, 1) == 1 ? event : NULL;
}
/* Consumer: returns the space of all events taken so far to the producer. */
void vamp_ring_release(struct vamp_ring *ring);
/* Consumer: waits until there is an event or the ring is closed, at most `timeout_ns`. */
void vamp_ring_wait(struct vamp_ring *ring, int64_t timeout_ns);
/* Consumer: true when the producer has closed the ring and everything was taken. */
bool vamp_ring_finished(const struct vamp_ring *ring);

/* Either thread; a snapshot. */
size_t vamp_ring_used_bytes(const struct vamp_ring *ring);
size_t vamp_ring_capacity_bytes(const struct vamp_ring *ring);

/* ------------------------------------------------------------------ losses */

/*
 *  * Counts of events dropped because the ring was full, until they can be reported: as soon as
 * there is room, control events with the exact numbers are pushed, in order. Producer's thread.
 * Empty if zero-initialised.
 */

struct vamp_losses {
    bool any; /* of all below */
    uint64_t lost[VAMP_LOSS_COUNT];
    uint64_t rejected, unwanted;
    int64_t time_ns;          /* of the newest one */
    uint64_t gone, unwatched; /* 1: a control event to be pushed; they are never dropped */
    int64_t gone_ns, unwatched_ns;
};

/* Pushes control events for everything noted, in the space for an event of this kind. False: there
 * is no room for all of them. */
bool vamp_losses_report(struct vamp_losses *losses, struct vamp_ring *ring, unsigned kind);
/* Pushes `event`, after control events for everything noted. False: full, and the event must be
 * noted. */
static inline bool vamp_losses_push(struct vamp_losses *losses, struct vamp_ring *ring,
                                    const struct vamp_event *event)
{
    return (!losses->any || vamp_losses_report(losses, ring, event->kind)) &&
           vamp_ring_push(ring, event);
}
/* Notes an event that was dropped because the ring was full, as a loss of this reason. Control
 * events keep their meaning: TIME loses nothing, GONE and UNWATCHED are pushed later. */
void vamp_losses_note(struct vamp_losses *losses, const struct vamp_event *event,
                      enum vamp_loss reason);
/* At the end of the stream: pushes control events for everything noted; false: still full. */
bool vamp_losses_finish(struct vamp_losses *losses, struct vamp_ring *ring);
