/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error of arrival times. An event without a time occurred between the preceding control event
 * (VAMP_EVENT_TIME: the queue was empty) and its arrival; this is its wait. The error of an
 * interval between two arrivals is up to the sum of both waits; a shorter interval is below the
 * resolution and counts as 0. Private to the statistics; worker thread.
 */
#pragma once

#include "vampire/stats/pairing/observation.h"

/* The longest wait of events is stored for each period of 67 ms (2^26 ns), for the last four and a
 * half minutes. */
#define VAMP_ARRIVAL_PIECES 4096U
#define VAMP_ARRIVAL_SHIFT 26

struct vamp_arrivals {
    int64_t empty_ns;    /* time of the last control event; 0 if there was none */
    uint64_t longest_ns; /* longest wait since the start */
    struct {
        int64_t number; /* number of the period since 1970 */
        uint64_t waited_ns;
    } pieces[VAMP_ARRIVAL_PIECES];
};

/* Replaces intervals of `seen` below the resolution by 0, and raises the recorded resolution of its
 * slot. */
void vamp_arrivals_blur(struct vamp_arrivals *arrivals, struct vamp_observation *seen);
