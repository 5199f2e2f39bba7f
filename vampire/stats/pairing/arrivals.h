/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far times of arrival may be off. Where events carry no time, one happened between the mark
 * before it (VAMP_EVENT_TIME: nothing waited then) and its arrival. A time between two arrivals is
 * off by what both may have waited; one that is shorter is below the clock's resolution and counts
 * as 0. Private to the statistics; worker thread.
 */
#pragma once

#include "vampire/stats/pairing/observation.h"

/* The longest wait of the events of each 67 ms, for four and a half minutes. */
#define VAMP_ARRIVAL_PIECES 4096U
#define VAMP_ARRIVAL_SHIFT 26

struct vamp_arrivals {
    int64_t empty_ns;    /* time of the last mark; 0: there was none */
    uint64_t longest_ns; /* of all waits */
    struct {
        int64_t number; /* of the piece, since 1970 */
        uint64_t waited_ns;
    } pieces[VAMP_ARRIVAL_PIECES];
};

/* Replaces times of `seen` that are below the resolution by 0, and notes the resolution in its
 * slot. */
void vamp_arrivals_blur(struct vamp_arrivals *arrivals, struct vamp_observation *seen);
