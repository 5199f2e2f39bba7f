/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CDOs that were counted before their record was evicted: a Bloom filter over their keys. It
 * reports every CDO that was added and, after 10^6 additions, 0.2 % of all others. The bits are the
 * same on every machine, so that a replay gives the same counts as the run. Worker thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/err.h"

struct vamp_evicted {
    uint64_t *bits;
    bool any; /* a CDO was added since the start, or since the filter was cleared */
};

/* Returns 0 or -ENOMEM; vamp_evicted_done may be called in either case. */
VAMP_MUST_CHECK int vamp_evicted_init(struct vamp_evicted *evicted);
void vamp_evicted_done(struct vamp_evicted *evicted);
bool vamp_evicted_test(const struct vamp_evicted *evicted, const uint64_t key[static 2]);
void vamp_evicted_add(struct vamp_evicted *evicted, const uint64_t key[static 2]);
void vamp_evicted_clear(struct vamp_evicted *evicted);
