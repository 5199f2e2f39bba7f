/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The events of one received batch as presented to users: a list whose nodes and texts are in one
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
    uint64_t events;             /* number of events in the block */
    uint64_t lost;               /* lost events, reported by the first node */
    mstro_pool_event head, tail; /* NULL: the list is empty */
};

/* Blocks in the order of arrival; all zeros: empty. */
struct event_queue {
    struct event_block *first, *last;
    size_t bytes;
};
void event_queue_append(struct event_queue *queue, struct event_block *block);

/* Creates a block from a batch that has not been read yet; the block does not refer to the batch.
 * If the batch's `lost` is not 0, the first node reports it. Events of unknown kinds are skipped.
 * `packed`: one node contains all events, unparsed. Returns 0; -EBADMSG: an event is malformed, or
 * there are too many; -ENOMEM. */
VAMP_MUST_CHECK int event_block_create(const struct vamp_event_batch *batch, bool packed,
                                       struct event_block **ret_block, struct vamp_err *err);
/* Creates a block with one node of kind LOST, or POOL_GONE with a count of 0. Returns NULL if out
 * of memory. */
struct event_block *event_block_mark(mstro_pool_event_kind kind, uint64_t count);
/* Removes the LOST node, for a subscriber to whom LOST is not reported. */
void event_block_hide_lost(struct event_block *block);
/* Adds to the count of a block that only reports lost events. */
void event_block_add_lost(struct event_block *block, uint64_t count);
/* Returns the block that contains the head of a list. */
struct event_block *event_block_of(mstro_pool_event head);
/* Frees the block and those chained after it. NULL is fine. */
void event_block_free(struct event_block *block);
