/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event message (event.proto) to and from `struct vamp_event`: on the embedded Maestro's wire
 * and in recordings. Neither direction touches the heap: messages are packed into the caller's
 * buffer and unpacked into an arena of fixed size that is emptied before each message, so that
 * a hostile message costs at most the arena and is then refused.
 *
 * No thread rule: every object belongs to its caller.
 */
#ifndef VAMP_CORE_EVENT_CODEC_H
#define VAMP_CORE_EVENT_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.pb-c.h"
#include "vampire/core/cdo_id.h"
#include "vampire/core/err.h"
#include "vampire/core/event.h"

/* ------------------------------------------------------------------ packing */

/* A message and the memory its id field points to: not to be copied or moved once filled. */
struct vamp_event_message {
    Vamp__Wire__Event message;
    uint8_t cdo_id[VAMP_CDO_ID_BYTES];
};

/* Fills a message; its name points at the event's text. The event is an operation, not a mark:
 * marks have no event message (assert). */
void vamp_event_to_message(const struct vamp_event *event, struct vamp_event_message *ret_message);
/* The packed message of an operation in `buffer`. Returns its length, 0 when `bytes` are too few;
 * a message with the longest name fits in VAMP_EVENT_PACKED_BYTES_MAX. */
size_t vamp_event_pack(const struct vamp_event *event, uint8_t *buffer, size_t bytes);
#define VAMP_EVENT_PACKED_BYTES_MAX (VAMP_NAME_BYTES_MAX + 256)

/* ------------------------------------------------------------------ unpacking */

/* Memory for one unpacked message at a time; for the unpack function of any protobuf-c message. */
struct vamp_decode_arena {
    ProtobufCAllocator allocator;
    unsigned char *memory;
    size_t bytes, used;
    bool exhausted; /* the last message wanted more than there is */
};

/* 0 or -ENOMEM. 64 times the longest accepted message is never reached by an honest one. */
VAMP_MUST_CHECK int vamp_decode_arena_init(struct vamp_decode_arena *arena, size_t bytes,
                                           struct vamp_err *err);
/* Zeroed and half-initialised arenas are fine. */
void vamp_decode_arena_done(struct vamp_decode_arena *arena);
/* Empties the arena: everything unpacked into it is gone. The result is for one call of an
 * unpack function; what that returns needs no free_unpacked. Valid as long as the arena. */
ProtobufCAllocator *vamp_decode_arena_reset(struct vamp_decode_arena *arena);

/* Checks a message and fills the event, whose name then points into the message. Presence bits
 * follow the fields that are there; an unknown tier, cause or reason (a newer sender) is taken as
 * not told. Without a time of its own the event's time_ns is the message's arrival_ns, else 0:
 * the caller fills it in. 0, or -EBADMSG: unknown kind, an id that is not 16 bytes, or a name
 * longer than VAMP_NAME_BYTES_MAX. On failure `*ret_event` is untouched. */
VAMP_MUST_CHECK int vamp_event_from_message(const Vamp__Wire__Event *message,
                                            struct vamp_event *ret_event, struct vamp_err *err);
/* Whether the kind concerns a component and no CDO: a name with it is the component's. */
bool vamp_event_is_of_component(uint32_t kind);
/* Reads a message as vamp_event_pack makes them: known fields with their wire types and valid
 * values. False, and `*ret_event` untouched, for any other, which protobuf-c has to judge; where
 * true, protobuf-c and vamp_event_from_message come to the same event. The name points into
 * `bytes`. */
bool vamp_event_read_plain(const uint8_t *bytes, size_t length, struct vamp_event *ret_event);
/* Unpacks and checks one message: with vamp_event_read_plain where that can, else with protobuf-c.
 * The name lives in `bytes` or in the arena, so as long as both. 0, -EBADMSG, or -ENOBUFS when the
 * arena is too small for what protobuf-c wants. */
VAMP_MUST_CHECK int vamp_event_unpack(struct vamp_decode_arena *arena, const uint8_t *bytes,
                                      size_t length, struct vamp_event *ret_event,
                                      struct vamp_err *err);

#endif
