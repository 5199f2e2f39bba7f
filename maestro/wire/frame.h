/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts a message of the pool protocol (Envelope in pool.proto) to bytes and back. The envelope
 * is read and written field by field in place, its body by protobuf-c in a bounded arena: a
 * malicious message is refused when the arena is full. May be used by any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "maestro/wire/stream.h"
#include "pool.pb-c.h"
#include "vampire/core/err.h"
#include "vampire/core/protobuf/arena.h"

#define FRAME_VERSION 3
#define FRAME_BYTES_MAX STREAM_FRAME_BYTES
/* Maximum size of an envelope without its body. */
#define FRAME_HEAD_BYTES ((size_t)24)
/* Arena size for the body of any valid message except a batch of events. */
#define FRAME_ARENA_BYTES ((size_t)128 * 1024)

enum frame_kind { /* the field number of each body in Envelope */
                  FRAME_JOIN = 10,
                  FRAME_WELCOME,
                  FRAME_REQUEST,
                  FRAME_RESPONSE,
                  FRAME_TICKET,
                  FRAME_EVENTS,
                  FRAME_HEARTBEAT,
                  FRAME_GOODBYE,
};

struct frame {
    uint64_t events_taken;
    enum frame_kind kind;
    const uint8_t *body; /* points into the message */
    size_t body_length;
};

/* Converts const bytes for protobuf-c, whose structures lack const; packing does not write to them.
 */
static inline ProtobufCBinaryData frame_bytes(const void *bytes, size_t length)
{
    union {
        const void *in;
        uint8_t *out;
    } data = {bytes};
    return (ProtobufCBinaryData){.len = length, .data = data.out};
}
static inline char *frame_text(const char *text)
{
    return (char *)frame_bytes(text, 0).data;
}

/* Packs a whole message into `buffer`, ignoring the body in `frame`. Returns its length; 0: does
 * not fit. */
size_t frame_pack(const struct frame *frame, const ProtobufCMessage *body, uint8_t *buffer,
                  size_t size);
/* Writes the envelope's fields in front of a body that is packed separately. Returns their length,
 * at most FRAME_HEAD_BYTES, which does not depend on the body's length. */
size_t frame_head(const struct frame *frame, size_t body_length, uint8_t *at);

/* Parses and checks an envelope. Returns 0; -EBADMSG with text; or -EPROTO: another protocol
 * version, in which case the frame is filled nevertheless, so that a Join can be refused with a
 * text. */
VAMP_MUST_CHECK int frame_parse(const uint8_t *bytes, size_t length, struct frame *ret_frame,
                                struct vamp_err *err);
/* Unpacks the body into the arena; its type depends on the frame's kind. The result is valid until
 * the arena is reset. Returns NULL with text if the body is malformed or does not fit. */
const void *frame_unpack(const struct frame *frame, struct vamp_decode_arena *arena,
                         struct vamp_err *err);
