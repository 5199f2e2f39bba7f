/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/keys.h"

#include <string.h>

static uint64_t fold_word(uint64_t hash, uint64_t word)
{
    unsigned __int128 product = (unsigned __int128)(hash ^ word) * UINT64_C(0x9FB21C651E98DF25);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The halves of the key are independent, so that a million names do not collide. */
struct vamp_key vamp_track_name_key(const struct vamp_event *event)
{
    const char *name = event->name;
    const size_t length = event->name_length;
    uint64_t first = UINT64_C(0x243F6A8885A308D3) + length;
    uint64_t second = UINT64_C(0x13198A2E03707344) ^ length;
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = 0;
        memcpy(&word, name + i, VAMP_MIN(length - i, (size_t)8));
        first = fold_word(first, word);
        second = fold_word(second + UINT64_C(0xA4093822299F31D0), word);
    }
    return vamp_key_of_two(first, second);
}

bool vamp_track_find_key_by_name(const struct vamp_event *event, struct vamp_key *ret_key)
{
    *ret_key = (struct vamp_key){.hash = 0};
    if (vamp_event_has(event, VAMP_HAS_CDO_NAME)) {
        *ret_key = vamp_track_name_key(event);
        return true;
    }
    /* A component that joins is identified by its name, since it has no id yet. */
    if (vamp_event_has(event, VAMP_HAS_COMPONENT_NAME)) {
        *ret_key = vamp_track_name_key(event);
    }
    return false;
}
