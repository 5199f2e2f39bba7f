/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UTF-8: checks whether text is well-formed, determines where it may be cut, and converts external
 * text to well-formed text. A character is well-formed if it is complete, as short as possible, not
 * a surrogate and at most U+10FFFF. No state; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VAMP_UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

enum { VAMP_UTF8_BYTES_MAX = 4 };

/* Returns whether a character begins with this byte; false for a continuation byte. */
static inline bool vamp_utf8_begins(char byte)
{
    return ((unsigned char)byte & 0xC0U) != 0x80U;
}

/* Reads the character at `text`, of which `available` bytes may be read; VAMP_UTF8_BYTES_MAX for a
 * terminated text, because nothing after the terminator is read. Returns the length of the
 * character (1 to 4), and its code point in `*ret_point` unless `ret_point` is NULL. Returns 0 if
 * there is no character or it is not well-formed. NUL is a character of one byte. */
size_t vamp_utf8_read(const char *text, size_t available, uint32_t *ret_point);

/* Returns the length (1 to 4) of the character at `text`; 0 if it is not well-formed. */
static inline size_t vamp_utf8_length(const char *text)
{
    return vamp_utf8_read(text, VAMP_UTF8_BYTES_MAX, NULL);
}

/* Writes a code point that is not a surrogate. Returns the number of bytes written (1 to 4). */
size_t vamp_utf8_write(char out[static VAMP_UTF8_BYTES_MAX], uint32_t point);

/* Returns whether a terminated text is completely well-formed. */
bool vamp_utf8_is_valid(const char *text);

/* Returns how many of `length` bytes to keep, at most `most`; never cuts within a character. */
size_t vamp_utf8_cut(const char *text, size_t length, size_t most);

/* Returns whether the code point can be printed within a line; false for control characters, line
 * separators and bidirectional formatting characters. */
bool vamp_utf8_is_shown(uint32_t point);

/* Makes a terminated text safe to print as one line: each character that is not shown, and each
 * invalid byte, becomes '?'. */
void vamp_utf8_clean(char *text);

/* Copies the terminated `text` into `out` as well-formed UTF-8: each invalid byte becomes U+FFFD,
 * and text that does not fit is cut at a character boundary. The rest of `out` is filled with NULs;
 * there is no terminator if `out` is full. Returns the number of bytes used. */
size_t vamp_utf8_copy(char *out, size_t out_bytes, const char *text);
