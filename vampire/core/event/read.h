/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The decoder of event messages. It writes directly into the record of the including file: that of
 * vampire (codec.c) or the public one of Maestro (maestro/api/event_block.c). It accepts exactly
 * the same messages as protobuf-c, in a quarter of the time and without allocation; tests and fuzz
 * targets compare the two.
 */
#pragma once

#include "vampire/core/event/event.h"
#include "vampire/core/protobuf/wire.h"

/* Stores a field of the list in the record; not called for an ID. If `known` is false, the value is
 * an unknown choice of a newer sender: `value` is 0 and clears a previously stored value. `item` is
 * constant in all calls, so that a switch over it costs nothing. */
typedef void vamp_event_store_fn(void *record, enum vamp_event_item item, uint64_t value,
                                 bool known);

/* Fields that have a different format in the record. Name and id point into the message. */
struct vamp_event_parts {
    uint32_t kind; /* not checked */
    bool has_kind, before;
    int64_t arrival_ns;       /* 0: none */
    const uint8_t *name, *id; /* NULL: none */
    size_t name_length, id_length;
};

/* Numbers of the fields: those of fields.def, and those of struct vamp_event_parts. */
enum {
#define VAMP_EVENT_FIELD(symbol, number, form, type, member, values) VAMP_FIELD_##symbol = (number),
#include "vampire/core/event/fields.def"
    VAMP_FIELD_KIND = 1,
    VAMP_FIELD_NAME = 6,
    VAMP_FIELD_BEFORE = 13,
    VAMP_FIELD_ARRIVAL = 14,
};

/* Bits of these fields. */
enum {
    VAMP_EVENT_NUMBERS = 1 << VAMP_FIELD_KIND | 1 << VAMP_FIELD_NAME | 1 << VAMP_FIELD_BEFORE |
                         1 << VAMP_FIELD_ARRIVAL
#define VAMP_EVENT_FIELD(symbol, number, form, type, member, values) | 1 << (number)
#include "vampire/core/event/fields.def"
};

/* Skips an unknown field. Rejects known fields of another wire type, and number 0 in one byte. */
static inline void vamp_event_read_other(struct vamp_wire *wire, uint64_t key, uint8_t first)
{
    const uint64_t number = key >> 3;
    if (first < 1 << 3) {
        vamp_wire_fail(wire);
    } else if (number < 32 && ((unsigned)VAMP_EVENT_NUMBERS >> number & 1U) != 0) {
        vamp_wire_fail(wire);
    } else if (!wire->bad) {
        vamp_wire_skip(wire, key);
    }
}

#define VAMP_EVENT_READ_NUMBER(symbol, number, values)                                             \
    case VAMP_WIRE_KEY(number, VARINT):                                                            \
        store(record, VAMP_ITEM_##symbol, vamp_wire_varint(wire), true);                           \
        break;
#define VAMP_EVENT_READ_TIME(symbol, number, values)                                               \
    case VAMP_WIRE_KEY(number, FIXED64):                                                           \
        store(record, VAMP_ITEM_##symbol, vamp_wire_fixed64(wire), true);                          \
        break;
/* The lower 32 bits of the value, as in protobuf-c. */
#define VAMP_EVENT_STORE_CHOICE(symbol, value, values)                                             \
    store(record, VAMP_ITEM_##symbol, (uint32_t)(value) < (values) ? (uint32_t)(value) : 0,        \
          (uint32_t)(value) < (values))
#define VAMP_EVENT_READ_CHOICE(symbol, number, values)                                             \
    case VAMP_WIRE_KEY(number, VARINT): {                                                          \
        const uint64_t choice = vamp_wire_varint(wire);                                            \
        VAMP_EVENT_STORE_CHOICE(symbol, choice, values);                                           \
        break;                                                                                     \
    }
#define VAMP_EVENT_READ_ID(symbol, number, values)                                                 \
    case VAMP_WIRE_KEY(number, BYTES):                                                             \
        parts->id = vamp_wire_bytes(wire, &parts->id_length);                                      \
        break;

/* Reads the value after a key; `first` is the first byte of the key. */
static inline __attribute__((always_inline)) void
vamp_event_read_value(struct vamp_wire *wire, uint64_t key, uint8_t first, void *record,
                      vamp_event_store_fn *store, struct vamp_event_parts *parts)
{
    switch (key) {
    case VAMP_WIRE_KEY(VAMP_FIELD_KIND, VARINT):
        parts->kind = (uint32_t)vamp_wire_varint(wire);
        parts->has_kind = true;
        break;
    case VAMP_WIRE_KEY(VAMP_FIELD_NAME, BYTES):
        parts->name = vamp_wire_bytes(wire, &parts->name_length);
        break;
    case VAMP_WIRE_KEY(VAMP_FIELD_BEFORE, VARINT):
    case VAMP_WIRE_KEY(VAMP_FIELD_BEFORE, FIXED64):
    case VAMP_WIRE_KEY(VAMP_FIELD_BEFORE, BYTES):
    case VAMP_WIRE_KEY(VAMP_FIELD_BEFORE, FIXED32):
        parts->before = vamp_wire_bool(wire, key);
        break;
    case VAMP_WIRE_KEY(VAMP_FIELD_ARRIVAL, FIXED64):
        parts->arrival_ns = (int64_t)vamp_wire_fixed64(wire);
        break;
#define VAMP_EVENT_FIELD(symbol, number, form, type, member, values)                               \
    VAMP_EVENT_READ_##form(symbol, number, values)
#include "vampire/core/event/fields.def"
    default:
        vamp_event_read_other(wire, key, first);
    }
}

/* Nearly every message begins with kind, serial, time, application id and CDO id. Each key has one
 * byte; the kind has one byte, the two numbers have at most VAMP_EVENT_HEAD_NUMBER bytes, the time
 * has 8 bytes, and the id follows its length. */
enum {
    VAMP_EVENT_HEAD_NUMBER = 5,
    VAMP_EVENT_HEAD_TIME = sizeof(uint64_t),
    VAMP_EVENT_HEAD_BYTES = (1 + 1) + (1 + VAMP_EVENT_HEAD_NUMBER) + (1 + VAMP_EVENT_HEAD_TIME) +
                            (1 + VAMP_EVENT_HEAD_NUMBER) + (2 + VAMP_CDO_ID_BYTES),
};

/* Reads such a beginning. Returns false if the message begins differently; nothing was read. */
static inline __attribute__((always_inline)) bool
vamp_event_read_head(struct vamp_wire *wire, void *record, vamp_event_store_fn *store,
                     struct vamp_event_parts *parts)
{
    const uint8_t *const at = wire->at;
    uint64_t serial = 0;
    uint64_t app_id = 0;
    uint64_t time_ns = 0;
    if (wire->end - at < VAMP_EVENT_HEAD_BYTES || at[0] != VAMP_WIRE_KEY(VAMP_FIELD_KIND, VARINT) ||
        at[1] >= 0x80 || at[2] != VAMP_WIRE_KEY(VAMP_FIELD_SERIAL, VARINT)) {
        return false;
    }
    const uint8_t *const time = vamp_varint_short(at + 3, VAMP_EVENT_HEAD_NUMBER, &serial);
    if (time == NULL || time[0] != VAMP_WIRE_KEY(VAMP_FIELD_TIME, FIXED64)) {
        return false;
    }
    const uint8_t *const app = time + 1 + VAMP_EVENT_HEAD_TIME;
    if (app[0] != VAMP_WIRE_KEY(VAMP_FIELD_APP, VARINT)) {
        return false;
    }
    const uint8_t *const id = vamp_varint_short(app + 1, VAMP_EVENT_HEAD_NUMBER, &app_id);
    if (id == NULL || id[0] != VAMP_WIRE_KEY(VAMP_FIELD_CDO_ID, BYTES) ||
        id[1] != VAMP_CDO_ID_BYTES) {
        return false;
    }
    memcpy(&time_ns, time + 1, sizeof time_ns);
    parts->kind = at[1];
    parts->has_kind = true;
    parts->id = id + 2;
    parts->id_length = VAMP_CDO_ID_BYTES;
    store(record, VAMP_ITEM_SERIAL, serial, true);
    store(record, VAMP_ITEM_TIME, le64toh(time_ns), true);
    store(record, VAMP_ITEM_APP, app_id, true);
    wire->at = id + 2 + VAMP_CDO_ID_BYTES;
    return true;
}

/* Reads the next field, which must be a number, if it has the expected key. Comparing the key is
 * faster than a switch over all keys. */
static inline __attribute__((always_inline)) bool
vamp_event_expect(struct vamp_wire *wire, uint8_t key, uint64_t *ret_value)
{
    if (!vamp_wire_has_more(wire) || *wire->at != key) {
        return false;
    }
    const uint8_t *const after =
        vamp_varint_short(wire->at + 1, wire->end - wire->at - 1, ret_value);
    if (after == NULL) {
        return false;
    }
    wire->at = after;
    return true;
}

/* The fast path: reads a message that begins with the head and whose fields are in the order of
 * their numbers, as packed by every library, into a zeroed record. Returns false for other
 * messages; some fields may already have been stored. */
static inline __attribute__((always_inline)) bool
vamp_event_read_usual(struct vamp_wire *wire, void *record, vamp_event_store_fn *store,
                      struct vamp_event_parts *parts)
{
    uint64_t value = 0;
    if (!vamp_event_read_head(wire, record, store, parts)) {
        return false;
    }
    if (vamp_event_expect(wire, VAMP_WIRE_KEY(VAMP_FIELD_NAME, BYTES), &value)) {
        if (value > (uint64_t)(wire->end - wire->at)) {
            return false;
        }
        parts->name = wire->at;
        parts->name_length = value;
        wire->at += value;
    }
    if (vamp_event_expect(wire, VAMP_WIRE_KEY(VAMP_FIELD_SIZE, VARINT), &value)) {
        store(record, VAMP_ITEM_SIZE, value, true);
    }
    if (vamp_event_expect(wire, VAMP_WIRE_KEY(VAMP_FIELD_PEER, VARINT), &value)) {
        store(record, VAMP_ITEM_PEER, value, true);
    }
    if (vamp_event_expect(wire, VAMP_WIRE_KEY(VAMP_FIELD_TRANSPORT, VARINT), &value)) {
        store(record, VAMP_ITEM_TRANSPORT, value, true);
    }
    if (vamp_event_expect(wire, VAMP_WIRE_KEY(VAMP_FIELD_TIER, VARINT), &value)) {
        VAMP_EVENT_STORE_CHOICE(TIER, value, VAMP_TIER_COUNT);
    }
    if (vamp_event_expect(wire, VAMP_WIRE_KEY(VAMP_FIELD_CAUSE, VARINT), &value)) {
        VAMP_EVENT_STORE_CHOICE(CAUSE, value, VAMP_CAUSE_COUNT);
    }
    if (vamp_event_expect(wire, VAMP_WIRE_KEY(VAMP_FIELD_BEFORE, VARINT), &value)) {
        parts->before = value != 0;
    }
    if (vamp_event_expect(wire, VAMP_WIRE_KEY(VAMP_FIELD_DURATION, VARINT), &value)) {
        store(record, VAMP_ITEM_DURATION, value, true);
    }
    return !vamp_wire_has_more(wire);
}

/* Reads a message with fields in any order. */
static inline __attribute__((always_inline)) void
vamp_event_read_any(struct vamp_wire *wire, void *record, vamp_event_store_fn *store,
                    struct vamp_event_parts *parts)
{
    while (vamp_wire_has_more(wire)) {
        const uint8_t first = *wire->at;
        uint64_t key = first;
        if (first < 0x80) {
            wire->at++;
        } else {
            key = vamp_wire_key(wire);
        }
        vamp_event_read_value(wire, key, first, record, store, parts);
    }
}

/* Returns whether an event message was read; otherwise the record is undefined. */
static inline bool vamp_event_is_read(const struct vamp_wire *wire,
                                      const struct vamp_event_parts *parts)
{
    return !wire->bad && parts->has_kind;
}
