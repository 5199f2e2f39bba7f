/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/event/codec.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "vampire/core/event/event.h"
#include "vampire/core/event/read.h"
#include "vampire/core/protobuf/wire.h"

/* ------------------------------------------------------------------ packing */

/* The highest number of a field. */
union numbers {
#define VAMP_EVENT_FIELD(symbol, number, form, type, member, values) char symbol[number];
#include "vampire/core/event/fields.def"
    char arrival[VAMP_FIELD_ARRIVAL];
};
enum {
    HIGHEST = sizeof(union numbers),
    BESIDE_NAME_BYTES = VAMP_EVENT_PACKED_BYTES_MAX - VAMP_NAME_BYTES_MAX,
};
static_assert(HIGHEST < 16, "the key of every field is one byte");
static_assert((HIGHEST + 1) * (1 + VAMP_VARINT_BYTES_MAX) + VAMP_CDO_ID_BYTES <= BESIDE_NAME_BYTES,
              "all fields but the name fit: numbers, and one id");

static inline uint8_t *pack_varint(uint8_t *at, unsigned number, uint64_t value)
{
    *at = (uint8_t)VAMP_WIRE_KEY(number, VARINT);
    return vamp_varint_write(at + 1, value);
}

static inline uint8_t *pack_fixed64(uint8_t *at, unsigned number, uint64_t value)
{
    const uint64_t bytes = htole64(value);
    *at = (uint8_t)VAMP_WIRE_KEY(number, FIXED64);
    memcpy(at + 1, &bytes, sizeof bytes);
    return at + 1 + sizeof bytes;
}

static inline uint8_t *pack_bytes(uint8_t *at, unsigned number, const void *bytes, size_t length)
{
    *at = (uint8_t)VAMP_WIRE_KEY(number, BYTES);
    at = vamp_varint_write(at + 1, length);
    if (length > 0) { /* an empty name may be NULL */
        memcpy(at, bytes, length);
    }
    return at + length;
}

static inline uint8_t *pack_id(uint8_t *at, unsigned number, struct vamp_cdo_id id)
{
    *at = (uint8_t)VAMP_WIRE_KEY(number, BYTES);
    at[1] = VAMP_CDO_ID_BYTES;
    vamp_cdo_id_to_bytes(id, at + 2);
    return at + 2 + VAMP_CDO_ID_BYTES;
}

#define PACK_NUMBER(at, number, value) pack_varint(at, number, value)
#define PACK_CHOICE PACK_NUMBER
#define PACK_TIME(at, number, value) pack_fixed64(at, number, (uint64_t)(value))
#define PACK_ID(at, number, value) pack_id(at, number, value)

static inline bool has_name(const struct vamp_event *event)
{
    return (event->present & (VAMP_HAS_CDO_NAME | VAMP_HAS_COMPONENT_NAME)) != 0;
}

/* Appends the field with this number if the event has it. The number is constant in all calls, so
 * that only the code of that field remains. */
static inline __attribute__((always_inline)) uint8_t *pack_field(const struct vamp_event *event,
                                                                 unsigned number, uint8_t *at)
{
    switch (number) {
#define VAMP_EVENT_FIELD(symbol, number_, form, type, member, values)                              \
    case number_:                                                                                  \
        if (vamp_event_has(event, VAMP_HAS_##symbol)) {                                            \
            return PACK_##form(at, number_, event->member);                                        \
        }                                                                                          \
        break;
#include "vampire/core/event/fields.def"
    case VAMP_FIELD_KIND:
        return pack_varint(at, VAMP_FIELD_KIND, event->kind);
    case VAMP_FIELD_NAME:
        if (has_name(event)) {
            return pack_bytes(at, VAMP_FIELD_NAME, event->name, event->name_length);
        }
        break;
    case VAMP_FIELD_BEFORE:
        if (event->phase == VAMP_PHASE_BEFORE) {
            return pack_varint(at, VAMP_FIELD_BEFORE, 1);
        }
        break;
    case VAMP_FIELD_ARRIVAL:
        if (!vamp_event_has(event, VAMP_HAS_TIME)) {
            return pack_fixed64(at, VAMP_FIELD_ARRIVAL, (uint64_t)event->time_ns);
        }
        break;
    default:
        break;
    }
    return at;
}

static_assert(HIGHEST == 15, "vamp_event_pack_of_cdo has a line for every number");
static_assert(VAMP_FIELD_CDO_ID == 5 && VAMP_FIELD_NAME == 6, "adjacent");

/* Fields are packed in the order of their numbers, as by every Protocol Buffers library. Not a
 * loop, in which selecting the field would cost more than packing it. */
size_t vamp_event_pack_of_cdo(const struct vamp_event *event, const uint8_t *cdo, size_t cdo_length,
                              uint8_t *buffer)
{
    assert(!vamp_event_is_mark(event));
    uint8_t *at = pack_field(event, 1, buffer);
    at = pack_field(event, 2, at);
    at = pack_field(event, 3, at);
    at = pack_field(event, 4, at);
    if (cdo != NULL) {
        memcpy(at, cdo, cdo_length);
        at += cdo_length;
    } else {
        at = pack_field(event, 5, at);
        at = pack_field(event, 6, at);
    }
    at = pack_field(event, 7, at);
    at = pack_field(event, 8, at);
    at = pack_field(event, 9, at);
    at = pack_field(event, 10, at);
    at = pack_field(event, 11, at);
    at = pack_field(event, 12, at);
    at = pack_field(event, 13, at);
    at = pack_field(event, 14, at);
    at = pack_field(event, 15, at);
    return (size_t)(at - buffer);
}

static size_t measure(const struct vamp_event *event)
{
    uint8_t spare[BESIDE_NAME_BYTES];
    struct vamp_event nameless = *event;
    nameless.present &= (uint16_t) ~(VAMP_HAS_CDO_NAME | VAMP_HAS_COMPONENT_NAME);
    const size_t beside = vamp_event_pack_of_cdo(&nameless, NULL, 0, spare);
    if (!has_name(event)) {
        return beside;
    }
    uint8_t *const at = spare + beside;
    uint8_t *const end = pack_varint(at, VAMP_FIELD_NAME, event->name_length);
    return (size_t)(end - spare) + event->name_length;
}

size_t vamp_event_pack(const struct vamp_event *event, uint8_t *buffer, size_t bytes)
{
    /* Measuring packs the fields twice; it is skipped if the message certainly fits. */
    if ((bytes < VAMP_EVENT_PACKED_BYTES_MAX || event->name_length > VAMP_NAME_BYTES_MAX) &&
        measure(event) > bytes) {
        return 0;
    }
    return vamp_event_pack_of_cdo(event, NULL, 0, buffer);
}

size_t vamp_event_pack_cdo(struct vamp_cdo_id id, const char *name, size_t name_length,
                           uint8_t *buffer)
{
    uint8_t *at = pack_id(buffer, VAMP_FIELD_CDO_ID, id);
    at = pack_bytes(at, VAMP_FIELD_NAME, name, name_length);
    assert((size_t)(at - buffer) <= VAMP_EVENT_CDO_BYTES(name_length));
    return (size_t)(at - buffer);
}

uint64_t vamp_event_packed_serial(const uint8_t *bytes, size_t length)
{
    struct vamp_wire wire = {.at = bytes, .end = bytes + length};
    while (vamp_wire_has_more(&wire)) {
        const uint64_t key = vamp_wire_key(&wire);
        if (key == VAMP_WIRE_KEY(VAMP_FIELD_SERIAL, VARINT)) {
            return vamp_wire_varint(&wire);
        }
        vamp_wire_skip(&wire, key);
    }
    return 0;
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
    case VAMP_ITEM_##symbol: /* one of the members of struct vamp_event_parts */                   \
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
    if (known) {
        event->present |= (uint16_t)bit;
    } else {
        event->present &= (uint16_t)~bit;
    }
}

static int refuse(const struct vamp_event_parts *parts, struct vamp_err *err)
{
    if (!vamp_event_kind_is_known(parts->kind)) {
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
    return vamp_event_kind_is_known(parts->kind) &&
           (parts->id == NULL || parts->id_length == VAMP_CDO_ID_BYTES) &&
           parts->name_length <= VAMP_NAME_BYTES_MAX;
}

/* Sets the members that have a different format in the message. */
static inline void fill_parts(struct vamp_event *event, const struct vamp_event_parts *parts)
{
    event->kind = (uint8_t)parts->kind;
    event->phase = parts->before ? VAMP_PHASE_BEFORE : VAMP_PHASE_AFTER;
    if (parts->id != NULL) {
        event->cdo_id = vamp_cdo_id_from_bytes(parts->id);
        event->present |= VAMP_HAS_CDO_ID;
    }
    if (parts->name != NULL) {
        event->name = (const char *)parts->name;
        event->name_length = (uint32_t)parts->name_length;
        event->present = (uint16_t)(event->present | vamp_event_name_field(parts->kind));
    }
    if (!vamp_event_has(event, VAMP_HAS_TIME)) {
        event->time_ns = parts->arrival_ns;
    }
}

/* Clears the event member by member: for the whole structure the compiler uses a string
 * instruction, which is slower. */
static inline void clear(struct vamp_event *event)
{
#define VAMP_EVENT_FIELD(symbol, number, form, type, member, values) event->member = (type){0};
#include "vampire/core/event/fields.def"
    event->count = 0;
    event->name = NULL;
    event->name_length = 0;
    event->present = 0;
    event->kind = VAMP_EVENT_NONE;
    event->phase = VAMP_PHASE_AFTER;
}

/* Checks and completes an event read from a message of `length` bytes. */
static inline int finish(const struct vamp_wire *wire, const struct vamp_event_parts *parts,
                         size_t length, struct vamp_event *event, struct vamp_err *err)
{
    if (!vamp_event_is_read(wire, parts)) {
        clear(event);
        return vamp_err_set(err, -EBADMSG, "%zu bytes are no event message", length);
    }
    if (!acceptable(parts)) {
        clear(event);
        return refuse(parts, err);
    }
    fill_parts(event, parts);
    return 0;
}

/* Reads a message with fields in any order. Not inlined: the fast path needs fewer registers. */
static __attribute__((noinline)) int read_any(const uint8_t *bytes, size_t length,
                                              struct vamp_event *event, struct vamp_err *err)
{
    struct vamp_wire wire = {.at = bytes, .end = bytes + length};
    struct vamp_event_parts parts = {.kind = VAMP_EVENT_NONE};
    clear(event);
    vamp_event_read_any(&wire, event, store, &parts);
    return finish(&wire, &parts, length, event, err);
}

int vamp_event_read(const uint8_t *bytes, size_t length, struct vamp_event *ret_event,
                    struct vamp_err *err)
{
    struct vamp_wire wire = {.at = bytes, .end = bytes + length};
    struct vamp_event_parts parts = {.kind = VAMP_EVENT_NONE};
    clear(ret_event);
    if (vamp_event_read_usual(&wire, ret_event, store, &parts)) {
        return finish(&wire, &parts, length, ret_event, err);
    }
    return read_any(bytes, length, ret_event, err);
}

/* ------------------------------------------------------------------ batches */

/* Reads the fields up to the next event, and returns the bytes of that event. Returns false at the
 * end, or if the batch is malformed. */
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
        default: /* unknown fields are handled as in an event */
            if (key >> 3 >= 1 && key >> 3 <= 3) {
                vamp_wire_fail(wire);
            } else if (!wire->bad) {
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

/* Finds the next event after other fields. Not inlined: nearly all fields are events. */
static __attribute__((noinline)) bool find_next(struct vamp_event_batch *batch,
                                                const uint8_t **ret_bytes, size_t *ret_length)
{
    struct vamp_wire wire = {.at = batch->at, .end = batch->end};
    struct vamp_event_batch known =
        *batch; /* a copy, so that the members `subscription` and `lost` are kept */
    bool has_subscription = true;
    const bool there = next_event(&wire, &known, &has_subscription, ret_bytes, ret_length);
    batch->at = wire.at;
    return there;
}

bool vamp_event_batch_next(struct vamp_event_batch *batch, const uint8_t **ret_bytes,
                           size_t *ret_length)
{
    const uint8_t *const at = batch->at;
    const ptrdiff_t there = batch->end - at;
    if (there >= 2 && at[0] == VAMP_EVENT_BATCH_EVENT && at[1] < 0x80 && at[1] <= there - 2) {
        *ret_bytes = at + 2;
        *ret_length = at[1];
        batch->at = at + 2 + at[1];
        return true;
    }
    return find_next(batch, ret_bytes, ret_length);
}
