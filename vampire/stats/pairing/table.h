/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bounded table of records with a key, an age and an owner: the pairing state. Private to the
 * statistics; worker thread.
 *
 * Memory is reserved for the bound at once and touched only as the table fills (the system gives
 * pages on first use). Records lie in one slab. Their hashes and numbers stand in an index of
 * cache lines, which shows that a key is absent without a look at any record; it grows with the
 * records, one line at a time (linear hashing), so that no insertion ever waits for a rehash. A
 * record costs its own bytes and 16 more for the index.
 *
 * Where a table is larger than the processor's caches a look-up waits for memory. A caller
 * that knows early which keys will come asks for them ahead: vamp_table_expect.
 *
 * Not a map of core/map.h, which costs a record 24 bytes and a look-up one more access to memory.
 *
 * When an owner leaves, all its records are dead at once, in constant time: they are not found
 * any more and are the first to be reused.
 */
#ifndef VAMP_STATS_PAIRING_TABLE_H
#define VAMP_STATS_PAIRING_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/hash.h"

/* A key and its hash, which belong together: made by the functions below only. All tables hash
 * alike, so that the hash of a CDO is computed once for an event, for its key in the table of CDOs
 * and for the longer keys that begin with it. The key of zeros has hash 0: a struct of zeros is a
 * key. */
struct vamp_key {
    uint64_t words[4]; /* a table with keys of two words reads only these */
    uint64_t hash;
};

/* `key` is one of zeros, or of two words. */
static inline void vamp_key_set_two(struct vamp_key *key, uint64_t first, uint64_t second)
{
    key->words[0] = first;
    key->words[1] = second;
    key->hash = vamp_hash_word(vamp_hash_word(0, first), second);
}

static inline struct vamp_key vamp_key_of_two(uint64_t first, uint64_t second)
{
    struct vamp_key key = {.hash = 0};
    vamp_key_set_two(&key, first, second);
    return key;
}

/* Of four words: those of a key of two, and these. */
static inline struct vamp_key vamp_key_of_four(const struct vamp_key *two, uint64_t third,
                                               uint64_t fourth)
{
    return (struct vamp_key){
        .words = {two->words[0], two->words[1], third, fourth},
        .hash = vamp_hash_word(two->hash, third ^ (fourth << 32 | fourth >> 32)),
    };
}

#define VAMP_TABLE_MAX UINT32_C(0x7FFFFFFF)

/* Head of every record; the key follows it. Numbers are positions in the slab plus one. */
struct vamp_record {
    uint32_t chain;         /* next outside its full line; of a free record: the next free one */
    uint32_t older, newer;  /* neighbours by age */
    uint32_t owner;         /* 0: none */
    uint32_t before, after; /* neighbours of the same owner */
};

struct vamp_owner {
    uint32_t first; /* its newest record */
    uint32_t count;
    uint32_t next_gone; /* the owner that left after it, while it still has records */
    bool gone;
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
    unsigned char *records;
    struct vamp_table_line *lines;
    void *line_memory; /* in which the lines are aligned */
    struct vamp_owner *owners;
    size_t record_bytes;
    unsigned key_words;
    uint32_t capacity, owner_count;
    uint32_t mask, split; /* linear hashing: lines are mask + 1 + split */
    uint32_t touched;     /* records ever used */
    uint32_t used, dead;  /* records in the table, and how many of them are dead */
    uint32_t free_record, oldest, newest;
    uint32_t gone_first, gone_last;
};

/* `record_bytes` includes the head and `key_words` (2 or 4) 64-bit words after it; a multiple of 8.
 * Owners are numbers below `owner_count`. 0 or -ENOMEM; vamp_table_done is right after either. */
VAMP_MUST_CHECK int vamp_table_init(struct vamp_table *table, size_t capacity, size_t record_bytes,
                                    unsigned key_words, size_t owner_count);
void vamp_table_done(struct vamp_table *table);

/* NULL when there is none, or it is dead. */
void *vamp_table_find(struct vamp_table *table, const struct vamp_key *key);
/* The record that must go before another can come: NULL while there is room. The caller takes
 * note of it and removes it. */
void *vamp_table_crowded(struct vamp_table *table);
/* Looking ahead, in three steps with other work between them, so that memory has time to come. None
 * of them changes anything but the caches, and what they expect need not come. Records never move,
 * so that one that still has the key is the one to be found. */
struct vamp_table_expected {
    const struct vamp_table *table;
    const struct vamp_table_line *line;
    struct vamp_record *record; /* which the second step found, else NULL */
    uint32_t hash;
    bool removal; /* it will be removed: its neighbours change, too */
};
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
static inline void vamp_table_expect(const struct vamp_table *table, const struct vamp_key *key,
                                     bool removal, struct vamp_table_expected *ret_expected)
{
    ret_expected->table = table;
    ret_expected->line = vamp_table_line_of(table, (uint32_t)key->hash);
    ret_expected->record = NULL;
    ret_expected->hash = (uint32_t)key->hash;
    ret_expected->removal = removal;
    __builtin_prefetch(ret_expected->line, 1);
}
void vamp_table_expect_records(struct vamp_table_expected *expected, unsigned count);
/* The neighbours of those that will be removed. */
void vamp_table_expect_removals(const struct vamp_table_expected *expected, unsigned count);
/* As vamp_table_find, of what was expected for this key, whatever has changed since. */
void *vamp_table_find_expected(struct vamp_table *table, const struct vamp_key *key,
                               const struct vamp_table_expected *expected);
/* A new record, zero after its key; the table must not be crowded nor hold the key. An owner
 * that has left owns nothing. */
void *vamp_table_insert(struct vamp_table *table, const struct vamp_key *key, uint32_t owner);
void vamp_table_remove(struct vamp_table *table, void *record);
void vamp_table_set_owner(struct vamp_table *table, void *record, uint32_t owner);
/* The owner has left. Returns how many records died. */
uint32_t vamp_table_owner_leaves(struct vamp_table *table, uint32_t owner);
static inline uint32_t vamp_table_live(const struct vamp_table *table)
{
    return table->used - table->dead;
}
/* Records by number, so that one can name another: a number is the record's until it is removed. */
static inline uint32_t vamp_table_number(const struct vamp_table *table, const void *record)
{
    const size_t offset = (size_t)((const unsigned char *)record - table->records);
    return (uint32_t)(offset / table->record_bytes) + 1;
}
static inline void *vamp_table_record(const struct vamp_table *table, uint32_t number)
{
    return table->records + (size_t)(number - 1) * table->record_bytes;
}
/* The next record of a live owner after the one at `*position`, which starts at 0; NULL at the
 * end.
 */
const void *vamp_table_owned(const struct vamp_table *table, uint32_t owner, uint32_t *position);
/* The next live record at or after position `*position`, which moves on; NULL at the end. */
void *vamp_table_next(const struct vamp_table *table, uint32_t *position);

#endif
