/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of the pairing: slabs of items of one size, and an index that finds the items of one
 * slab by a key. Private to the statistics; worker thread.
 *
 * Memory is reserved for the full capacity at once and touched only as a slab fills (the system
 * allocates pages on first use). Items never move: a number refers to an item until the item is
 * freed.
 *
 * The index consists of cache lines that contain hashes and numbers, so that an absent key is
 * detected without reading a record. It grows by one line at a time (linear hashing), so that no
 * insertion waits for a rehash, and takes 16 bytes per record. If the index is larger than the
 * processor's caches, a look-up waits for memory; callers that know keys early prefetch them by
 * vamp_table_expect.
 *
 * core/map.h would take 24 bytes per record, and one more memory access per look-up.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/hash.h"

/* A key and its hash, constructed only by vamp_key_of_two. The key of two zeros has hash 0, so a
 * zeroed struct is valid. */
struct vamp_key {
    uint64_t words[2];
    uint64_t hash;
};

static inline struct vamp_key vamp_key_of_two(uint64_t first, uint64_t second)
{
    return (struct vamp_key){{first, second}, vamp_hash_word(vamp_hash_word(0, first), second)};
}

#define VAMP_TABLE_MAX UINT32_C(0x1FFFFFFF)

/* ---- slabs */

/* Head of every item. The number of an item is its position in the slab plus one; 0: no item. */
struct vamp_item {
    uint32_t next; /* next item in a list of the slab's user; free items: the next free item */
    uint32_t row;  /* row of the component to which the item belongs; 0: none */
};
/* Links in the list of the component; stored in the item or separately. */
struct vamp_neighbours {
    uint32_t before, after;
};

#define VAMP_ITEM_FREE UINT32_MAX /* value of `row` in an item that is free */

struct vamp_slab {
    unsigned char *items; /* array of the items, aligned within `memory` */
    void *memory;
    size_t item_bytes;         /* size of an item: an odd number shifted left by `shift` */
    unsigned char *neighbours; /* address of the first item's links */
    size_t neighbour_bytes;    /* distance from the links of an item to those of the next one */
    unsigned shift;
    /* Inverse of the odd number modulo 2^64: replaces a division by a multiplication. */
    uint64_t odd_inverse;
    uint32_t capacity, used;
    uint32_t touched; /* number of items ever used */
    uint32_t ready;   /* number of items whose pages were prefaulted */
    uint32_t free;    /* first free item; 0: none */
};

/* `item_bytes` must be a multiple of 8; items of 64 bytes are aligned to cache lines. Returns 0 or
 * -ENOMEM; vamp_slab_done may be called in either case. */
VAMP_MUST_CHECK int vamp_slab_init(struct vamp_slab *slab, size_t capacity, size_t item_bytes);
void vamp_slab_done(struct vamp_slab *slab);
static inline void *vamp_slab_item(const struct vamp_slab *slab, uint32_t number)
{
    return slab->items + (size_t)(number - 1) * slab->item_bytes;
}
static inline uint32_t vamp_slab_number(const struct vamp_slab *slab, const void *item)
{
    const size_t offset = (size_t)((const unsigned char *)item - slab->items);
    return (uint32_t)((offset >> slab->shift) * slab->odd_inverse) + 1;
}
static inline struct vamp_neighbours *vamp_slab_neighbours(const struct vamp_slab *slab,
                                                           uint32_t number)
{
    return (struct vamp_neighbours *)(slab->neighbours +
                                      (size_t)(number - 1) * slab->neighbour_bytes);
}
/* Prefaults the pages of the next items. Called by vamp_slab_take only. */
void vamp_slab_make_ready(struct vamp_slab *slab);
/* Allocates an item; its content is undefined. The slab must not be full. */
static inline void *vamp_slab_take(struct vamp_slab *slab, uint32_t *ret_number)
{
    assert(slab->used < slab->capacity);
    slab->used++;
    if (slab->free == 0) {
        if (slab->touched == slab->ready) {
            vamp_slab_make_ready(slab);
        }
        /* The item is not read here: a page that is read before it is written causes two page
         * faults. */
        *ret_number = ++slab->touched;
        return vamp_slab_item(slab, *ret_number);
    }
    *ret_number = slab->free;
    struct vamp_item *item = vamp_slab_item(slab, *ret_number);
    slab->free = item->next;
    return item;
}
static inline void vamp_slab_give(struct vamp_slab *slab, uint32_t number)
{
    struct vamp_item *item = vamp_slab_item(slab, number);
    item->row = VAMP_ITEM_FREE;
    item->next = slab->free;
    slab->free = number;
    slab->used--;
}
/* Returns the next item in use after `*position`, which is set to its number; NULL at the end.
 * `*position` starts at 0. Only for slabs whose items begin with struct vamp_item. */
static inline void *vamp_slab_next(const struct vamp_slab *slab, uint32_t *position)
{
    while (*position < slab->touched) {
        struct vamp_item *item = vamp_slab_item(slab, ++*position);
        if (item->row != VAMP_ITEM_FREE) {
            return item;
        }
    }
    return NULL;
}

/* Add an item to the list of its component and remove it; the list is ordered newest first. Items
 * of row 0 are on no list. `own` are the links of the item. */
static inline void vamp_row_join(const struct vamp_slab *slab, uint32_t *first,
                                 struct vamp_item *item, struct vamp_neighbours *own,
                                 uint32_t number, uint32_t row)
{
    item->row = row;
    own->before = 0;
    own->after = 0;
    if (row == 0) {
        return;
    }
    own->after = *first;
    if (own->after != 0) {
        vamp_slab_neighbours(slab, own->after)->before = number;
    }
    *first = number;
}
static inline void vamp_row_leave(const struct vamp_slab *slab, uint32_t *first,
                                  struct vamp_item *item, const struct vamp_neighbours *own)
{
    if (item->row == 0) {
        return;
    }
    if (own->before != 0) {
        vamp_slab_neighbours(slab, own->before)->after = own->after;
    } else {
        *first = own->after;
    }
    if (own->after != 0) {
        vamp_slab_neighbours(slab, own->after)->before = own->before;
    }
    item->row = 0;
}

/* Prefetches the neighbours in the list of the component. Always inlined, since compilers remove
 * calls of functions that only prefetch. */
static inline __attribute__((always_inline)) void
vamp_prefetch_neighbours(const struct vamp_slab *slab, const struct vamp_neighbours *neighbours)
{
    __builtin_prefetch(vamp_slab_neighbours(slab, neighbours->before), 1);
    __builtin_prefetch(vamp_slab_neighbours(slab, neighbours->after), 1);
}

/* ---- the index */

/* Head of every record. */
struct vamp_record {
    struct vamp_item item; /* `next`: next record in the chain of a full line */
    uint64_t key[2];
};
/* Head of the rarely used part of a record, which is stored separately so that a record is one
 * cache line. */
struct vamp_record_rest {
    struct vamp_neighbours neighbours;
    uint32_t older, newer; /* neighbours in the list by age */
};

/* Index entries of records whose hashes have the same low bits. One cache line. */
#define VAMP_TABLE_LINE_RECORDS 7
struct vamp_table_line {
    uint32_t hashes[VAMP_TABLE_LINE_RECORDS];
    uint32_t numbers[VAMP_TABLE_LINE_RECORDS];
    /* First record in the chain of the records that do not fit into the line; 0: none. */
    uint32_t more;
    uint16_t used;    /* number of used elements of the arrays above */
    uint16_t chained; /* bit n: the chain may contain hashes whose upper four bits are n */
};

struct vamp_table {
    struct vamp_slab slab;
    unsigned char *rests; /* indexed by record */
    size_t rest_bytes;
    struct vamp_table_line *lines;
    void *line_memory;    /* allocated memory, in which the lines are aligned */
    uint32_t mask, split; /* linear hashing: the number of lines is mask + 1 + split */
};

/* `record_bytes` and `rest_bytes` include the heads. Returns 0 or -ENOMEM; vamp_table_done may be
 * called in either case. */
VAMP_MUST_CHECK int vamp_table_init(struct vamp_table *table, size_t capacity, size_t record_bytes,
                                    size_t rest_bytes);
void vamp_table_done(struct vamp_table *table);

static inline void *vamp_table_rest(const struct vamp_table *table, uint32_t number)
{
    return table->rests + (size_t)(number - 1) * table->rest_bytes;
}

/* List of records, by number, in the order in which they were added. */
struct vamp_ages_list {
    uint32_t oldest, newest, count;
};
/* Return the link to a record from the record before and after it; at the ends of the list, the
 * link in the list itself. */
static inline uint32_t *vamp_age_newer(const struct vamp_table *table, struct vamp_ages_list *list,
                                       uint32_t older)
{
    if (older == 0) {
        return &list->oldest;
    }
    return &((struct vamp_record_rest *)vamp_table_rest(table, older))->newer;
}
static inline uint32_t *vamp_age_older(const struct vamp_table *table, struct vamp_ages_list *list,
                                       uint32_t newer)
{
    if (newer == 0) {
        return &list->newest;
    }
    return &((struct vamp_record_rest *)vamp_table_rest(table, newer))->older;
}
static inline void vamp_age_join(const struct vamp_table *table, struct vamp_ages_list *list,
                                 uint32_t number)
{
    struct vamp_record_rest *rest = vamp_table_rest(table, number);
    rest->older = list->newest;
    rest->newer = 0;
    *vamp_age_newer(table, list, list->newest) = number;
    list->newest = number;
    list->count++;
}
static inline void vamp_age_leave(const struct vamp_table *table, struct vamp_ages_list *list,
                                  uint32_t number)
{
    const struct vamp_record_rest *rest = vamp_table_rest(table, number);
    *vamp_age_newer(table, list, rest->older) = rest->newer;
    *vamp_age_older(table, list, rest->newer) = rest->older;
    list->count--;
}

/* Returns the record with the key, or NULL if there is none. */
void *vamp_table_find(const struct vamp_table *table, const struct vamp_key *key);
/* Adds a record, which is zero after its key and on no list. The table must not be full and must
 * not contain the key. */
void *vamp_table_insert(struct vamp_table *table, const struct vamp_key *key);
/* For records that are not on any list. */
void vamp_table_remove(struct vamp_table *table, void *record);

/* Prefetch a look-up in two steps, with other work between them. Both change the caches only. Since
 * records never move, a guessed record that still has the key is the right one. */
/* Returns the line of records with this hash; valid until the next insertion. */
static inline struct vamp_table_line *vamp_table_line_of(const struct vamp_table *table,
                                                         uint32_t hash)
{
    uint32_t line = hash & table->mask;
    if (line < table->split) {
        line = hash & (2 * table->mask + 1);
    }
    return &table->lines[line];
}
static inline const struct vamp_table_line *vamp_table_expect(const struct vamp_table *table,
                                                              const struct vamp_key *key)
{
    const struct vamp_table_line *line = vamp_table_line_of(table, (uint32_t)key->hash);
    __builtin_prefetch(line, 1);
    return line;
}
/* Prefetches the line of a record that will be removed soon. */
static inline __attribute__((always_inline)) void
vamp_table_prefetch_line(const struct vamp_table *table, const void *record)
{
    const struct vamp_record *head = record;
    const struct vamp_key key = vamp_key_of_two(head->key[0], head->key[1]);
    (void)vamp_table_expect(table, &key);
}
/* Returns the record that probably has the key, from the line returned by vamp_table_expect; NULL
 * if there probably is none. */
void *vamp_table_guess(const struct vamp_table *table, const struct vamp_table_line *line,
                       const struct vamp_key *key);
/* As vamp_table_find, but first checks `guess`. The table may have changed since the guess. */
void *vamp_table_find_guessed(const struct vamp_table *table, const struct vamp_key *key,
                              void *guess);
