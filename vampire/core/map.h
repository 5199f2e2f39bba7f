/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hash table of objects that contain their own link, so that entries need no allocation. The caller
 * computes hashes and compares keys. The table doubles when it is full; if it cannot grow, it
 * becomes slower. One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/list.h"

struct map_link {
    struct map_link *next;
    uint64_t hash;
};

struct map {
    struct map_link **slots;
    size_t slot_count, count;
    uint64_t seed;
};

/* Returns 0 or -ENOMEM. */
VAMP_MUST_CHECK int map_init(struct map *map);
/* Frees the slots only. A zeroed map is empty; map_insert, map_remove and map_slot exclude it. */
void map_done(struct map *map);
/* Frees the slots, and calls `drop` for each entry. */
void map_drop(struct map *map, void (*drop)(struct map_link *link));

/* Return the hash of a key, mixed with a seed of the map so that keys cannot be chosen to collide.
 */
uint64_t map_hash_number(const struct map *map, uint64_t key);
uint64_t map_hash_text(const struct map *map, const char *text, size_t length);

void map_insert(struct map *map, struct map_link *link, uint64_t hash);
/* Removes the entry; removing an absent link does nothing. */
void map_remove(struct map *map, struct map_link *link);
/* Removes all entries without freeing them. */
void map_clear(struct map *map);

/* Returns the slot of this hash, which also has entries with other hashes. Not for a zeroed map. */
static inline struct map_link **map_slot(const struct map *map, uint64_t hash)
{
    return &map->slots[hash & (map->slot_count - 1)];
}
/* Returns the first entry with this hash, starting at `link`; NULL if there is none. */
static inline struct map_link *map_same(struct map_link *link, uint64_t hash)
{
    while (link != NULL && link->hash != hash) {
        link = link->next;
    }
    return link;
}
/* Iterate over the entries with one hash; return NULL at the end. */
static inline struct map_link *map_first(const struct map *map, uint64_t hash)
{
    return map->count > 0 ? map_same(*map_slot(map, hash), hash) : NULL;
}
static inline struct map_link *map_next(const struct map_link *link)
{
    return map_same(link->next, link->hash);
}

/* Returns the entry with this number as its key, or NULL. Different numbers have different hashes.
 */
static inline struct map_link *map_find_number(const struct map *map, uint64_t key)
{
    return map_first(map, map_hash_number(map, key));
}
static inline void map_insert_number(struct map *map, struct map_link *link, uint64_t key)
{
    map_insert(map, link, map_hash_number(map, key));
}
