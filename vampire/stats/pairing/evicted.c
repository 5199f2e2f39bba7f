/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/evicted.h"

#include <stdlib.h>
#include <string.h>

#define LINE_BYTES sizeof(struct vamp_evicted_line)
#define WORD_BITS 64
#define BIT_WIDTH 9 /* bits that number a bit of a line */
_Static_assert(LINE_BYTES * 8 == 1 << BIT_WIDTH, "each number is a bit of a line");
/* Their numbers come from the high bits of the hash, the number of the line from its low bits. */
#define BITS_PER_KEY 5
_Static_assert(VAMP_EVICTED_LINES <= UINT64_C(1) << (WORD_BITS - BITS_PER_KEY * BIT_WIDTH),
               "no bit of the hash is used for both");

int vamp_evicted_init(struct vamp_evicted *evicted)
{
    evicted->any = false;
    evicted->memory = calloc(VAMP_EVICTED_LINES + 1, LINE_BYTES);
    const uintptr_t first = ((uintptr_t)evicted->memory + LINE_BYTES - 1) & ~(LINE_BYTES - 1);
    evicted->lines = (void *)first; /* the first whole cache line */
    return evicted->memory != NULL ? 0 : -ENOMEM;
}

void vamp_evicted_done(struct vamp_evicted *evicted)
{
    free(evicted->memory);
}

bool vamp_evicted_test(const struct vamp_evicted *evicted, const uint64_t key[static 2])
{
    if (!evicted->any) {
        return false;
    }
    uint64_t hash = vamp_evicted_hash(key);
    const struct vamp_evicted_line *line = &evicted->lines[hash % VAMP_EVICTED_LINES];
    for (unsigned i = 0; i < BITS_PER_KEY; i++) {
        const uint64_t bit = hash >> (WORD_BITS - BIT_WIDTH);
        if ((line->words[bit / WORD_BITS] & UINT64_C(1) << bit % WORD_BITS) == 0) {
            return false;
        }
        hash <<= BIT_WIDTH;
    }
    return true;
}

void vamp_evicted_add(struct vamp_evicted *evicted, const uint64_t key[static 2])
{
    uint64_t hash = vamp_evicted_hash(key);
    struct vamp_evicted_line *line = &evicted->lines[hash % VAMP_EVICTED_LINES];
    for (unsigned i = 0; i < BITS_PER_KEY; i++) {
        const uint64_t bit = hash >> (WORD_BITS - BIT_WIDTH);
        line->words[bit / WORD_BITS] |= UINT64_C(1) << bit % WORD_BITS;
        hash <<= BIT_WIDTH;
    }
    evicted->any = true;
}

void vamp_evicted_clear(struct vamp_evicted *evicted)
{
    if (evicted->any) {
        memset(evicted->lines, 0, VAMP_EVICTED_LINES * LINE_BYTES);
        evicted->any = false;
    }
}
