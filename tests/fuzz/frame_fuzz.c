/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target of single messages: framing, bodies, batches and events. The envelope is read by hand
 * in maestro/wire/frame.c; protobuf-c's reading of the same bytes is what it is compared with. What
 * is understood has to survive being packed and read again.
 */
#include <stdlib.h>
#include <string.h>

#include "maestro/api/event_block.h"
#include "maestro/wire/frame.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/require.h"
#include "vampire/core/event_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

static struct vamp_decode_arena arena;

static bool same_frame(const struct frame *a, const struct frame *b)
{
    return a->session == b->session && a->sequence == b->sequence &&
           a->events_taken == b->events_taken && a->kind == b->kind;
}

/* protobuf-c may refuse more than frame_parse (it reads the body as well), never less. */
static void compare_with_library(const uint8_t *data, size_t size, int result,
                                 const struct frame *frame)
{
    Mstro__Wire__Envelope *envelope = mstro__wire__envelope__unpack(NULL, size, data);
    if (envelope != NULL && envelope->version == FRAME_VERSION && result == 0) {
        require(envelope->session == frame->session && envelope->sequence == frame->sequence);
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
    if (vamp_event_from_message(message, &event, NULL) != 0) {
        return;
    }
    size_t length = vamp_event_pack(&event, packed, sizeof packed);
    require(length > 0);
    require(vamp_event_unpack(&arena, packed, length, &again, NULL) == 0);
    require(again.kind == event.kind && again.present == event.present);
    require(again.serial == event.serial && again.app_id == event.app_id);
    require(again.size_bytes == event.size_bytes && again.name_length == event.name_length);
    require(event.name_length == 0 || memcmp(again.name, event.name, event.name_length) == 0);
}

static bool same_name(const struct mstro_pool_event_ *left, const struct mstro_pool_event_ *right)
{
    /* Every member of the payload that has a name has it at the same place. */
    const char *name = left->payload.declare.cdo_name;
    const char *other = right->payload.declare.cdo_name;
    return (name == NULL) == (other == NULL) && left->name_length == right->name_length &&
           (name == NULL || memcmp(name, other, left->name_length + (size_t)1) == 0);
}

static void require_same_event(const struct mstro_pool_event_ *left,
                               const struct mstro_pool_event_ *right)
{
    require(left->kind == right->kind && left->serial == right->serial);
    if (left->kind == MSTRO_POOL_EVENT_LOST) {
        require(left->payload.lost.count == right->payload.lost.count);
        return;
    }
    require(left->payload.leave.appid == right->payload.leave.appid && same_name(left, right));
    require(left->present == right->present && left->reason == right->reason);
    require(left->time_ns == right->time_ns && left->cdo_size == right->cdo_size);
    require(left->peer_appid == right->peer_appid);
    require(left->transport_id == right->transport_id && left->duration_ns == right->duration_ns);
    require((left->present & MSTRO_POOL_EVENT_HAS_CDO_ID) == 0 ||
            memcmp(left->cdo_id, right->cdo_id, sizeof left->cdo_id) == 0);
    require(left->tier == right->tier && left->cause == right->cause);
    require(left->before == right->before);
}

/* What is read straight from the wire is what protobuf-c makes of it. */
static void compare_blocks(const struct frame *frame, const struct frame_batch *batch)
{
    struct event_block *read = event_block_read(frame->body, frame->body_length);
    require(read == NULL || batch != NULL);
    if (read == NULL) {
        return;
    }
    struct event_block *made = event_block_create(batch->batch);
    require(made != NULL && read->subscription == made->subscription);
    require(read->events == made->events && read->lost == made->lost);
    mstro_pool_event right = made->head;
    for (mstro_pool_event left = read->head; left != NULL; left = left->next) {
        require(right != NULL && event_block_of(left) == read);
        require_same_event(left, right);
        require((left == read->tail) == (left->next == NULL));
        right = right->next;
    }
    require(right == NULL);
    event_block_free(made);
    event_block_free(read);
}

static void try_batch(const struct frame *frame)
{
    struct frame_batch batch;
    uint64_t events = 0;
    uint64_t lost = 0;
    bool counted = frame_count_events(frame->body, frame->body_length, &events, &lost);
    if (frame_batch(frame, &batch, NULL) == 0) {
        require(counted && batch.batch->n_events == events && batch.batch->lost == lost);
        for (size_t i = 0; i < batch.batch->n_events; i++) {
            try_event(batch.batch->events[i]);
        }
        compare_blocks(frame, &batch);
        frame_batch_free(&batch);
    } else {
        compare_blocks(frame, NULL);
    }
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
