/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fields of a message of Protocol Buffers, appended to a text (writers/format/text.h, which also
 * says what happens without memory). A message within a message is written like any other bytes;
 * then vamp_field_end makes it a field. One thread at a time.
 */
#pragma once

#include "writers/format/text.h"

/* A number alone, as keys and lengths are, and a sint64; one of 64 bits alone, as in a list. */
void vamp_field_varint(struct vamp_text *text, uint64_t value);
void vamp_field_signed_varint(struct vamp_text *text, int64_t value);
void vamp_field_bits(struct vamp_text *text, uint64_t bits);
/* uint64, bool or enum; absent where it is 0. */
void vamp_field_number(struct vamp_text *text, unsigned field, uint64_t value);
/* sint64; absent where it is 0. */
void vamp_field_signed(struct vamp_text *text, unsigned field, int64_t value);
/* fixed64, or the bits of another number of 64 bits; present also where it is 0. */
void vamp_field_fixed64(struct vamp_text *text, unsigned field, uint64_t bits);
uint64_t vamp_bits_of(double value);
/* Makes what was written since `begin` a field: puts key and length before it. */
void vamp_field_end(struct vamp_text *text, unsigned field, size_t begin);
/* Puts the length of what was written since `begin` before it: a message in a stream of messages.
 */
void vamp_field_delimit(struct vamp_text *text, size_t begin);
/* A string; what is not UTF-8 in it is replaced. Present, absent where it is empty. */
void vamp_field_element(struct vamp_text *text, unsigned field, const char *word);
void vamp_field_text(struct vamp_text *text, unsigned field, const char *word);
