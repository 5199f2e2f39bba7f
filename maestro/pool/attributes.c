/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "maestro/pool/internal.h"

/* Copies a text to the end of the block, behind the items. */
static char *put_text(char **at, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = *at;
    memcpy(copy, text, bytes);
    *at += bytes;
    return copy;
}

static size_t text_bytes(const Mstro__Wire__Attribute *item)
{
    size_t bytes = strlen(item->key) + 1;
    if (item->value_case == MSTRO__WIRE__ATTRIBUTE__VALUE_TEXT) {
        bytes += strlen(item->text) + 1;
    }
    return bytes;
}

/* Layout of the block: one slot per item, with space for its timestamp. */
struct slot {
    Mstro__Wire__Attribute item;
    Mstro__Wire__Timestamp timestamp;
};

size_t pool_attributes_copy_bytes(Mstro__Wire__Attribute *const *items, size_t count)
{
    size_t bytes = sizeof(struct pool_attributes) +
                   count * (sizeof(struct slot) + sizeof(Mstro__Wire__Attribute *));
    for (size_t i = 0; i < count; i++) {
        bytes += text_bytes(items[i]);
    }
    return bytes;
}

struct pool_attributes *pool_attributes_copy(struct pool_memory *memory,
                                             Mstro__Wire__Attribute *const *items, size_t count)
{
    struct pool_attributes *copy =
        pool_memory_take(memory, POOL_MEMORY_OBJECTS, pool_attributes_copy_bytes(items, count));
    if (copy == NULL) {
        return NULL;
    }
    struct slot *slots = (struct slot *)(void *)(copy + 1);
    *copy = (struct pool_attributes){
        .references = 1,
        .count = count,
        .items = (Mstro__Wire__Attribute **)(void *)(slots + count),
    };
    char *at = (char *)(copy->items + count);
    for (size_t i = 0; i < count; i++) {
        Mstro__Wire__Attribute *item = &slots[i].item;
        *item = *items[i];
        item->base.n_unknown_fields = 0;
        item->base.unknown_fields = NULL;
        item->key = put_text(&at, items[i]->key);
        if (item->value_case == MSTRO__WIRE__ATTRIBUTE__VALUE_TEXT) {
            item->text = put_text(&at, items[i]->text);
        } else if (item->value_case == MSTRO__WIRE__ATTRIBUTE__VALUE_TIMESTAMP) {
            slots[i].timestamp = *items[i]->timestamp;
            slots[i].timestamp.base.n_unknown_fields = 0;
            slots[i].timestamp.base.unknown_fields = NULL;
            item->timestamp = &slots[i].timestamp;
        }
        copy->items[i] = item;
    }
    return copy;
}

void pool_attributes_release(struct pool_memory *memory, struct pool_attributes *attributes)
{
    if (attributes != NULL && --attributes->references == 0) {
        pool_memory_give(memory, POOL_MEMORY_OBJECTS, attributes);
    }
}

size_t pool_attributes_bytes(Mstro__Wire__Attribute *const *items, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += mstro__wire__attribute__get_packed_size(items[i]) + 4;
    }
    return bytes;
}

/* Timestamps become nanoseconds since 1970, like times in selectors. */
static void item_value(const Mstro__Wire__Attribute *item, struct vamp_value *ret)
{
    int64_t ns;
    switch (item->value_case) {
    case MSTRO__WIRE__ATTRIBUTE__VALUE_BOOLEAN:
        *ret = (struct vamp_value){.type = VAMP_VALUE_BOOL, .boolean = item->boolean};
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_INTEGER:
        *ret = (struct vamp_value){.type = VAMP_VALUE_INT, .integer = item->integer};
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_NATURAL:
        *ret = vamp_value_natural(item->natural);
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_REAL:
        *ret = (struct vamp_value){.type = VAMP_VALUE_DOUBLE, .real = item->real};
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_TEXT:
        *ret = (struct vamp_value){.type = VAMP_VALUE_TEXT,
                                   .text = {.bytes = item->text, .length = strlen(item->text)}};
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_TIMESTAMP:
        if (!__builtin_mul_overflow(item->timestamp->sec, VAMP_NS_PER_SECOND, &ns) &&
            !__builtin_add_overflow(ns, item->timestamp->nsec, &ns)) {
            *ret = (struct vamp_value){.type = VAMP_VALUE_INT, .integer = ns};
        }
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE__NOT_SET:
    case _MSTRO__WIRE__ATTRIBUTE__VALUE__CASE_IS_INT_SIZE:
        return;
    }
}

void pool_attributes_lookup(const struct pool_attributes *attributes, const char *key,
                            struct vamp_value *ret)
{
    *ret = (struct vamp_value){.type = VAMP_VALUE_ABSENT};
    for (size_t i = 0; attributes != NULL && i < attributes->count; i++) {
        if (strcmp(attributes->items[i]->key, key) == 0) {
            item_value(attributes->items[i], ret);
            return;
        }
    }
}
