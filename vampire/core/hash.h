/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hashes for tables in memory. Where other processes choose the keys (names, sessions), a hash
 * begins with a seed of vamp_hash_seed, so that keys cannot be chosen to collide. No state; any
 * thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Every bit of the result depends on every bit of `bits`: the finalizer of MurmurHash3, by Austin
 * Appleby. The same on every machine and in every version, since sampling filters promise that two
 * vampires watch the same CDOs. */
static inline uint64_t vamp_hash_mix(uint64_t bits)
{
    bits ^= bits >> 33;
    bits *= UINT64_C(0xff51afd7ed558ccd);
    bits ^= bits >> 33;
    bits *= UINT64_C(0xc4ceb9fe1a85ec53);
    return bits ^ bits >> 33;
}

/* Returns the hash of a CDO's id, which may be a counter. The hash determines which CDOs are
 * sampled, and the group of each sampled CDO. */
static inline uint64_t vamp_hash_id(uint64_t high, uint64_t low)
{
    return vamp_hash_mix(vamp_hash_mix(high + UINT64_C(0x9e3779b97f4a7c15)) ^ low);
}

/* Adds one word of a key to `hash` with a single multiplication, because it runs for every event.
 * The lower 32 bits are well distributed. */
static inline uint64_t vamp_hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* Returns the next number of the sequence that starts at `*state` (splitmix64). Not for secrets. */
static inline uint64_t vamp_random_next(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

/* Returns the hash of `length` bytes; `seed` may be the hash of the preceding bytes. */
uint64_t vamp_hash_bytes(uint64_t seed, const void *bytes, size_t length);

/* Returns a random number, or one derived from the time if the system has no randomness yet. */
uint64_t vamp_hash_seed(void);
