/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/hash.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

uint64_t vamp_hash_bytes(uint64_t seed, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    const bool is_long = length >= sizeof(uint64_t);
    uint64_t hash = vamp_hash_word(seed, length);
    uint64_t word;
    for (; length >= sizeof word; at += sizeof word, length -= sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = vamp_hash_mix(hash ^ word);
    }
    word = 0;
    if (is_long && length > 0) { /* the last bytes of eight, because copying so few bytes would be a
                                    function call */
        memcpy(&word, at + length - sizeof word, sizeof word);
        word = htole64(le64toh(word) >> 8 * (sizeof word - length));
    } else {
        memcpy(&word, at, length);
    }
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
