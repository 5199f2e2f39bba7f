/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/event_block.h"

#include <stdlib.h>
#include <string.h>

#include "maestro/list.h"
#include "vampire/core/event.h"

struct node {
    struct mstro_pool_event_ event; /* first: users hold pointers to it */
    struct event_block *block;
};

static struct node *nodes_of(struct event_block *block)
{
    return (struct node *)(void *)(block + 1);
}

static struct event_block *allocate(size_t nodes, size_t text_bytes)
{
    size_t bytes = sizeof(struct event_block) + nodes * sizeof(struct node) + text_bytes;
    struct event_block *block = calloc(1, bytes);
    if (block != NULL) {
        block->bytes = bytes;
    }
    return block;
}

static void append(struct event_block *block, struct node *node)
{
    node->block = block;
    if (block->tail == NULL) {
        block->head = &node->event;
    } else {
        block->tail->next = &node->event;
    }
    block->tail = &node->event;
}

/* The optional fields. */
static void fill_extension(const Vamp__Wire__Event *event, struct mstro_pool_event_ *ret)
{
    uint32_t present = 0;
    present |= event->has_time_ns ? MSTRO_POOL_EVENT_HAS_TIME : 0U;
    present |= event->has_size_bytes ? MSTRO_POOL_EVENT_HAS_CDO_SIZE : 0U;
    present |= event->has_peer_id ? MSTRO_POOL_EVENT_HAS_PEER : 0U;
    present |= event->has_transport_id ? MSTRO_POOL_EVENT_HAS_TRANSPORT : 0U;
    present |= event->has_tier ? MSTRO_POOL_EVENT_HAS_TIER : 0U;
    present |= event->has_cause ? MSTRO_POOL_EVENT_HAS_CAUSE : 0U;
    present |= event->has_reason ? MSTRO_POOL_EVENT_HAS_REASON : 0U;
    present |= event->has_duration_ns ? MSTRO_POOL_EVENT_HAS_DURATION : 0U;
    if (event->has_cdo_id && event->cdo_id.len == sizeof ret->cdo_id) {
        present |= MSTRO_POOL_EVENT_HAS_CDO_ID;
        memcpy(ret->cdo_id, event->cdo_id.data, sizeof ret->cdo_id);
    }
    ret->present = present;
    ret->reason = event->reason;
    ret->time_ns = event->time_ns;
    ret->cdo_size = event->size_bytes;
    ret->peer_appid = event->peer_id;
    ret->transport_id = event->transport_id;
    ret->tier = event->tier;
    ret->cause = event->cause;
    ret->before = event->before;
    ret->duration_ns = event->duration_ns;
}

/* Returns where the next text may go. */
static char *fill(const Vamp__Wire__Event *event, struct mstro_pool_event_ *ret, char *text)
{
    ret->kind = (mstro_pool_event_kind)1 << event->kind;
    ret->serial = event->serial;
    /* Every member of the payload begins with the application id, most have a name behind it. */
    ret->payload.declare.appid = event->app_id;
    fill_extension(event, ret);
    if (event->kind == VAMP_EVENT_LEAVE || event->kind == VAMP_EVENT_SUBSCRIBE ||
        event->kind == VAMP_EVENT_UNSUBSCRIBE) {
        return text;
    }
    if (event->name.len > 0) { /* a name left out is an empty one */
        memcpy(text, event->name.data, event->name.len);
    }
    text[event->name.len] = '\0';
    ret->name_length = (uint32_t)event->name.len;
    if (event->kind == VAMP_EVENT_JOIN) {
        ret->payload.join.component_name = text;
    } else {
        ret->payload.declare.cdo_name = text;
    }
    return text + event->name.len + 1;
}

struct event_block *event_block_create(const Vamp__Wire__EventBatch *batch)
{
    size_t text_bytes = 0;
    for (size_t i = 0; i < batch->n_events; i++) {
        text_bytes += batch->events[i]->name.len + 1;
    }
    struct event_block *block = allocate(batch->n_events + 1, text_bytes);
    if (block == NULL) {
        return NULL;
    }
    struct node *node = nodes_of(block);
    char *text = (char *)(node + batch->n_events + 1);
    block->subscription = batch->subscription;
    block->lost = batch->lost;
    if (batch->lost > 0) {
        node->event.kind = MSTRO_POOL_EVENT_LOST;
        node->event.payload.lost.count = batch->lost;
        append(block, node++);
    }
    for (size_t i = 0; i < batch->n_events; i++) {
        const Vamp__Wire__Event *event = batch->events[i];
        if (event->kind == 0 || event->kind >= VAMP_EVENT_KIND_COUNT) {
            continue;
        }
        text = fill(event, &node->event, text);
        append(block, node++);
        block->events++;
    }
    return block;
}

struct event_block *event_block_mark(mstro_pool_event_kind kind, uint64_t count)
{
    struct event_block *block = allocate(1, 0);
    if (block != NULL) {
        struct node *node = nodes_of(block);
        node->event.kind = kind;
        if (kind == MSTRO_POOL_EVENT_LOST) {
            node->event.payload.lost.count = count;
            block->lost = count;
        }
        append(block, node);
    }
    return block;
}

void event_block_hide_lost(struct event_block *block)
{
    if (block->lost > 0 && block->head != NULL) {
        block->lost = 0;
        block->head = block->head->next;
        block->tail = block->head == NULL ? NULL : block->tail;
    }
}

void event_block_add_lost(struct event_block *block, uint64_t count)
{
    block->lost += count;
    block->head->payload.lost.count += count;
}

struct event_block *event_block_of(mstro_pool_event head)
{
    return CONTAINER_OF(head, struct node, event)->block;
}

void event_block_free(struct event_block *block)
{
    while (block != NULL) {
        struct event_block *next = block->next;
        free(block);
        block = next;
    }
}
