/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mutation that knows the format: a Protocol Buffers message is unpacked, one of its fields is
 * changed, set, dropped or repeated, and it is packed again. What comes out is well-formed on the
 * outside, so it reaches the code behind the parser; libFuzzer's own mutation does the rest.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

struct dice {
    uint32_t state; /* not 0 */
};

static inline uint32_t dice_roll(struct dice *dice, uint32_t sides)
{
    dice->state ^= dice->state << 13;
    dice->state ^= dice->state >> 17;
    dice->state ^= dice->state << 5;
    return dice->state % sides;
}

static inline uint64_t dice_number(struct dice *dice)
{
    static const uint64_t edges[] = {0,       1,          2,          16,
                                     127,     128,        255,        4096,
                                     16384,   UINT16_MAX, INT32_MAX,  UINT64_C(1) << 31,
                                     1 << 20, UINT32_MAX, INT64_MAX,  UINT64_C(1) << 63,
                                     3,       4,          UINT64_MAX, UINT64_MAX - 1};
    uint64_t low = dice_roll(dice, UINT32_MAX);
    switch (dice_roll(dice, 3)) {
    case 0:
        return edges[dice_roll(dice, sizeof edges / sizeof edges[0])];
    case 1:
        return low % 24;
    default:
        return (uint64_t)dice_roll(dice, UINT32_MAX) << 32 | low;
    }
}

enum { MUTATE_TEXT_MAX = 8192 };

/* A changed copy, terminated; at most MUTATE_TEXT_MAX bytes. */
static inline uint8_t *mutate_bytes(const uint8_t *bytes, size_t length, size_t *ret_length)
{
    uint8_t *copy = calloc(MUTATE_TEXT_MAX + 1, 1);
    if (copy == NULL) {
        abort();
    }
    length = length < MUTATE_TEXT_MAX ? length : MUTATE_TEXT_MAX;
    if (length > 0) {
        memcpy(copy, bytes, length);
    }
    *ret_length = LLVMFuzzerMutate(copy, length, MUTATE_TEXT_MAX);
    memset(copy + *ret_length, 0, MUTATE_TEXT_MAX + 1 - *ret_length);
    return copy;
}

static inline size_t mutate_size_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_ENUM:
        return 4;
    }
    return 0;
}

static inline void mutate_message(ProtobufCMessage *message, struct dice *dice);

/* Changes the value at `member`; an absent sub-message comes to be. */
static inline void mutate_value(const ProtobufCFieldDescriptor *field, void *member,
                                struct dice *dice)
{
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        const ProtobufCMessageDescriptor *descriptor = field->descriptor;
        ProtobufCMessage **inner = member;
        if (*inner == NULL) {
            *inner = calloc(1, descriptor->sizeof_message);
            if (*inner == NULL) {
                abort();
            }
            protobuf_c_message_init(descriptor, *inner);
        }
        mutate_message(*inner, dice);
    } else if (field->type == PROTOBUF_C_TYPE_STRING) {
        char **text = member;
        size_t length = *text != NULL ? strlen(*text) : 0;
        uint8_t *changed = mutate_bytes((const uint8_t *)*text, length, &length);
        if (*text != field->default_value) { /* an empty text of proto3 is a constant */
            free(*text);
        }
        *text = (char *)changed;
    } else if (field->type == PROTOBUF_C_TYPE_BYTES) {
        ProtobufCBinaryData *bytes = member;
        uint8_t *changed = mutate_bytes(bytes->data, bytes->len, &bytes->len);
        free(bytes->data);
        bytes->data = changed;
    } else {
        uint64_t number;
        memcpy(&number, &(uint64_t){0}, sizeof number);
        memcpy(&number, member, mutate_size_of(field->type));
        number = dice_roll(dice, 3) == 0 ? number + (dice_roll(dice, 2) != 0 ? 1 : UINT64_MAX)
                                         : dice_number(dice);
        number = field->type == PROTOBUF_C_TYPE_BOOL ? number & 1 : number;
        memcpy(member, &number, mutate_size_of(field->type));
    }
}

static inline void mutate_forget(const ProtobufCFieldDescriptor *field, void *member)
{
    void **pointer = member;
    if (field->type == PROTOBUF_C_TYPE_MESSAGE && *pointer != NULL) {
        protobuf_c_message_free_unpacked(*pointer, NULL);
    } else if (field->type == PROTOBUF_C_TYPE_STRING) {
        free(*pointer);
    } else if (field->type == PROTOBUF_C_TYPE_BYTES) {
        free(((ProtobufCBinaryData *)member)->data);
    }
    memset(member, 0, mutate_size_of(field->type));
}

/* Of a repeated field: one element more, one less, or one changed. Messages and plain numbers. */
static inline void mutate_repeated(const ProtobufCFieldDescriptor *field, void *base, size_t *count,
                                   struct dice *dice)
{
    uint8_t **array = (void *)((uint8_t *)base + field->offset);
    size_t size = mutate_size_of(field->type);
    uint32_t way = dice_roll(dice, 4);
    if (way == 0 && *count > 0) {
        (*count)--;
        mutate_forget(field, *array + *count * size);
    } else if (way == 1 || *count == 0) {
        size_t more = dice_roll(dice, 8) == 0 ? 64 : 1;
        uint8_t *larger = realloc(*array, (*count + more) * size);
        if (larger == NULL) {
            abort();
        }
        *array = larger;
        memset(*array + *count * size, 0, more * size);
        while (more-- > 0) {
            mutate_value(field, *array + *count * size, dice);
            (*count)++;
        }
    } else {
        mutate_value(field, *array + dice_roll(dice, (uint32_t)*count) * size, dice);
    }
}

static inline void mutate_oneof(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                                struct dice *dice)
{
    uint8_t *base = (uint8_t *)message;
    uint32_t *chosen = (void *)(base + field->quantifier_offset);
    const ProtobufCFieldDescriptor *now =
        protobuf_c_message_descriptor_get_field(message->descriptor, *chosen);
    if (*chosen != field->id) {
        if (now != NULL) {
            mutate_forget(now, base + now->offset);
        }
        *chosen = field->id;
        memset(base + field->offset, 0, mutate_size_of(field->type));
    }
    mutate_value(field, base + field->offset, dice);
}

static inline void mutate_message(ProtobufCMessage *message, struct dice *dice)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    if (descriptor->n_fields == 0) {
        return;
    }
    const ProtobufCFieldDescriptor *field =
        &descriptor->fields[dice_roll(dice, descriptor->n_fields)];
    uint8_t *base = (uint8_t *)message;
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
        const uint32_t *chosen = (void *)(base + field->quantifier_offset);
        const ProtobufCFieldDescriptor *now =
            protobuf_c_message_descriptor_get_field(descriptor, *chosen);
        /* mostly what is there already */
        mutate_oneof(message, now != NULL && dice_roll(dice, 4) != 0 ? now : field, dice);
    } else if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        mutate_repeated(field, base, (void *)(base + field->quantifier_offset), dice);
    } else if (field->label == PROTOBUF_C_LABEL_OPTIONAL && dice_roll(dice, 4) == 0) {
        mutate_forget(field, base + field->offset);
        if (field->quantifier_offset != 0) {
            *(protobuf_c_boolean *)(void *)(base + field->quantifier_offset) = 0;
        }
    } else {
        if (field->label == PROTOBUF_C_LABEL_OPTIONAL && field->quantifier_offset != 0) {
            *(protobuf_c_boolean *)(void *)(base + field->quantifier_offset) = 1;
        }
        mutate_value(field, base + field->offset, dice);
    }
}

/* Changes a packed message in its place of `size` bytes; what is no message is changed as bytes.
 * Returns its new length. */
static inline size_t mutate_packed(const ProtobufCMessageDescriptor *descriptor, uint8_t *bytes,
                                   size_t length, size_t size, struct dice *dice)
{
    ProtobufCMessage *message =
        dice_roll(dice, 8) == 0 ? NULL : protobuf_c_message_unpack(descriptor, NULL, length, bytes);
    if (message == NULL) {
        return LLVMFuzzerMutate(bytes, length, size);
    }
    for (uint32_t changes = 1 + dice_roll(dice, 3); changes > 0; changes--) {
        mutate_message(message, dice);
    }
    size_t packed = protobuf_c_message_get_packed_size(message);
    if (packed <= size) {
        length = protobuf_c_message_pack(message, bytes);
    }
    protobuf_c_message_free_unpacked(message, NULL);
    return length;
}
