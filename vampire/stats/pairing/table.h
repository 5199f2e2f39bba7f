/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of the pairing: slabs of items of one size, and an index that finds those of one slab
 * by a key. Private to the statistics; worker thread.
 *
 * Memory is reserved for the bound at once and touched only as a slab fills (the system gives
 * pages on first use). Items never move: a number is the item's until it is given back.
 *
 * The index consists of cache lines with hashes and numbers, and shows that a key is absent without
 * a look at any record; it grows with the records, one line at a time (linear hashing), so that
 * no insertion ever waits for a rehash. It costs a record 16 bytes. Where it is larger than the
 * processor's caches a look-up waits for memory. A caller that knows early which keys will come
 * asks for them ahead: vamp_table_expect.
 *
 * Not a map of core/map.h, which costs a record 24 bytes and a look-up one more access to memory.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/hash.h"

/* A key and its hash, which belong together: made by the functions below only. The key of zeros has
 * hash 0: a struct of zeros is a key. */
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

/* Head of every item. Numbers are positions in the slab plus one; 0: none. */
struct vamp_item {
    uint32_t next; /* in a chain of the item's user; of a free item: the next free one */
    uint32_t row;  /* of the component it belongs to; 0: none */
};
/* In the list of its component; within the item or apart from it. */
struct vamp_neighbours {
    uint32_t before, after;
};

#define VAMP_ITEM_FREE UINT32_MAX /* row of an item that is not in use */

struct vamp_slab {
    unsigned char *items;
    void *memory;              /* in which the items are aligned */
    size_t item_bytes;         /* an odd number, shifted */
    unsigned char *neighbours; /* of the first item; the next ones' follow after so many bytes */
    size_t neighbour_bytes;
    unsigned shift;       /* by this */
    uint64_t odd_inverse; /* modulo 2^64: an exact division by the odd number is a multiplication */
    uint32_t capacity, used;
    uint32_t touched; /* items ever used */
    uint32_t ready;   /* items whose pages were asked for */
    uint32_t free;
};

/* Items of a multiple of 8 bytes, in cache lines if they are as long as one. 0 or -ENOMEM;
 * vamp_slab_done is right after either. */
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
/* Asks for the pages of the next items. Of vamp_slab_take. */
void vamp_slab_make_ready(struct vamp_slab *slab);
/* An item that holds anything; the slab must not be full. */
static inline void *vamp_slab_take(struct vamp_slab *slab, uint32_t *ret_number)
{
    assert(slab->used < slab->capacity);
    slab->used++;
    if (slab->free == 0) {
        if (slab->touched == slab->ready) {
            vamp_slab_make_ready(slab);
        }
        /* Not read: the system gives a page that is read first a second time when it is written. */
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
/* The next item in use after position `*position`, which moves on to its number and starts at 0;
 * NULL at the end. Not of a slab whose items have no head. */
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

/* Items of one component, the newest first; those of row 0 are in no list. `own` are the neighbours
 * of the item. */
static inline void vamp_row_join(const struct vamp_slab *slab, uint32_t *first,
                                 struct vamp_item *item, struct vamp_neighbours *own,
                                 uint32_t number, uint32_t row)
{
    item->row = row;
    own->before = 0;
    own->after = row != 0 ? *first : 0;
    if (own->after != 0) {
        vamp_slab_neighbours(slab, own->after)->before = number;
    }
    *first = row != 0 ? number : *first;
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

/* ---- the index */

/* Head of every record. */
struct vamp_record {
    struct vamp_item item; /* `next`: outside its full line */
    uint64_t key[2];
};
/* Head of what few events need of a record. It lies apart, so that a record is one cache line. */
struct vamp_record_rest {
    struct vamp_neighbours neighbours;
    uint32_t older, newer; /* neighbours in a list by age */
};

/* Records of one hash value in its low bits. One line of the processor's cache. */
#define VAMP_TABLE_LINE_RECORDS 7
struct vamp_table_line {
    uint32_t hashes[VAMP_TABLE_LINE_RECORDS];
    uint32_t numbers[VAMP_TABLE_LINE_RECORDS];
    uint32_t more;    /* chain of those for which there was no place */
    uint16_t used;    /* of the two above */
    uint16_t chained; /* a bit for each value of four bits of the hashes that `more` may hold */
};

struct vamp_table {
    struct vamp_slab slab;
    unsigned char *rests; /* by record */
    size_t rest_bytes;
    struct vamp_table_line *lines;
    void *line_memory;    /* in which the lines are aligned */
    uint32_t mask, split; /* linear hashing: lines are mask + 1 + split */
};

/* `record_bytes` and `rest_bytes` include the heads. 0 or -ENOMEM; vamp_table_done is right after
 * either. */
VAMP_MUST_CHECK int vamp_table_init(struct vamp_table *table, size_t capacity, size_t record_bytes,
                                    size_t rest_bytes);
void vamp_table_done(struct vamp_table *table);

static inline void *vamp_table_rest(const struct vamp_table *table, uint32_t number)
{
    return table->rests + (size_t)(number - 1) * table->rest_bytes;
}

/* Records in the order in which they joined, by number. */
struct vamp_ages_list {
    uint32_t oldest, newest, count;
};
static inline void vamp_age_join(const struct vamp_table *table, struct vamp_ages_list *list,
                                 uint32_t number)
{
    struct vamp_record_rest *rest = vamp_table_rest(table, number);
    uint32_t *link =
        list->newest == 0
            ? &list->oldest
            : &((struct vamp_record_rest *)vamp_table_rest(table, list->newest))->newer;
    rest->older = list->newest;
    rest->newer = 0;
    *link = number;
    list->newest = number;
    list->count++;
}
static inline void vamp_age_leave(const struct vamp_table *table, struct vamp_ages_list *list,
                                  uint32_t number)
{
    const struct vamp_record_rest *rest = vamp_table_rest(table, number);
    uint32_t *newer =
        rest->older == 0 ? &list->oldest
                         : &((struct vamp_record_rest *)vamp_table_rest(table, rest->older))->newer;
    uint32_t *older =
        rest->newer == 0 ? &list->newest
                         : &((struct vamp_record_rest *)vamp_table_rest(table, rest->newer))->older;
    *newer = rest->newer;
    *older = rest->older;
    list->count--;
}

/* NULL when there is none. */
void *vamp_table_find(const struct vamp_table *table, const struct vamp_key *key);
/* A new record, zero after its key, in no list; the table must not be full nor hold the key. */
void *vamp_table_insert(struct vamp_table *table, const struct vamp_key *key);
/* Of a record that is in no list. */
void vamp_table_remove(struct vamp_table *table, void *record);

/* Looking ahead, in two steps with other work between them, so that memory has time to come.
 * Neither changes anything but the caches, and what they expect need not come. Records never move,
 * so that one that still has the key is the one to be found. */
/* The line in which records of this hash are, as long as none is inserted. */
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
/* The record that is probably the key's, from the line that was expected; NULL: there seems to be
 * none. */
void *vamp_table_guess(const struct vamp_table *table, const struct vamp_table_line *line,
                       const struct vamp_key *key);
/* As vamp_table_find, whatever has changed since the guess. */
void *vamp_table_find_guessed(const struct vamp_table *table, const struct vamp_key *key,
                              void *guess);
