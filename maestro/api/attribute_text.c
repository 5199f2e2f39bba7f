/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes as texts: a text that was given for a key of another type, and printing.
 *
 * The users of the MARS keywords disagree about types (a date as a timestamp and as a text), and
 * maestro.h takes an untyped pointer. The memory it points to distinguishes them: for a text, the
 * first eight bytes are an address of readable memory with printable characters and a terminator;
 * for a number or a timestamp they are not. The memory is read through the kernel, so an invalid
 * address does no harm.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "maestro/api/internal.h"

enum {
    LOWEST_ADDRESS = 65536, /* Linux maps nothing below it (vm.mmap_min_addr) */
    PAGE_LEAST = 4096,      /* no page is smaller */
};

/* Returns how many of the `size` bytes at `address` could be read. */
static size_t read_memory(uint64_t address, char *buffer, size_t size)
{
    const size_t of_page = PAGE_LEAST - (size_t)(address % PAGE_LEAST);
    const size_t first = of_page < size ? of_page : size;
    union {
        uint64_t number;
        void *pointer;
    } at = {.number = address}, next = {.number = address + first};
    const struct iovec ours = {.iov_base = buffer, .iov_len = size};
    const struct iovec theirs[] = {{.iov_base = at.pointer, .iov_len = first},
                                   {.iov_base = next.pointer, .iov_len = size - first}};
    const ssize_t count = process_vm_readv(getpid(), &ours, 1, theirs, first < size ? 2 : 1, 0);
    return count < 0 ? 0 : (size_t)count;
}

bool attribute_text_of(const void *value, char text[ATTRIBUTE_TEXT_BYTES])
{
    uint64_t address;
    memcpy(&address, value, sizeof address);
    if (address < LOWEST_ADDRESS || address > UINT64_MAX / 2) {
        return false;
    }
    const size_t count = read_memory(address, text, ATTRIBUTE_TEXT_BYTES);
    const size_t length = strnlen(text, count);
    if (length == 0 || (length == count && count < ATTRIBUTE_TEXT_BYTES)) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            return false;
        }
    }
    text[ATTRIBUTE_TEXT_BYTES - 1] = '\0';
    return true;
}

/* ------------------------------------------------------------------ conversion */

static bool to_integer(const char *text, int64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

static bool to_natural(const char *text, uint64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && strchr(text, '-') == NULL;
}

/* A day that does not exist is no date: its fields change in the conversion. */
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

mstro_status attribute_convert(const char *key, enum mstro_cdo_attr_value_type type,
                               const char *text, union attribute_value *ret)
{
    if ((type == MSTRO_CDO_ATTR_VALUE_int64 && to_integer(text, &ret->int64)) ||
        (type == MSTRO_CDO_ATTR_VALUE_uint64 && to_natural(text, &ret->uint64)) ||
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

/* ------------------------------------------------------------------ printing */

static void print_value(const struct attribute *attribute)
{
    const void *value = attribute->value;
    switch (attribute->type) {
    case MSTRO_CDO_ATTR_VALUE_bool:
        (void)printf("%s", *(const bool *)value ? "true" : "false");
        return;
    case MSTRO_CDO_ATTR_VALUE_int32:
        (void)printf("%" PRId32, *(const int32_t *)value);
        return;
    case MSTRO_CDO_ATTR_VALUE_int64:
        (void)printf("%" PRId64, *(const int64_t *)value);
        return;
    case MSTRO_CDO_ATTR_VALUE_uint32:
        (void)printf("%" PRIu32, *(const uint32_t *)value);
        return;
    case MSTRO_CDO_ATTR_VALUE_uint64:
        (void)printf("%" PRIu64, *(const uint64_t *)value);
        return;
    case MSTRO_CDO_ATTR_VALUE_float:
        (void)printf("%.9g", (double)*(const float *)value);
        return;
    case MSTRO_CDO_ATTR_VALUE_double:
        (void)printf("%.17g", *(const double *)value);
        return;
    case MSTRO_CDO_ATTR_VALUE_cstring:
        (void)printf("\"%s\"", attribute->own.text);
        return;
    case MSTRO_CDO_ATTR_VALUE_timestamp: {
        const mstro_timestamp *time = value;
        (void)printf("%" PRId64 ".%09" PRId64 " %+" PRId64 " min", time->sec, time->nsec,
                     time->offset);
        return;
    }
    case MSTRO_CDO_ATTR_VALUE_pointer:
        (void)printf("%p", attribute->own.pointer);
        return;
    case MSTRO_CDO_ATTR_VALUE_INVALID:
    case MSTRO_CDO_ATTR_VALUE__MAX:
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
    return fflush(stdout) == 0
               ? MSTRO_OK
               : api_fail(MSTRO_FAIL, "mstro_cdo_attributes_print: %s", strerror(errno));
}
