/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts as JSON writes them: what is well-formed, what it means, and what is wrong where. */
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
    va_start(arguments, format);
    (void)vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

int config_refuse_token(struct config_fault *fault, const char *text, size_t first, size_t behind,
                        const char *what, const char *hint)
{
    if (behind - first > QUOTED_BYTES_MAX) {
        return config_refuse(fault, behind, "this is no JSON: %s%s", what, hint);
    }
    return config_refuse(fault, first, "this is no JSON: %s near '%.*s'%s", what,
                         (int)(behind - first), text + first, hint);
}

static bool is_hex4(const char *at)
{
    return strspn(at, "0123456789abcdefABCDEF") >= 4;
}

static unsigned hex4(const char *at)
{
    unsigned number = 0;
    for (size_t i = 0; i < 4; i++) {
        const char c = at[i];
        number =
            number << 4 | (c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10U);
    }
    return number;
}

static bool is_high_surrogate(unsigned point)
{
    return point >= 0xd800 && point < 0xdc00;
}

static bool is_low_surrogate(unsigned point)
{
    return point >= 0xdc00 && point < 0xe000;
}

/* Checks the escape at `at`, in the text that begins at `quote`. */
static int check_escape(const char *text, size_t quote, size_t at, size_t *ret_behind,
                        struct config_fault *fault)
{
    const char *escape = text + at;
    if (escape[1] == '\0') {
        return config_refuse_token(fault, text, quote, at + 1, "premature end of input", "");
    }
    if (escape[1] != 'u') {
        *ret_behind = at + 2;
        return strchr("\"\\/bfnrt", escape[1]) != NULL
                   ? 0
                   : config_refuse_token(fault, text, quote, at + 1 + vamp_utf8_length(escape + 1),
                                         "invalid escape", "");
    }
    if (!is_hex4(escape + 2)) {
        return config_refuse_token(fault, text, quote, at + 2, "invalid escape", "");
    }
    const unsigned point = hex4(escape + 2);
    const bool pair = is_high_surrogate(point) && escape[6] == '\\' && escape[7] == 'u' &&
                      is_hex4(escape + 8) && is_low_surrogate(hex4(escape + 8));
    if (point == 0) {
        return config_refuse(fault, at, "a text of the configuration cannot contain \\u0000");
    }
    if (!pair && (is_high_surrogate(point) || is_low_surrogate(point))) {
        return config_refuse(fault, at,
                             "this is no JSON: invalid Unicode '\\u%04X', half of a pair", point);
    }
    *ret_behind = at + (pair ? 12 : 6);
    return 0;
}

int config_literal_check(const char *text, size_t length, size_t quote, size_t *ret_behind,
                         struct config_fault *fault)
{
    size_t at = quote + 1;
    while (text[at] != '"') {
        const unsigned char byte = (unsigned char)text[at];
        const size_t bytes = vamp_utf8_length(text + at);
        char what[48];
        int code = 0;
        if (byte == '\0') {
            return at < length
                       ? config_refuse(fault, at, "a zero byte: this is no text file")
                       : config_refuse_token(fault, text, quote, at, "premature end of input", "");
        }
        if (byte == '\\') {
            code = check_escape(text, quote, at, &at, fault);
        } else if (bytes == 0) {
            (void)snprintf(what, sizeof what, "unable to decode byte 0x%x", (unsigned)byte);
            code = config_refuse_token(fault, text, quote, at, what, "");
        } else if (byte == '\n') {
            code = config_refuse_token(fault, text, quote, at, "unexpected newline", "");
        } else if (byte < 0x20) {
            (void)snprintf(what, sizeof what, "control character 0x%x", (unsigned)byte);
            code = config_refuse_token(fault, text, quote, at, what, "");
        } else {
            at += bytes;
        }
        if (code != 0) {
            return code;
        }
    }
    *ret_behind = at + 1;
    return 0;
}

/* One byte or escape of a checked text into `bytes`; returns how many bytes it stands for, and
 * moves `*at` behind it. */
static size_t decode(const char **at, char bytes[static 4])
{
    const char *from = *at;
    if (from[0] != '\\') {
        bytes[0] = from[0];
        *at = from + 1;
        return 1;
    }
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (from[1] != 'u') {
        bytes[0] = meanings[strchr(escapes, from[1]) - escapes];
        *at = from + 2;
        return 1;
    }
    unsigned point = hex4(from + 2);
    *at = from + 6;
    if (is_high_surrogate(point)) {
        point = 0x10000 + ((point - 0xd800) << 10) + (hex4(from + 8) - 0xdc00);
        *at = from + 12;
    }
    return vamp_utf8_write(bytes, point);
}

void config_literal_decode(const char *quote, char *out)
{
    for (const char *at = quote + 1; *at != '"';) {
        char bytes[4];
        const size_t length = decode(&at, bytes);
        memcpy(out, bytes, length);
        out += length;
    }
    *out = '\0';
}

size_t config_text_offset(const char *file, size_t quote, unsigned line, unsigned column)
{
    const char *at = file + quote + 1;
    for (unsigned l = 1, c = 1; *at != '"' && (l < line || (l == line && c < column));) {
        char bytes[4];
        (void)decode(&at, bytes);
        if (bytes[0] == '\n') {
            l++;
            c = 1;
        } else if (vamp_utf8_begins(*at)) {
            c++; /* the next byte begins a character */
        }
    }
    return (size_t)(at - file);
}
