/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts as JSON writes them: what is well-formed, what it means, and what is wrong where. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/internal.h"
#include "vampire/core/utf8.h"

/* A token that is quoted in a message is not longer. */
#define QUOTED_BYTES_MAX 20

int config_refuse(struct config_fault *fault, size_t offset, const char *format, ...)
{
    va_list arguments;
    fault->offset = offset;
    fault->quoted_end = 0;
    va_start(arguments, format);
    (void)vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

int config_refuse_token(struct config_fault *fault, const char *text, size_t first, size_t end,
                        const char *what, const char *hint)
{
    if (end - first > QUOTED_BYTES_MAX) {
        return config_refuse(fault, end, "this is no JSON: %s%s", what, hint);
    }
    (void)config_refuse(fault, first, "this is no JSON: %s near '%.*s'%s", what, (int)(end - first),
                        text + first, hint);
    (void)snprintf(fault->unquoted, sizeof fault->unquoted, "this is no JSON: %s%s", what, hint);
    fault->quoted_end = end;
    return -EINVAL;
}

/* One character of a literal, as UTF-8. */
struct character {
    char bytes[VAMP_UTF8_BYTES_MAX];
    size_t count; /* of bytes */
    size_t end;   /* the offset after it in the file, where an escape is longer */
};

/* The number end "\u"; UINT_MAX: no four digits. */
static unsigned read_hex4(const char *escape)
{
    unsigned number = 0;
    if (escape[0] != '\\' || escape[1] != 'u' || strspn(escape + 2, "0123456789abcdefABCDEF") < 4) {
        return UINT_MAX;
    }
    for (size_t i = 2; i < 6; i++) {
        const char c = escape[i];
        number =
            number << 4 | (c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10U);
    }
    return number;
}

static bool is_surrogate(unsigned point, unsigned first)
{
    return point >= first && point < first + 0x400;
}

/* "\uXXXX", or two of them that are one character. */
static int read_unicode(const char *text, size_t quote, size_t at, struct character *ret_character,
                        struct config_fault *fault)
{
    unsigned point = read_hex4(text + at);
    if (point == UINT_MAX) {
        return config_refuse_token(fault, text, quote, at + 2, "invalid escape", "");
    }
    if (point == 0) {
        return config_refuse(fault, at, "a text of the configuration cannot contain \\u0000");
    }
    ret_character->end = at + 6;
    const unsigned low = is_surrogate(point, 0xd800) ? read_hex4(text + at + 6) : 0;
    if (is_surrogate(low, 0xdc00)) {
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        ret_character->end = at + 12;
    } else if (is_surrogate(point, 0xd800) || is_surrogate(point, 0xdc00)) {
        return config_refuse(fault, at,
                             "this is no JSON: invalid Unicode '\\u%04X', half of a pair", point);
    }
    ret_character->count = vamp_utf8_write(ret_character->bytes, point);
    return 0;
}

static int read_escape(const char *text, size_t quote, size_t at, struct character *ret_character,
                       struct config_fault *fault)
{
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char letter = text[at + 1];
    if (letter == 'u') {
        return read_unicode(text, quote, at, ret_character, fault);
    }
    if (letter == '\0') {
        return config_refuse_token(fault, text, quote, at + 1, "premature end of input", "");
    }
    const char *found = strchr(escapes, letter);
    if (found == NULL) {
        return config_refuse_token(fault, text, quote, at + 1 + vamp_utf8_length(text + at + 1),
                                   "invalid escape", "");
    }
    *ret_character =
        (struct character){.bytes = {meanings[found - escapes]}, .count = 1, .end = at + 2};
    return 0;
}

/* What cannot stand in a literal. */
static int refuse_byte(const char *text, size_t length, size_t quote, size_t at,
                       struct config_fault *fault)
{
    const unsigned byte = (unsigned char)text[at];
    char what[48] = "unexpected newline";
    if (byte == 0 && at < length) {
        return config_refuse(fault, at, "a zero byte: this is no text file");
    }
    if (byte == 0) {
        (void)snprintf(what, sizeof what, "premature end of input");
    } else if (byte >= 0x80) {
        (void)snprintf(what, sizeof what, "unable to decode byte 0x%x", byte);
    } else if (byte != '\n') {
        (void)snprintf(what, sizeof what, "control character 0x%x", byte);
    }
    return config_refuse_token(fault, text, quote, at, what, "");
}

static int read_character(const char *text, size_t length, size_t quote, size_t at,
                          struct character *ret_character, struct config_fault *fault)
{
    const size_t count = vamp_utf8_length(text + at);
    if (text[at] == '\\') {
        return read_escape(text, quote, at, ret_character, fault);
    }
    if (count == 0 || (unsigned char)text[at] < 0x20) {
        return refuse_byte(text, length, quote, at, fault);
    }
    *ret_character = (struct character){.count = count, .end = at + count};
    memcpy(ret_character->bytes, text + at, count);
    return 0;
}

int config_literal_read(const char *text, size_t length, size_t quote, char *out, size_t *ret_end,
                        struct config_fault *fault)
{
    size_t at = quote + 1;
    while (text[at] != '"') {
        struct character character = {0};
        const int code = read_character(text, length, quote, at, &character, fault);
        if (code != 0) {
            return code;
        }
        if (out != NULL) {
            memcpy(out, character.bytes, character.count);
            out += character.count;
        }
        at = character.end;
    }
    *ret_end = at + 1;
    return 0;
}

size_t config_text_offset(const struct config_file *file, size_t quote, unsigned line,
                          unsigned column)
{
    struct config_fault none;
    struct character character = {0};
    size_t at = quote + 1;
    for (unsigned l = 1, c = 1;
         file->bytes[at] != '"' && (l < line || (l == line && c < column)) &&
         read_character(file->bytes, file->length, quote, at, &character, &none) == 0;
         at = character.end) {
        const bool new_line = character.bytes[0] == '\n';
        l += new_line;
        c = new_line ? 1 : c + 1;
    }
    return at;
}
