/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notes whether jansson has lacked memory. Version 2.14 does not always tell: it may drop a byte of
 * a text it reads, a piece of a text it writes, or call a good token wrong. A byte that it drops
 * may be the quote at a text's end, and then it reads and writes beyond. So while it reads, it is
 * never told: what it lacks comes out of a reserve, and is noted. Its allocator gets no context,
 * hence the variables here, which belong to the thread.
 */
#include <errno.h>
#include <stdlib.h>

#include "config/internal.h"

static _Thread_local bool memory_lacked;
static _Thread_local struct {
    unsigned char *memory; /* NULL: no reserve */
    size_t bytes, used;
} reserve;

/* More than jansson makes of a byte of text: ":1," in an object is an entry of its hash table. */
#define RESERVE_PER_BYTE 64
#define RESERVE_LEAST ((size_t)1 << 16)
#define ALIGNMENT ((size_t)16)

int config_memory_reserve(size_t text_bytes)
{
    reserve.bytes = RESERVE_LEAST + RESERVE_PER_BYTE * text_bytes;
    reserve.used = 0;
    reserve.memory = malloc(reserve.bytes); /* pages that nobody touches cost nothing */
    return reserve.memory != NULL ? 0 : -ENOMEM;
}

void config_memory_release(void)
{
    free(reserve.memory);
    reserve.memory = NULL;
}

static void *take_reserve(size_t bytes)
{
    const size_t room = reserve.memory != NULL ? reserve.bytes - reserve.used : 0;
    if (bytes > room || room - bytes < ALIGNMENT) {
        return NULL;
    }
    void *block = reserve.memory + reserve.used;
    reserve.used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return block;
}

static void *noting_malloc(size_t bytes)
{
    void *block = malloc(bytes);
    if (block == NULL) {
        memory_lacked = true;
        block = take_reserve(bytes);
    }
    return block;
}

/* What came out of the reserve goes with it. */
static void noting_free(void *block)
{
    const uintptr_t at = (uintptr_t)block, first = (uintptr_t)reserve.memory;
    if (reserve.memory == NULL || at < first || at >= first + reserve.bytes) {
        free(block);
    }
}

void config_memory_watch(struct config_memory_watch *watch)
{
    json_get_alloc_funcs(&watch->usual_malloc, &watch->usual_free);
    json_set_alloc_funcs(noting_malloc, noting_free);
    watch->lacked_before = memory_lacked;
    memory_lacked = false;
}

bool config_memory_lacked(void)
{
    return memory_lacked;
}

bool config_memory_unwatch(const struct config_memory_watch *watch)
{
    json_set_alloc_funcs(watch->usual_malloc, watch->usual_free);
    bool lacked = memory_lacked;
    memory_lacked = lacked || watch->lacked_before;
    return lacked;
}
