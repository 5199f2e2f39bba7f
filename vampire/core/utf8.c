/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/utf8.h"

#include <stdbool.h>
#include <string.h>

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* The second byte carries the limits against overlong forms, surrogates and numbers too large. */
static bool second_is_allowed(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xE0:
        return second >= 0xA0 && second <= 0xBF;
    case 0xED:
        return second >= 0x80 && second <= 0x9F;
    case 0xF0:
        return second >= 0x90 && second <= 0xBF;
    case 0xF4:
        return second >= 0x80 && second <= 0x8F;
    default:
        return is_continuation(second);
    }
}

size_t vamp_utf8_length(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (bytes[0] < 0x80) {
        return 1;
    }
    size_t length = bytes[0] >= 0xC2 && bytes[0] <= 0xDF   ? 2
                    : bytes[0] >= 0xE0 && bytes[0] <= 0xEF ? 3
                    : bytes[0] >= 0xF0 && bytes[0] <= 0xF4 ? 4
                                                           : 0;
    if (length == 0 || !second_is_allowed(bytes[0], bytes[1])) {
        return 0;
    }
    for (size_t i = 2; i < length; i++) {
        if (!is_continuation(bytes[i])) {
            return 0;
        }
    }
    return length;
}

size_t vamp_utf8_copy(char *out, size_t out_bytes, const char *text)
{
    size_t used = 0;
    while (*text != '\0') {
        size_t length = vamp_utf8_length(text);
        const char *from = length > 0 ? text : VAMP_UTF8_REPLACEMENT;
        size_t bytes = length > 0 ? length : sizeof VAMP_UTF8_REPLACEMENT - 1;
        if (bytes > out_bytes - used) {
            break;
        }
        memcpy(out + used, from, bytes);
        used += bytes;
        text += length > 0 ? length : 1;
    }
    memset(out + used, 0, out_bytes - used);
    return used;
}
