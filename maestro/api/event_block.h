/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The events of one received batch as users see them: a list whose nodes and texts are in one
 * block. Blocks are chained, so that one list may span several batches.
 */
#ifndef MAESTRO_API_EVENT_BLOCK_H
#define MAESTRO_API_EVENT_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "maestro/maestro.h"
#include "pool.pb-c.h"

struct event_block {
    struct event_block *next;
    size_t bytes;
    uint64_t subscription;
    uint64_t events;             /* operations in it */
    uint64_t lost;               /* how many its first node tells of */
    mstro_pool_event head, tail; /* NULL: an empty list */
};

/* From a batch; the first node tells of `lost` if there are any. Events of unknown kinds are left
 * out. NULL without memory. */
struct event_block *event_block_create(const Vamp__Wire__EventBatch *batch);
/* The same from a packed batch, straight from the wire, if it is as pool managers send them. NULL:
 * protobuf-c has to judge it, or there is no memory. */
struct event_block *event_block_read(const uint8_t *packed, size_t length);
/* One node of kind LOST or POOL_GONE. */
struct event_block *event_block_mark(mstro_pool_event_kind kind, uint64_t count);
/* For a subscriber who does not ask for LOST: takes its node out. */
void event_block_hide_lost(struct event_block *block);
/* Of a block that only tells of losses. */
void event_block_add_lost(struct event_block *block, uint64_t count);
/* The block a list's head is in. */
struct event_block *event_block_of(mstro_pool_event head);
/* Frees the block and those behind it. */
void event_block_free(struct event_block *block);

#endif
