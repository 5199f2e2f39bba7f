/* SPDX-License-Identifier: BSD-3-Clause */
#include "filters/expression_tree.h"

#define ENTRIES 1024U

/* One place for each number of a text, which another number with the same remainder takes. An entry
 * is twice the number, and 1 when its text matches; 0: it is free. */
struct memo {
    uint64_t entries[ENTRIES];
};

struct memo *vamp_memo_create(struct arena *arena)
{
    return vamp_arena_alloc(arena, sizeof(struct memo));
}

enum memory vamp_memo_recall(const struct memo *memo, uint32_t number)
{
    const uint64_t entry = memo != NULL ? memo->entries[number % ENTRIES] : 0;
    if (number == 0 || entry >> 1 != number) {
        return MEMORY_NONE;
    }
    return (entry & 1) != 0 ? MEMORY_MATCHES : MEMORY_DIFFERS;
}

void vamp_memo_keep(struct memo *memo, uint32_t number, bool matches)
{
    if (memo != NULL && number != 0) {
        memo->entries[number % ENTRIES] = (uint64_t)number << 1 | matches;
    }
}
