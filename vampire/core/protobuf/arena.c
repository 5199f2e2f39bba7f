/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/protobuf/arena.h"

#include <stdlib.h>

/* Sufficient for every type that protobuf-c allocates. */
#define ARENA_ALIGNMENT ((size_t)16)

static size_t aligned(size_t size)
{
    return (size + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
}

static void *arena_alloc(void *context, size_t size)
{
    struct vamp_decode_arena *arena = context;
    const size_t room = arena->bytes - arena->used; /* a multiple of the alignment */
    if (size > room) {
        arena->exhausted = true;
        return NULL;
    }
    void *result = arena->memory + arena->used;
    arena->used += aligned(size);
    return result;
}

static void arena_free(void *context, void *pointer)
{
    (void)context;
    (void)pointer; /* the next reset frees everything at once */
}

int vamp_decode_arena_init(struct vamp_decode_arena *arena, size_t bytes, struct vamp_err *err)
{
    bytes = aligned(bytes);
    *arena = (struct vamp_decode_arena){
        .allocator = {.alloc = arena_alloc, .free = arena_free, .allocator_data = arena},
        .bytes = bytes,
    };
    arena->memory = malloc(bytes);
    if (arena->memory == NULL) {
        arena->bytes = 0;
        return vamp_err_set(err, -ENOMEM, "no memory for a decoding buffer of %zu bytes", bytes);
    }
    return 0;
}

void vamp_decode_arena_done(struct vamp_decode_arena *arena)
{
    free(arena->memory);
    *arena = (struct vamp_decode_arena){.memory = NULL};
}

ProtobufCAllocator *vamp_decode_arena_reset(struct vamp_decode_arena *arena)
{
    arena->used = 0;
    arena->exhausted = false;
    return &arena->allocator;
}
