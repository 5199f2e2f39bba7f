/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notes whether jansson has lacked memory. Version 2.14 does not always tell: it may drop a byte of
 * a text it reads, a piece of a text it writes, or call a good token wrong. Its allocator gets no
 * context, hence the one variable here, which belongs to the thread.
 */
#include <stdlib.h>

#include "vampire/config_internal.h"

static _Thread_local bool memory_lacked;

static void *noting_malloc(size_t bytes)
{
    void *block = malloc(bytes);
    memory_lacked = memory_lacked || block == NULL;
    return block;
}

void config_memory_watch(struct config_memory_watch *watch)
{
    json_get_alloc_funcs(&watch->usual_malloc, &watch->usual_free);
    json_set_alloc_funcs(noting_malloc, free);
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
