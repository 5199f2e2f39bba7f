/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/hash.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

uint64_t vamp_hash_bytes(uint64_t seed, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint64_t hash = vamp_hash_word(seed, length);
    uint64_t word;
    for (; length >= sizeof word; at += sizeof word, length -= sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = vamp_hash_mix(hash ^ word);
    }
    word = 0;
    memcpy(&word, at, length);
    return vamp_hash_mix(hash ^ word);
}

uint64_t vamp_hash_seed(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) {
        seed = vamp_hash_mix((uint64_t)time(NULL));
    }
    return seed;
}
