/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Appends fields of Protocol Buffers messages to a text (writers/format/text.h, which also
 * describes the behaviour when memory runs out). To nest a message, write its fields and then call
 * vamp_field_end. One thread at a time.
 */
#pragma once

#include "writers/format/text.h"

/* Numbers without a key, as in packed lists: varint, sint64, fixed64. */
void vamp_field_varint(struct vamp_text *text, uint64_t value);
void vamp_field_signed_varint(struct vamp_text *text, int64_t value);
void vamp_field_bits(struct vamp_text *text, uint64_t bits);
/* uint64, bool or enum; omitted if 0. */
void vamp_field_number(struct vamp_text *text, unsigned field, uint64_t value);
/* sint64; omitted if 0. */
void vamp_field_signed(struct vamp_text *text, unsigned field, int64_t value);
/* fixed32; fixed64, or a double as vamp_bits_of(value). Written even if 0. */
void vamp_field_fixed32(struct vamp_text *text, unsigned field, uint32_t value);
void vamp_field_fixed64(struct vamp_text *text, unsigned field, uint64_t bits);
uint64_t vamp_bits_of(double value);
/* A message or bytes already written to another text. */
void vamp_field_bytes(struct vamp_text *text, unsigned field, const struct vamp_text *bytes);
/* Turns the bytes written since `begin` into a field: inserts key and length before them. */
void vamp_field_end(struct vamp_text *text, unsigned field, size_t begin);
/* Turns the bytes written since `begin` into a delimited message: inserts their length before them.
 */
void vamp_field_delimit(struct vamp_text *text, size_t begin);
/* A string, with invalid UTF-8 replaced. vamp_field_element writes it even if empty;
 * vamp_field_text omits it then. */
void vamp_field_element(struct vamp_text *text, unsigned field, const char *word);
void vamp_field_text(struct vamp_text *text, unsigned field, const char *word);
