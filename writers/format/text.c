/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/utf8.h"
#include "vampire/core/values.h"

#define FIRST_BYTES 4096

void vamp_text_done(struct vamp_text *text)
{
    free(text->bytes);
    *text = (struct vamp_text){.bytes = NULL};
}

/* Ensures capacity for `length` more bytes. Returns false if memory has run out. */
static bool make_room(struct vamp_text *text, size_t length)
{
    if (text->failed || text->capacity - text->used >= length) {
        return !text->failed;
    }
    size_t capacity = VAMP_MAX(text->capacity, FIRST_BYTES);
    while (capacity - text->used < length) {
        capacity *= 2;
    }
    char *bytes = realloc(text->bytes, capacity);
    text->failed = bytes == NULL;
    if (!text->failed) {
        text->bytes = bytes;
        text->capacity = capacity;
    }
    return !text->failed;
}

void vamp_text_add(struct vamp_text *text, const char *bytes, size_t length)
{
    if (length > 0 && make_room(text, length)) {
        memcpy(text->bytes + text->used, bytes, length);
        text->used += length;
    }
}

void vamp_text_word(struct vamp_text *text, const char *word)
{
    vamp_text_add(text, word, strlen(word));
}

void vamp_text_number(struct vamp_text *text, unsigned __int128 value, unsigned decimals)
{
    char digits[VAMP_TEXT_NUMBER_BYTES];
    size_t first = sizeof digits;
    assert(decimals <= 18);
    for (unsigned place = 0; value > 0 || place <= decimals; place++) {
        if (place == decimals && decimals > 0) {
            digits[--first] = '.';
        }
        unsigned digit = 0;
        if (value <= UINT64_MAX) { /* the 64-bit division is much faster */
            digit = (unsigned)((uint64_t)value % 10);
            value = (uint64_t)value / 10;
        } else {
            digit = (unsigned)(value % 10);
            value /= 10;
        }
        digits[--first] = (char)('0' + digit);
    }
    vamp_text_add(text, digits + first, sizeof digits - first);
}

void vamp_text_signed(struct vamp_text *text, int64_t value, unsigned decimals)
{
    uint64_t magnitude = (uint64_t)value;
    if (value < 0) {
        vamp_text_word(text, "-");
        magnitude = 0 - magnitude;
    }
    vamp_text_number(text, magnitude, decimals);
}

void vamp_text_escaped(struct vamp_text *text, const char *word, const char *escaped)
{
    while (*word != '\0') {
        const size_t length = vamp_utf8_length(word);
        if (length == 0) {
            vamp_text_word(text, VAMP_UTF8_REPLACEMENT);
            word++;
            continue;
        }
        if (*word == '\n') {
            vamp_text_word(text, "\\n");
        } else {
            if (strchr(escaped, *word) != NULL) {
                vamp_text_add(text, "\\", 1);
            }
            vamp_text_add(text, word, length);
        }
        word += length;
    }
}
