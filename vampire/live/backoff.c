/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/backoff.h"

/* splitmix64 */
static uint64_t random_word(uint64_t *state)
{
    uint64_t value = *state += UINT64_C(0x9E3779B97F4A7C15);
    value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
    return value ^ (value >> 31);
}

static void schedule_attempt(struct vamp_backoff *backoff, int64_t now_ns)
{
    const int64_t half = backoff->pause_ns / 2;
    const int64_t by_chance = (int64_t)(random_word(&backoff->chance) % (uint64_t)(half + 1));
    backoff->next_ns = now_ns + backoff->pause_ns - half / 2 + by_chance;
    backoff->pause_ns *= 2;
    if (backoff->pause_ns > VAMP_BACKOFF_LONGEST_NS) {
        backoff->pause_ns = VAMP_BACKOFF_LONGEST_NS;
    }
}

void vamp_backoff_begin(struct vamp_backoff *backoff, int64_t now_ns, uint64_t seed)
{
    *backoff = (struct vamp_backoff){.pause_ns = VAMP_BACKOFF_SHORTEST_NS, .chance = seed};
    schedule_attempt(backoff, now_ns);
}

void vamp_backoff_failed(struct vamp_backoff *backoff, int64_t now_ns)
{
    schedule_attempt(backoff, now_ns);
}
