/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/utf8.h"

#include <string.h>

/* Returns false for overlong forms, surrogates and numbers above U+10FFFF. */
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
        return second >= 0x80 && second <= 0xBF;
    }
}

/* Returns the length of a character that begins with `first`; 0 if no character begins with it. */
static size_t bytes_of(unsigned char first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xC2 || first > 0xF4) {
        return 0;
    }
    if (first < 0xE0) {
        return 2;
    }
    return first < 0xF0 ? 3 : 4;
}

size_t vamp_utf8_read(const char *text, size_t available, uint32_t *ret_point)
{
    const unsigned char *bytes = (const unsigned char *)text;
    const size_t length = available > 0 ? bytes_of(bytes[0]) : 0;
    if (length == 0 || length > available ||
        (length > 1 && !second_is_allowed(bytes[0], bytes[1]))) {
        return 0;
    }
    uint32_t point = length > 1 ? bytes[0] & (0x7FU >> length) : bytes[0];
    for (size_t i = 1; i < length; i++) {
        if (vamp_utf8_begins(text[i])) {
            return 0;
        }
        point = point << 6 | (bytes[i] & 0x3FU);
    }
    if (ret_point != NULL) {
        *ret_point = point;
    }
    return length;
}

size_t vamp_utf8_write(char out[static VAMP_UTF8_BYTES_MAX], uint32_t point)
{
    static const unsigned char first[] = {0, 0, 0xC0, 0xE0, 0xF0};
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t length = 4;
    if (point < 0x800) {
        length = 2;
    } else if (point < 0x10000) {
        length = 3;
    }
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80U | (point & 0x3FU));
        point >>= 6;
    }
    out[0] = (char)(first[length] | point);
    return length;
}

bool vamp_utf8_is_valid(const char *text)
{
    while (*text != '\0') {
        const size_t length = vamp_utf8_length(text);
        if (length == 0) {
            return false;
        }
        text += length;
    }
    return true;
}

size_t vamp_utf8_cut(const char *text, size_t length, size_t most)
{
    if (length <= most) {
        return length;
    }
    while (most > 0 && !vamp_utf8_begins(text[most])) {
        most--;
    }
    return most;
}

bool vamp_utf8_is_shown(uint32_t point)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0, 0x1F},        {0x7F, 0x9F},     {0x61C, 0x61C},   {0x200E, 0x200F},
        {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF},
    };
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        if (point >= hidden[i].first && point <= hidden[i].last) {
            return false;
        }
    }
    return true;
}

void vamp_utf8_clean(char *text)
{
    char *out = text;
    while (*text != '\0') {
        uint32_t point = 0;
        const size_t length = vamp_utf8_read(text, VAMP_UTF8_BYTES_MAX, &point);
        if (length > 0 && vamp_utf8_is_shown(point)) {
            memmove(out, text, length);
            out += length;
        } else {
            *out++ = '?';
        }
        text += length > 0 ? length : 1;
    }
    *out = '\0';
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
