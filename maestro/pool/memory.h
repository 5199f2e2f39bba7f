/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of a pool: everything it keeps for components is allocated and freed here, so one
 * number bounds it all. Half is for components, CDOs, handles, attributes, subscriptions and
 * waiting requests, half for queued events: a subscriber that does not read must not keep others
 * from declaring CDOs, nor the reverse. The caller serialises all calls.
 */
#ifndef MAESTRO_POOL_MEMORY_H
#define MAESTRO_POOL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maestro/maestro.h"
#include "pool.pb-c.h"
#include "vampire/core/err.h"

enum pool_memory_use {
    POOL_MEMORY_OBJECTS,
    POOL_MEMORY_EVENTS,
    /* Counted with the objects, never refused: there is at most one for each handle, and a
     * component that has joined must get its data. */
    POOL_MEMORY_TRANSPORTS,
};

struct pool_memory {
    size_t limit; /* bytes of both halves; 0: no limit */
    size_t object_bytes, event_bytes;
    uint64_t refused;            /* requests and joins; the queues count their events themselves */
    ProtobufCAllocator messages; /* copies of messages, as objects */
};

void pool_memory_init(struct pool_memory *memory, size_t limit);
/* Whether `bytes` more of this use are within the bound. */
bool pool_memory_has_room(const struct pool_memory *memory, enum pool_memory_use use, size_t bytes);
/* A block, zeroed unless it is for events. NULL: beyond the bound, or no memory. */
void *pool_memory_take(struct pool_memory *memory, enum pool_memory_use use, size_t bytes);
/* What is allocated elsewhere: counted by an estimate, given back with the same number. */
void pool_memory_charge(struct pool_memory *memory, enum pool_memory_use use, size_t bytes);
void pool_memory_discharge(struct pool_memory *memory, enum pool_memory_use use, size_t bytes);
/* `block` may be NULL. Of the same use as it was taken for. */
void pool_memory_give(struct pool_memory *memory, enum pool_memory_use use, void *block);
/* Counts a refusal of `what`, and says why and what to do. MSTRO_NOMEM. */
mstro_status pool_memory_refuse(struct pool_memory *memory, const char *what, struct vamp_err *err);

#endif
