/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hash table of objects that carry their own link: nothing is allocated per entry. The caller
 * computes hashes and compares keys. Grows by doubling; when there is no memory to grow it only
 * gets slower. One thread.
 */
#ifndef VAMP_CORE_MAP_H
#define VAMP_CORE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/list.h"

struct table_link {
    struct table_link *next;
    uint64_t hash;
};

struct table {
    struct table_link **slots;
    size_t slot_count, count;
    uint64_t seed;
};

/* 0 or -ENOMEM. */
VAMP_MUST_CHECK int table_init(struct table *table);
/* Frees the slots, not the entries. A zeroed table is fine. */
void table_done(struct table *table);

/* Hashes of keys, mixed with a seed of the table so that nobody outside can make them collide. */
uint64_t table_hash_number(const struct table *table, uint64_t key);
uint64_t table_hash_text(const struct table *table, const char *text, size_t length);

void table_insert(struct table *table, struct table_link *link, uint64_t hash);
void table_remove(struct table *table, struct table_link *link);
/* The entries of one hash, one after the other; NULL at the end. */
struct table_link *table_first(const struct table *table, uint64_t hash);
struct table_link *table_next(const struct table_link *link);

#endif
