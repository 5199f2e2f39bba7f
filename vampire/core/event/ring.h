/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bounded queue of events from the source thread (one producer) to the worker thread (one
 * consumer). A push never blocks: it copies the event and its text into the ring, or only the text
 * if the event is in its slot already, and fails if there is no room, which the producer counts.
 * The consumer reads events in place.
 *
 * Events become visible to the consumer when they are published, many at a time, because waking the
 * consumer for each event would cost too much. Nothing is allocated after creation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/event/event.h"

struct vamp_ring;

/* `bytes` is rounded up to a power of two, at least 64 KiB. Returns 0, -ENOMEM or another -errno.
 */
VAMP_MUST_CHECK int vamp_ring_create(size_t bytes, struct vamp_ring **ret_ring,
                                     struct vamp_err *err);
/* Frees the ring; NULL is allowed. Both threads must have ended. */
void vamp_ring_free(struct vamp_ring *ring);

/* Producer: returns the memory for the next event, so that the push need not copy the event: memory
 * in the ring, or `spare` if the event may not fit. The memory is uninitialised and may be used
 * until the next push. */
struct vamp_event *vamp_ring_slot(struct vamp_ring *ring, struct vamp_event *spare);
/* Producer: adds an event. Returns false if there is no space; nothing was written. An eighth of
 * the ring is reserved for JOIN and LEAVE, and half of that for LEAVE alone, because the set of
 * present components must be known even if other events are lost. */
bool vamp_ring_push(struct vamp_ring *ring, const struct vamp_event *event);
/* As vamp_ring_push, for a control event that precedes an event of kind `kind`, and may use the
 * space reserved for that kind. */
bool vamp_ring_push_before(struct vamp_ring *ring, const struct vamp_event *event, unsigned kind);
/* Producer: returns whether an event of any size fits, including the control events for recorded
 * losses before it. */
bool vamp_ring_has_room(struct vamp_ring *ring);
/* Producer: makes all pushed events visible to the consumer and wakes it. Must be called before the
 * producer waits for anything. */
void vamp_ring_publish(struct vamp_ring *ring);
/* Producer: publishes all events and closes the ring; no event may follow. */
void vamp_ring_close(struct vamp_ring *ring);

/* Consumer: sets `events` to the oldest events that this function has not returned yet, at most
 * `max`. Returns their number. They are valid until the next vamp_ring_release. */
unsigned vamp_ring_take(struct vamp_ring *ring, const struct vamp_event *events[], unsigned max);
/* Consumer: returns the next event as vamp_ring_take; NULL if there is none. */
static inline const struct vamp_event *vamp_ring_next(struct vamp_ring *ring)
{
    const struct vamp_event *event = NULL;
    return vamp_ring_take(ring, &event, 1) == 1 ? event : NULL;
}
/* Consumer: returns the memory of all consumed events to the producer. */
void vamp_ring_release(struct vamp_ring *ring);
/* Consumer: waits until there is an event or the ring is closed, for at most `timeout_ns`. */
void vamp_ring_wait(struct vamp_ring *ring, int64_t timeout_ns);
/* Consumer: returns whether the producer has closed the ring and all events were consumed. */
bool vamp_ring_finished(const struct vamp_ring *ring);

/* Returns the number of used bytes, which may change at any time. Either thread. */
size_t vamp_ring_used_bytes(const struct vamp_ring *ring);
size_t vamp_ring_capacity_bytes(const struct vamp_ring *ring);

/* ------------------------------------------------------------------ losses */

/*
 * Counts events for which there was no space in a ring, until the loss can be reported. The
 * producer records each dropped event, and pushes control events with the exact numbers, in order,
 * as soon as there is space. Producer's thread. Zero-initialised: empty.
 */

struct vamp_losses {
    bool any; /* at least one of the members below is set */
    uint64_t lost[VAMP_LOSS_COUNT];
    uint64_t rejected, unwanted;
    int64_t time_ns; /* time of the newest dropped event */
    uint64_t gone,
        unwatched; /* 1: a control event that is still to be pushed; these are never dropped */
    int64_t gone_ns, unwatched_ns;
};

/* Pushes control events for all recorded losses, in the space reserved for events of this kind.
 * Returns false if not all of them fit. */
bool vamp_losses_report(struct vamp_losses *losses, struct vamp_ring *ring, unsigned kind);
/* Pushes `event` after control events for all recorded losses. Returns false if there is no space;
 * the caller must then call vamp_losses_note. */
static inline bool vamp_losses_push(struct vamp_losses *losses, struct vamp_ring *ring,
                                    const struct vamp_event *event)
{
    return (!losses->any || vamp_losses_report(losses, ring, event->kind)) &&
           vamp_ring_push(ring, event);
}
/* Records that `event` was dropped because the ring was full, which counts as a loss for `reason`.
 * Control events are not counted as lost: TIME is dropped, GONE and UNWATCHED are pushed later, and
 * the counts of the others are added. */
void vamp_losses_note(struct vamp_losses *losses, const struct vamp_event *event,
                      enum vamp_loss reason);
/* At the end of the stream: pushes all recorded losses. Returns false if the ring is still full. */
bool vamp_losses_finish(struct vamp_losses *losses, struct vamp_ring *ring);
