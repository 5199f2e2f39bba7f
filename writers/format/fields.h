/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes fields of Protocol Buffers messages to a text (writers/format/text.h, also for the result
 * of running out of memory). To nest a message, write its fields and then call vamp_field_end. One
 * thread at a time.
 */
#pragma once

#include "writers/format/text.h"

/* Numbers without a key, as in packed lists: a varint, a sint64, a fixed64. */
void vamp_field_varint(struct vamp_text *text, uint64_t value);
void vamp_field_signed_varint(struct vamp_text *text, int64_t value);
void vamp_field_bits(struct vamp_text *text, uint64_t bits);
/* uint64, bool or enum; absent if 0. */
void vamp_field_number(struct vamp_text *text, unsigned field, uint64_t value);
/* sint64; absent if 0. */
void vamp_field_signed(struct vamp_text *text, unsigned field, int64_t value);
/* fixed32 and fixed64, or the bits of another number of 64 bits; also if 0. */
void vamp_field_fixed32(struct vamp_text *text, unsigned field, uint32_t value);
void vamp_field_fixed64(struct vamp_text *text, unsigned field, uint64_t bits);
uint64_t vamp_bits_of(double value);
/* A message or bytes that were written to another text. */
void vamp_field_bytes(struct vamp_text *text, unsigned field, const struct vamp_text *bytes);
/* Makes what was written since `begin` a field: inserts key and length before it. */
void vamp_field_end(struct vamp_text *text, unsigned field, size_t begin);
/* Makes what was written since `begin` a delimited message: inserts its length before it. */
void vamp_field_delimit(struct vamp_text *text, size_t begin);
/* A string, with invalid UTF-8 replaced: also if empty; absent if empty. */
void vamp_field_element(struct vamp_text *text, unsigned field, const char *word);
void vamp_field_text(struct vamp_text *text, unsigned field, const char *word);
