/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An imagined workflow: producers that offer CDOs step by step, consumers that demand them, in
 * correct order and with plausible times. The same settings always give the same events. No clock,
 * no I/O. Everything is allocated at creation.
 */
#ifndef VAMP_SOURCE_SYNTHETIC_LIFE_H
#define VAMP_SOURCE_SYNTHETIC_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/event/event.h"

struct vamp_synthetic_plan {
    int64_t start_ns; /* UTC, of the first event; 0: always the same time in 2026 */
    uint64_t seed;
    uint64_t producers, consumers; /* at least 1 each */
    uint64_t steps;                /* each producer's */
    uint64_t burst;                /* CDOs a producer offers in a step */
    uint64_t fan_out;              /* consumers of each CDO, at most `consumers` */
    uint64_t size_min, size_max;   /* bytes */
    int64_t step_ns;               /* from one step to the next */
    uint64_t unseen;               /* components that joined before the stream begins */
    uint64_t vanish_permille;      /* chance of a component to die on the way */
};

/* Small, fast and good enough: splitmix64. */
struct vamp_random {
    uint64_t state;
};
uint64_t vamp_random_next(struct vamp_random *random);
/* True `permille` times out of 1,000. */
bool vamp_random_chance(struct vamp_random *random, uint64_t permille);

struct vamp_synthetic_life;

/* 0, -ENOMEM, or -EINVAL when the plan makes no sense. */
VAMP_MUST_CHECK int vamp_synthetic_life_create(const struct vamp_synthetic_plan *plan,
                                               struct vamp_synthetic_life **ret_life,
                                               struct vamp_err *err);
void vamp_synthetic_life_free(struct vamp_synthetic_life *life);
/* The next event in order of time and serial; false: the workflow has ended. The name is valid
 * until the next call. */
bool vamp_synthetic_life_next(struct vamp_synthetic_life *life, struct vamp_event *ret_event);

#endif
