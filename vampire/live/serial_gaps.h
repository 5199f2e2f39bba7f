/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts missing serial numbers as lost events. Only for a pool manager whose serial numbers have
 * no gaps unless events are lost, and for subscriptions to everything that it numbers.
 *
 * Another component can subscribe to operations before they are handled that vampire does not
 * subscribe to. Their serial numbers are missing, too, but directly before the event of the handled
 * operation. A gap is therefore counted only if its following event is of a kind that has also
 * followed without a gap; until then it is stored.
 *
 * A pool manager that reports lost events reports some or all of the same events, so the larger of
 * both counts is used. Source thread only.
 */
#pragma once

#include <stdint.h>

#include "vampire/core/event/event.h"

/* A zero-initialised struct starts with the next event of a handled operation: its subscription is
 * the last one, so all subscriptions exist since then. */
struct vamp_serial_gaps {
    uint64_t newest;   /* the highest serial number so far; 0: not started */
    uint64_t missing;  /* missing serial numbers that are lost events */
    uint64_t filled;   /* events that were missing and arrived late, or could not be read */
    uint64_t reported; /* lost events reported by the pool manager */
    uint64_t counted;  /* lost events returned so far */
    uint64_t gapless;  /* bit per event kind that followed without a gap */
    uint64_t stored[VAMP_EVENT_UNWANTED]; /* missing numbers before events of the other kinds */
};

/* Observes the next event, or a control event for lost events. Returns the number of events that
 * were lost before it and not returned yet; the pool manager's own count is included. If any were,
 * the event may be observed again, without effect. */
uint64_t vamp_serial_gaps_observe(struct vamp_serial_gaps *gaps, const struct vamp_event *event);
