/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * UTF-8: checks texts, cuts them at characters, and makes received text well-formed. A character
 * is well-formed if it is complete, in its shortest form, not a surrogate, and at most U+10FFFF. No
 * state; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VAMP_UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

enum { VAMP_UTF8_BYTES_MAX = 4 };

/* Whether a character begins with this byte; false for one that continues a character. */
static inline bool vamp_utf8_begins(char byte)
{
    return ((unsigned char)byte & 0xC0U) != 0x80U;
}

/* Reads the character at `text`, of which `available` bytes may be read; VAMP_UTF8_BYTES_MAX for a
 * terminated text, since nothing after the terminator is read. Returns its bytes (1 to 4), and
 * its code point in *ret_point unless that is NULL; 0 when there is none or it is not well-formed.
 * A NUL is a character of one byte. */
size_t vamp_utf8_read(const char *text, size_t available, uint32_t *ret_point);

/* Bytes (1 to 4) of the character at the terminated `text`, 0 when it is not well-formed. */
static inline size_t vamp_utf8_length(const char *text)
{
    return vamp_utf8_read(text, VAMP_UTF8_BYTES_MAX, NULL);
}

/* Writes a code point that is no surrogate. Returns the bytes written (1 to 4). */
size_t vamp_utf8_write(char out[static VAMP_UTF8_BYTES_MAX], uint32_t point);

/* Whether a terminated text is well-formed throughout. */
bool vamp_utf8_is_valid(const char *text);

/* The number of bytes to keep of a text of `length` bytes so that at most `most` remain and no
 * character is split. */
size_t vamp_utf8_cut(const char *text, size_t length, size_t most);

/* Copies the terminated `text` into `out` as well-formed UTF-8: each byte that is not part of a
 * valid character becomes U+FFFD. Cuts at a character. The rest of `out` is filled with NULs; there
 * is no terminator if it is full. Returns the bytes used. */
size_t vamp_utf8_copy(char *out, size_t out_bytes, const char *text);
