/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "filters/expression_tree.h"
#include "vampire/core/hash.h"

#define ENTRIES 256U
#define TEXT_BYTES 54U

struct memo_entry {
    char text[TEXT_BYTES];
    uint8_t length;
    bool known, matches;
};

/* One place for each text: another text with the same hash takes it. */
struct memo {
    struct memo_entry entries[ENTRIES];
};

struct memo *vamp_memo_create(struct arena *arena)
{
    return vamp_arena_alloc(arena, sizeof(struct memo));
}

struct memo_entry *vamp_memo_entry(struct memo *memo, const char *text, size_t length)
{
    if (memo == NULL || length == 0 || length > TEXT_BYTES) {
        return NULL;
    }
    return &memo->entries[vamp_hash_bytes(0, text, length) % ENTRIES];
}

enum memory vamp_memo_recall(const struct memo_entry *entry, const char *text, size_t length)
{
    if (entry == NULL || !entry->known || entry->length != length ||
        memcmp(entry->text, text, length) != 0) {
        return MEMORY_NONE;
    }
    return entry->matches ? MEMORY_MATCHES : MEMORY_DIFFERS;
}

void vamp_memo_keep(struct memo_entry *entry, const char *text, size_t length, bool matches)
{
    if (entry != NULL) {
        memcpy(entry->text, text, length);
        entry->length = (uint8_t)length;
        entry->matches = matches;
        entry->known = true;
    }
}
