/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A growing text for formats made of lines. Running out of memory sets `failed`, and every later
 * call does nothing. Not terminated. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vamp_text {
    char *bytes; /* malloc'ed, `used` of `capacity` */
    size_t used, capacity;
    bool failed; /* no memory */
};

void vamp_text_done(struct vamp_text *text); /* frees; the object is empty and usable again */
void vamp_text_add(struct vamp_text *text, const char *bytes, size_t length);
void vamp_text_word(struct vamp_text *text, const char *word); /* terminated */
/* A whole number with the last `decimals` digits (at most 18) after the point, exactly. */
#define VAMP_TEXT_NUMBER_BYTES 48
void vamp_text_number(struct vamp_text *text, unsigned __int128 value, unsigned decimals);
void vamp_text_signed(struct vamp_text *text, int64_t value, unsigned decimals);
/* With a backslash before each of the characters in `escaped`, newlines as \n; what is not
 * well-formed UTF-8 becomes U+FFFD. */
void vamp_text_escaped(struct vamp_text *text, const char *word, const char *escaped);
