/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/text.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "vampire/core/utf8.h"

static bool is_combining(uint32_t character)
{
    return character >= 0x300 && character < 0x370;
}

/* Columns of a character that may be shown; -1 for one that may not. Marks of writing direction,
 * joiners and the like have no width of their own: but for accents, they are not shown. */
static int columns_of(uint32_t character)
{
    int width = character < 0x20 || (character >= 0x7F && character < 0xA0)
                    ? -1
                    : wcwidth((wchar_t)character);
    return width == 0 && !is_combining(character) ? -1 : width;
}

void top_text_clean(char *out, size_t out_bytes, const char *text)
{
    assert(out_bytes > 0);
    size_t used = 0;
    while (*text != '\0') {
        uint32_t character = 0;
        size_t bytes = vamp_utf8_read(text, VAMP_UTF8_BYTES_MAX, &character);
        const char *shown = text;
        size_t shown_bytes = bytes;
        if (bytes == 0 || columns_of(character) < 0 || (is_combining(character) && used == 0)) {
            shown = "?";
            shown_bytes = 1;
        }
        if (used + shown_bytes >= out_bytes) {
            break;
        }
        memcpy(out + used, shown, shown_bytes);
        used += shown_bytes;
        text += bytes == 0 ? 1 : bytes;
    }
    out[used] = '\0';
}

unsigned top_text_columns(const char *clean)
{
    unsigned columns = 0;
    while (*clean != '\0') {
        uint32_t character = 0;
        size_t bytes = vamp_utf8_read(clean, VAMP_UTF8_BYTES_MAX, &character);
        int width = columns_of(character);
        columns += width > 0 ? (unsigned)width : 0;
        clean += bytes == 0 ? 1 : bytes;
    }
    return columns;
}

void top_text_fit(char *out, size_t out_bytes, const char *clean, unsigned columns)
{
    assert(out_bytes > 0);
    const bool cut = top_text_columns(clean) > columns;
    const unsigned room = cut && columns > 0 ? columns - 1 : columns;
    unsigned taken = 0;
    size_t used = 0;
    while (*clean != '\0') {
        uint32_t character = 0;
        size_t bytes = vamp_utf8_read(clean, VAMP_UTF8_BYTES_MAX, &character);
        int width = columns_of(character);
        unsigned wide = width > 0 ? (unsigned)width : 0;
        if (bytes == 0 || taken + wide > room || used + bytes >= out_bytes) {
            break;
        }
        memcpy(out + used, clean, bytes);
        used += bytes;
        taken += wide;
        clean += bytes;
    }
    if (cut && columns > 0 && used + 1 < out_bytes) {
        out[used++] = '~';
        taken++;
    }
    for (; taken < columns && used + 1 < out_bytes; taken++) {
        out[used++] = ' ';
    }
    out[used] = '\0';
}

/* Three digits: "9.99", "99.9", "999". */
static void three_digits(char out[static TOP_NUMBER_BYTES], double value, const char *unit)
{
    int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    (void)snprintf(out, TOP_NUMBER_BYTES, "%.*f%s", digits, value, unit);
}

static void format_scaled(char out[static TOP_NUMBER_BYTES], double value, double step,
                          const char *const *units, unsigned unit_count)
{
    unsigned unit = 0;
    /* 999.5 would be printed as 1000. */
    while (unit + 1 < unit_count && value >= (step > 1000 ? 1023.5 : 999.5)) {
        value /= step;
        unit++;
    }
    three_digits(out, value, units[unit]);
}

void top_text_count(char out[static TOP_NUMBER_BYTES], double value)
{
    static const char *const units[] = {"k", "M", "G", "T", "P", "E"};
    if (value >= 99999.5) {
        format_scaled(out, value / 1000, 1000, units, sizeof units / sizeof units[0]);
    } else if (value >= 999.5) {
        unsigned whole = (unsigned)(value + 0.5);
        (void)snprintf(out, TOP_NUMBER_BYTES, "%u,%03u", whole / 1000, whole % 1000);
    } else if (value < 10 && value > (double)(unsigned)value) {
        (void)snprintf(out, TOP_NUMBER_BYTES, "%.1f", value);
    } else {
        (void)snprintf(out, TOP_NUMBER_BYTES, "%.0f", value);
    }
}

void top_text_bytes(char out[static TOP_NUMBER_BYTES], double bytes)
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    if (bytes < 1023.5) {
        (void)snprintf(out, TOP_NUMBER_BYTES, "%.0f B", bytes);
        return;
    }
    format_scaled(out, bytes, 1024, units, sizeof units / sizeof units[0]);
}

void top_text_time(char out[static TOP_NUMBER_BYTES], double ns)
{
    static const char *const units[] = {" ns", " us", " ms", " s"};
    if (ns < 999.5) {
        (void)snprintf(out, TOP_NUMBER_BYTES, "%.0f ns", ns);
    } else if (ns < 999.5e9) {
        format_scaled(out, ns, 1000, units, sizeof units / sizeof units[0]);
    } else {
        (void)snprintf(out, TOP_NUMBER_BYTES, "%.0f s", ns / 1e9);
    }
}
