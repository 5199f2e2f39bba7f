/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/event_codec.h"

#include <assert.h>
#include <stdlib.h>

/* Enough for every type protobuf-c allocates. */
#define ARENA_ALIGNMENT ((size_t)16)

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

void vamp_event_to_message(const struct vamp_event *event, struct vamp_event_message *ret_message)
{
    assert(!vamp_event_is_mark(event));
    Vamp__Wire__Event *message = &ret_message->message;
    vamp__wire__event__init(message);
    message->kind = event->kind;
    message->has_serial = vamp_event_has(event, VAMP_HAS_SERIAL);
    message->serial = event->serial;
    message->has_time_ns = vamp_event_has(event, VAMP_HAS_TIME);
    message->time_ns = event->time_ns;
    message->has_arrival_ns = !message->has_time_ns;
    message->arrival_ns = event->time_ns;
    message->has_app_id = vamp_event_has(event, VAMP_HAS_APP);
    message->app_id = event->app_id;
    message->has_size_bytes = vamp_event_has(event, VAMP_HAS_SIZE);
    message->size_bytes = event->size_bytes;
    message->has_peer_id = vamp_event_has(event, VAMP_HAS_PEER);
    message->peer_id = event->peer_id;
    message->has_transport_id = vamp_event_has(event, VAMP_HAS_TRANSPORT);
    message->transport_id = event->transport_id;
    message->has_tier = vamp_event_has(event, VAMP_HAS_TIER);
    message->tier = event->tier;
    message->has_cause = vamp_event_has(event, VAMP_HAS_CAUSE);
    message->cause = event->cause;
    message->has_reason = vamp_event_has(event, VAMP_HAS_REASON);
    message->reason = event->reason;
    message->has_duration_ns = vamp_event_has(event, VAMP_HAS_DURATION);
    message->duration_ns = event->duration_ns;
    message->has_before = event->phase == VAMP_PHASE_BEFORE;
    message->before = message->has_before;
    if (vamp_event_has(event, VAMP_HAS_CDO_ID)) {
        vamp_cdo_id_to_bytes(event->cdo_id, ret_message->cdo_id);
        message->has_cdo_id = true;
        message->cdo_id =
            (ProtobufCBinaryData){.len = VAMP_CDO_ID_BYTES, .data = ret_message->cdo_id};
    }
    if ((event->present & (VAMP_HAS_CDO_NAME | VAMP_HAS_COMPONENT_NAME)) != 0) {
        message->has_name = true;
        message->name =
            (ProtobufCBinaryData){.len = event->name_length, .data = readable(event->name)};
    }
}

size_t vamp_event_pack(const struct vamp_event *event, uint8_t *buffer, size_t bytes)
{
    struct vamp_event_message packed;
    vamp_event_to_message(event, &packed);
    /* Measuring costs a second walk over the fields; it is skipped where it cannot matter. */
    if (bytes < VAMP_EVENT_PACKED_BYTES_MAX || event->name_length > VAMP_NAME_BYTES_MAX) {
        if (vamp__wire__event__get_packed_size(&packed.message) > bytes) {
            return 0;
        }
    }
    return vamp__wire__event__pack(&packed.message, buffer);
}

/* ------------------------------------------------------------------ unpacking */

static void *arena_alloc(void *context, size_t size)
{
    struct vamp_decode_arena *arena = context;
    size_t room = arena->bytes - arena->used;
    if (size > room || (size + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT > room) {
        arena->exhausted = true;
        return NULL;
    }
    void *result = arena->memory + arena->used;
    arena->used += (size + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    return result;
}

static void arena_free(void *context, void *pointer)
{
    (void)context;
    (void)pointer; /* everything goes at once, with the next reset */
}

int vamp_decode_arena_init(struct vamp_decode_arena *arena, size_t bytes, struct vamp_err *err)
{
    bytes = (bytes + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    *arena = (struct vamp_decode_arena){
        .allocator = {.alloc = arena_alloc, .free = arena_free, .allocator_data = arena},
        .bytes = bytes,
    };
    arena->memory = malloc(bytes);
    if (arena->memory == NULL) {
        arena->bytes = 0;
        return vamp_err_set(err, -ENOMEM, "no memory for a decoding buffer of %zu bytes", bytes);
    }
    return 0;
}

void vamp_decode_arena_done(struct vamp_decode_arena *arena)
{
    free(arena->memory);
    *arena = (struct vamp_decode_arena){.memory = NULL};
}

ProtobufCAllocator *vamp_decode_arena_reset(struct vamp_decode_arena *arena)
{
    arena->used = 0;
    arena->exhausted = false;
    return &arena->allocator;
}

static int check(const Vamp__Wire__Event *message, struct vamp_err *err)
{
    if (message->kind == VAMP_EVENT_NONE || message->kind >= VAMP_EVENT_KIND_COUNT) {
        return vamp_err_set(err, -EBADMSG, "event of unknown kind %u", message->kind);
    }
    if (message->has_cdo_id && message->cdo_id.len != VAMP_CDO_ID_BYTES) {
        return vamp_err_set(err, -EBADMSG, "CDO id of %zu bytes instead of %d", message->cdo_id.len,
                            VAMP_CDO_ID_BYTES);
    }
    if (message->has_name && message->name.len > VAMP_NAME_BYTES_MAX) {
        return vamp_err_set(err, -EBADMSG, "name of %zu bytes, at most %d are allowed",
                            message->name.len, VAMP_NAME_BYTES_MAX);
    }
    return 0;
}

/* A flag when the sender gave the field. */
static uint16_t flag(bool has, enum vamp_event_field field)
{
    return has ? (uint16_t)field : 0;
}

bool vamp_event_is_of_component(uint32_t kind)
{
    return kind == VAMP_EVENT_JOIN || kind == VAMP_EVENT_LEAVE || kind == VAMP_EVENT_SUBSCRIBE ||
           kind == VAMP_EVENT_UNSUBSCRIBE;
}

/* protobuf-c has no data for an empty text; whoever reads a name may count on a pointer. */
static const char *name_of(const Vamp__Wire__Event *message)
{
    return message->name.data != NULL ? (const char *)message->name.data : "";
}

int vamp_event_from_message(const Vamp__Wire__Event *message, struct vamp_event *ret_event,
                            struct vamp_err *err)
{
    int result = check(message, err);
    if (result != 0) {
        return result;
    }
    const bool has_tier = message->has_tier && message->tier < VAMP_TIER_COUNT;
    const bool has_cause = message->has_cause && message->cause < VAMP_CAUSE_COUNT;
    const bool has_reason = message->has_reason && message->reason < VAMP_LEAVE_REASON_COUNT;
    const enum vamp_event_field name_field =
        vamp_event_is_of_component(message->kind) ? VAMP_HAS_COMPONENT_NAME : VAMP_HAS_CDO_NAME;
    const unsigned present =
        (unsigned)flag(message->has_serial, VAMP_HAS_SERIAL) |
        flag(message->has_time_ns, VAMP_HAS_TIME) | flag(message->has_app_id, VAMP_HAS_APP) |
        flag(message->has_peer_id, VAMP_HAS_PEER) | flag(message->has_cdo_id, VAMP_HAS_CDO_ID) |
        flag(message->has_size_bytes, VAMP_HAS_SIZE) | flag(message->has_name, name_field) |
        flag(message->has_transport_id, VAMP_HAS_TRANSPORT) | flag(has_tier, VAMP_HAS_TIER) |
        flag(has_cause, VAMP_HAS_CAUSE) | flag(has_reason, VAMP_HAS_REASON) |
        flag(message->has_duration_ns, VAMP_HAS_DURATION);
    /* Absent fields are zero after unpacking, as the event wants them. */
    *ret_event = (struct vamp_event){
        .serial = message->serial,
        .time_ns = message->has_time_ns ? message->time_ns : message->arrival_ns,
        .app_id = message->app_id,
        .peer_id = message->peer_id,
        .size_bytes = message->size_bytes,
        .transport_id = message->transport_id,
        .duration_ns = message->duration_ns,
        .name = message->has_name ? name_of(message) : NULL,
        .name_length = message->has_name ? (uint32_t)message->name.len : 0,
        .present = (uint16_t)present,
        .kind = (uint8_t)message->kind,
        .phase = message->has_before && message->before ? VAMP_PHASE_BEFORE : VAMP_PHASE_AFTER,
        .tier = has_tier ? (uint8_t)message->tier : VAMP_TIER_UNKNOWN,
        .cause = has_cause ? (uint8_t)message->cause : VAMP_CAUSE_UNKNOWN,
        .reason = has_reason ? (uint8_t)message->reason : VAMP_LEAVE_UNKNOWN,
    };
    if (message->has_cdo_id) {
        ret_event->cdo_id = vamp_cdo_id_from_bytes(message->cdo_id.data);
    }
    return 0;
}

int vamp_event_unpack(struct vamp_decode_arena *arena, const uint8_t *bytes, size_t length,
                      struct vamp_event *ret_event, struct vamp_err *err)
{
    if (vamp_event_read_plain(bytes, length, ret_event)) {
        return 0;
    }
    Vamp__Wire__Event *message =
        vamp__wire__event__unpack(vamp_decode_arena_reset(arena), length, bytes);
    if (message == NULL) {
        return arena->exhausted
                   ? vamp_err_set(err, -ENOBUFS,
                                  "an event message of %zu bytes needs more than the %zu bytes "
                                  "set aside for decoding",
                                  length, arena->bytes)
                   : vamp_err_set(err, -EBADMSG, "%zu bytes are no event message", length);
    }
    return vamp_event_from_message(message, ret_event, err);
}
