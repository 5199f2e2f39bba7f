/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text from the wire made safe for files that promise UTF-8. No state; any thread.
 */
#ifndef VAMP_CORE_UTF8_H
#define VAMP_CORE_UTF8_H

#include <stddef.h>

#define VAMP_UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* Bytes (1 to 4) of the well-formed character at `text`, 0 when what stands there is none:
 * a stray or missing continuation, an overlong form, a surrogate, beyond U+10FFFF. `text` is
 * terminated; the terminator itself counts as a character of one byte. */
size_t vamp_utf8_length(const char *text);

/* Copies `text` into `out` as well-formed UTF-8: each byte that begins no character becomes
 * U+FFFD. What does not fit is cut at a character's end. `out` is filled up with NULs, but has
 * no terminator when it is full. Returns the bytes used. */
size_t vamp_utf8_copy(char *out, size_t out_bytes, const char *text);

#endif
