/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/api/event_block.h"

#include <stdlib.h>
#include <string.h>

#include "vampire/core/event/read.h"
#include "vampire/core/list.h"

/* Maximum number of events in a batch: an event of two bytes on the wire takes a hundred times as
 * much memory here. */
enum { EVENTS_MAX = 1024 };

struct node {
    struct mstro_pool_event_ event; /* must be first: users have pointers to it */
    struct event_block *block;
};

static struct node *nodes_of(struct event_block *block)
{
    return (struct node *)(void *)(block + 1);
}

static struct event_block *allocate(size_t nodes, size_t text_bytes)
{
    const size_t cleared = sizeof(struct event_block) + nodes * sizeof(struct node);
    const size_t bytes = cleared + text_bytes;
    struct event_block *block = malloc(bytes);
    if (block != NULL) {
        memset(block, 0, cleared);
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

/* Sets the first node to a LOST or POOL_GONE event. */
static void put_control_event(struct event_block *block, mstro_pool_event_kind kind, uint64_t count)
{
    struct node *node = nodes_of(block);
    node->event.kind = kind;
    node->event.payload.lost.count = count;
    block->lost = count;
    append(block, node);
}

/* ------------------------------------------------------------------ from the wire */

#define STORE(item, target)                                                                        \
    case VAMP_ITEM_##item:                                                                         \
        event->target = (__typeof__(event->target))value;                                          \
        break;
#define STORE_OPTIONAL(item, bit, target)                                                          \
    case VAMP_ITEM_##item:                                                                         \
        event->target = (__typeof__(event->target))value;                                          \
        if (known) {                                                                               \
            event->present |= MSTRO_POOL_EVENT_HAS_##bit;                                          \
        } else {                                                                                   \
            event->present &= ~(uint32_t)MSTRO_POOL_EVENT_HAS_##bit;                               \
        }                                                                                          \
        break;

static inline __attribute__((always_inline)) void
store_public(void *record, enum vamp_event_item item, uint64_t value, bool known)
{
    struct mstro_pool_event_ *event = record;
    switch (item) {
        STORE(SERIAL, serial)
        /* Every member of the payload begins with the application id. */
        STORE(APP, payload.declare.appid)
#define VAMP_EVENT_MAESTRO(symbol, bit, member, name) STORE_OPTIONAL(symbol, bit, member)
#include "vampire/core/event/fields.def"
    case VAMP_ITEM_CDO_ID: /* filled by fill_parts */
    case VAMP_ITEM_COUNT:
        break;
    }
}

/* `name` is the event's name, NUL-terminated. */
static void fill_parts(const struct vamp_event_parts *parts, char *name,
                       struct mstro_pool_event_ *ret)
{
    ret->kind = (mstro_pool_event_kind)1 << parts->kind;
    ret->before = parts->before;
    if (parts->id_length == sizeof ret->cdo_id) {
        memcpy(ret->cdo_id, parts->id, sizeof ret->cdo_id);
        ret->present |= MSTRO_POOL_EVENT_HAS_CDO_ID;
    }
    if (parts->kind == VAMP_EVENT_JOIN) {
        ret->payload.join.component_name = name;
        ret->name_length = (uint32_t)parts->name_length;
    } else if (vamp_event_name_field(parts->kind) == VAMP_HAS_CDO_NAME) {
        ret->payload.declare.cdo_name = name;
        ret->name_length = (uint32_t)parts->name_length;
    }
}

/* Parses the events of the batch into the nodes from `node` on. `texts` is a copy of the batch
 * (which begins at `packed`) followed by a zero byte. Returns false if an event is malformed. */
static bool fill_all(struct event_block *block, struct vamp_event_batch batch,
                     const uint8_t *packed, struct node *node, char *texts)
{
    const uint8_t *bytes = NULL;
    size_t length = 0;
    while (vamp_event_batch_next(&batch, &bytes, &length)) {
        struct vamp_wire wire = {.at = bytes, .end = bytes + length};
        struct vamp_event_parts parts = {.kind = VAMP_EVENT_NONE};
        if (!vamp_event_read_usual(&wire, &node->event, store_public, &parts)) {
            wire = (struct vamp_wire){.at = bytes, .end = bytes + length};
            parts = (struct vamp_event_parts){.kind = VAMP_EVENT_NONE};
            node->event = (struct mstro_pool_event_){0};
            vamp_event_read_any(&wire, &node->event, store_public, &parts);
        }
        if (!vamp_event_is_read(&wire, &parts)) {
            return false;
        }
        if (!vamp_event_kind_is_known(parts.kind)) {
            node->event = (struct mstro_pool_event_){0};
            continue;
        }
        /* Names stay in place in the copy. The parser reads the byte after a name from the batch
         * itself, so the terminator may overwrite it in the copy. */
        char *name = texts + (batch.end - packed);
        if (parts.name_length > 0) {
            name = texts + (parts.name - packed);
            name[parts.name_length] = '\0';
        }
        fill_parts(&parts, name, &node->event);
        append(block, node++);
        block->events++;
    }
    return true;
}

/* Stores all events in one node, in packed form. */
static void put_packed(struct event_block *block, struct vamp_event_batch batch, struct node *node,
                       const char *bytes)
{
    const size_t whole = (size_t)(batch.end - batch.at);
    const uint8_t *event = NULL;
    size_t length = 0;
    if (vamp_event_batch_next(&batch, &event, &length)) {
        node->event.kind = MSTRO_POOL_EVENT_PACKED;
        node->event.serial = vamp_event_packed_serial(event, length);
        node->event.payload.packed.bytes = bytes;
        node->event.payload.packed.length = whole;
        append(block, node);
        block->events = batch.events;
    }
}

int event_block_create(const struct vamp_event_batch *batch, bool packed,
                       struct event_block **ret_block, struct vamp_err *err)
{
    const uint8_t *bytes = batch->at;
    const size_t length = (size_t)(batch->end - bytes);
    const size_t nodes = (packed ? 1 : batch->events) + 1;
    if (batch->events > EVENTS_MAX) {
        return vamp_err_set(err, -EBADMSG, "a batch of %zu events; at most %d are allowed",
                            batch->events, EVENTS_MAX);
    }
    struct event_block *block = allocate(nodes, length + 1);
    if (block == NULL) {
        return vamp_err_set(err, -ENOMEM, "out of memory for a batch of %zu events", batch->events);
    }
    struct node *node = nodes_of(block);
    char *texts = (char *)(node + nodes);
    memcpy(texts, bytes, length);
    texts[length] = '\0';
    block->subscription = batch->subscription;
    if (batch->lost > 0) {
        put_control_event(block, MSTRO_POOL_EVENT_LOST, batch->lost);
    }
    node += batch->lost > 0;
    if (packed) {
        put_packed(block, *batch, node, texts);
    } else if (!fill_all(block, *batch, bytes, node, texts)) {
        free(block);
        return vamp_err_set(err, -EBADMSG,
                            "a batch of %zu events has one that cannot be understood",
                            batch->events);
    }
    *ret_block = block;
    return 0;
}

/* ------------------------------------------------------------------ control events */

struct event_block *event_block_mark(mstro_pool_event_kind kind, uint64_t count)
{
    struct event_block *block = allocate(1, 0);
    if (block != NULL) {
        put_control_event(block, kind, count);
    }
    return block;
}

void event_block_hide_lost(struct event_block *block)
{
    if (block->lost > 0 && block->head != NULL) {
        block->lost = 0;
        block->head = block->head->next;
        if (block->head == NULL) {
            block->tail = NULL;
        }
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

void event_queue_append(struct event_queue *queue, struct event_block *block)
{
    if (queue->last == NULL) {
        queue->first = block;
    } else {
        queue->last->next = block;
    }
    queue->last = block;
    queue->bytes += block->bytes;
}
