/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts one message of the pool protocol (pool.proto's Envelope) to bytes and back. The envelope
 * is read and written field by field in place, its body by protobuf-c in bounded memory: a hostile
 * message costs at most its arena and is then refused. No thread rule.
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
/* Upper limit of an envelope's head. */
#define FRAME_HEAD_BYTES ((size_t)24)
/* Arena for the body of any valid message except a batch of events. */
#define FRAME_ARENA_BYTES ((size_t)128 * 1024)

enum frame_kind { /* the field numbers of Envelope's bodies */
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

/* protobuf-c's structures lack const; packing does not write to the results of these functions. */
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

/* Packs a whole message into `buffer`. Returns its length; 0: does not fit. Ignores `frame`'s
 * body. */
size_t frame_pack(const struct frame *frame, const ProtobufCMessage *body, uint8_t *buffer,
                  size_t size);
/* Writes the envelope's head in front of a body that is packed separately. Returns its length,
 * which does not depend on the body's, at most FRAME_HEAD_BYTES. */
size_t frame_head(const struct frame *frame, size_t body_length, uint8_t *at);

/* Parses and checks an envelope. 0, or -EBADMSG with a text; -EPROTO: another version (the frame is
 * filled nevertheless, so that a Join can be refused with a text). */
VAMP_MUST_CHECK int frame_parse(const uint8_t *bytes, size_t length, struct frame *ret_frame,
                                struct vamp_err *err);
/* Unpacks the body of any kind into the arena; its type is that of the frame's kind. Valid until
 * the arena's next reset. NULL with text if it is malformed or does not fit. */
const void *frame_unpack(const struct frame *frame, struct vamp_decode_arena *arena,
                         struct vamp_err *err);
