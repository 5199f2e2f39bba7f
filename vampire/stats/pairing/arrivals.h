/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Error of arrival times. An event without a time happened between the preceding control event
 * (VAMP_EVENT_TIME: the queue was empty) and its arrival. An interval between two arrivals may be
 * off by the waits of both; a shorter one is below the resolution and counts as 0. Private to the
 * statistics; worker thread.
 */
#pragma once

#include "vampire/stats/pairing/observation.h"

/* The longest wait of events is kept for each 67 ms (2^26 ns), for four and a half minutes. */
#define VAMP_ARRIVAL_PIECES 4096U
#define VAMP_ARRIVAL_SHIFT 26

struct vamp_arrivals {
    int64_t empty_ns;    /* time of the last control event; 0: there was none */
    uint64_t longest_ns; /* of all waits */
    struct {
        int64_t number; /* of the piece, since 1970 */
        uint64_t waited_ns;
    } pieces[VAMP_ARRIVAL_PIECES];
};

/* Replaces intervals of `seen` below the resolution by 0, and raises the resolution of its slot. */
void vamp_arrivals_blur(struct vamp_arrivals *arrivals, struct vamp_observation *seen);
