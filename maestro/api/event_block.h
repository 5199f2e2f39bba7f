/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The events of one received batch as users see them: a list whose nodes and texts are in one
 * block. Blocks are chained, so that one list may span several batches.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "maestro/maestro.h"
#include "vampire/core/err.h"
#include "vampire/core/event/codec.h"

struct event_block {
    struct event_block *next;
    size_t bytes;
    uint64_t subscription;
    uint64_t events;             /* operations in it */
    uint64_t lost;               /* reported by the first node */
    mstro_pool_event head, tail; /* NULL: an empty list */
};

/* Blocks in the order of their arrival; all zeros: empty. */
struct event_queue {
    struct event_block *first, *last;
    size_t bytes;
};
void event_queue_append(struct event_queue *queue, struct event_block *block);

/* Creates a block from a batch that nothing was read of; the batch is not needed afterwards. The
 * first node reports the batch's `lost`, if not 0. Events of unknown kinds are left out. `packed`:
 * one node has all events, unparsed. 0; -EBADMSG: an event is malformed, or there are too many;
 * -ENOMEM. */
VAMP_MUST_CHECK int event_block_create(const struct vamp_event_batch *batch, bool packed,
                                       struct event_block **ret_block, struct vamp_err *err);
/* One node of kind LOST, or POOL_GONE with a count of 0. */
struct event_block *event_block_mark(mstro_pool_event_kind kind, uint64_t count);
/* For a subscriber without LOST: removes its node. */
void event_block_hide_lost(struct event_block *block);
/* Adds to the count of a block that only reports losses. */
void event_block_add_lost(struct event_block *block, uint64_t count);
/* The block that contains a list's head. */
struct event_block *event_block_of(mstro_pool_event head);
/* Frees the block and those chained after it. NULL is fine. */
void event_block_free(struct event_block *block);
