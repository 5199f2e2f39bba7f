/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of a fixed size for messages that protobuf-c unpacks, one at a time: a hostile message
 * costs at most the arena and is then refused. An arena belongs to its caller; one thread at a
 * time.
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
    bool exhausted; /* the last message needed more than there is */
};

/* 0 or -ENOMEM. No valid message needs more than 64 times its length. */
VAMP_MUST_CHECK int vamp_decode_arena_init(struct vamp_decode_arena *arena, size_t bytes,
                                           struct vamp_err *err);
/* Also for an arena that is all zero or whose initialization failed. */
void vamp_decode_arena_done(struct vamp_decode_arena *arena);
/* Empties the arena, which invalidates everything unpacked into it. The result is for one call of
 * an unpack function, whose result needs no free_unpacked. Valid as long as the arena. */
ProtobufCAllocator *vamp_decode_arena_reset(struct vamp_decode_arena *arena);
