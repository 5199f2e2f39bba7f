/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sampling: some events stand for all. The weight says how many events one that passed stands for,
 * so that totals can be estimated. Marks, JOIN and LEAVE always pass: without them the other events
 * could not be attributed. Worker thread; nothing is allocated.
 */
#ifndef VAMP_FILTERS_SAMPLE_H
#define VAMP_FILTERS_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/event/event.h"

enum vamp_sampling {
    VAMP_SAMPLE_FRACTION, /* all events of `number` of a million CDOs, chosen by CDO id */
    VAMP_SAMPLE_EVERY,    /* one event of `number`, the first of them */
    VAMP_SAMPLE_RATE,     /* at most `number` events in each second of event time */
};

#define VAMP_SAMPLE_FRACTION_MAX 1000000U

struct vamp_sampler {
    enum vamp_sampling how;
    uint64_t number;
    uint64_t limit; /* fraction: hashes below it pass */
    uint64_t count; /* every: events since one passed; rate: passed in the current second */
    int64_t second; /* rate: the current one, since 1970 */
};

/* `number` is at least 1, and at most VAMP_SAMPLE_FRACTION_MAX of a fraction. */
void vamp_sampler_init(struct vamp_sampler *sampler, enum vamp_sampling how, uint64_t number);
/* Whether the event passes. Time is the event's. */
bool vamp_sampler_passes(struct vamp_sampler *sampler, const struct vamp_event *event);
/* How many events one that passed stands for; 0: it varies with time. */
double vamp_sampler_weight(const struct vamp_sampler *sampler);
/* "fraction", "every", "rate"; never NULL. */
const char *vamp_sampling_name(enum vamp_sampling how);

#endif
