/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "maestro/pool/internal.h"
#include "vampire/core/values.h"

/* Overhead per block: the allocator's, and two slots in the table that indexes it. */
enum { OVERHEAD_BYTES = 24 };

static size_t *bytes_of(struct pool_memory *memory, enum pool_memory_use use)
{
    return use == POOL_MEMORY_EVENTS ? &memory->event_bytes : &memory->object_bytes;
}

bool pool_memory_has_room(const struct pool_memory *memory, enum pool_memory_use use, size_t bytes)
{
    if (memory->limit == 0 || use == POOL_MEMORY_TRANSPORTS) {
        return true;
    }
    size_t taken = use == POOL_MEMORY_EVENTS ? memory->event_bytes : memory->object_bytes;
    size_t half = memory->limit / 2;
    return taken <= half && bytes <= half - taken;
}

void *pool_memory_take(struct pool_memory *memory, enum pool_memory_use use, size_t bytes)
{
    if (!pool_memory_has_room(memory, use, bytes)) {
        return NULL;
    }
    void *block = malloc(bytes);
    if (block != NULL) {
        if (use != POOL_MEMORY_EVENTS) {
            /* Unlike malloc, glibc's calloc does not reuse the blocks that the thread has freed
             * last. */
            memset(block, 0, bytes);
        }
        *bytes_of(memory, use) += malloc_usable_size(block) + OVERHEAD_BYTES;
    }
    return block;
}

void pool_memory_give(struct pool_memory *memory, enum pool_memory_use use, void *block)
{
    if (block != NULL) {
        const size_t bytes = malloc_usable_size(block) + OVERHEAD_BYTES;
        assert(*bytes_of(memory, use) >= bytes);
        *bytes_of(memory, use) -= bytes;
        free(block);
    }
}

void pool_memory_charge(struct pool_memory *memory, enum pool_memory_use use, size_t bytes)
{
    *bytes_of(memory, use) += bytes;
}

void pool_memory_discharge(struct pool_memory *memory, enum pool_memory_use use, size_t bytes)
{
    assert(*bytes_of(memory, use) >= bytes);
    *bytes_of(memory, use) -= bytes;
}

mstro_status pool_memory_refuse(struct pool_memory *memory, const char *what, struct vamp_err *err)
{
    memory->refused++;
    if (memory->limit == 0) {
        return VAMP_REFUSE(MSTRO_NOMEM, err, -ENOMEM, "%s: out of memory", what);
    }
    return VAMP_REFUSE(
        MSTRO_NOMEM, err, -ENOMEM,
        "%s: out of memory: the pool keeps %zu KiB for its components, and %zu KiB are "
        "allowed (half of the pool manager's --memory); dispose of CDOs or end "
        "subscriptions",
        what, memory->object_bytes / 1024, memory->limit / 2 / 1024);
}

static void *take_message(void *context, size_t bytes)
{
    return pool_memory_take(context, POOL_MEMORY_OBJECTS, VAMP_MAX(bytes, 1));
}

static void give_message(void *context, void *block)
{
    pool_memory_give(context, POOL_MEMORY_OBJECTS, block);
}

void pool_memory_init(struct pool_memory *memory, size_t limit)
{
    *memory = (struct pool_memory){.limit = limit};
    memory->messages =
        (ProtobufCAllocator){.alloc = take_message, .free = give_message, .allocator_data = memory};
}
