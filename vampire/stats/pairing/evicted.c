/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/evicted.h"

#include <stdlib.h>
#include <string.h>

#define LINE_BYTES sizeof(struct vamp_evicted_line)
#define WORD_BITS 64
/* A key has BITS_PER_KEY bits in one line. The low bits of its hash are the index of the line; each
 * group of INDEX_WIDTH high bits is the index of a bit in the line. */
#define BITS_PER_KEY 5
#define INDEX_WIDTH 9
_Static_assert(LINE_BYTES * 8 == 1 << INDEX_WIDTH, "an index selects any bit of a line");
_Static_assert(VAMP_EVICTED_LINES <= UINT64_C(1) << (WORD_BITS - BITS_PER_KEY * INDEX_WIDTH),
               "the indices of the line and of the bits do not overlap in the hash");

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
        const uint64_t bit = hash >> (WORD_BITS - INDEX_WIDTH);
        if ((line->words[bit / WORD_BITS] & UINT64_C(1) << bit % WORD_BITS) == 0) {
            return false;
        }
        hash <<= INDEX_WIDTH;
    }
    return true;
}

void vamp_evicted_add(struct vamp_evicted *evicted, const uint64_t key[static 2])
{
    uint64_t hash = vamp_evicted_hash(key);
    struct vamp_evicted_line *line = &evicted->lines[hash % VAMP_EVICTED_LINES];
    for (unsigned i = 0; i < BITS_PER_KEY; i++) {
        const uint64_t bit = hash >> (WORD_BITS - INDEX_WIDTH);
        line->words[bit / WORD_BITS] |= UINT64_C(1) << bit % WORD_BITS;
        hash <<= INDEX_WIDTH;
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
