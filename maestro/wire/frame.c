/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/wire/frame.h"

#include <assert.h>

#include "vampire/core/protobuf/wire.h"

enum { FIELD_VERSION = 1, FIELD_EVENTS_TAKEN = 4 };

/* ---- writing */

/* A number below 2^21, always in three bytes. */
static uint8_t *write_length(uint8_t *at, size_t length)
{
    *at++ = (uint8_t)(length | 0x80);
    *at++ = (uint8_t)(length >> 7 | 0x80);
    *at++ = (uint8_t)(length >> 14);
    return at;
}

size_t frame_head(const struct frame *frame, size_t body_length, uint8_t *at)
{
    const uint8_t *const begin = at;
    assert(body_length <= FRAME_BYTES_MAX);
    *at++ = VAMP_WIRE_KEY(FIELD_VERSION, VARINT);
    at = vamp_varint_write(at, FRAME_VERSION);
    *at++ = VAMP_WIRE_KEY(FIELD_EVENTS_TAKEN, VARINT);
    at = vamp_varint_write(at, frame->events_taken);
    at = vamp_varint_write(at, VAMP_WIRE_KEY((uint64_t)frame->kind, BYTES));
    at = write_length(at, body_length);
    assert((size_t)(at - begin) <= FRAME_HEAD_BYTES);
    return (size_t)(at - begin);
}

size_t frame_pack(const struct frame *frame, const ProtobufCMessage *body, uint8_t *buffer,
                  size_t size)
{
    const size_t body_length = protobuf_c_message_get_packed_size(body);
    if (body_length > size || FRAME_HEAD_BYTES > size - body_length) {
        return 0;
    }
    const size_t head = frame_head(frame, body_length, buffer);
    return head + protobuf_c_message_pack(body, buffer + head);
}

/* ---- reading */

struct envelope {
    struct frame frame;
    uint64_t version;
    unsigned bodies;
};

static void read_field(struct vamp_wire *wire, uint64_t key, struct envelope *envelope)
{
    struct frame *frame = &envelope->frame;
    if ((key & 7) == VAMP_WIRE_BYTES && key >> 3 >= FRAME_JOIN && key >> 3 <= FRAME_GOODBYE) {
        frame->kind = (enum frame_kind)(key >> 3);
        frame->body = vamp_wire_bytes(wire, &frame->body_length);
        envelope->bodies++;
        return;
    }
    switch (key) {
    case VAMP_WIRE_KEY(FIELD_VERSION, VARINT):
        envelope->version = vamp_wire_varint(wire);
        break;
    case VAMP_WIRE_KEY(FIELD_EVENTS_TAKEN, VARINT):
        frame->events_taken = vamp_wire_varint(wire);
        break;
    default:
        vamp_wire_skip(wire, key);
    }
}

int frame_parse(const uint8_t *bytes, size_t length, struct frame *ret_frame, struct vamp_err *err)
{
    struct vamp_wire wire = {.at = bytes, .end = bytes + length};
    struct envelope envelope = {0};
    while (vamp_wire_has_more(&wire)) {
        const uint64_t key = vamp_wire_key(&wire);
        if (!wire.bad) {
            read_field(&wire, key, &envelope);
        }
    }
    if (length > FRAME_BYTES_MAX || wire.bad || envelope.version == 0 || envelope.bodies != 1) {
        return vamp_err_set(
            err, -EBADMSG,
            "%zu bytes are not a message of the pool protocol, which has a version and "
            "exactly one body",
            length);
    }
    *ret_frame = envelope.frame;
    if (envelope.version != FRAME_VERSION) {
        return vamp_err_set(err, -EPROTO, "pool protocol version %llu; this is version %d",
                            (unsigned long long)envelope.version, FRAME_VERSION);
    }
    return 0;
}

const void *frame_unpack(const struct frame *frame, struct vamp_decode_arena *arena,
                         struct vamp_err *err)
{
    static const ProtobufCMessageDescriptor *const descriptors[] = {
        [FRAME_JOIN] = &mstro__wire__join__descriptor,
        [FRAME_WELCOME] = &mstro__wire__welcome__descriptor,
        [FRAME_REQUEST] = &mstro__wire__request__descriptor,
        [FRAME_RESPONSE] = &mstro__wire__response__descriptor,
        [FRAME_TICKET] = &mstro__wire__ticket__descriptor,
        [FRAME_EVENTS] = &vamp__wire__event_batch__descriptor,
        [FRAME_HEARTBEAT] = &mstro__wire__heartbeat__descriptor,
        [FRAME_GOODBYE] = &mstro__wire__goodbye__descriptor,
    };
    const ProtobufCMessageDescriptor *descriptor = descriptors[frame->kind];
    const ProtobufCMessage *message = protobuf_c_message_unpack(
        descriptor, vamp_decode_arena_reset(arena), frame->body_length, frame->body);
    if (message == NULL || !protobuf_c_message_check(message)) {
        return VAMP_REFUSE(NULL, err, -EBADMSG, "the body of a message (%s, %zu bytes) %s",
                           descriptor->name, frame->body_length,
                           arena->exhausted ? "unpacks to more than is allowed"
                                            : "cannot be understood");
    }
    return message;
}
