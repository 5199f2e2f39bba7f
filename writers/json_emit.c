/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/json_emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "writers/utf8.h"

#define ELLIPSIS "\xE2\x80\xA6"

void vamp_json_done(struct vamp_json *json)
{
    free(json->bytes);
    *json = (struct vamp_json){.bytes = NULL};
}

void vamp_json_clear(struct vamp_json *json)
{
    json->used = 0;
    json->line = 0;
    json->comma = false;
    json->cut = false;
}

/* Room for `bytes` more; false when there is no memory, now or earlier. */
static bool reserve(struct vamp_json *json, size_t bytes)
{
    if (json->failed || json->capacity - json->used >= bytes) {
        return !json->failed;
    }
    size_t capacity = json->capacity > 0 ? json->capacity : 4096;
    while (capacity - json->used < bytes) {
        capacity *= 2;
    }
    char *larger = realloc(json->bytes, capacity);
    if (larger == NULL) {
        json->failed = true;
        return false;
    }
    json->bytes = larger;
    json->capacity = capacity;
    return true;
}

static void put(struct vamp_json *json, const char *bytes, size_t count)
{
    if (reserve(json, count)) {
        memcpy(json->bytes + json->used, bytes, count);
        json->used += count;
    }
}

static void put_word(struct vamp_json *json, const char *word)
{
    put(json, word, strlen(word));
}

/* Comma and key, when they are due; in one go, since there are many. */
static void member(struct vamp_json *json, const char *key)
{
    const size_t length = key != NULL ? strlen(key) : 0;
    if (reserve(json, length + sizeof ",\"\":")) {
        char *to = json->bytes + json->used;
        if (json->comma) {
            *to++ = ',';
        }
        if (key != NULL) {
            *to++ = '"';
            to = mempcpy(to, key, length);
            *to++ = '"';
            *to++ = ':';
        }
        json->used = (size_t)(to - json->bytes);
    }
    json->comma = true;
}

void vamp_json_line_begin(struct vamp_json *json)
{
    json->line = json->used;
    json->cut = false;
    put(json, "{", 1);
    json->comma = false;
}

void vamp_json_line_end(struct vamp_json *json)
{
    if (json->cut) {
        vamp_json_bool(json, "cut", true);
    }
    put(json, "}\n", 2);
    if (json->used - json->line > VAMP_JSON_LINE_BYTES) {
        json->used = json->line;
        json->oversized++;
    }
}

void vamp_json_open(struct vamp_json *json, const char *key, char bracket)
{
    member(json, key);
    put(json, &bracket, 1);
    json->comma = false;
}

void vamp_json_close(struct vamp_json *json, char bracket)
{
    put(json, &bracket, 1);
    json->comma = true;
}

/* The character at `text` as JSON; returns the bytes it took from there. */
static size_t escape(const char *text, char out[static 8], size_t *ret_bytes)
{
    const unsigned char first = (unsigned char)*text;
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *special = strchr(plain, *text);
    if (special != NULL) {
        out[0] = '\\';
        out[1] = letters[special - plain];
        *ret_bytes = 2;
        return 1;
    }
    if (first < 0x20 || first == 0x7F) {
        *ret_bytes = (size_t)snprintf(out, 8, "\\u%04x", first);
        return 1;
    }
    size_t length = vamp_utf8_length(text);
    const char *from = length > 0 ? text : VAMP_UTF8_REPLACEMENT;
    *ret_bytes = length > 0 ? length : sizeof VAMP_UTF8_REPLACEMENT - 1;
    memcpy(out, from, *ret_bytes);
    return length > 0 ? length : 1;
}

/* How many characters from `text` on stand for themselves, at most `most`. */
static size_t plain_length(const char *text, size_t most)
{
    size_t length = 0;
    while (length < most && text[length] >= ' ' && text[length] < 0x7F && text[length] != '"' &&
           text[length] != '\\') {
        length++;
    }
    return length;
}

void vamp_json_long_text(struct vamp_json *json, const char *key, const char *text,
                         size_t max_bytes)
{
    member(json, key);
    put(json, "\"", 1);
    const size_t begin = json->used, room = max_bytes - (sizeof ELLIPSIS - 1);
    while (*text != '\0') {
        char out[8];
        size_t bytes = plain_length(text, room - (json->used - begin));
        if (bytes > 0) {
            put(json, text, bytes);
            text += bytes;
            continue;
        }
        text += escape(text, out, &bytes);
        if (json->used - begin + bytes > room) {
            put_word(json, ELLIPSIS);
            json->cut = true;
            break;
        }
        put(json, out, bytes);
    }
    put(json, "\"", 1);
}

void vamp_json_text(struct vamp_json *json, const char *key, const char *text)
{
    vamp_json_long_text(json, key, text, VAMP_JSON_TEXT_BYTES);
}

void vamp_json_unsigned(struct vamp_json *json, const char *key, uint64_t value)
{
    char digits[24];
    char *at = digits + sizeof digits;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    member(json, key);
    put(json, at, (size_t)(digits + sizeof digits - at));
}

void vamp_json_signed(struct vamp_json *json, const char *key, int64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRId64, value);
    member(json, key);
    put(json, digits, (size_t)length);
}

void vamp_json_bool(struct vamp_json *json, const char *key, bool value)
{
    member(json, key);
    put_word(json, value ? "true" : "false");
}

void vamp_json_null(struct vamp_json *json, const char *key)
{
    member(json, key);
    put_word(json, "null");
}

void vamp_json_time(struct vamp_json *json, const char *key, int64_t utc_ns)
{
    if (utc_ns == INT64_MIN) {
        vamp_json_null(json, key);
        return;
    }
    if (json->time_text[0] == '\0' || json->time_ns != utc_ns) {
        json->time_ns = utc_ns;
        vamp_time_text(utc_ns, json->time_text);
    }
    vamp_json_text(json, key, json->time_text);
}
