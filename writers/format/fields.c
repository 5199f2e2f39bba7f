/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/fields.h"

#include <endian.h>
#include <string.h>

#include "vampire/core/event/event.h"
#include "vampire/core/protobuf/wire.h"
#include "vampire/core/utf8.h"

void vamp_field_varint(struct vamp_text *text, uint64_t value)
{
    uint8_t bytes[VAMP_VARINT_BYTES_MAX];
    vamp_text_add(text, (const char *)bytes, (size_t)(vamp_varint_write(bytes, value) - bytes));
}

void vamp_field_bits(struct vamp_text *text, uint64_t bits)
{
    const uint64_t little = htole64(bits);
    vamp_text_add(text, (const char *)&little, sizeof little);
}

void vamp_field_number(struct vamp_text *text, unsigned field, uint64_t value)
{
    if (value != 0) {
        vamp_field_varint(text, VAMP_WIRE_KEY(field, VARINT));
        vamp_field_varint(text, value);
    }
}

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

void vamp_field_signed(struct vamp_text *text, unsigned field, int64_t value)
{
    vamp_field_number(text, field, zigzag(value));
}

void vamp_field_signed_varint(struct vamp_text *text, int64_t value)
{
    vamp_field_varint(text, zigzag(value));
}

uint64_t vamp_bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void vamp_field_fixed32(struct vamp_text *text, unsigned field, uint32_t value)
{
    const uint32_t little = htole32(value);
    vamp_field_varint(text, VAMP_WIRE_KEY(field, FIXED32));
    vamp_text_add(text, (const char *)&little, sizeof little);
}

void vamp_field_fixed64(struct vamp_text *text, unsigned field, uint64_t bits)
{
    vamp_field_varint(text, VAMP_WIRE_KEY(field, FIXED64));
    vamp_field_bits(text, bits);
}

/* Inserts numbers before the bytes written since `begin`. */
static void put_before(struct vamp_text *text, size_t begin, const uint64_t *numbers,
                       unsigned count)
{
    uint8_t lead[2 * VAMP_VARINT_BYTES_MAX], *end = lead;
    const size_t length = text->used - begin;
    for (unsigned i = 0; i < count; i++) {
        end = vamp_varint_write(end, numbers[i]);
    }
    vamp_text_add(text, (const char *)lead, (size_t)(end - lead));
    if (!text->failed) {
        memmove(text->bytes + begin + (end - lead), text->bytes + begin, length);
        memcpy(text->bytes + begin, lead, (size_t)(end - lead));
    }
}

void vamp_field_end(struct vamp_text *text, unsigned field, size_t begin)
{
    put_before(text, begin, (uint64_t[]){VAMP_WIRE_KEY(field, BYTES), text->used - begin}, 2);
}

void vamp_field_delimit(struct vamp_text *text, size_t begin)
{
    put_before(text, begin, (uint64_t[]){text->used - begin}, 1);
}

void vamp_field_bytes(struct vamp_text *text, unsigned field, const struct vamp_text *bytes)
{
    vamp_field_varint(text, VAMP_WIRE_KEY(field, BYTES));
    vamp_field_varint(text, bytes->used);
    vamp_text_add(text, bytes->bytes, bytes->used);
}

void vamp_field_element(struct vamp_text *text, unsigned field, const char *word)
{
    const size_t begin = text->used;
    if (vamp_utf8_is_valid(word)) {
        vamp_text_word(text, word);
    } else {
        char clean[(size_t)VAMP_NAME_BYTES_MAX * 3 + 1];
        (void)vamp_utf8_copy(clean, sizeof clean - 1, word);
        vamp_text_word(text, clean);
    }
    vamp_field_end(text, field, begin);
}

void vamp_field_text(struct vamp_text *text, unsigned field, const char *word)
{
    if (word[0] != '\0') {
        vamp_field_element(text, field, word);
    }
}
