/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/map.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

enum { SLOTS_MIN = 64 };

static uint64_t mix(uint64_t value)
{
    value ^= value >> 30;
    value *= UINT64_C(0xbf58476d1ce4e5b9);
    value ^= value >> 27;
    value *= UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

int table_init(struct table *table)
{
    *table = (struct table){.slot_count = SLOTS_MIN};
    table->slots = calloc(SLOTS_MIN, sizeof *table->slots);
    if (table->slots == NULL) {
        return -ENOMEM;
    }
    if (getrandom(&table->seed, sizeof table->seed, GRND_NONBLOCK) != (ssize_t)sizeof table->seed) {
        /* Early at boot there may be no randomness yet; the table works without. */
        table->seed = mix((uint64_t)time(NULL));
    }
    return 0;
}

void table_done(struct table *table)
{
    free(table->slots);
    *table = (struct table){0};
}

uint64_t table_hash_number(const struct table *table, uint64_t key)
{
    return mix(key + table->seed);
}

uint64_t table_hash_text(const struct table *table, const char *text, size_t length)
{
    uint64_t hash = table->seed ^ (length * UINT64_C(0x9e3779b97f4a7c15));
    while (length >= sizeof(uint64_t)) {
        uint64_t word;
        __builtin_memcpy(&word, text, sizeof word);
        hash = mix(hash ^ word);
        text += sizeof word;
        length -= sizeof word;
    }
    uint64_t rest = 0;
    __builtin_memcpy(&rest, text, length);
    return mix(hash ^ rest);
}

static void grow(struct table *table)
{
    size_t slot_count = table->slot_count * 2;
    struct table_link **slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL) {
        return;
    }
    for (size_t i = 0; i < table->slot_count; i++) {
        struct table_link *link = table->slots[i];
        while (link != NULL) {
            struct table_link *next = link->next;
            struct table_link **slot = &slots[link->hash & (slot_count - 1)];
            link->next = *slot;
            *slot = link;
            link = next;
        }
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = slot_count;
}

void table_insert(struct table *table, struct table_link *link, uint64_t hash)
{
    if (table->count >= table->slot_count) {
        grow(table);
    }
    struct table_link **slot = &table->slots[hash & (table->slot_count - 1)];
    link->hash = hash;
    link->next = *slot;
    *slot = link;
    table->count++;
}

void table_remove(struct table *table, struct table_link *link)
{
    struct table_link **at = &table->slots[link->hash & (table->slot_count - 1)];
    while (*at != NULL && *at != link) {
        at = &(*at)->next;
    }
    if (*at == link) {
        *at = link->next;
        table->count--;
    }
}

struct table_link *table_next(const struct table_link *link)
{
    for (struct table_link *next = link->next; next != NULL; next = next->next) {
        if (next->hash == link->hash) {
            return next;
        }
    }
    return NULL;
}

struct table_link *table_first(const struct table *table, uint64_t hash)
{
    struct table_link *link = table->slots[hash & (table->slot_count - 1)];
    while (link != NULL && link->hash != hash) {
        link = link->next;
    }
    return link;
}
