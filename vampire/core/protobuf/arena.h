/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixed-size memory for messages unpacked by protobuf-c, one at a time: a malicious message uses at
 * most the arena and is then rejected. The caller owns the arena; one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "vampire/core/err.h"

struct vamp_decode_arena {
    ProtobufCAllocator allocator;
    unsigned char *memory;
    size_t bytes, used;
    bool exhausted; /* the last message needed more memory than available */
};

/* Returns 0 or -ENOMEM. No valid message needs more than 64 times its length. */
VAMP_MUST_CHECK int vamp_decode_arena_init(struct vamp_decode_arena *arena, size_t bytes,
                                           struct vamp_err *err);
/* Frees the memory. Allowed for an arena that is all zero or whose initialization failed. */
void vamp_decode_arena_done(struct vamp_decode_arena *arena);
/* Empties the arena, which invalidates everything unpacked into it. The returned allocator is for
 * one call of an unpack function; the unpacked message needs no free_unpacked. The allocator is
 * valid as long as the arena. */
ProtobufCAllocator *vamp_decode_arena_reset(struct vamp_decode_arena *arena);
