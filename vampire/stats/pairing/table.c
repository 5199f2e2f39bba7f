/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/io.h"
#include "vampire/core/values.h"

#define LINE_BYTES ((size_t)64)
#define FIRST_LINES 64
/* Records and index lines are prefaulted in blocks of this size: page faults of single pages take
 * twice as long. */
#define READY_BYTES ((size_t)32 * 1024)
/* A line is added when the average number of records per line reaches this. */
#define LINE_FILL 4

/* ---- slabs */

/* Allocates `*memory` and returns its first whole cache line. */
static void *reserve_lines(size_t bytes, void **memory)
{
    *memory = calloc(bytes / LINE_BYTES + 2, LINE_BYTES);
    const uintptr_t first = ((uintptr_t)*memory + LINE_BYTES - 1) & ~(LINE_BYTES - 1);
    return (void *)first; /* NULL remains NULL */
}

int vamp_slab_init(struct vamp_slab *slab, size_t capacity, size_t item_bytes)
{
    *slab = (struct vamp_slab){.item_bytes = item_bytes,
                               .shift = (unsigned)__builtin_ctzll(item_bytes),
                               .capacity = (uint32_t)capacity};
    const uint64_t odd = item_bytes >> slab->shift;
    /* Correct in three bits; each step doubles the number of correct bits. */
    slab->odd_inverse = odd;
    for (unsigned bits = 3; bits < 64; bits *= 2) {
        slab->odd_inverse *= 2 - odd * slab->odd_inverse;
    }
    slab->items = reserve_lines(capacity * item_bytes, &slab->memory);
    return slab->items != NULL ? 0 : -ENOMEM;
}

void vamp_slab_done(struct vamp_slab *slab)
{
    free(slab->memory);
    memset(slab, 0, sizeof *slab);
}

__attribute__((noinline)) void vamp_slab_make_ready(struct vamp_slab *slab)
{
    const uint32_t from = slab->ready;
    const uint32_t more = (uint32_t)(READY_BYTES / slab->item_bytes);
    slab->ready += VAMP_MIN(slab->capacity - from, more);
    vamp_pages_ask(slab->items + from * slab->item_bytes, (slab->ready - from) * slab->item_bytes);
    if (slab->neighbours != NULL) {
        vamp_pages_ask(slab->neighbours + from * slab->neighbour_bytes,
                       (slab->ready - from) * slab->neighbour_bytes);
    }
}

/* ---- the index */

static inline struct vamp_record *record_at(const struct vamp_table *table, uint32_t number)
{
    return vamp_slab_item(&table->slab, number);
}

static inline uint32_t hash_of(const struct vamp_record *record)
{
    return (uint32_t)vamp_key_of_two(record->key[0], record->key[1]).hash;
}

static inline bool has_key(const struct vamp_record *record, const struct vamp_key *key)
{
    return record->key[0] == key->words[0] && record->key[1] == key->words[1];
}

int vamp_table_init(struct vamp_table *table, size_t capacity, size_t record_bytes,
                    size_t rest_bytes)
{
    size_t lines = FIRST_LINES;
    while (lines * LINE_FILL < capacity) {
        lines *= 2;
    }
    *table = (struct vamp_table){.mask = FIRST_LINES - 1, .rest_bytes = rest_bytes};
    table->rests = calloc(capacity, rest_bytes);
    table->lines = reserve_lines(lines * LINE_BYTES, &table->line_memory);
    const int status = vamp_slab_init(&table->slab, capacity, record_bytes);
    table->slab.neighbours = table->rests;
    table->slab.neighbour_bytes = rest_bytes;
    return table->lines != NULL && table->rests != NULL ? status : -ENOMEM;
}

void vamp_table_done(struct vamp_table *table)
{
    vamp_slab_done(&table->slab);
    free(table->rests);
    free(table->line_memory);
    memset(table, 0, sizeof *table);
}

static uint16_t chain_bit(uint32_t hash)
{
    return (uint16_t)(1U << (hash >> 28));
}

static void put_in_line(const struct vamp_table *table, struct vamp_table_line *line, uint32_t hash,
                        uint32_t number)
{
    assert(number > 0 && number <= table->slab.touched);
    if (line->used < VAMP_TABLE_LINE_RECORDS) {
        line->hashes[line->used] = hash;
        line->numbers[line->used] = number;
        line->used++;
    } else {
        record_at(table, number)->item.next = line->more;
        line->more = number;
        line->chained |= chain_bit(hash);
    }
}

static void clear_chained(struct vamp_table_line *line)
{
    if (line->more == 0) {
        line->chained = 0;
    }
}

static void take_out_of_chain(const struct vamp_table *table, struct vamp_table_line *line,
                              uint32_t number)
{
    uint32_t *link = &line->more;
    while (*link != number) {
        link = &record_at(table, *link)->item.next;
    }
    *link = record_at(table, number)->item.next;
    clear_chained(line);
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
        line->more = record->item.next;
        clear_chained(line);
        line->hashes[i] = hash_of(record);
        line->numbers[i] = chained;
        return;
    }
    line->used--;
    line->hashes[i] = line->hashes[line->used];
    line->numbers[i] = line->numbers[line->used];
}

/* Adds a line, to which half of the records of the next line to be split are moved. Not inlined: it
 * is rarely called, and otherwise every insertion would save and restore its registers. */
__attribute__((noinline)) static void split_line(struct vamp_table *table)
{
    const uint32_t bit = table->mask + 1;
    if ((table->split + bit) % (READY_BYTES / LINE_BYTES) == 0) {
        vamp_pages_ask(&table->lines[table->split + bit], READY_BYTES);
    }
    struct vamp_table_line *stay = &table->lines[table->split];
    struct vamp_table_line *move = &table->lines[table->split + bit];
    const struct vamp_table_line old = *stay;
    *stay = (struct vamp_table_line){.used = 0};
    *move = *stay; /* written before it is read, as in vamp_slab_take */
    struct vamp_table_line *const lines[] = {stay, move};
    for (uint32_t i = 0; i < old.used; i++) {
        put_in_line(table, lines[(old.hashes[i] & bit) != 0], old.hashes[i], old.numbers[i]);
    }
    for (uint32_t number = old.more; number != 0;) {
        struct vamp_record *record = record_at(table, number);
        const uint32_t next = record->item.next;
        const uint32_t hash = hash_of(record);
        put_in_line(table, lines[(hash & bit) != 0], hash, number);
        number = next;
    }
    table->split++;
    if (table->split == bit) {
        table->split = 0;
        table->mask = 2 * table->mask + 1;
    }
}

/* Result of comparing four numbers at once: all bits are set where they are equal. */
typedef uint32_t four_numbers __attribute__((vector_size(16)));

/* Converts seven comparisons to one bit each. The first element of `last` repeats the last one of
 * `first`. */
static inline unsigned bits_of(four_numbers first, four_numbers last)
{
#ifdef __SSE__
    typedef float four_floats __attribute__((vector_size(16)));
    return (unsigned)(__builtin_ia32_movmskps((four_floats)first) |
                      __builtin_ia32_movmskps((four_floats)last) << 3);
#else
    const four_numbers bits =
        (first & (four_numbers){1, 2, 4, 8}) | (last & (four_numbers){8, 16, 32, 64});
    uint64_t halves[2];
    memcpy(halves, &bits, sizeof halves);
    return (unsigned)(halves[0] | halves[1] | (halves[0] | halves[1]) >> 32);
#endif
}

/* Returns one bit for each record of the line that has this hash. Has no branches, which would be
 * mispredicted half of the time. */
static unsigned matching_hashes(const struct vamp_table_line *line, uint32_t hash)
{
    static_assert(VAMP_TABLE_LINE_RECORDS == 7, "the fourth of seven is in both vectors");
    const four_numbers wanted = {hash, hash, hash, hash};
    four_numbers first, last;
    memcpy(&first, line->hashes, sizeof first);
    memcpy(&last, line->hashes + 3, sizeof last);
    return bits_of((four_numbers)(first == wanted), (four_numbers)(last == wanted)) &
           ((1U << line->used) - 1);
}

/* Finds a record that is not the first one with its hash in the line, or that is in the chain. */
static __attribute__((noinline)) void *find_further(const struct vamp_table *table,
                                                    const struct vamp_table_line *line,
                                                    unsigned found, const struct vamp_key *key)
{
    for (; found != 0; found &= found - 1) {
        struct vamp_record *record = record_at(table, line->numbers[__builtin_ctz(found)]);
        if (has_key(record, key)) {
            return record;
        }
    }
    for (uint32_t number = line->more; number != 0; number = record_at(table, number)->item.next) {
        if (has_key(record_at(table, number), key)) {
            return record_at(table, number);
        }
    }
    return NULL;
}

void *vamp_table_find(const struct vamp_table *table, const struct vamp_key *key)
{
    const uint32_t hash = (uint32_t)key->hash;
    const struct vamp_table_line *line = vamp_table_line_of(table, hash);
    const unsigned found = matching_hashes(line, hash);
    if (found != 0) {
        struct vamp_record *record = record_at(table, line->numbers[__builtin_ctz(found)]);
        if (has_key(record, key)) {
            return record;
        }
    } else if ((line->chained & chain_bit(hash)) == 0) {
        return NULL;
    }
    return find_further(table, line, found & (found - 1), key);
}

void *vamp_table_guess(const struct vamp_table *table, const struct vamp_table_line *line,
                       const struct vamp_key *key)
{
    const uint32_t hash = (uint32_t)key->hash;
    const unsigned found = matching_hashes(line, hash);
    uint32_t number = 0;
    if (found != 0) {
        number = line->numbers[__builtin_ctz(found)];
    } else if ((line->chained & chain_bit(hash)) != 0) {
        number = line->more;
    }
    if (number == 0) {
        return NULL;
    }
    char *record = (char *)record_at(table, number);
    __builtin_prefetch(record, 1);
    return record;
}

void *vamp_table_find_guessed(const struct vamp_table *table, const struct vamp_key *key,
                              void *guess)
{
    const struct vamp_record *record = guess;
    if (record != NULL && record->item.row != VAMP_ITEM_FREE && has_key(record, key)) {
        return guess;
    }
    return vamp_table_find(table, key);
}

void *vamp_table_insert(struct vamp_table *table, const struct vamp_key *key)
{
    const size_t lines = (size_t)table->mask + 1 + table->split;
    if (table->slab.used >= lines * LINE_FILL) {
        split_line(table);
    }
    uint32_t number = 0;
    struct vamp_record *record = vamp_slab_take(&table->slab, &number);
    memset(record, 0, table->slab.item_bytes);
    record->key[0] = key->words[0];
    record->key[1] = key->words[1];
    const uint32_t hash = (uint32_t)key->hash;
    put_in_line(table, vamp_table_line_of(table, hash), hash, number);
    return record;
}

void vamp_table_remove(struct vamp_table *table, void *record)
{
    assert(((const struct vamp_item *)record)->row == 0);
    const uint32_t number = vamp_slab_number(&table->slab, record);
    take_out_of_line(table, vamp_table_line_of(table, hash_of(record)), number);
    vamp_slab_give(&table->slab, number);
}
