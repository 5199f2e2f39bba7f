/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES ((size_t)64)
#define FIRST_LINES 64
/* A line is added when the lines hold this many records each, on average. */
#define LINE_FILL 4
#define FREE_MARK UINT32_MAX /* owner of a record that is not in the table */

static inline struct vamp_record *record_at(const struct vamp_table *table, uint32_t number)
{
    return vamp_table_record(table, number);
}

static uint64_t *key_of(struct vamp_record *record)
{
    return (uint64_t *)(void *)(record + 1);
}

/* Of the key of a record, of two or of four words. */
static inline uint32_t hash_of(const struct vamp_table *table, const uint64_t *key)
{
    const struct vamp_key two = vamp_key_of_two(key[0], key[1]);
    return (uint32_t)(table->key_words == 2 ? two.hash
                                            : vamp_key_of_four(&two, key[2], key[3]).hash);
}

static inline bool same_key(const struct vamp_table *table, const uint64_t *a, const uint64_t *b)
{
    return a[0] == b[0] && a[1] == b[1] &&
           (table->key_words == 2 || (a[2] == b[2] && a[3] == b[3]));
}

static inline void set_key(const struct vamp_table *table, uint64_t *key, const uint64_t *words)
{
    key[0] = words[0];
    key[1] = words[1];
    if (table->key_words == 4) {
        key[2] = words[2];
        key[3] = words[3];
    }
}

int vamp_table_init(struct vamp_table *table, size_t capacity, size_t record_bytes,
                    unsigned key_words, size_t owner_count)
{
    size_t lines = FIRST_LINES;
    while (lines * LINE_FILL < capacity) {
        lines *= 2;
    }
    *table = (struct vamp_table){
        .record_bytes = record_bytes,
        .key_words = key_words,
        .capacity = (uint32_t)capacity,
        .owner_count = (uint32_t)owner_count,
        .mask = FIRST_LINES - 1,
        .records = calloc(capacity, record_bytes),
        .line_memory = calloc(lines + 1, LINE_BYTES),
        .owners = calloc(owner_count, sizeof(struct vamp_owner)),
    };
    if (table->records == NULL || table->line_memory == NULL || table->owners == NULL) {
        return -ENOMEM;
    }
    const uintptr_t first = ((uintptr_t)table->line_memory + LINE_BYTES - 1) & ~(LINE_BYTES - 1);
    table->lines = (struct vamp_table_line *)first;
    return 0;
}

void vamp_table_done(struct vamp_table *table)
{
    free(table->records);
    free(table->line_memory);
    free(table->owners);
    memset(table, 0, sizeof *table);
}

static uint16_t chain_bit(uint32_t hash)
{
    return (uint16_t)(1U << (hash >> 28));
}

static void put_in_line(const struct vamp_table *table, struct vamp_table_line *line, uint32_t hash,
                        uint32_t number)
{
    assert(number > 0 && number <= table->touched);
    if (line->used < VAMP_TABLE_LINE_RECORDS) {
        line->hashes[line->used] = hash;
        line->numbers[line->used] = number;
        line->used++;
    } else {
        record_at(table, number)->chain = line->more;
        line->more = number;
        line->chained |= chain_bit(hash);
    }
}

static void take_out_of_chain(const struct vamp_table *table, struct vamp_table_line *line,
                              uint32_t number)
{
    uint32_t *link = &line->more;
    while (*link != number) {
        link = &record_at(table, *link)->chain;
    }
    *link = record_at(table, number)->chain;
    line->chained = line->more != 0 ? line->chained : 0;
}

static void take_out_of_line(const struct vamp_table *table, struct vamp_table_line *line,
                             uint32_t number)
{
    uint32_t i = 0;
    while (i < line->used && line->numbers[i] != number) {
        i++;
    }
    if (i == line->used) {
        take_out_of_chain(table, line, number);
        return;
    }
    const uint32_t chained = line->more;
    if (chained != 0) {
        struct vamp_record *record = record_at(table, chained);
        line->more = record->chain;
        line->chained = line->more != 0 ? line->chained : 0;
        line->hashes[i] = hash_of(table, key_of(record));
        line->numbers[i] = chained;
        return;
    }
    line->used--;
    line->hashes[i] = line->hashes[line->used];
    line->numbers[i] = line->numbers[line->used];
}

/* One line more: half of the next line's records move there. Rare, and not inlined, since what it
 * needs of the stack and of registers each insertion would save and restore. */
__attribute__((noinline)) static void split_line(struct vamp_table *table)
{
    const uint32_t bit = table->mask + 1;
    struct vamp_table_line *stay = &table->lines[table->split];
    struct vamp_table_line *move = &table->lines[table->split + bit];
    const struct vamp_table_line old = *stay;
    *stay = (struct vamp_table_line){.used = 0};
    for (uint32_t i = 0; i < old.used; i++) {
        put_in_line(table, (old.hashes[i] & bit) != 0 ? move : stay, old.hashes[i], old.numbers[i]);
    }
    for (uint32_t number = old.more; number != 0;) {
        struct vamp_record *record = record_at(table, number);
        const uint32_t next = record->chain;
        const uint32_t hash = hash_of(table, key_of(record));
        put_in_line(table, (hash & bit) != 0 ? move : stay, hash, number);
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

/* Four numbers that are compared at once; where they are equal, all bits are set. */
typedef uint32_t four_numbers __attribute__((vector_size(16)));

/* A bit for each record of the line that has this hash. Without branches, which would be guessed
 * wrong half of the time. */
static unsigned matching_hashes(const struct vamp_table_line *line, uint32_t hash)
{
    static_assert(VAMP_TABLE_LINE_RECORDS == 7, "the fourth of seven is in both vectors");
    const four_numbers wanted = {hash, hash, hash, hash};
    four_numbers first, last;
    memcpy(&first, line->hashes, sizeof first);
    memcpy(&last, line->hashes + 3, sizeof last);
    const four_numbers bits = ((four_numbers)(first == wanted) & (four_numbers){1, 2, 4, 8}) |
                              ((four_numbers)(last == wanted) & (four_numbers){8, 16, 32, 64});
    uint64_t halves[2];
    memcpy(halves, &bits, sizeof halves);
    const uint64_t found = halves[0] | halves[1];
    return (unsigned)(found | found >> 32) & ((1U << line->used) - 1);
}

static struct vamp_record *find_record(const struct vamp_table *table, const struct vamp_key *key)
{
    const uint32_t hash = (uint32_t)key->hash;
    const struct vamp_table_line *line = vamp_table_line_of(table, hash);
    for (unsigned found = matching_hashes(line, hash); found != 0; found &= found - 1) {
        struct vamp_record *record = record_at(table, line->numbers[__builtin_ctz(found)]);
        if (same_key(table, key_of(record), key->words)) {
            return record;
        }
    }
    if ((line->chained & chain_bit(hash)) == 0) {
        return NULL;
    }
    for (uint32_t number = line->more; number != 0; number = record_at(table, number)->chain) {
        if (same_key(table, key_of(record_at(table, number)), key->words)) {
            return record_at(table, number);
        }
    }
    return NULL;
}

void *vamp_table_find(struct vamp_table *table, const struct vamp_key *key)
{
    struct vamp_record *record = find_record(table, key);
    if (record != NULL && is_dead(table, record)) {
        vamp_table_remove(table, record);
        return NULL;
    }
    return record;
}

void *vamp_table_find_expected(struct vamp_table *table, const struct vamp_key *key,
                               const struct vamp_table_expected *expected)
{
    struct vamp_record *record = expected->record;
    if (record != NULL && record->owner != FREE_MARK &&
        same_key(table, key_of(record), key->words) && !is_dead(table, record)) {
        return record;
    }
    return vamp_table_find(table, key);
}

static inline void expect_record(struct vamp_table_expected *expected)
{
    const struct vamp_table *table = expected->table;
    const struct vamp_table_line *line = expected->line;
    uint32_t number = (line->chained & chain_bit(expected->hash)) != 0 ? line->more : 0;
    const unsigned found = matching_hashes(line, expected->hash);
    number = found != 0 ? line->numbers[__builtin_ctz(found)] : number;
    if (number != 0) {
        expected->record = record_at(table, number);
        /* Longer than a cache line. */
        __builtin_prefetch(expected->record, 1);
        __builtin_prefetch((const char *)expected->record + table->record_bytes - 1, 1);
    }
}

static inline void expect_removal(const struct vamp_table_expected *expected)
{
    const struct vamp_table *table = expected->table;
    const struct vamp_record *record = expected->record;
    const uint32_t neighbours[] = {record->older, record->newer, record->before, record->after};
    for (unsigned i = 0; i < sizeof neighbours / sizeof neighbours[0]; i++) {
        if (neighbours[i] != 0) {
            __builtin_prefetch(record_at(table, neighbours[i]), 1);
        }
    }
}

void vamp_table_expect_records(struct vamp_table_expected *expected, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        expect_record(&expected[i]);
    }
}

void vamp_table_expect_removals(const struct vamp_table_expected *expected, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (expected[i].removal && expected[i].record != NULL) {
            expect_removal(&expected[i]);
        }
    }
}

static void leave_owner(struct vamp_table *table, struct vamp_record *record)
{
    if (record->owner == 0) {
        return;
    }
    struct vamp_owner *owner = &table->owners[record->owner];
    if (record->before != 0) {
        record_at(table, record->before)->after = record->after;
    } else {
        owner->first = record->after;
    }
    if (record->after != 0) {
        record_at(table, record->after)->before = record->before;
    }
    owner->count--;
    record->owner = 0;
}

/* Gives record `own` to the owner `number`. */
static void join_owner(struct vamp_table *table, struct vamp_record *record, uint32_t own,
                       uint32_t number)
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
        record_at(table, owner->first)->before = own;
    }
    owner->first = own;
    owner->count++;
}

/* A dead record, NULL when there is none. */
static struct vamp_record *first_dead(struct vamp_table *table)
{
    while (table->gone_first != 0) {
        struct vamp_owner *owner = &table->owners[table->gone_first];
        if (owner->first != 0) {
            return record_at(table, owner->first);
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
    return record_at(table, table->oldest);
}

static struct vamp_record *take_record(struct vamp_table *table, uint32_t *ret_number)
{
    assert(table->used < table->capacity);
    struct vamp_record *record = NULL;
    if (table->free_record != 0) {
        *ret_number = table->free_record;
        record = record_at(table, *ret_number);
        table->free_record = record->chain;
    } else {
        *ret_number = ++table->touched;
        record = record_at(table, *ret_number);
    }
    memset(record, 0, table->record_bytes);
    return record;
}

void *vamp_table_insert(struct vamp_table *table, const struct vamp_key *key, uint32_t owner)
{
    uint32_t number = 0;
    struct vamp_record *record = take_record(table, &number);
    set_key(table, key_of(record), key->words);
    const size_t lines = (size_t)table->mask + 1 + table->split;
    if (table->used >= lines * LINE_FILL) {
        split_line(table);
    }
    const uint32_t hash = (uint32_t)key->hash;
    put_in_line(table, vamp_table_line_of(table, hash), hash, number);
    record->older = table->newest;
    if (table->newest != 0) {
        record_at(table, table->newest)->newer = number;
    } else {
        table->oldest = number;
    }
    table->newest = number;
    join_owner(table, record, number, owner);
    table->used++;
    return record;
}

static void leave_age(struct vamp_table *table, const struct vamp_record *record)
{
    if (record->older != 0) {
        record_at(table, record->older)->newer = record->newer;
    } else {
        table->oldest = record->newer;
    }
    if (record->newer != 0) {
        record_at(table, record->newer)->older = record->older;
    } else {
        table->newest = record->older;
    }
}

void vamp_table_remove(struct vamp_table *table, void *which)
{
    struct vamp_record *record = which;
    const uint32_t number = vamp_table_number(table, record);
    table->dead -= is_dead(table, record);
    take_out_of_line(table, vamp_table_line_of(table, hash_of(table, key_of(record))), number);
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
        join_owner(table, record, vamp_table_number(table, record), owner);
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
        struct vamp_record *record = record_at(table, ++*position);
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
    *position = *position == 0 ? owner->first : record_at(table, *position)->after;
    return *position == 0 ? NULL : record_at(table, *position);
}
