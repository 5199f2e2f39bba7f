/* SPDX-License-Identifier: BSD-3-Clause */
/* A clock that stands still until a test moves it; one thread. */
#pragma once

#include "vampire/core/clock.h"

struct vamp_fake_clock {
    int64_t utc_ns;
    int64_t monotonic_ns;
    struct vamp_clock clock;
};

static inline int64_t fake_utc_ns(void *self)
{
    return ((struct vamp_fake_clock *)self)->utc_ns;
}

static inline int64_t fake_monotonic_ns(void *self)
{
    return ((struct vamp_fake_clock *)self)->monotonic_ns;
}

static inline void vamp_fake_clock_init(struct vamp_fake_clock *fake, int64_t utc_ns)
{
    *fake = (struct vamp_fake_clock){
        .utc_ns = utc_ns,
        .clock = {.utc_ns = fake_utc_ns, .monotonic_ns = fake_monotonic_ns, .self = fake},
    };
}

static inline void vamp_fake_clock_advance(struct vamp_fake_clock *fake, int64_t by_ns)
{
    fake->utc_ns += by_ns;
    fake->monotonic_ns += by_ns;
}
