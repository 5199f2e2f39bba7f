/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading an event message without protobuf-c, straight from the wire format: a quarter of the
 * time. Only what vamp_event_pack and its like write is read here: known fields of their own wire
 * type, with values that mean something, in any order and number. Everything else is left to
 * protobuf-c, so that there is one judge of what is odd.
 */
#include <endian.h>
#include <string.h>

#include "vampire/core/event_codec.h"
#include "vampire/core/varint.h"

/* Field number and wire type, which fit in one byte for all of our fields. */
#define VARINT(number) ((number) << 3)
#define FIXED64(number) ((number) << 3 | 1)
#define BYTES(number) ((number) << 3 | 2)

struct reader {
    const uint8_t *at, *end;
    bool odd; /* for protobuf-c to judge */
};

/* A number of at most `bytes_max` bytes. */
static inline uint64_t read_number(struct reader *reader, size_t bytes_max)
{
    uint64_t value = 0;
    const uint8_t *after = vamp_varint_read(reader->at, reader->end, bytes_max, &value);
    if (after == NULL) {
        reader->odd = true;
        return 0;
    }
    reader->at = after;
    return value;
}

static uint64_t read_long_varint(struct reader *reader)
{
    return read_number(reader, VAMP_VARINT_BYTES_MAX);
}

static inline uint64_t read_varint(struct reader *reader)
{
    if (reader->at != reader->end && *reader->at < 0x80) {
        return *reader->at++;
    }
    return read_long_varint(reader);
}

/* A number below `bound`, which is at most 128. */
static inline uint8_t read_small(struct reader *reader, unsigned bound)
{
    if (reader->at == reader->end || *reader->at >= bound) {
        reader->odd = true;
        return 0;
    }
    return *reader->at++;
}

static inline int64_t read_fixed64(struct reader *reader)
{
    uint64_t value = 0;
    if (reader->end - reader->at < (ptrdiff_t)sizeof value) {
        reader->odd = true;
        return 0;
    }
    memcpy(&value, reader->at, sizeof value);
    reader->at += sizeof value;
    return (int64_t)le64toh(value);
}

/* Two bytes hold what we allow; more of them, which may still mean little, are odd. */
static inline uint64_t read_length(struct reader *reader)
{
    return read_number(reader, 2);
}

static inline const uint8_t *read_bytes(struct reader *reader, uint64_t most, uint32_t *ret_length)
{
    const uint64_t length = read_length(reader);
    if (length > most || length > (uint64_t)(reader->end - reader->at)) {
        reader->odd = true;
        return reader->at;
    }
    const uint8_t *bytes = reader->at;
    reader->at += length;
    *ret_length = (uint32_t)length;
    return bytes;
}

static void read_id(struct reader *reader, struct vamp_event *event)
{
    uint32_t length = 0;
    const uint8_t *bytes = read_bytes(reader, VAMP_CDO_ID_BYTES, &length);
    if (length != VAMP_CDO_ID_BYTES) {
        reader->odd = true;
        return;
    }
    event->cdo_id = vamp_cdo_id_from_bytes(bytes);
}

/* Reads one field. Its presence bit; 0 for one that has none. */
static unsigned read_field(struct reader *reader, struct vamp_event *event, int64_t *arrival_ns)
{
    switch (*reader->at++) {
    case VARINT(1):
        event->kind = read_small(reader, VAMP_EVENT_KIND_COUNT);
        return 0;
    case VARINT(2):
        event->serial = read_varint(reader);
        return VAMP_HAS_SERIAL;
    case FIXED64(3):
        event->time_ns = read_fixed64(reader);
        return VAMP_HAS_TIME;
    case VARINT(4):
        event->app_id = read_varint(reader);
        return VAMP_HAS_APP;
    case BYTES(5):
        read_id(reader, event);
        return VAMP_HAS_CDO_ID;
    case BYTES(6):
        event->name = (const char *)read_bytes(reader, VAMP_NAME_BYTES_MAX, &event->name_length);
        return VAMP_HAS_CDO_NAME;
    case VARINT(7):
        event->size_bytes = read_varint(reader);
        return VAMP_HAS_SIZE;
    case VARINT(8):
        event->peer_id = read_varint(reader);
        return VAMP_HAS_PEER;
    case VARINT(9):
        event->transport_id = read_varint(reader);
        return VAMP_HAS_TRANSPORT;
    case VARINT(10):
        event->tier = read_small(reader, VAMP_TIER_COUNT);
        return VAMP_HAS_TIER;
    case VARINT(11):
        event->cause = read_small(reader, VAMP_CAUSE_COUNT);
        return VAMP_HAS_CAUSE;
    case VARINT(12):
        event->reason = read_small(reader, VAMP_LEAVE_REASON_COUNT);
        return VAMP_HAS_REASON;
    case VARINT(13):
        event->phase = read_small(reader, 2) != 0 ? VAMP_PHASE_BEFORE : VAMP_PHASE_AFTER;
        return 0;
    case FIXED64(14):
        *arrival_ns = read_fixed64(reader);
        return 0;
    case VARINT(15):
        event->duration_ns = read_varint(reader);
        return VAMP_HAS_DURATION;
    default:
        reader->odd = true;
        return 0;
    }
}

bool vamp_event_read_plain(const uint8_t *bytes, size_t length, struct vamp_event *ret_event)
{
    struct reader reader = {.at = bytes, .end = bytes + length};
    struct vamp_event event = {.kind = VAMP_EVENT_NONE};
    unsigned present = 0;
    int64_t arrival_ns = 0;
    while (reader.at != reader.end && !reader.odd) {
        present |= read_field(&reader, &event, &arrival_ns);
    }
    if (reader.odd || event.kind == VAMP_EVENT_NONE) {
        return false;
    }
    if ((present & VAMP_HAS_CDO_NAME) != 0 && vamp_event_is_of_component(event.kind)) {
        present ^= VAMP_HAS_CDO_NAME | VAMP_HAS_COMPONENT_NAME;
    }
    if ((present & VAMP_HAS_TIME) == 0) {
        event.time_ns = arrival_ns;
    }
    event.present = (uint16_t)present;
    *ret_event = event;
    return true;
}
