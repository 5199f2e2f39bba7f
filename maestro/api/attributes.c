/* SPDX-License-Identifier: BSD-3-Clause */
/* CDO attributes: setting, conversion, printing, and the wire format. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "maestro/api/internal.h"

/* The size in memory and the wire type of each attribute type. */
static const struct value_type {
    size_t bytes;
    Mstro__Wire__Attribute__ValueCase wire;
} value_types[MSTRO_CDO_ATTR_VALUE__MAX] = {
    [MSTRO_CDO_ATTR_VALUE_bool] = {sizeof(bool), MSTRO__WIRE__ATTRIBUTE__VALUE_BOOLEAN},
    [MSTRO_CDO_ATTR_VALUE_int32] = {sizeof(int32_t), MSTRO__WIRE__ATTRIBUTE__VALUE_INTEGER},
    [MSTRO_CDO_ATTR_VALUE_int64] = {sizeof(int64_t), MSTRO__WIRE__ATTRIBUTE__VALUE_INTEGER},
    [MSTRO_CDO_ATTR_VALUE_uint32] = {sizeof(uint32_t), MSTRO__WIRE__ATTRIBUTE__VALUE_NATURAL},
    [MSTRO_CDO_ATTR_VALUE_uint64] = {sizeof(uint64_t), MSTRO__WIRE__ATTRIBUTE__VALUE_NATURAL},
    [MSTRO_CDO_ATTR_VALUE_float] = {sizeof(float), MSTRO__WIRE__ATTRIBUTE__VALUE_REAL},
    [MSTRO_CDO_ATTR_VALUE_double] = {sizeof(double), MSTRO__WIRE__ATTRIBUTE__VALUE_REAL},
    [MSTRO_CDO_ATTR_VALUE_cstring] = {sizeof(char *), MSTRO__WIRE__ATTRIBUTE__VALUE_TEXT},
    [MSTRO_CDO_ATTR_VALUE_timestamp] = {sizeof(mstro_timestamp),
                                        MSTRO__WIRE__ATTRIBUTE__VALUE_TIMESTAMP},
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

/* Replaces the attribute with the same key, or appends it: attributes are sent in the order in
 * which they were set. */
static void insert(struct mstro_cdo_ *cdo, struct attribute *attribute)
{
    struct attribute **at = &cdo->attributes;
    while (*at != NULL && strcmp((*at)->key, attribute->key) != 0) {
        at = &(*at)->next;
    }
    struct attribute *old = *at;
    if (old != NULL) {
        attribute->next = old->next;
        free_attribute(old);
    }
    *at = attribute;
}

/* Casts away const from memory that the library frees although it was passed as const, or that
 * protobuf-c only reads, whose structures lack const. */
static void *disown(const void *memory)
{
    return (void *)(uintptr_t)memory;
}

mstro_status attribute_put(struct mstro_cdo_ *cdo, const char *key,
                           enum mstro_cdo_attr_value_type type, const void *value, bool copy,
                           bool user_owned)
{
    const bool is_text = type == MSTRO_CDO_ATTR_VALUE_cstring;
    const bool is_pointer = type == MSTRO_CDO_ATTR_VALUE_pointer;
    if (value == NULL && !is_pointer) {
        return api_fail(MSTRO_INVARG, "mstro_cdo_attribute_set: no value for \"%.200s\"", key);
    }
    const void *lent = value;
    if (is_text) {
        lent = *(const char *const *)value;
    }
    if (lent == NULL && is_text) {
        return api_fail(MSTRO_NOMATCH, "mstro_cdo_attribute_set: \"%s\" needs a text, not NULL",
                        key);
    }
    size_t key_bytes = strlen(key) + 1;
    struct attribute *attribute = calloc(1, sizeof *attribute + key_bytes);
    char *text = NULL;
    if (is_text && copy) {
        text = strdup(lent);
    }
    if (attribute == NULL || (is_text && copy && text == NULL)) {
        free(attribute);
        free(text);
        return api_fail(MSTRO_NOMEM, "mstro_cdo_attribute_set: out of memory");
    }
    memcpy(attribute->key, key, key_bytes);
    attribute->type = type;
    attribute->value = &attribute->own;
    attribute->owned = copy || user_owned ? text : disown(lent);
    if (is_text) {
        attribute->own.text = copy ? text : lent;
    } else if (is_pointer) { /* `copy` refers to the pointer's target, which the caller copies */
        attribute->own.pointer = disown(value);
    } else if (copy) {
        memcpy(&attribute->own, value, value_types[type].bytes);
    } else {
        attribute->value = value;
    }
    insert(cdo, attribute);
    return MSTRO_OK;
}

/* ------------------------------------------------------------------ texts for keys of other types
 *
 * Users of the MARS keywords disagree about types (a date as a timestamp or as a text), and
 * maestro.h has untyped pointers for values. The memory at the pointer distinguishes the two: for a
 * text, its first eight bytes are an address of readable memory with printable characters and a
 * terminator; for a number or a timestamp they are not. The memory is read through the kernel, so
 * an invalid address is harmless. */
enum {
    LOWEST_ADDRESS = 65536, /* Linux maps no memory below this address (vm.mmap_min_addr) */
    PAGE_LEAST = 4096,      /* minimum page size */
    TEXT_BYTES = 128,
};

/* Returns the number of bytes, up to `size`, that could be read at `address`. */
static size_t read_memory(uint64_t address, char *buffer, size_t size)
{
    const size_t of_page = PAGE_LEAST - (size_t)(address % PAGE_LEAST);
    const size_t first = VAMP_MIN(of_page, size);
    const struct iovec ours = {.iov_base = buffer, .iov_len = size};
    const struct iovec theirs[] = {
        {.iov_base = (void *)(uintptr_t)address, .iov_len = first},
        {.iov_base = (void *)(uintptr_t)(address + first), .iov_len = size - first}};
    const ssize_t count = process_vm_readv(getpid(), &ours, 1, theirs, first < size ? 2 : 1, 0);
    return (size_t)VAMP_MAX(count, 0);
}

/* Returns the length of the text that `value` (at least eight bytes) refers to, and a copy of it,
 * both truncated to TEXT_BYTES; -1: it does not refer to a text. */
static int text_of(const void *value, char text[TEXT_BYTES])
{
    uint64_t address;
    memcpy(&address, value, sizeof address);
    if (address < LOWEST_ADDRESS || address > UINT64_MAX / 2) {
        return -1;
    }
    const size_t count = read_memory(address, text, TEXT_BYTES);
    const size_t length = strnlen(text, count);
    if (length == count && count < TEXT_BYTES) {
        return -1;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            return -1;
        }
    }
    text[TEXT_BYTES - 1] = '\0';
    return (int)length;
}

static bool to_number(const char *text, bool has_sign, union attribute_value *ret)
{
    char *end;
    errno = 0;
    if (has_sign) {
        ret->int64 = strtoll(text, &end, 10);
    } else {
        ret->uint64 = strtoull(text, &end, 10);
    }
    return errno == 0 && end != text && *end == '\0' && (has_sign || strchr(text, '-') == NULL);
}

/* Rejects days that do not exist: the conversion changes their fields. */
static bool to_timestamp(const char *text, mstro_timestamp *ret)
{
    static const char *const formats[] = {"%Y%m%d", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S",
                                          "%Y-%m-%dT%H:%M:%SZ"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct tm fields = {.tm_mday = 1};
        const char *end = strptime(text, formats[i], &fields);
        if (end == NULL || *end != '\0') {
            continue;
        }
        const int day = fields.tm_mday;
        *ret = (mstro_timestamp){.sec = timegm(&fields)};
        return fields.tm_mday == day;
    }
    return false;
}

/* Converts `text` to a value. Returns MSTRO_OK, or MSTRO_NOMATCH: not a valid int64, uint64 or
 * timestamp, or `type` is another type. */
static mstro_status convert(const char *key, enum mstro_cdo_attr_value_type type, const char *text,
                            union attribute_value *ret)
{
    if ((type == MSTRO_CDO_ATTR_VALUE_int64 && to_number(text, true, ret)) ||
        (type == MSTRO_CDO_ATTR_VALUE_uint64 && to_number(text, false, ret)) ||
        (type == MSTRO_CDO_ATTR_VALUE_timestamp && to_timestamp(text, &ret->timestamp))) {
        return MSTRO_OK;
    }
    return api_fail(MSTRO_NOMATCH,
                    "mstro_cdo_attribute_set: \"%.200s\" is of the type %s(), and the text \"%s\" "
                    "is %s; or give the key another type with a schema in " MSTRO_ENV_SCHEMA_LIST,
                    key, schema_type_name(type), text,
                    type == MSTRO_CDO_ATTR_VALUE_timestamp
                        ? "no date as YYYYMMDD, YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ"
                        : "no number of that type");
}

/* ------------------------------------------------------------------ wire format
 *
 * Pointers are not sent, since addresses mean nothing to other processes; name and size have fields
 * of their own. */

/* One attribute of the message; all of them are in one block. */
struct slot {
    Mstro__Wire__Attribute item;
    Mstro__Wire__Timestamp timestamp;
};

static bool is_sent(const struct attribute *attribute)
{
    return attribute->type != MSTRO_CDO_ATTR_VALUE_pointer &&
           strcmp(attribute->key, MSTRO_ATTR_CORE_CDO_NAME) != 0 &&
           strcmp(attribute->key, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE) != 0;
}

static void fill(struct slot *slot, const struct attribute *attribute)
{
    Mstro__Wire__Attribute *item = &slot->item;
    const void *value = attribute->value;
    const bool narrow = value_types[attribute->type].bytes == sizeof(int32_t);
    mstro__wire__attribute__init(item);
    item->key = disown(attribute->key);
    item->has_type = true;
    item->type = (uint32_t)attribute->type;
    item->value_case = value_types[attribute->type].wire;
    switch (item->value_case) {
    case MSTRO__WIRE__ATTRIBUTE__VALUE_BOOLEAN:
        item->boolean = *(const bool *)value;
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_INTEGER:
        item->integer = narrow ? *(const int32_t *)value : *(const int64_t *)value;
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_NATURAL:
        item->natural = narrow ? *(const uint32_t *)value : *(const uint64_t *)value;
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_REAL:
        item->real = narrow ? (double)*(const float *)value : *(const double *)value;
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_TEXT:
        item->text = disown(attribute->own.text);
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_TIMESTAMP: {
        const mstro_timestamp *time = value;
        mstro__wire__timestamp__init(&slot->timestamp);
        slot->timestamp.sec = time->sec;
        slot->timestamp.nsec = time->nsec;
        slot->timestamp.has_offset = time->offset != 0;
        slot->timestamp.offset = time->offset;
        item->timestamp = &slot->timestamp;
        return;
    }
    case MSTRO__WIRE__ATTRIBUTE__VALUE__NOT_SET: /* a pointer, which is not sent */
    case _MSTRO__WIRE__ATTRIBUTE__VALUE__CASE_IS_INT_SIZE:
        return;
    }
}

Mstro__Wire__Attribute **attributes_to_wire(const struct mstro_cdo_ *cdo, size_t *ret_count)
{
    size_t count = 0;
    for (const struct attribute *at = cdo->attributes; at != NULL; at = at->next) {
        count += is_sent(at);
    }
    Mstro__Wire__Attribute **items =
        malloc((count + 1) * sizeof(Mstro__Wire__Attribute *) + count * sizeof(struct slot));
    if (items == NULL) {
        return NULL;
    }
    struct slot *slot = (struct slot *)(void *)(items + count + 1);
    *ret_count = 0;
    for (const struct attribute *at = cdo->attributes; at != NULL; at = at->next) {
        if (is_sent(at)) {
            fill(slot, at);
            items[(*ret_count)++] = &slot++->item;
        }
    }
    return items;
}

/* A number that does not fit into its declared type keeps the type that it has on the wire. */
static enum mstro_cdo_attr_value_type value_of(const Mstro__Wire__Attribute *item,
                                               union attribute_value *value)
{
    switch (item->value_case) {
    case MSTRO__WIRE__ATTRIBUTE__VALUE_BOOLEAN:
        value->boolean = item->boolean;
        return MSTRO_CDO_ATTR_VALUE_bool;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_INTEGER:
        value->int64 = item->integer;
        if (item->type != MSTRO_CDO_ATTR_VALUE_int32 || item->integer < INT32_MIN ||
            item->integer > INT32_MAX) {
            return MSTRO_CDO_ATTR_VALUE_int64;
        }
        value->int32 = (int32_t)item->integer;
        return MSTRO_CDO_ATTR_VALUE_int32;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_NATURAL:
        value->uint64 = item->natural;
        if (item->type != MSTRO_CDO_ATTR_VALUE_uint32 || item->natural > UINT32_MAX) {
            return MSTRO_CDO_ATTR_VALUE_uint64;
        }
        value->uint32 = (uint32_t)item->natural;
        return MSTRO_CDO_ATTR_VALUE_uint32;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_REAL:
        value->real64 = item->real;
        if (item->type != MSTRO_CDO_ATTR_VALUE_float) {
            return MSTRO_CDO_ATTR_VALUE_double;
        }
        value->real32 = (float)item->real;
        return MSTRO_CDO_ATTR_VALUE_float;
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
            continue; /* a type unknown to this version, from a newer sender */
        }
        mstro_status status = attribute_put(cdo, items[i]->key, type, &value, true, false);
        if (status != MSTRO_OK) {
            return status;
        }
    }
    return MSTRO_OK;
}

/* ------------------------------------------------------------------ printing */

static void print_value(const struct attribute *attribute)
{
    struct slot slot;
    fill(&slot, attribute);
    const Mstro__Wire__Attribute *item = &slot.item;
    switch (item->value_case) {
    case MSTRO__WIRE__ATTRIBUTE__VALUE_BOOLEAN:
        (void)printf("%s", item->boolean ? "true" : "false");
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_INTEGER:
        (void)printf("%" PRId64, item->integer);
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_NATURAL:
        (void)printf("%" PRIu64, item->natural);
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_REAL:
        (void)printf("%.*g", attribute->type == MSTRO_CDO_ATTR_VALUE_float ? 9 : 17, item->real);
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_TEXT:
        (void)printf("\"%s\"", item->text);
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE_TIMESTAMP:
        (void)printf("%" PRId64 ".%09" PRId64 " %+" PRId64 " min", item->timestamp->sec,
                     item->timestamp->nsec, item->timestamp->offset);
        return;
    case MSTRO__WIRE__ATTRIBUTE__VALUE__NOT_SET:
        (void)printf("%p", attribute->own.pointer);
        return;
    case _MSTRO__WIRE__ATTRIBUTE__VALUE__CASE_IS_INT_SIZE:
        return;
    }
}

mstro_status mstro_cdo_attributes_print(mstro_cdo cdo)
{
    if (cdo == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_cdo_attributes_print: no CDO");
    }
    for (const struct attribute *at = cdo->attributes; at != NULL; at = at->next) {
        (void)printf("%s = ", at->key);
        print_value(at);
        (void)printf(" (%s)\n", schema_type_name(at->type));
    }
    if (fflush(stdout) != 0) {
        return api_fail(MSTRO_FAIL, "mstro_cdo_attributes_print: %s", strerror(errno));
    }
    return MSTRO_OK;
}

/* ------------------------------------------------------------------ setting */

void attributes_warn(const struct mstro_cdo_ *cdo)
{
    for (struct schema_attribute *at = schema_required(library.schemas); at != NULL;
         at = at->next_required) {
        const struct attribute *same = cdo->attributes;
        while (same != NULL && strncmp(same->key, at->key, at->space_bytes) != 0) {
            same = same->next;
        }
        if (same == NULL || attribute_find(cdo, at->key) != NULL) {
            continue;
        }
        (void)pthread_mutex_lock(&library.lock);
        const bool reported = at->reported;
        at->reported = true;
        (void)pthread_mutex_unlock(&library.lock);
        if (!reported) {
            log_say(LOG_LEVEL_WARNING,
                    "schema: \"%.100s\" is declared without \"%.200s\", which its schema requires; "
                    "further CDOs without it are not reported",
                    cdo->name, at->key);
        }
    }
}

/* A text for a MARS keyword of another type is converted, and some text keywords accept another
 * type; all other attributes require the type in their schema. */
static mstro_status put_known(struct mstro_cdo_ *cdo, const struct schema_attribute *known,
                              const void *value, bool copy, bool user_owned)
{
    char text[TEXT_BYTES];
    const bool is_text = known->type == MSTRO_CDO_ATTR_VALUE_cstring;
    if (!known->built_in_mars || value == NULL ||
        (is_text && known->otherwise == MSTRO_CDO_ATTR_VALUE_INVALID)) {
        return attribute_put(cdo, known->key, known->type, value, copy, user_owned);
    }
    const int length = text_of(value, text);
    if (is_text || length <= 0) {
        const bool is_other = is_text && length < 0;
        return attribute_put(cdo, known->key, is_other ? known->otherwise : known->type, value,
                             copy, user_owned);
    }
    union attribute_value converted;
    mstro_status status = convert(known->key, known->type, text, &converted);
    if (status == MSTRO_OK) {
        status = attribute_put(cdo, known->key, known->type, &converted, true, false);
    }
    if (status == MSTRO_OK && !copy && !user_owned) {
        free(disown(*(const char *const *)value));
    }
    return status;
}

mstro_status mstro_cdo_attribute_set(mstro_cdo cdo, const char *key, void *value, bool copy,
                                     bool user_owned)
{
    if (cdo == NULL || key == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_cdo_attribute_set: no CDO, or no key");
    }
    mstro_status status = api_enter("mstro_cdo_attribute_set", cdo->generation);
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
        return api_note(LOG_LEVEL_INFO, MSTRO_NOENT,
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
