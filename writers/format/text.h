/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A growing text for line-based formats. Running out of memory sets `failed`, and later calls have
 * no effect. Not null-terminated. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vamp_text {
    char *bytes; /* malloc'ed, `used` of `capacity` */
    size_t used, capacity;
    bool failed; /* out of memory */
};

void vamp_text_done(struct vamp_text *text); /* frees; the object is empty and usable again */
void vamp_text_add(struct vamp_text *text, const char *bytes, size_t length);
void vamp_text_word(struct vamp_text *text, const char *word); /* null-terminated */
/* Appends an integer exactly, with its last `decimals` digits (at most 18) after the decimal point.
 */
#define VAMP_TEXT_NUMBER_BYTES 48
void vamp_text_number(struct vamp_text *text, unsigned __int128 value, unsigned decimals);
void vamp_text_signed(struct vamp_text *text, int64_t value, unsigned decimals);
/* Appends the text with a backslash before each character in `escaped` and newlines as \n. Invalid
 * UTF-8 is replaced by U+FFFD. */
void vamp_text_escaped(struct vamp_text *text, const char *word, const char *escaped);
