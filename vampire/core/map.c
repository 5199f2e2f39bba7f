/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/hash.h"

enum { SLOTS_MIN = 64 };

int map_init(struct map *map)
{
    *map = (struct map){.slots = calloc(SLOTS_MIN, sizeof *map->slots)};
    if (map->slots == NULL) {
        return -ENOMEM; /* without slots, so that map_drop is possible */
    }
    map->slot_count = SLOTS_MIN;
    map->seed = vamp_hash_seed();
    return 0;
}

void map_done(struct map *map)
{
    free(map->slots);
    *map = (struct map){0};
}

void map_drop(struct map *map, void (*drop)(struct map_link *link))
{
    for (size_t i = 0; i < map->slot_count; i++) {
        for (struct map_link *link = map->slots[i]; link != NULL;) {
            struct map_link *next = link->next;
            drop(link);
            link = next;
        }
    }
    map_done(map);
}

uint64_t map_hash_number(const struct map *map, uint64_t key)
{
    return vamp_hash_mix(key ^ map->seed);
}

uint64_t map_hash_text(const struct map *map, const char *text, size_t length)
{
    return vamp_hash_bytes(map->seed, text, length);
}

static void double_slots(struct map *map)
{
    size_t slot_count = map->slot_count * 2;
    struct map_link **slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL) {
        return;
    }
    for (size_t i = 0; i < map->slot_count; i++) {
        struct map_link *link = map->slots[i];
        while (link != NULL) {
            struct map_link *next = link->next;
            struct map_link **slot = &slots[link->hash & (slot_count - 1)];
            link->next = *slot;
            *slot = link;
            link = next;
        }
    }
    free(map->slots);
    map->slots = slots;
    map->slot_count = slot_count;
}

void map_insert(struct map *map, struct map_link *link, uint64_t hash)
{
    assert(map->slots != NULL);
    if (map->count >= map->slot_count) {
        double_slots(map);
    }
    struct map_link **slot = &map->slots[hash & (map->slot_count - 1)];
    link->hash = hash;
    link->next = *slot;
    *slot = link;
    map->count++;
}

void map_remove(struct map *map, struct map_link *link)
{
    struct map_link **at = &map->slots[link->hash & (map->slot_count - 1)];
    while (*at != NULL && *at != link) {
        at = &(*at)->next;
    }
    if (*at == link) {
        *at = link->next;
        map->count--;
    }
}

void map_clear(struct map *map)
{
    memset(map->slots, 0, map->slot_count * sizeof *map->slots);
    map->count = 0;
}
