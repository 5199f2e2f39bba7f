/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CDOs that were counted before their record was evicted: a Bloom filter over their keys. It
 * reports every CDO that was added and, after 10^6 additions, 0.2 % of all others. All bits of a
 * key are in one cache line, so that a key costs one access to memory. The bits are the same on
 * every machine, so that a replay gives the same counts as the run. Worker thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/hash.h"

#define VAMP_EVICTED_LINES (UINT64_C(1) << 15)
struct vamp_evicted_line {
    uint64_t words[8];
};
struct vamp_evicted {
    void *memory;                    /* malloc'ed */
    struct vamp_evicted_line *lines; /* in `memory`, aligned to cache lines */
    bool any; /* a CDO was added since the start, or since the filter was cleared */
};

static inline uint64_t vamp_evicted_hash(const uint64_t key[static 2])
{
    return vamp_hash_mix(key[0] ^ vamp_hash_mix(key[1]));
}
/* Prefetches the line of a key. Always inlined, since compilers remove calls of functions that only
 * prefetch. */
static inline __attribute__((always_inline)) void
vamp_evicted_prefetch(const struct vamp_evicted *evicted, const uint64_t key[static 2])
{
    __builtin_prefetch(&evicted->lines[vamp_evicted_hash(key) % VAMP_EVICTED_LINES], 1);
}

/* Returns 0 or -ENOMEM; vamp_evicted_done may be called in either case. */
VAMP_MUST_CHECK int vamp_evicted_init(struct vamp_evicted *evicted);
void vamp_evicted_done(struct vamp_evicted *evicted);
bool vamp_evicted_test(const struct vamp_evicted *evicted, const uint64_t key[static 2]);
void vamp_evicted_add(struct vamp_evicted *evicted, const uint64_t key[static 2]);
void vamp_evicted_clear(struct vamp_evicted *evicted);
