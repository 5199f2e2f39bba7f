/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "vampire/core/utf8.h"

/* The bytes of the first character, at least 1, and its columns; -1: it may not be shown. Marks of
 * writing direction, joiners and the like have no width of their own: but for accents, they are not
 * shown. */
static size_t read_character(const char *text, int *ret_columns)
{
    uint32_t character = 0;
    const size_t bytes = vamp_utf8_read(text, VAMP_UTF8_BYTES_MAX, &character);
    const bool control = bytes == 0 || character < 0x20 || (character >= 0x7F && character < 0xA0);
    const bool accent = character >= 0x300 && character < 0x370;
    const int width = control ? -1 : wcwidth((wchar_t)character);
    *ret_columns = width == 0 && !accent ? -1 : width;
    return bytes == 0 ? 1 : bytes;
}

void top_text_clean(char *out, size_t out_bytes, const char *text)
{
    assert(out_bytes > 0);
    size_t used = 0;
    while (*text != '\0') {
        int columns = 0;
        const size_t bytes = read_character(text, &columns);
        const bool shown = columns > 0 || (columns == 0 && used > 0); /* no accent on nothing */
        if (used + (shown ? bytes : 1) >= out_bytes) {
            break;
        }
        memcpy(out + used, shown ? text : "?", shown ? bytes : 1);
        used += shown ? bytes : 1;
        text += bytes;
    }
    out[used] = '\0';
}

unsigned top_text_columns(const char *clean)
{
    unsigned columns = 0;
    while (*clean != '\0') {
        int width = 0;
        clean += read_character(clean, &width);
        columns += width > 0 ? (unsigned)width : 0;
    }
    return columns;
}

struct top_fitted top_text_fit(const char *clean, unsigned columns)
{
    struct top_fitted out;
    const bool cut = top_text_columns(clean) > columns;
    const unsigned room = cut && columns > 0 ? columns - 1 : columns;
    unsigned taken = 0;
    size_t used = 0;
    while (*clean != '\0') {
        int width = 0;
        const size_t bytes = read_character(clean, &width);
        const unsigned wide = width > 0 ? (unsigned)width : 0;
        if (taken + wide > room || used + bytes >= sizeof out.text) {
            break;
        }
        memcpy(out.text + used, clean, bytes);
        used += bytes;
        taken += wide;
        clean += bytes;
    }
    for (bool mark = cut; taken < columns && used + 1 < sizeof out.text; mark = false) {
        out.text[used++] = mark ? '~' : ' ';
        taken++;
    }
    out.text[used] = '\0';
    return out;
}

/* Three digits of the largest unit: "123k", "12.3M". */
static struct top_figure large_count(double value)
{
    static const char units[] = "kMGTPE";
    struct top_figure out;
    const char *unit = units;
    for (value /= 1000; value >= 999.5 && unit[1] != '\0'; value /= 1000) {
        unit++;
    }
    (void)snprintf(out.text, sizeof out.text, "%.*f%c",
                   value >= 99.95   ? 0
                   : value >= 9.995 ? 1
                                    : 2,
                   value, *unit);
    return out;
}

struct top_figure top_text_count(double value)
{
    struct top_figure out;
    if (value >= 99999.5) {
        return large_count(value);
    }
    if (value >= 999.5) {
        (void)vamp_count_people((uint64_t)(value + 0.5), out.text);
    } else {
        const bool fraction = value < 10 && value > (double)(unsigned)value;
        (void)snprintf(out.text, sizeof out.text, "%.*f", fraction ? 1 : 0, value);
    }
    return out;
}

struct top_figure top_text_bytes(double bytes)
{
    struct top_figure out = {""};
    (void)vamp_bytes_people(bytes, out.text);
    return out;
}

struct top_figure top_text_time(double ns)
{
    struct top_figure out = {""};
    (void)vamp_duration_people((uint64_t)ns, out.text);
    return out;
}

/* ---- members of a line */

const char *top_json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

void top_json_copy(char *out, size_t out_bytes, const json_t *object, const char *key)
{
    top_text_clean(out, out_bytes, top_json_text(object, key));
}

uint64_t top_json_integer(const json_t *number)
{
    const double value = json_number_value(number);
    /* The largest integer that a double has is 2^64 - 2048. */
    return value <= 0 ? 0 : value >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t)value;
}

double top_json_number(const json_t *object, const char *key)
{
    return (double)top_json_integer(json_object_get(object, key));
}

unsigned top_json_word(const json_t *object, const char *key, const char *const *words,
                       unsigned count)
{
    unsigned number = 0;
    while (number < count && strcmp(words[number], top_json_text(object, key)) != 0) {
        number++;
    }
    return number;
}

bool top_json_lists(const json_t *list, const char *word)
{
    size_t i = 0;
    json_t *item = NULL;
    bool found = false;
    json_array_foreach(list, i, item)
    {
        const char *text = json_string_value(item);
        found = found || (text != NULL && strcmp(text, word) == 0);
    }
    return found;
}
