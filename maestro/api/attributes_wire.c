/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts attributes to messages and back. Pointers are not sent, since addresses mean nothing to
 * other processes; name and size have fields of their own. */
#include <stdlib.h>
#include <string.h>

#include "maestro/api/internal.h"

/* One attribute in the block that is sent. */
struct slot {
    Mstro__Wire__Attribute item;
    Mstro__Wire__Timestamp timestamp;
};

static bool travels(const struct attribute *attribute)
{
    return attribute->type != MSTRO_CDO_ATTR_VALUE_pointer &&
           strcmp(attribute->key, MSTRO_ATTR_CORE_CDO_NAME) != 0 &&
           strcmp(attribute->key, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE) != 0;
}

static void set_integer(Mstro__Wire__Attribute *item, int64_t value)
{
    item->value_case = MSTRO__WIRE__ATTRIBUTE__VALUE_INTEGER;
    item->integer = value;
}

static void set_natural(Mstro__Wire__Attribute *item, uint64_t value)
{
    item->value_case = MSTRO__WIRE__ATTRIBUTE__VALUE_NATURAL;
    item->natural = value;
}

static void set_real(Mstro__Wire__Attribute *item, double value)
{
    item->value_case = MSTRO__WIRE__ATTRIBUTE__VALUE_REAL;
    item->real = value;
}

/* protobuf-c has no const texts; packing does not write to them. */
static char *lend(const char *text)
{
    union {
        const char *ours;
        char *theirs;
    } pointer = {.ours = text};
    return pointer.theirs;
}

static void set_timestamp(struct slot *slot, const mstro_timestamp *value)
{
    mstro__wire__timestamp__init(&slot->timestamp);
    slot->timestamp.sec = value->sec;
    slot->timestamp.nsec = value->nsec;
    slot->timestamp.has_offset = value->offset != 0;
    slot->timestamp.offset = value->offset;
    slot->item.value_case = MSTRO__WIRE__ATTRIBUTE__VALUE_TIMESTAMP;
    slot->item.timestamp = &slot->timestamp;
}

static void fill(struct slot *slot, const struct attribute *attribute)
{
    Mstro__Wire__Attribute *item = &slot->item;
    const void *value = attribute->value;
    mstro__wire__attribute__init(item);
    item->key = lend(attribute->key);
    item->has_type = true;
    item->type = (uint32_t)attribute->type;
    switch (attribute->type) {
    case MSTRO_CDO_ATTR_VALUE_bool:
        item->value_case = MSTRO__WIRE__ATTRIBUTE__VALUE_BOOLEAN;
        item->boolean = *(const bool *)value;
        return;
    case MSTRO_CDO_ATTR_VALUE_int32:
        set_integer(item, *(const int32_t *)value);
        return;
    case MSTRO_CDO_ATTR_VALUE_int64:
        set_integer(item, *(const int64_t *)value);
        return;
    case MSTRO_CDO_ATTR_VALUE_uint32:
        set_natural(item, *(const uint32_t *)value);
        return;
    case MSTRO_CDO_ATTR_VALUE_uint64:
        set_natural(item, *(const uint64_t *)value);
        return;
    case MSTRO_CDO_ATTR_VALUE_float:
        set_real(item, (double)*(const float *)value);
        return;
    case MSTRO_CDO_ATTR_VALUE_double:
        set_real(item, *(const double *)value);
        return;
    case MSTRO_CDO_ATTR_VALUE_cstring:
        item->value_case = MSTRO__WIRE__ATTRIBUTE__VALUE_TEXT;
        item->text = lend(attribute->own.text);
        return;
    case MSTRO_CDO_ATTR_VALUE_timestamp:
        set_timestamp(slot, value);
        return;
    case MSTRO_CDO_ATTR_VALUE_pointer:
    case MSTRO_CDO_ATTR_VALUE_INVALID:
    case MSTRO_CDO_ATTR_VALUE__MAX:
        return;
    }
}

Mstro__Wire__Attribute **attributes_to_wire(const struct mstro_cdo_ *cdo, size_t *ret_count)
{
    size_t count = 0;
    for (const struct attribute *at = cdo->attributes; at != NULL; at = at->next) {
        count += travels(at);
    }
    Mstro__Wire__Attribute **items =
        malloc((count + 1) * sizeof(Mstro__Wire__Attribute *) + count * sizeof(struct slot));
    if (items == NULL) {
        return NULL;
    }
    struct slot *slot = (struct slot *)(void *)(items + count + 1);
    *ret_count = 0;
    for (const struct attribute *at = cdo->attributes; at != NULL; at = at->next) {
        if (travels(at)) {
            fill(slot, at);
            items[(*ret_count)++] = &slot++->item;
        }
    }
    return items;
}

/* ------------------------------------------------------------------ and back */

static enum mstro_cdo_attr_value_type integer_of(const Mstro__Wire__Attribute *item,
                                                 union attribute_value *value)
{
    if (item->type == MSTRO_CDO_ATTR_VALUE_int32 && item->integer >= INT32_MIN &&
        item->integer <= INT32_MAX) {
        value->int32 = (int32_t)item->integer;
        return MSTRO_CDO_ATTR_VALUE_int32;
    }
    value->int64 = item->integer;
    return MSTRO_CDO_ATTR_VALUE_int64;
}

static enum mstro_cdo_attr_value_type natural_of(const Mstro__Wire__Attribute *item,
                                                 union attribute_value *value)
{
    if (item->type == MSTRO_CDO_ATTR_VALUE_uint32 && item->natural <= UINT32_MAX) {
        value->uint32 = (uint32_t)item->natural;
        return MSTRO_CDO_ATTR_VALUE_uint32;
    }
    value->uint64 = item->natural;
    return MSTRO_CDO_ATTR_VALUE_uint64;
}

static enum mstro_cdo_attr_value_type real_of(const Mstro__Wire__Attribute *item,
                                              union attribute_value *value)
{
    if (item->type == MSTRO_CDO_ATTR_VALUE_float) {
        value->real32 = (float)item->real;
        return MSTRO_CDO_ATTR_VALUE_float;
    }
    value->real64 = item->real;
    return MSTRO_CDO_ATTR_VALUE_double;
}

static enum mstro_cdo_attr_value_type value_of(const Mstro__Wire__Attribute *item,
                                               union attribute_value *value)
{
    switch (item->value_case) {
    case MSTRO__WIRE__ATTRIBUTE__VALUE_BOOLEAN:
        value->boolean = item->boolean;
        return MSTRO_CDO_ATTR_VALUE_bool;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_INTEGER:
        return integer_of(item, value);
    case MSTRO__WIRE__ATTRIBUTE__VALUE_NATURAL:
        return natural_of(item, value);
    case MSTRO__WIRE__ATTRIBUTE__VALUE_REAL:
        return real_of(item, value);
    case MSTRO__WIRE__ATTRIBUTE__VALUE_TEXT:
        value->text = item->text;
        return MSTRO_CDO_ATTR_VALUE_cstring;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_TIMESTAMP:
        value->timestamp = (mstro_timestamp){.sec = item->timestamp->sec,
                                             .nsec = item->timestamp->nsec,
                                             .offset = item->timestamp->offset};
        return MSTRO_CDO_ATTR_VALUE_timestamp;
    case MSTRO__WIRE__ATTRIBUTE__VALUE__NOT_SET:
    case _MSTRO__WIRE__ATTRIBUTE__VALUE__CASE_IS_INT_SIZE:
        break;
    }
    return MSTRO_CDO_ATTR_VALUE_INVALID;
}

mstro_status attributes_from_wire(struct mstro_cdo_ *cdo, Mstro__Wire__Attribute *const *items,
                                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        union attribute_value value;
        enum mstro_cdo_attr_value_type type = value_of(items[i], &value);
        if (type == MSTRO_CDO_ATTR_VALUE_INVALID) {
            continue; /* of a newer sender */
        }
        mstro_status status = attribute_put(cdo, items[i]->key, type, &value, true, false);
        if (status != MSTRO_OK) {
            return status;
        }
    }
    return MSTRO_OK;
}
