/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The decoder of event messages, straight from the wire into the record of the file that includes
 * this: vampire's own (codec.c) or Maestro's public one (maestro/api/event_block.c). It
 * accepts exactly what protobuf-c accepts, in a quarter of its time and without memory; tests and
 * fuzz targets compare the two.
 */
#ifndef VAMP_CORE_EVENT_READ_H
#define VAMP_CORE_EVENT_READ_H

#include "vampire/core/event/event.h"
#include "vampire/core/protobuf/wire.h"

/* Puts a field of the list into the record; not called for an ID. `known` false: a choice of a
 * newer sender, with value 0, which clears what was stored before. `item` is a constant of each
 * call, so that a switch over it costs nothing. */
typedef void vamp_event_store_fn(void *record, enum vamp_event_item item, uint64_t value,
                                 bool known);

/* What a message has in other forms. Name and id lie in the message. */
struct vamp_event_parts {
    uint32_t kind; /* not checked */
    bool has_kind, before;
    int64_t arrival_ns;       /* 0: none */
    const uint8_t *name, *id; /* NULL: none */
    size_t name_length, id_length;
};

/* Numbers of the fields, each a bit. */
enum {
    VAMP_EVENT_NUMBERS = 1 << 1 | 1 << 6 | 1 << 13 | 1 << 14
#define VAMP_EVENT_FIELD(symbol, number, form, type, member, values) | 1 << (number)
#include "vampire/core/event/fields.def"
};

/* A field that is not known is passed over; a known one in another form is refused, and so is
 * number 0 where the key is one byte, `first`. */
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
#define VAMP_EVENT_READ_CHOICE(symbol, number, values)                                             \
    case VAMP_WIRE_KEY(number, VARINT): {                                                          \
        const uint32_t choice = (uint32_t)vamp_wire_varint(wire);                                  \
        store(record, VAMP_ITEM_##symbol, choice < (values) ? choice : 0, choice < (values));      \
        break;                                                                                     \
    }
#define VAMP_EVENT_READ_ID(symbol, number, values)                                                 \
    case VAMP_WIRE_KEY(number, BYTES):                                                             \
        parts->id = vamp_wire_bytes(wire, &parts->id_length);                                      \
        break;

/* Reads the value after a key, which is `first` where it has one byte. */
static inline __attribute__((always_inline)) void
vamp_event_read_value(struct vamp_wire *wire, uint64_t key, uint8_t first, void *record,
                      vamp_event_store_fn *store, struct vamp_event_parts *parts)
{
    switch (key) {
    case VAMP_WIRE_KEY(1, VARINT):
        parts->kind = (uint32_t)vamp_wire_varint(wire);
        parts->has_kind = true;
        break;
    case VAMP_WIRE_KEY(6, BYTES):
        parts->name = vamp_wire_bytes(wire, &parts->name_length);
        break;
    case VAMP_WIRE_KEY(13, VARINT):
    case VAMP_WIRE_KEY(13, FIXED64):
    case VAMP_WIRE_KEY(13, BYTES):
    case VAMP_WIRE_KEY(13, FIXED32):
        parts->before = vamp_wire_bool(wire, key);
        break;
    case VAMP_WIRE_KEY(14, FIXED64):
        parts->arrival_ns = (int64_t)vamp_wire_fixed64(wire);
        break;
#define VAMP_EVENT_FIELD(symbol, number, form, type, member, values)                               \
    VAMP_EVENT_READ_##form(symbol, number, values)
#include "vampire/core/event/fields.def"
    default:
        vamp_event_read_other(wire, key, first);
    }
}

/* What most messages begin with, in this order: kind, serial, time, application id, CDO id, name,
 * size.
 * Comparing the next key with the expected one takes less than a switch over all. */
#define VAMP_EVENT_EXPECT(number, form)                                                            \
    if (vamp_wire_has_more(&wire) && *wire.at == VAMP_WIRE_KEY(number, form)) {                    \
        wire.at++;                                                                                 \
        vamp_event_read_value(&wire, VAMP_WIRE_KEY(number, form), VAMP_WIRE_KEY(number, form),     \
                              record, store, parts);                                               \
    }

/* Reads a message into a record that is all zero. False: it is no event message, or has no kind;
 * the record is then undefined. */
static inline __attribute__((always_inline)) bool
vamp_event_read_message(const uint8_t *bytes, size_t length, void *record,
                        vamp_event_store_fn *store, struct vamp_event_parts *parts)
{
    struct vamp_wire wire = {.at = bytes, .end = bytes + length};
    *parts = (struct vamp_event_parts){.kind = 0};
    VAMP_EVENT_EXPECT(1, VARINT)
    VAMP_EVENT_EXPECT(2, VARINT)
    VAMP_EVENT_EXPECT(3, FIXED64)
    VAMP_EVENT_EXPECT(4, VARINT)
    VAMP_EVENT_EXPECT(5, BYTES)
    VAMP_EVENT_EXPECT(6, BYTES)
    VAMP_EVENT_EXPECT(7, VARINT)
    while (vamp_wire_has_more(&wire)) {
        const uint8_t first = *wire.at;
        const uint64_t key = first < 0x80 ? *wire.at++ : vamp_wire_key(&wire);
        vamp_event_read_value(&wire, key, first, record, store, parts);
    }
    return !wire.bad && parts->has_kind;
}

#endif
