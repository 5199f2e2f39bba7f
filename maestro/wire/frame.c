/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/wire/frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/varint.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };
enum { FIELD_VERSION = 1, FIELD_SESSION = 2, FIELD_SEQUENCE = 3, FIELD_EVENTS_TAKEN = 4 };

/* ---- writing */

static uint8_t *put_tag(uint8_t *at, unsigned field, enum wire_type type)
{
    return vamp_varint_write(at, (uint64_t)field << 3 | type);
}

size_t frame_head(const struct frame *frame, size_t body_length, uint8_t *buffer)
{
    uint8_t head[FRAME_HEAD_BYTES];
    uint8_t *at = vamp_varint_write(put_tag(head, FIELD_VERSION, WIRE_VARINT), FRAME_VERSION);
    at = put_tag(at, FIELD_SESSION, WIRE_FIXED64);
    for (unsigned shift = 0; shift < 64; shift += 8) {
        *at++ = (uint8_t)(frame->session >> shift);
    }
    at = vamp_varint_write(put_tag(at, FIELD_SEQUENCE, WIRE_VARINT), frame->sequence);
    at = vamp_varint_write(put_tag(at, FIELD_EVENTS_TAKEN, WIRE_VARINT), frame->events_taken);
    at = vamp_varint_write(put_tag(at, frame->kind, WIRE_BYTES), body_length);
    size_t length = (size_t)(at - head);
    assert(length <= FRAME_HEAD_BYTES);
    size_t begin = FRAME_HEAD_BYTES - length;
    memcpy(buffer + begin, head, length);
    return begin;
}

size_t frame_pack(const struct frame *frame, const ProtobufCMessage *body, uint8_t *buffer,
                  size_t size)
{
    size_t body_length = protobuf_c_message_get_packed_size(body);
    if (body_length > size || FRAME_HEAD_BYTES > size - body_length) {
        return 0;
    }
    uint8_t head[FRAME_HEAD_BYTES];
    size_t begin = frame_head(frame, body_length, head);
    memcpy(buffer, head + begin, FRAME_HEAD_BYTES - begin);
    return FRAME_HEAD_BYTES - begin +
           protobuf_c_message_pack(body, buffer + FRAME_HEAD_BYTES - begin);
}

/* ---- reading */

struct reader {
    const uint8_t *at, *end;
    bool bad;
};

static uint64_t read_varint(struct reader *reader)
{
    uint64_t value = 0;
    const uint8_t *after = vamp_varint_read(reader->at, reader->end, VAMP_VARINT_BYTES_MAX, &value);
    reader->bad |= after == NULL;
    reader->at = after != NULL ? after : reader->at;
    return value;
}

static uint64_t get_fixed(struct reader *reader, size_t bytes)
{
    if ((size_t)(reader->end - reader->at) < bytes) {
        reader->bad = true;
        return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        value |= (uint64_t)reader->at[i] << (8 * i);
    }
    reader->at += bytes;
    return value;
}

/* One field of a message. */
struct field {
    uint64_t number;
    unsigned type;
    uint64_t value;
    const uint8_t *bytes; /* of WIRE_BYTES; value is their length */
};

/* False at the end or when the bytes are malformed (reader->bad). */
static bool get_field(struct reader *reader, struct field *ret_field)
{
    if (reader->bad || reader->at == reader->end) {
        return false;
    }
    uint64_t tag = read_varint(reader);
    *ret_field = (struct field){.number = tag >> 3, .type = (unsigned)(tag & 7)};
    switch (ret_field->type) {
    case WIRE_VARINT:
        ret_field->value = read_varint(reader);
        break;
    case WIRE_FIXED64:
        ret_field->value = get_fixed(reader, 8);
        break;
    case WIRE_FIXED32:
        ret_field->value = get_fixed(reader, 4);
        break;
    case WIRE_BYTES:
        ret_field->value = read_varint(reader);
        if (ret_field->value > (uint64_t)(reader->end - reader->at)) {
            reader->bad = true;
            break;
        }
        ret_field->bytes = reader->at;
        reader->at += ret_field->value;
        break;
    default:
        reader->bad = true;
    }
    return !reader->bad && ret_field->number != 0;
}

static bool is_body(const struct field *field)
{
    return field->type == WIRE_BYTES && field->number >= FRAME_JOIN &&
           field->number <= FRAME_GOODBYE;
}

struct envelope {
    struct frame frame;
    uint64_t version;
    unsigned seen; /* bits of the fields 1 to 4 */
    unsigned bodies;
};

static void take_field(struct envelope *envelope, const struct field *field)
{
    struct frame *frame = &envelope->frame;
    if (is_body(field)) {
        frame->kind = (enum frame_kind)field->number;
        frame->body = field->bytes;
        frame->body_length = (size_t)field->value;
        envelope->bodies++;
    } else if (field->number == FIELD_VERSION && field->type == WIRE_VARINT) {
        envelope->version = field->value;
        envelope->seen |= 1U << FIELD_VERSION;
    } else if (field->number == FIELD_SESSION && field->type == WIRE_FIXED64) {
        frame->session = field->value;
        envelope->seen |= 1U << FIELD_SESSION;
    } else if (field->number == FIELD_SEQUENCE && field->type == WIRE_VARINT) {
        frame->sequence = field->value;
        envelope->seen |= 1U << FIELD_SEQUENCE;
    } else if (field->number == FIELD_EVENTS_TAKEN && field->type == WIRE_VARINT) {
        frame->events_taken = field->value;
    }
}

int frame_parse(const uint8_t *bytes, size_t length, struct frame *ret_frame, struct vamp_err *err)
{
    struct reader reader = {.at = bytes, .end = bytes + length};
    struct envelope envelope = {0};
    struct field field;
    while (get_field(&reader, &field)) {
        take_field(&envelope, &field);
    }
    const unsigned needed = 1U << FIELD_VERSION | 1U << FIELD_SESSION | 1U << FIELD_SEQUENCE;
    if (length > FRAME_BYTES_MAX || reader.bad || reader.at != reader.end ||
        (envelope.seen & (1U << FIELD_VERSION)) == 0) {
        return vamp_err_set(err, -EBADMSG, "%zu bytes that are no message of the pool protocol",
                            length);
    }
    if (envelope.seen != needed || envelope.bodies != 1 || envelope.frame.session == 0) {
        return vamp_err_set(err, -EBADMSG,
                            "a message of %zu bytes lacks its session, its sequence "
                            "or exactly one body",
                            length);
    }
    *ret_frame = envelope.frame;
    if (envelope.version != FRAME_VERSION) {
        return vamp_err_set(err, -EPROTO, "pool protocol version %llu; this is version %d",
                            (unsigned long long)envelope.version, FRAME_VERSION);
    }
    return 0;
}

static const ProtobufCMessageDescriptor *descriptor_of(enum frame_kind kind)
{
    switch (kind) {
    case FRAME_JOIN:
        return &mstro__wire__join__descriptor;
    case FRAME_WELCOME:
        return &mstro__wire__welcome__descriptor;
    case FRAME_REQUEST:
        return &mstro__wire__request__descriptor;
    case FRAME_RESPONSE:
        return &mstro__wire__response__descriptor;
    case FRAME_TICKET:
        return &mstro__wire__ticket__descriptor;
    case FRAME_EVENTS:
        return &vamp__wire__event_batch__descriptor;
    case FRAME_HEARTBEAT:
        return &mstro__wire__heartbeat__descriptor;
    case FRAME_GOODBYE:
        return &mstro__wire__goodbye__descriptor;
    }
    return NULL;
}

const void *frame_unpack(const struct frame *frame, struct vamp_decode_arena *arena,
                         struct vamp_err *err)
{
    const ProtobufCMessageDescriptor *descriptor = descriptor_of(frame->kind);
    const ProtobufCMessage *message = protobuf_c_message_unpack(
        descriptor, vamp_decode_arena_reset(arena), frame->body_length, frame->body);
    if (message == NULL || !protobuf_c_message_check(message)) {
        (void)vamp_err_set(err, -EBADMSG, "the body of a message (%s, %zu bytes) %s",
                           descriptor->name, frame->body_length,
                           arena->exhausted ? "unpacks to more than is allowed"
                                            : "cannot be understood");
        return NULL;
    }
    return message;
}
