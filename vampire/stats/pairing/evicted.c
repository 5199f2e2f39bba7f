/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/evicted.h"

#include <stdlib.h>
#include <string.h>

#include "vampire/core/hash.h"

#define FILTER_BITS (UINT64_C(1) << 24)
#define WORD_BITS 64
#define BITS_PER_KEY 4

static uint64_t first_hash(const uint64_t key[static 2])
{
    return vamp_hash_mix(key[0] ^ vamp_hash_mix(key[1]));
}

static uint64_t next_hash(uint64_t hash)
{
    return vamp_hash_mix(hash + 1);
}

static uint64_t *word_of(const struct vamp_evicted *evicted, uint64_t hash)
{
    return &evicted->bits[hash % FILTER_BITS / WORD_BITS];
}

static uint64_t bit_of(uint64_t hash)
{
    return UINT64_C(1) << hash % WORD_BITS;
}

int vamp_evicted_init(struct vamp_evicted *evicted)
{
    evicted->any = false;
    evicted->bits = calloc(FILTER_BITS / WORD_BITS, sizeof *evicted->bits);
    return evicted->bits != NULL ? 0 : -ENOMEM;
}

void vamp_evicted_done(struct vamp_evicted *evicted)
{
    free(evicted->bits);
}

bool vamp_evicted_test(const struct vamp_evicted *evicted, const uint64_t key[static 2])
{
    if (!evicted->any) {
        return false;
    }
    uint64_t hash = first_hash(key);
    for (unsigned i = 0; i < BITS_PER_KEY; i++) {
        if ((*word_of(evicted, hash) & bit_of(hash)) == 0) {
            return false;
        }
        hash = next_hash(hash);
    }
    return true;
}

void vamp_evicted_add(struct vamp_evicted *evicted, const uint64_t key[static 2])
{
    uint64_t hash = first_hash(key);
    for (unsigned i = 0; i < BITS_PER_KEY; i++) {
        *word_of(evicted, hash) |= bit_of(hash);
        hash = next_hash(hash);
    }
    evicted->any = true;
}

void vamp_evicted_clear(struct vamp_evicted *evicted)
{
    if (evicted->any) {
        memset(evicted->bits, 0, FILTER_BITS / 8);
        evicted->any = false;
    }
}
