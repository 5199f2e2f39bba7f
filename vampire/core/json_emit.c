/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/json_emit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "vampire/core/utf8.h"
#include "vampire/core/values.h"

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
    json->depth = 0;
}

/* Ensures capacity for `bytes` more bytes. Returns false if memory ran out, now or earlier. */
static bool reserve(struct vamp_json *json, size_t bytes)
{
    if (json->failed || json->capacity - json->used >= bytes) {
        return !json->failed;
    }
    size_t capacity = VAMP_MAX(json->capacity, 4096);
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

char *vamp_json_take(struct vamp_json *json)
{
    put(json, "", 1);
    char *text = json->bytes;
    if (json->failed) {
        free(text);
        text = NULL;
    }
    *json = (struct vamp_json){.bytes = NULL};
    return text;
}

/* Writes one character of `text` as JSON to `out` and returns the number of bytes that it takes in
 * `text`. */
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
    const size_t length = vamp_utf8_length(text);
    if (length == 0) {
        *ret_bytes = sizeof VAMP_UTF8_REPLACEMENT - 1;
        memcpy(out, VAMP_UTF8_REPLACEMENT, *ret_bytes);
        return 1;
    }
    *ret_bytes = length;
    memcpy(out, text, length);
    return length;
}

static bool is_plain(char character)
{
    return character >= ' ' && character < 0x7F && character != '"' && character != '\\';
}

/* Returns whether none of the eight characters needs an escape. In `special`, the high bit of each
 * byte that needs an escape is set; after the first such byte, bits may be wrong. */
static bool are_plain(const char text[static 8])
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    uint64_t word;
    memcpy(&word, text, sizeof word);
    const uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
    const uint64_t special =
        (word - ones * ' ') | (word + ones) | word | (quote - ones) | (backslash - ones);
    return (special & high) == 0;
}

/* Returns the number of characters, at most `most`, before the first one that needs an escape. */
static size_t plain_length(const char *text, size_t most)
{
    size_t length = 0;
    while (most - length >= 8 && are_plain(text + length)) {
        length += 8;
    }
    while (length < most && is_plain(text[length])) {
        length++;
    }
    return length;
}

/* Writes the text, cut to `room` bytes, and the closing quote. Inlined in both callers, since lines
 * consist mostly of texts. */
static inline __attribute__((always_inline)) void put_rest(struct vamp_json *json, const char *text,
                                                           size_t room)
{
    /* Escaping never shortens a character, so later characters cannot fit. */
    const char *const end = text + strnlen(text, room + 1);
    const size_t begin = json->used;
    while (text < end) {
        char out[8];
        const size_t left = room - (json->used - begin), rest = (size_t)(end - text);
        size_t bytes = plain_length(text, VAMP_MIN(rest, left));
        if (bytes == rest && reserve(json, bytes + 1)) { /* most texts need no escape */
            *(char *)mempcpy(json->bytes + json->used, text, bytes) = '"';
            json->used += bytes + 1;
            return;
        }
        if (bytes > 0) {
            put(json, text, bytes);
            text += bytes;
            continue;
        }
        text += escape(text, out, &bytes);
        if (bytes > left) {
            put_word(json, ELLIPSIS);
            json->cut = true;
            break;
        }
        put(json, out, bytes);
    }
    put(json, "\"", 1);
}

static void new_line(struct vamp_json *json)
{
    static const char blanks[] = "\n                                                ";
    const size_t wanted = 1 + (size_t)json->indent * json->depth;
    if (json->indent > 0) {
        put(json, blanks, VAMP_MIN(wanted, sizeof blanks - 1));
    }
}

/* Variant of begin_member for texts for human readers. */
static __attribute__((noinline)) char *begin_spaced(struct vamp_json *json, const char *key,
                                                    size_t bytes)
{
    if (json->comma) {
        put(json, ", ", json->indent > 0 ? 1 : 2);
    }
    if (json->depth > 0) {
        new_line(json);
    }
    if (key != NULL) {
        put(json, "\"", 1);
        put_rest(json, key, SIZE_MAX - 1);
        put(json, ": ", 2);
    }
    json->comma = true;
    return reserve(json, bytes) ? json->bytes + json->used : NULL;
}

/* Writes comma and key, if needed. Capacity is checked only once, since this is called very often.
 * Returns the position of the value, with capacity for its `bytes`; NULL if out of memory. */
static char *begin_member(struct vamp_json *json, const char *key, size_t bytes)
{
    const size_t length = key != NULL ? strlen(key) : 0;
    if (__builtin_expect(json->spaced, 0)) {
        return begin_spaced(json, key, bytes);
    }
    const bool comma = json->comma;
    json->comma = true;
    if (!reserve(json, length + sizeof ",\"\":" + bytes)) {
        return NULL;
    }
    char *to = json->bytes + json->used;
    if (comma) {
        *to++ = ',';
    }
    if (key != NULL) {
        *to++ = '"';
        to = mempcpy(to, key, length);
        *to++ = '"';
        *to++ = ':';
    }
    json->used = (size_t)(to - json->bytes);
    return to;
}

/* Writes a member with a short value. */
static void short_member(struct vamp_json *json, const char *key, const char *value, size_t bytes)
{
    char *to = begin_member(json, key, bytes);
    if (to != NULL) {
        memcpy(to, value, bytes);
        json->used += bytes;
    }
}

void vamp_json_line_begin(struct vamp_json *json)
{
    json->line = json->used;
    json->cut = false;
    put(json, "{", 1);
    json->comma = false;
}

static void end_line(struct vamp_json *json, const char *end)
{
    if (json->cut) {
        vamp_json_bool(json, "cut", true);
    }
    put_word(json, end);
    if (json->used - json->line > VAMP_JSON_LINE_BYTES) {
        json->used = json->line;
        json->oversized++;
    }
}

void vamp_json_line_end(struct vamp_json *json)
{
    end_line(json, "}\n");
}

void vamp_json_line_end_more(struct vamp_json *json)
{
    end_line(json, "},\n");
}

void vamp_json_array_begin(struct vamp_json *json)
{
    put(json, "[", 1);
    json->line = json->used;
}

void vamp_json_array_end(struct vamp_json *json)
{
    put(json, "]\n", 2);
    json->line = json->used;
}

void vamp_json_open(struct vamp_json *json, const char *key, char bracket)
{
    short_member(json, key, &bracket, 1);
    json->comma = false;
    json->depth++;
}

void vamp_json_close(struct vamp_json *json, char bracket)
{
    if (json->spaced) {
        json->depth--;
        if (json->comma) {
            new_line(json);
        }
    }
    put(json, &bracket, 1);
    json->comma = true;
}

void vamp_json_long_text(struct vamp_json *json, const char *key, const char *text,
                         size_t max_bytes)
{
    short_member(json, key, "\"", 1);
    put_rest(json, text, max_bytes - (sizeof ELLIPSIS - 1));
}

void vamp_json_text(struct vamp_json *json, const char *key, const char *text)
{
    vamp_json_long_text(json, key, text, VAMP_JSON_TEXT_BYTES);
}

/* Writes the digits before `end`. Returns the position of the first digit. */
static char *digits_before(char *end, uint64_t value)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930"
                                "31323334353637383940414243444546474849505152535455565758596061"
                                "62636465666768697071727374757677787980818283848586878889909192"
                                "93949596979899";
    while (value >= 100) {
        end -= 2;
        memcpy(end, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        end -= 2;
        memcpy(end, pairs + value * 2, 2);
    } else {
        *--end = (char)('0' + value);
    }
    return end;
}

static uint64_t magnitude_of(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

void vamp_json_unsigned(struct vamp_json *json, const char *key, uint64_t value)
{
    char digits[24];
    char *const end = digits + sizeof digits;
    const char *const from = digits_before(end, value);
    short_member(json, key, from, (size_t)(end - from));
}

void vamp_json_signed(struct vamp_json *json, const char *key, int64_t value)
{
    char digits[24];
    char *const end = digits + sizeof digits;
    char *from = digits_before(end, magnitude_of(value));
    if (value < 0) {
        *--from = '-';
    }
    short_member(json, key, from, (size_t)(end - from));
}

void vamp_json_real(struct vamp_json *json, const char *key, double value)
{
    char digits[32];
    if (!isfinite(value)) {
        vamp_json_null(json, key);
        return;
    }
    /* 15 digits suffice for most values, 17 for all. */
    int length = snprintf(digits, sizeof digits, "%.15g", value);
    if (strtod(digits, NULL) != value) {
        length = snprintf(digits, sizeof digits, "%.17g", value);
    }
    short_member(json, key, digits, (size_t)length);
}

void vamp_json_micros(struct vamp_json *json, const char *key, int64_t ns)
{
    char digits[32];
    char *const end = digits + sizeof digits;
    const uint64_t magnitude = magnitude_of(ns);
    const uint64_t fraction = magnitude % 1000;
    /* A leading one keeps the zeros of the three digits. */
    char *from = digits_before(end, 1000 + fraction);
    *from = '.';
    from = digits_before(from, magnitude / 1000);
    if (ns < 0) {
        *--from = '-';
    }
    short_member(json, key, from, (size_t)(end - from));
}

void vamp_json_bool(struct vamp_json *json, const char *key, bool value)
{
    const char *const word = value ? "true" : "false";
    short_member(json, key, word, strlen(word));
}

void vamp_json_null(struct vamp_json *json, const char *key)
{
    short_member(json, key, "null", 4);
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
