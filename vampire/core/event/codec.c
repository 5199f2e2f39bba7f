/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/event/codec.h"

#include <assert.h>

#include "event.pb-c.h"
#include "vampire/core/event/cdo_id.h"
#include "vampire/core/event/read.h"

/* ------------------------------------------------------------------ packing */

/* protobuf-c's structs have pointers to mutable memory; packing only reads it. */
static uint8_t *readable(const char *text)
{
    union {
        const char *from;
        uint8_t *to;
    } pointer = {.from = text};
    return pointer.to;
}

#define MESSAGE_VALUE(symbol, member)                                                              \
    message->has_##member = vamp_event_has(event, VAMP_HAS_##symbol);                              \
    message->member = event->member;
#define MESSAGE_NUMBER MESSAGE_VALUE
#define MESSAGE_TIME MESSAGE_VALUE
#define MESSAGE_CHOICE MESSAGE_VALUE
#define MESSAGE_ID(symbol, member)                                                                 \
    message->has_##member = vamp_event_has(event, VAMP_HAS_##symbol);                              \
    if (message->has_##member) {                                                                   \
        vamp_cdo_id_to_bytes(event->member, id);                                                   \
        message->member = (ProtobufCBinaryData){.len = VAMP_CDO_ID_BYTES, .data = id};             \
    }

/* The message points at `id` and at the event's name. */
static void fill_message(const struct vamp_event *event, uint8_t id[static VAMP_CDO_ID_BYTES],
                         Vamp__Wire__Event *message)
{
    vamp__wire__event__init(message);
    message->kind = event->kind;
#define VAMP_EVENT_FIELD(symbol, number, form, type, member, values) MESSAGE_##form(symbol, member)
#include "vampire/core/event/fields.def"
    message->has_arrival_ns = !message->has_time_ns;
    message->arrival_ns = event->time_ns;
    message->has_before = event->phase == VAMP_PHASE_BEFORE;
    message->before = message->has_before;
    if ((event->present & (VAMP_HAS_CDO_NAME | VAMP_HAS_COMPONENT_NAME)) != 0) {
        message->has_name = true;
        message->name =
            (ProtobufCBinaryData){.len = event->name_length, .data = readable(event->name)};
    }
}

size_t vamp_event_pack(const struct vamp_event *event, uint8_t *buffer, size_t bytes)
{
    assert(!vamp_event_is_mark(event));
    uint8_t id[VAMP_CDO_ID_BYTES];
    Vamp__Wire__Event message;
    fill_message(event, id, &message);
    /* Measuring costs a second walk over the fields; it is skipped where it cannot matter. */
    if ((bytes < VAMP_EVENT_PACKED_BYTES_MAX || event->name_length > VAMP_NAME_BYTES_MAX) &&
        vamp__wire__event__get_packed_size(&message) > bytes) {
        return 0;
    }
    return vamp__wire__event__pack(&message, buffer);
}

/* ------------------------------------------------------------------ reading */

#define STORE_VALUE(symbol, type, member)                                                          \
    case VAMP_ITEM_##symbol:                                                                       \
        event->member = (type)value;                                                               \
        break;
#define STORE_NUMBER STORE_VALUE
#define STORE_TIME STORE_VALUE
#define STORE_CHOICE STORE_VALUE
#define STORE_ID(symbol, type, member)                                                             \
    case VAMP_ITEM_##symbol: /* one of the parts */                                                \
        break;

static inline __attribute__((always_inline)) void store(void *record, enum vamp_event_item item,
                                                        uint64_t value, bool known)
{
    struct vamp_event *event = record;
    const unsigned bit = 1U << item;
    switch (item) {
#define VAMP_EVENT_FIELD(symbol, number, form, type, member, values)                               \
    STORE_##form(symbol, type, member)
#include "vampire/core/event/fields.def"
    case VAMP_ITEM_COUNT:
        break;
    }
    event->present = (uint16_t)(known ? event->present | bit : event->present & ~bit);
}

static int refuse(const struct vamp_event_parts *parts, struct vamp_err *err)
{
    if (parts->kind == VAMP_EVENT_NONE || parts->kind >= VAMP_EVENT_KIND_COUNT) {
        return vamp_err_set(err, -EBADMSG, "event of unknown kind %u", parts->kind);
    }
    if (parts->id != NULL && parts->id_length != VAMP_CDO_ID_BYTES) {
        return vamp_err_set(err, -EBADMSG, "CDO id of %zu bytes instead of %d", parts->id_length,
                            VAMP_CDO_ID_BYTES);
    }
    return vamp_err_set(err, -EBADMSG, "name of %zu bytes, at most %d are allowed",
                        parts->name_length, VAMP_NAME_BYTES_MAX);
}

static inline bool acceptable(const struct vamp_event_parts *parts)
{
    return parts->kind != VAMP_EVENT_NONE && parts->kind < VAMP_EVENT_KIND_COUNT &&
           (parts->id == NULL || parts->id_length == VAMP_CDO_ID_BYTES) &&
           parts->name_length <= VAMP_NAME_BYTES_MAX;
}

int vamp_event_read(const uint8_t *bytes, size_t length, struct vamp_event *ret_event,
                    struct vamp_err *err)
{
    struct vamp_event event = {.kind = VAMP_EVENT_NONE};
    struct vamp_event_parts parts;
    if (!vamp_event_read_message(bytes, length, &event, store, &parts)) {
        return vamp_err_set(err, -EBADMSG, "%zu bytes are no event message", length);
    }
    if (!acceptable(&parts)) {
        return refuse(&parts, err);
    }
    event.kind = (uint8_t)parts.kind;
    event.phase = parts.before ? VAMP_PHASE_BEFORE : VAMP_PHASE_AFTER;
    if (parts.id != NULL) {
        event.cdo_id = vamp_cdo_id_from_bytes(parts.id);
        event.present |= VAMP_HAS_CDO_ID;
    }
    if (parts.name != NULL) {
        event.name = (const char *)parts.name;
        event.name_length = (uint32_t)parts.name_length;
        event.present = (uint16_t)(event.present | vamp_event_name_field(parts.kind));
    }
    if (!vamp_event_has(&event, VAMP_HAS_TIME)) {
        event.time_ns = parts.arrival_ns;
    }
    *ret_event = event;
    return 0;
}

/* ------------------------------------------------------------------ batches */

/* Reads the fields up to the next event and that event's bytes. False: the batch is at its end, or
 * bad. */
static bool next_event(struct vamp_wire *wire, struct vamp_event_batch *batch,
                       bool *has_subscription, const uint8_t **ret_bytes, size_t *ret_length)
{
    while (vamp_wire_has_more(wire)) {
        const uint64_t key = vamp_wire_key(wire);
        switch (key) {
        case VAMP_EVENT_BATCH_SUBSCRIPTION:
            batch->subscription = vamp_wire_varint(wire);
            *has_subscription = true;
            break;
        case VAMP_EVENT_BATCH_LOST:
            batch->lost = vamp_wire_varint(wire);
            break;
        case VAMP_EVENT_BATCH_EVENT:
            *ret_bytes = vamp_wire_bytes(wire, ret_length);
            return !wire->bad;
        default: /* as in an event */
            wire->bad |= key >> 3 >= 1 && key >> 3 <= 3;
            if (!wire->bad) {
                vamp_wire_skip(wire, key);
            }
        }
    }
    return false;
}

int vamp_event_batch_open(const uint8_t *bytes, size_t length, struct vamp_event_batch *ret_batch,
                          struct vamp_err *err)
{
    struct vamp_wire wire = {.at = bytes, .end = bytes + length};
    struct vamp_event_batch batch = {.at = bytes, .end = bytes + length};
    bool has_subscription = false;
    const uint8_t *event = NULL;
    size_t event_length = 0;
    while (next_event(&wire, &batch, &has_subscription, &event, &event_length)) {
        batch.events++;
    }
    if (wire.bad || !has_subscription) {
        return vamp_err_set(err, -EBADMSG, "a batch of events of %zu bytes cannot be understood",
                            length);
    }
    *ret_batch = batch;
    return 0;
}

bool vamp_event_batch_next(struct vamp_event_batch *batch, const uint8_t **ret_bytes,
                           size_t *ret_length)
{
    struct vamp_wire wire = {.at = batch->at, .end = batch->end};
    struct vamp_event_batch known = *batch; /* what open found stays */
    bool has_subscription = true;
    const bool there = next_event(&wire, &known, &has_subscription, ret_bytes, ret_length);
    batch->at = wire.at;
    return there;
}
