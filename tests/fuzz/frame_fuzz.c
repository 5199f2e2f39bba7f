/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target of single messages: framing, bodies, batches and events. Envelopes, batches and
 * events are read by this project's own code; protobuf-c's reading of the same bytes is what it is
 * compared with. What is understood has to survive being packed and read again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "maestro/api/event_block.h"
#include "maestro/wire/frame.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/require.h"
#include "tests/lib/event_judge.h"
#include "vampire/core/event/codec.h"

#define EVENTS_MAX 1024 /* in a batch */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

static struct vamp_decode_arena arena;

static bool same_frame(const struct frame *a, const struct frame *b)
{
    return a->events_taken == b->events_taken && a->kind == b->kind;
}

/* protobuf-c may refuse more than frame_parse (it reads the body as well), never less. */
static void compare_with_library(const uint8_t *data, size_t size, int result,
                                 const struct frame *frame)
{
    Mstro__Wire__Envelope *envelope = mstro__wire__envelope__unpack(NULL, size, data);
    if (envelope != NULL && envelope->version == FRAME_VERSION && result == 0) {
        require(envelope->events_taken == frame->events_taken);
        require(envelope->body_case == (unsigned)frame->kind);
    }
    if (envelope != NULL) {
        mstro__wire__envelope__free_unpacked(envelope, NULL);
    }
}

static void drop_unknown_fields(ProtobufCMessage *message);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as pool.proto. */
static void drop_from_field(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    uint8_t *base = (uint8_t *)message;
    const uint32_t *quantity = (const void *)(base + field->quantifier_offset);
    ProtobufCMessage **inner = (void *)(base + field->offset);
    size_t count = 1;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        memcpy(&count, quantity, sizeof count);
        inner = *(ProtobufCMessage ***)inner;
    } else if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 && *quantity != field->id) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (inner[i] != NULL) {
            drop_unknown_fields(inner[i]);
        }
    }
}

/* protobuf-c reads a field of number 0 when its tag is longer than it has to be, keeps it as
 * unknown, and refuses what it packs of that. Nothing of vampire's ever packs an unknown field. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as pool.proto. */
static void drop_unknown_fields(ProtobufCMessage *message)
{
    while (message->n_unknown_fields > 0) {
        free(message->unknown_fields[--message->n_unknown_fields].data);
    }
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        if (message->descriptor->fields[i].type == PROTOBUF_C_TYPE_MESSAGE) {
            drop_from_field(message, &message->descriptor->fields[i]);
        }
    }
}

static void pack_again(const struct frame *frame, ProtobufCMessage *body)
{
    static uint8_t packed[2 * FRAME_BYTES_MAX];
    drop_unknown_fields(body);
    struct frame again;
    size_t length = frame_pack(frame, body, packed, FRAME_BYTES_MAX);
    if (length > 0) {
        require(frame_parse(packed, length, &again, NULL) == 0 && same_frame(frame, &again));
        const ProtobufCMessage *twice = frame_unpack(&again, &arena, NULL);
        require(twice != NULL && protobuf_c_message_get_packed_size(twice) == again.body_length);
    }
}

static void try_event(const Vamp__Wire__Event *message)
{
    struct vamp_event event;
    struct vamp_event again;
    uint8_t packed[VAMP_EVENT_PACKED_BYTES_MAX];
    if (!judge_event(message, &event)) {
        return;
    }
    size_t length = vamp_event_pack(&event, packed, sizeof packed);
    require(length > 0);
    require(vamp_event_read(packed, length, &again, NULL) == 0);
    require(again.kind == event.kind && again.present == event.present);
    require(again.serial == event.serial && again.app_id == event.app_id);
    require(again.size_bytes == event.size_bytes && again.name_length == event.name_length);
    require(event.name_length == 0 || memcmp(again.name, event.name, event.name_length) == 0);
}

static void require_value(const struct mstro_pool_event_ *event, bool has, uint32_t bit,
                          bool same_value)
{
    require(((event->present & bit) != 0) == has && same_value);
}

static void require_name(const Vamp__Wire__Event *message, const struct mstro_pool_event_ *event)
{
    /* Every member of the payload that has a name has it at the same place. */
    const char *name = event->payload.declare.cdo_name;
    if (message->kind == VAMP_EVENT_LEAVE || message->kind == VAMP_EVENT_SUBSCRIBE ||
        message->kind == VAMP_EVENT_UNSUBSCRIBE) {
        require(name == NULL && event->name_length == 0);
        return;
    }
    require(event->name_length == message->name.len && name[message->name.len] == '\0');
    require(message->name.len == 0 || memcmp(name, message->name.data, message->name.len) == 0);
}

static void require_same_event(const Vamp__Wire__Event *message,
                               const struct mstro_pool_event_ *event)
{
    const bool has_tier = message->has_tier && message->tier < VAMP_TIER_COUNT;
    const bool has_cause = message->has_cause && message->cause < VAMP_CAUSE_COUNT;
    const bool has_reason = message->has_reason && message->reason < VAMP_LEAVE_REASON_COUNT;
    const bool has_id = message->has_cdo_id && message->cdo_id.len == sizeof event->cdo_id;
    require(event->kind == (mstro_pool_event_kind)1 << message->kind);
    require(event->serial == message->serial && event->before == message->before);
    require(event->payload.leave.appid == message->app_id);
    require_name(message, event);
    require_value(event, message->has_time_ns, MSTRO_POOL_EVENT_HAS_TIME,
                  event->time_ns == message->time_ns);
    require_value(event, message->has_size_bytes, MSTRO_POOL_EVENT_HAS_CDO_SIZE,
                  event->cdo_size == message->size_bytes);
    require_value(event, message->has_peer_id, MSTRO_POOL_EVENT_HAS_PEER,
                  event->peer_appid == message->peer_id);
    require_value(event, message->has_transport_id, MSTRO_POOL_EVENT_HAS_TRANSPORT,
                  event->transport_id == message->transport_id);
    require_value(event, message->has_duration_ns, MSTRO_POOL_EVENT_HAS_DURATION,
                  event->duration_ns == message->duration_ns);
    require_value(event, has_tier, MSTRO_POOL_EVENT_HAS_TIER,
                  event->tier == (has_tier ? message->tier : 0));
    require_value(event, has_cause, MSTRO_POOL_EVENT_HAS_CAUSE,
                  event->cause == (has_cause ? message->cause : 0));
    require_value(event, has_reason, MSTRO_POOL_EVENT_HAS_REASON,
                  event->reason == (has_reason ? message->reason : 0));
    require_value(event, has_id, MSTRO_POOL_EVENT_HAS_CDO_ID,
                  !has_id ||
                      memcmp(event->cdo_id, message->cdo_id.data, sizeof event->cdo_id) == 0);
}

/* What users see of a batch is what protobuf-c makes of it. */
static void require_same_events(const Vamp__Wire__EventBatch *batch,
                                const struct event_block *block)
{
    uint64_t known = 0;
    mstro_pool_event event = block->head;
    require(block->subscription == batch->subscription && block->lost == batch->lost);
    if (batch->lost > 0) {
        require(event->kind == MSTRO_POOL_EVENT_LOST && event->payload.lost.count == batch->lost);
        event = event->next;
    }
    for (size_t i = 0; i < batch->n_events; i++) {
        if (vamp_event_kind_is_known(batch->events[i]->kind)) {
            require(event != NULL && event_block_of(event) == block);
            require_same_event(batch->events[i], event);
            require((event == block->tail) == (event->next == NULL));
            event = event->next;
            known++;
        }
    }
    require(event == NULL && block->events == known);
}

static void try_batch(const struct frame *frame)
{
    struct vamp_event_batch packed;
    struct event_block *block = NULL;
    Vamp__Wire__EventBatch *batch =
        vamp__wire__event_batch__unpack(NULL, frame->body_length, frame->body);
    const int opened = vamp_event_batch_open(frame->body, frame->body_length, &packed, NULL);
    require(opened == 0 || batch == NULL);
    if (opened == 0 && packed.events <= EVENTS_MAX) {
        require((event_block_create(&packed, false, &block, NULL) == 0) == (batch != NULL));
    } else if (opened == 0) {
        require(event_block_create(&packed, false, &block, NULL) == -EBADMSG);
    }
    if (batch != NULL) {
        if (block != NULL) {
            require_same_events(batch, block);
        }
        require(packed.events == batch->n_events && packed.lost == batch->lost);
        for (size_t i = 0; i < batch->n_events; i++) {
            try_event(batch->events[i]);
        }
        vamp__wire__event_batch__free_unpacked(batch, NULL);
    }
    event_block_free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame frame = {0};
    struct vamp_err err = VAMP_ERR_NONE;
    if (arena.memory == NULL) {
        require(vamp_decode_arena_init(&arena, FRAME_ARENA_BYTES, &err) == 0);
    }
    int result = frame_parse(data, size, &frame, &err);
    require(result == 0 || err.text[0] != '\0');
    if (result != -EBADMSG) {
        require(frame.body >= data && frame.body + frame.body_length <= data + size);
    }
    compare_with_library(data, size, result, &frame);
    if (result != 0) {
        return 0;
    }
    if (frame.kind == FRAME_EVENTS) {
        try_batch(&frame);
        return 0;
    }
    Mstro__Wire__Envelope *envelope = mstro__wire__envelope__unpack(NULL, size, data);
    const ProtobufCMessage *body = frame_unpack(&frame, &arena, &err);
    require(body != NULL || err.text[0] != '\0');
    if (body != NULL && envelope != NULL) {
        pack_again(&frame, (ProtobufCMessage *)envelope->join); /* of the same union */
    }
    if (envelope != NULL) {
        mstro__wire__envelope__free_unpacked(envelope, NULL);
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    struct dice dice = {.state = seed * 2654435761U | 1U};
    return mutate_packed(&mstro__wire__envelope__descriptor, data, size, max, &dice);
}
