/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts missing serial numbers as lost events. Requires a pool manager that numbers its events
 * without gaps, and subscriptions to all numbered events.
 *
 * Another component may subscribe to "before" events of kinds that vampire does not subscribe to.
 * These also leave a gap, directly before the "after" event of the same operation. Gaps before an
 * event kind are therefore only stored until this kind has occurred without a gap; then they are
 * counted.
 *
 * If the pool manager reports losses, the reported events and the gaps may be the same events, so
 * the larger count is used. Source thread only.
 */
#pragma once

#include <stdint.h>

#include "vampire/core/event/event.h"

/* Initialise with zeros. Counting starts at the first "after" event: that subscription is created
 * last, so all subscriptions exist then. */
struct vamp_serial_gaps {
    uint64_t newest;   /* the highest serial number so far; 0: not started */
    uint64_t first;    /* the serial number at which counting started */
    uint64_t missing;  /* missing serial numbers that are lost events */
    uint64_t filled;   /* events counted in `missing` that arrived late or could not be decoded */
    uint64_t reported; /* lost events reported by the pool manager */
    uint64_t counted;  /* lost events returned so far */
    uint64_t gapless;  /* bit per event kind that followed without a gap */
    uint64_t stored[VAMP_EVENT_UNWANTED]; /* missing numbers before events of the other kinds */
};

/* Observes the next event, or a control event for lost events. Returns the number of events that
 * were lost before it and not returned yet; the pool manager's own count is included. Observing the
 * same event again has no effect, so the caller may insert a control event before it. */
uint64_t vamp_serial_gaps_observe(struct vamp_serial_gaps *gaps, const struct vamp_event *event);

/* Returns the number of missing events that are not among those reported by the pool manager. */
uint64_t vamp_serial_gaps_unreported(const struct vamp_serial_gaps *gaps);
