/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sampling: some CDOs stand for all, each with all events of its life, so that a demand and its
 * transport are chosen together. A hash of the identifier chooses: independent of time, load and
 * order, so that neither a burst nor a period can hide from it. Marks, JOIN and LEAVE always pass,
 * as does every event without a CDO: they stand for themselves. Any thread; nothing is allocated.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/event/event.h"

/* A fraction is a number of CDOs in this many. */
#define VAMP_SAMPLE_ALL 1000000U

/* Whether the event passes if `fraction` (1 to VAMP_SAMPLE_ALL) of all CDOs do. The same on every
 * machine and in every version, and a smaller fraction chooses some of what a larger one does. */
bool vamp_sample_passes(uint64_t fraction, const struct vamp_event *event);
