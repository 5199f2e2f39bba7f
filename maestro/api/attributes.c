/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "maestro/api/internal.h"

static const size_t value_bytes[MSTRO_CDO_ATTR_VALUE__MAX] = {
    [MSTRO_CDO_ATTR_VALUE_bool] = sizeof(bool),
    [MSTRO_CDO_ATTR_VALUE_int32] = sizeof(int32_t),
    [MSTRO_CDO_ATTR_VALUE_int64] = sizeof(int64_t),
    [MSTRO_CDO_ATTR_VALUE_uint32] = sizeof(uint32_t),
    [MSTRO_CDO_ATTR_VALUE_uint64] = sizeof(uint64_t),
    [MSTRO_CDO_ATTR_VALUE_float] = sizeof(float),
    [MSTRO_CDO_ATTR_VALUE_double] = sizeof(double),
    [MSTRO_CDO_ATTR_VALUE_timestamp] = sizeof(mstro_timestamp),
};

struct attribute *attribute_find(const struct mstro_cdo_ *cdo, const char *key)
{
    struct attribute *attribute = cdo->attributes;
    while (attribute != NULL && strcmp(attribute->key, key) != 0) {
        attribute = attribute->next;
    }
    return attribute;
}

static void free_attribute(struct attribute *attribute)
{
    free(attribute->owned);
    free(attribute);
}

void attributes_free(struct mstro_cdo_ *cdo)
{
    while (cdo->attributes != NULL) {
        struct attribute *attribute = cdo->attributes;
        cdo->attributes = attribute->next;
        free_attribute(attribute);
    }
}

/* Replaces one with the same key, else appends: attributes are sent in the order of setting. */
static void insert(struct mstro_cdo_ *cdo, struct attribute *attribute)
{
    struct attribute **at = &cdo->attributes;
    while (*at != NULL && strcmp((*at)->key, attribute->key) != 0) {
        at = &(*at)->next;
    }
    struct attribute *old = *at;
    attribute->next = old == NULL ? NULL : old->next;
    *at = attribute;
    if (old != NULL) {
        free_attribute(old);
    }
}

/* Memory that the library frees although it was passed as const. */
static void *disown(const void *memory)
{
    union {
        const void *lent;
        void *taken;
    } pointer = {.lent = memory};
    return pointer.taken;
}

static mstro_status set_text(struct attribute *attribute, const char *text, bool copy,
                             bool user_owned)
{
    if (text == NULL) {
        return api_fail(MSTRO_NOMATCH, "mstro_cdo_attribute_set: \"%s\" needs a text, not NULL",
                        attribute->key);
    }
    attribute->own.text = text;
    attribute->value = &attribute->own.text;
    if (copy) {
        attribute->owned = strdup(text);
        attribute->own.text = attribute->owned;
        return attribute->owned == NULL
                   ? api_fail(MSTRO_NOMEM, "mstro_cdo_attribute_set: no memory")
                   : MSTRO_OK;
    }
    attribute->owned = user_owned ? NULL : disown(text);
    return MSTRO_OK;
}

static void set_scalar(struct attribute *attribute, const void *value, bool copy, bool user_owned)
{
    if (copy) {
        memcpy(&attribute->own, value, value_bytes[attribute->type]);
        attribute->value = &attribute->own;
    } else {
        attribute->value = value;
        attribute->owned = user_owned ? NULL : disown(value);
    }
}

/* For a pointer, `copy` means the data it points to; the caller copies them. */
static void set_pointer(struct attribute *attribute, const void *value, bool copy, bool user_owned)
{
    attribute->own.pointer = disown(value);
    attribute->value = &attribute->own.pointer;
    attribute->owned = copy || user_owned ? NULL : disown(value);
}

mstro_status attribute_put(struct mstro_cdo_ *cdo, const char *key,
                           enum mstro_cdo_attr_value_type type, const void *value, bool copy,
                           bool user_owned)
{
    if (value == NULL && type != MSTRO_CDO_ATTR_VALUE_pointer) {
        return api_fail(MSTRO_INVARG, "mstro_cdo_attribute_set: no value for \"%.200s\"", key);
    }
    size_t key_bytes = strlen(key) + 1;
    struct attribute *attribute = calloc(1, sizeof *attribute + key_bytes);
    if (attribute == NULL) {
        return api_fail(MSTRO_NOMEM, "mstro_cdo_attribute_set: no memory");
    }
    memcpy(attribute->key, key, key_bytes);
    attribute->type = type;
    mstro_status status = MSTRO_OK;
    if (type == MSTRO_CDO_ATTR_VALUE_cstring) {
        status = set_text(attribute, *(const char *const *)value, copy, user_owned);
    } else if (type == MSTRO_CDO_ATTR_VALUE_pointer) {
        set_pointer(attribute, value, copy, user_owned);
    } else {
        set_scalar(attribute, value, copy, user_owned);
    }
    if (status != MSTRO_OK) {
        free_attribute(attribute);
        return status;
    }
    insert(cdo, attribute);
    return MSTRO_OK;
}

/* A text for a MARS keyword of another type is converted; others have their schema's type. */
static mstro_status put_known(struct mstro_cdo_ *cdo, const struct schema_attribute *known,
                              const void *value, bool copy, bool user_owned)
{
    char text[ATTRIBUTE_TEXT_BYTES];
    if (!known->built_in_mars || known->type == MSTRO_CDO_ATTR_VALUE_cstring || value == NULL ||
        !attribute_text_of(value, text)) {
        return attribute_put(cdo, known->key, known->type, value, copy, user_owned);
    }
    union attribute_value converted;
    mstro_status status = attribute_convert(known->key, known->type, text, &converted);
    if (status == MSTRO_OK) {
        status = attribute_put(cdo, known->key, known->type, &converted, true, false);
    }
    if (status == MSTRO_OK && !copy && !user_owned) {
        free(disown(*(const char *const *)value));
    }
    return status;
}

/* ------------------------------------------------------------------ public */

mstro_status mstro_cdo_attribute_set(mstro_cdo cdo, const char *key, void *value, bool copy,
                                     bool user_owned)
{
    if (cdo == NULL || key == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_cdo_attribute_set: no CDO, or no key");
    }
    mstro_status status = api_enter_for("mstro_cdo_attribute_set", cdo->generation);
    if (status != MSTRO_OK) {
        return status;
    }
    const struct schema_attribute *known = schema_find(library.schemas, key);
    bool is_raw_ptr = strcmp(key, MSTRO_ATTR_CORE_CDO_RAW_PTR) == 0;
    if (known == NULL && library.drop_unknown) {
        status = MSTRO_OK;
    } else if (known == NULL) {
        status = api_fail(MSTRO_NOENT,
                          "mstro_cdo_attribute_set: no schema has the key \"%.200s\"; name its "
                          "schema in " MSTRO_ENV_SCHEMA_LIST
                          ", or set " MSTRO_ENV_DROP_UNKNOWN_ATTRIBUTES "=1",
                          key);
    } else if (cdo->sealed) {
        status = api_fail(MSTRO_INVSTATE,
                          "mstro_cdo_attribute_set: \"%.200s\" is sealed; attributes are set "
                          "before",
                          cdo->name);
    } else if (strcmp(key, MSTRO_ATTR_CORE_CDO_NAME) == 0) {
        status = api_fail(MSTRO_INVARG, "mstro_cdo_attribute_set: a CDO has the name it was "
                                        "declared with");
    } else {
        status = put_known(cdo, known, value, copy, user_owned);
        if (status == MSTRO_OK && is_raw_ptr) {
            cdo->copy_wanted = copy;
        }
    }
    api_leave();
    return status;
}

mstro_status mstro_cdo_attribute_get(mstro_cdo cdo, const char *key,
                                     enum mstro_cdo_attr_value_type *type, const void **value)
{
    if (cdo == NULL || key == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_cdo_attribute_get: no CDO, or no key");
    }
    const struct attribute *attribute = attribute_find(cdo, key);
    if (attribute == NULL) {
        return api_fail(MSTRO_NOENT,
                        "mstro_cdo_attribute_get: \"%.200s\" is not set; an attribute that no "
                        "schema has is dropped with " MSTRO_ENV_DROP_UNKNOWN_ATTRIBUTES "=1",
                        key);
    }
    if (type != NULL) {
        *type = attribute->type;
    }
    if (value != NULL) {
        *value = attribute->value;
    }
    return MSTRO_OK;
}
