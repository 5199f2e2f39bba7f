/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CHAINS 256
#define FREE_MARK UINT32_MAX /* owner of a record that is not in the table */

static struct vamp_record *at(const struct vamp_table *table, uint32_t number)
{
    return (struct vamp_record *)(void *)(table->records +
                                          (size_t)(number - 1) * table->record_bytes);
}

static uint32_t number_of(const struct vamp_table *table, const struct vamp_record *record)
{
    size_t offset = (size_t)((const unsigned char *)record - table->records);
    return (uint32_t)(offset / table->record_bytes) + 1;
}

static uint64_t *key_of(struct vamp_record *record)
{
    return (uint64_t *)(void *)(record + 1);
}

static uint32_t hash_of(const struct vamp_table *table, const uint64_t *key)
{
    uint64_t hash = 0;
    for (unsigned i = 0; i < table->key_words; i++) {
        hash = (hash ^ key[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

static bool same_key(const struct vamp_table *table, const uint64_t *a, const uint64_t *b)
{
    for (unsigned i = 0; i < table->key_words; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

int vamp_table_init(struct vamp_table *table, size_t capacity, size_t record_bytes,
                    unsigned key_words, size_t owner_count)
{
    size_t chains = FIRST_CHAINS;
    while (chains < capacity) {
        chains *= 2;
    }
    *table = (struct vamp_table){
        .record_bytes = record_bytes,
        .key_words = key_words,
        .capacity = (uint32_t)capacity,
        .owner_count = (uint32_t)owner_count,
        .mask = FIRST_CHAINS - 1,
        .records = calloc(capacity, record_bytes),
        .chains = calloc(chains, sizeof(uint32_t)),
        .owners = calloc(owner_count, sizeof(struct vamp_owner)),
    };
    return table->records == NULL || table->chains == NULL || table->owners == NULL ? -ENOMEM : 0;
}

void vamp_table_done(struct vamp_table *table)
{
    free(table->records);
    free(table->chains);
    free(table->owners);
    memset(table, 0, sizeof *table);
}

static uint32_t *chain_of(const struct vamp_table *table, const uint64_t *key)
{
    uint32_t hash = hash_of(table, key);
    uint32_t chain = hash & table->mask;
    if (chain < table->split) {
        chain = hash & (2 * table->mask + 1);
    }
    return &table->chains[chain];
}

/* One chain more: half of the next chain's records move there. */
static void split_chain(struct vamp_table *table)
{
    const uint32_t bit = table->mask + 1;
    uint32_t *stay = &table->chains[table->split];
    uint32_t *move = &table->chains[table->split + bit];
    uint32_t number = *stay;
    *stay = 0;
    while (number != 0) {
        struct vamp_record *record = at(table, number);
        uint32_t next = record->chain;
        uint32_t *to = (hash_of(table, key_of(record)) & bit) != 0 ? move : stay;
        record->chain = *to;
        *to = number;
        number = next;
    }
    table->split++;
    if (table->split == bit) {
        table->split = 0;
        table->mask = 2 * table->mask + 1;
    }
}

static bool is_dead(const struct vamp_table *table, const struct vamp_record *record)
{
    return record->owner != 0 && table->owners[record->owner].gone;
}

void *vamp_table_find(struct vamp_table *table, const uint64_t *key)
{
    uint32_t number = *chain_of(table, key);
    while (number != 0) {
        struct vamp_record *record = at(table, number);
        if (same_key(table, key_of(record), key)) {
            if (is_dead(table, record)) {
                vamp_table_remove(table, record);
                return NULL;
            }
            return record;
        }
        number = record->chain;
    }
    return NULL;
}

static void leave_owner(struct vamp_table *table, struct vamp_record *record)
{
    if (record->owner == 0) {
        return;
    }
    struct vamp_owner *owner = &table->owners[record->owner];
    if (record->before != 0) {
        at(table, record->before)->after = record->after;
    } else {
        owner->first = record->after;
    }
    if (record->after != 0) {
        at(table, record->after)->before = record->before;
    }
    owner->count--;
    record->owner = 0;
}

static void join_owner(struct vamp_table *table, struct vamp_record *record, uint32_t number)
{
    record->owner = number != 0 && !table->owners[number].gone ? number : 0;
    record->before = 0;
    record->after = 0;
    if (record->owner == 0) {
        return;
    }
    struct vamp_owner *owner = &table->owners[number];
    record->after = owner->first;
    if (owner->first != 0) {
        at(table, owner->first)->before = number_of(table, record);
    }
    owner->first = number_of(table, record);
    owner->count++;
}

/* A dead record, NULL when there is none. */
static struct vamp_record *first_dead(struct vamp_table *table)
{
    while (table->gone_first != 0) {
        struct vamp_owner *owner = &table->owners[table->gone_first];
        if (owner->first != 0) {
            return at(table, owner->first);
        }
        table->gone_first = owner->next_gone;
    }
    return NULL;
}

void *vamp_table_crowded(struct vamp_table *table)
{
    if (table->used < table->capacity) {
        return NULL;
    }
    struct vamp_record *dead = first_dead(table);
    if (dead != NULL) {
        vamp_table_remove(table, dead);
        return NULL;
    }
    return at(table, table->oldest);
}

static struct vamp_record *take_record(struct vamp_table *table)
{
    assert(table->used < table->capacity);
    struct vamp_record *record = NULL;
    if (table->free_record != 0) {
        record = at(table, table->free_record);
        table->free_record = record->chain;
    } else {
        record = at(table, ++table->touched);
    }
    memset(record, 0, table->record_bytes);
    return record;
}

void *vamp_table_insert(struct vamp_table *table, const uint64_t *key, uint32_t owner)
{
    struct vamp_record *record = take_record(table);
    const uint32_t number = number_of(table, record);
    memcpy(key_of(record), key, table->key_words * sizeof *key);
    if (table->used >= table->mask + 1 + table->split) {
        split_chain(table);
    }
    uint32_t *chain = chain_of(table, key);
    record->chain = *chain;
    *chain = number;
    record->older = table->newest;
    if (table->newest != 0) {
        at(table, table->newest)->newer = number;
    } else {
        table->oldest = number;
    }
    table->newest = number;
    join_owner(table, record, owner);
    table->used++;
    return record;
}

static void leave_age(struct vamp_table *table, const struct vamp_record *record)
{
    if (record->older != 0) {
        at(table, record->older)->newer = record->newer;
    } else {
        table->oldest = record->newer;
    }
    if (record->newer != 0) {
        at(table, record->newer)->older = record->older;
    } else {
        table->newest = record->older;
    }
}

void vamp_table_remove(struct vamp_table *table, void *which)
{
    struct vamp_record *record = which;
    const uint32_t number = number_of(table, record);
    table->dead -= is_dead(table, record);
    uint32_t *link = chain_of(table, key_of(record));
    while (*link != number) {
        link = &at(table, *link)->chain;
    }
    *link = record->chain;
    leave_age(table, record);
    leave_owner(table, record);
    record->owner = FREE_MARK;
    record->chain = table->free_record;
    table->free_record = number;
    table->used--;
}

void vamp_table_set_owner(struct vamp_table *table, void *which, uint32_t owner)
{
    struct vamp_record *record = which;
    if (record->owner != owner) {
        leave_owner(table, record);
        join_owner(table, record, owner);
    }
}

uint32_t vamp_table_owner_leaves(struct vamp_table *table, uint32_t number)
{
    struct vamp_owner *owner = &table->owners[number];
    if (number == 0 || owner->gone) {
        return 0;
    }
    owner->gone = true;
    if (owner->count > 0) {
        if (table->gone_first == 0) {
            table->gone_first = number;
        } else {
            table->owners[table->gone_last].next_gone = number;
        }
        table->gone_last = number;
    }
    table->dead += owner->count;
    return owner->count;
}

void *vamp_table_next(const struct vamp_table *table, uint32_t *position)
{
    while (*position < table->touched) {
        struct vamp_record *record = at(table, ++*position);
        if (record->owner != FREE_MARK && !is_dead(table, record)) {
            return record;
        }
    }
    return NULL;
}

const void *vamp_table_owned(const struct vamp_table *table, uint32_t number, uint32_t *position)
{
    const struct vamp_owner *owner = &table->owners[number];
    if (number == 0 || owner->gone) {
        return NULL;
    }
    *position = *position == 0 ? owner->first : at(table, *position)->after;
    return *position == 0 ? NULL : at(table, *position);
}
