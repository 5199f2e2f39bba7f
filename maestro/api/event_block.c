/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/api/event_block.h"

#include <stdlib.h>
#include <string.h>

#include "maestro/wire/frame.h"
#include "vampire/core/event_codec.h"
#include "vampire/core/list.h"
#include "vampire/core/varint.h"

/* Field number and wire type in an EventBatch. */
enum { TAG_SUBSCRIPTION = 1 << 3, TAG_LOST = 2 << 3, TAG_EVENT = 3 << 3 | 2 };

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

/* In the first node, if there are any. */
static void tell_lost(struct event_block *block, uint64_t lost)
{
    block->lost = lost;
    if (lost > 0) {
        struct node *node = nodes_of(block);
        node->event.kind = MSTRO_POOL_EVENT_LOST;
        node->event.payload.lost.count = lost;
        append(block, node);
    }
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
    tell_lost(block, batch->lost);
    node += batch->lost > 0;
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

/* ------------------------------------------------------------------ straight from the wire */

struct batch_reader {
    const uint8_t *at, *end;
    uint64_t subscription, lost;
    bool has_subscription;
};

/* False: there is no number of at most `bytes_max` bytes. */
static bool read_number(struct batch_reader *reader, size_t bytes_max, uint64_t *ret_value)
{
    const uint8_t *after = vamp_varint_read(reader->at, reader->end, bytes_max, ret_value);
    reader->at = after != NULL ? after : reader->at;
    return after != NULL;
}

enum step { STEP_EVENT, STEP_END, STEP_ODD };

/* Up to the next event. */
static enum step next_event(struct batch_reader *reader, const uint8_t **ret_event,
                            size_t *ret_length)
{
    uint64_t length;
    while (reader->at < reader->end) {
        switch (*reader->at++) {
        case TAG_SUBSCRIPTION:
            if (!read_number(reader, VAMP_VARINT_BYTES_MAX, &reader->subscription)) {
                return STEP_ODD;
            }
            reader->has_subscription = true;
            break;
        case TAG_LOST:
            if (!read_number(reader, VAMP_VARINT_BYTES_MAX, &reader->lost)) {
                return STEP_ODD;
            }
            break;
        case TAG_EVENT:
            if (!read_number(reader, 2, &length) || length > (uint64_t)(reader->end - reader->at)) {
                return STEP_ODD;
            }
            *ret_event = reader->at;
            *ret_length = (size_t)length;
            reader->at += length;
            return STEP_EVENT;
        default:
            return STEP_ODD;
        }
    }
    return reader->has_subscription ? STEP_END : STEP_ODD;
}

static uint32_t present_of(const struct vamp_event *event)
{
    static const struct {
        uint16_t ours;
        uint16_t theirs;
    } fields[] = {
        {VAMP_HAS_TIME, MSTRO_POOL_EVENT_HAS_TIME},
        {VAMP_HAS_CDO_ID, MSTRO_POOL_EVENT_HAS_CDO_ID},
        {VAMP_HAS_SIZE, MSTRO_POOL_EVENT_HAS_CDO_SIZE},
        {VAMP_HAS_PEER, MSTRO_POOL_EVENT_HAS_PEER},
        {VAMP_HAS_TRANSPORT, MSTRO_POOL_EVENT_HAS_TRANSPORT},
        {VAMP_HAS_TIER, MSTRO_POOL_EVENT_HAS_TIER},
        {VAMP_HAS_CAUSE, MSTRO_POOL_EVENT_HAS_CAUSE},
        {VAMP_HAS_REASON, MSTRO_POOL_EVENT_HAS_REASON},
        {VAMP_HAS_DURATION, MSTRO_POOL_EVENT_HAS_DURATION},
    };
    uint32_t present = 0;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        present |= (event->present & fields[i].ours) != 0 ? fields[i].theirs : 0U;
    }
    return present;
}

/* Does as fill(); `name` is the event's, terminated. */
static void fill_plain(const struct vamp_event *event, char *name, struct mstro_pool_event_ *ret)
{
    ret->kind = (mstro_pool_event_kind)1 << event->kind;
    ret->serial = event->serial;
    ret->payload.declare.appid = event->app_id;
    ret->present = present_of(event);
    ret->reason = event->reason;
    ret->time_ns = vamp_event_has(event, VAMP_HAS_TIME) ? event->time_ns : 0;
    ret->cdo_size = event->size_bytes;
    ret->peer_appid = event->peer_id;
    ret->transport_id = event->transport_id;
    if (vamp_event_has(event, VAMP_HAS_CDO_ID)) {
        vamp_cdo_id_to_bytes(event->cdo_id, ret->cdo_id);
    }
    ret->tier = event->tier;
    ret->cause = event->cause;
    ret->before = event->phase == VAMP_PHASE_BEFORE;
    ret->duration_ns = event->duration_ns;
    if (event->kind == VAMP_EVENT_JOIN) {
        ret->name_length = event->name_length;
        ret->payload.join.component_name = name;
    } else if (!vamp_event_is_of_component(event->kind)) {
        ret->name_length = event->name_length;
        ret->payload.declare.cdo_name = name;
    }
}

/* False: an event is odd. */
static bool fill_all(struct event_block *block, const uint8_t *packed, size_t length, char *copy)
{
    struct batch_reader reader = {.at = packed, .end = packed + length};
    struct node *node = block->tail != NULL ? nodes_of(block) + 1 : nodes_of(block);
    const uint8_t *bytes = NULL;
    size_t event_length = 0;
    while (next_event(&reader, &bytes, &event_length) == STEP_EVENT) {
        struct vamp_event event;
        if (!vamp_event_read_plain(bytes, event_length, &event)) {
            return false;
        }
        /* Names stay where they are in the copy. What stands behind them there was or will be read
         * from the original, so its place may be the terminator's. */
        char *name = copy + length;
        if (event.name_length > 0) {
            name = copy + ((const uint8_t *)event.name - packed);
            name[event.name_length] = '\0';
        }
        fill_plain(&event, name, &node->event);
        append(block, node++);
        block->events++;
    }
    return true;
}

struct event_block *event_block_read(const uint8_t *packed, size_t length)
{
    struct batch_reader reader = {.at = packed, .end = packed + length};
    const uint8_t *event = NULL;
    size_t event_length = 0;
    size_t count = 0;
    enum step step;
    while ((step = next_event(&reader, &event, &event_length)) == STEP_EVENT) {
        count++;
    }
    if (step == STEP_ODD || count > FRAME_EVENTS_MAX) {
        return NULL;
    }
    struct event_block *block = allocate(count + 1, length + 1);
    if (block == NULL) {
        return NULL;
    }
    struct node *node = nodes_of(block);
    char *copy = (char *)(node + count + 1);
    memcpy(copy, packed, length);
    block->subscription = reader.subscription;
    tell_lost(block, reader.lost);
    if (!fill_all(block, packed, length, copy)) {
        free(block);
        return NULL;
    }
    return block;
}

/* ------------------------------------------------------------------ marks */

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
