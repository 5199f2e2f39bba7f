/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bounded queue of events between the source thread (one producer) and the worker thread
 * (one consumer). A push copies the event and its text into the ring, of an event that lies in the
 * slot only the text, and never blocks; when there is no room it refuses, and the producer counts.
 * The consumer reads events in place.
 * The consumer sees what was pushed once it is published, many events at a time: woken for each
 * event, it would take the processor from the producer for each. Nothing is allocated after
 * creation.
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
/* NULL is fine. Both threads must have ended. */
void vamp_ring_free(struct vamp_ring *ring);

/* Producer: where to write the next event, so that the push need not copy it: in the ring or, where
 * it may not fit, `spare`. The caller's until anything is pushed; not initialised. */
struct vamp_event *vamp_ring_slot(struct vamp_ring *ring, struct vamp_event *spare);
/* Producer. False: no room, nothing was written. An eighth of the ring is only for JOIN and LEAVE,
 * half of that only for LEAVE: who is in the workflow must be known even when other events are
 * lost. */
bool vamp_ring_push(struct vamp_ring *ring, const struct vamp_event *event);
/* The same for a mark that belongs before an event of `kind` and may use the same room. */
bool vamp_ring_push_before(struct vamp_ring *ring, const struct vamp_event *event, unsigned kind);
/* Producer: the consumer sees all that was pushed, and is woken. Always called before the producer
 * waits for anything. */
void vamp_ring_publish(struct vamp_ring *ring);
/* Producer: publishes; no event will follow. */
void vamp_ring_close(struct vamp_ring *ring);

/* Consumer. The oldest events not yet taken by this function, at most `max`; returns how many. They
 * stay valid until the next vamp_ring_release. */
unsigned vamp_ring_take(struct vamp_ring *ring, const struct vamp_event *events[], unsigned max);
/* Consumer: the same of one event, NULL when there is none. */
static inline const struct vamp_event *vamp_ring_next(struct vamp_ring *ring)
{
    const struct vamp_event *event = NULL;
    return vamp_ring_take(ring, &event, 1) == 1 ? event : NULL;
}
/* Consumer: gives the space of all events taken so far back to the producer. */
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
 * Events that found no room in a ring, until the loss can be reported: the producer notes each
 * event it had to drop, and puts marks with the exact numbers into the ring, in order, as soon as
 * there is room. Producer's thread. Zero-initialised is empty.
 */

struct vamp_losses {
    bool any; /* of all below */
    uint64_t lost[VAMP_LOSS_COUNT];
    uint64_t rejected, unwanted;
    int64_t time_ns;          /* of the newest one */
    uint64_t gone, unwatched; /* 1: a mark that found no room; they are never dropped */
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
