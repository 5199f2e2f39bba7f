/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and writes Protocol Buffers messages field by field, in place. Accepts and rejects exactly
 * the same messages as protobuf-c. Any thread.
 */
#pragma once

#include <endian.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "vampire/core/values.h"

/*
 * Varints of Protocol Buffers: seven bits per byte, lowest first; the top bit of a byte is set if
 * another byte follows.
 */
enum { VAMP_VARINT_BYTES_MAX = 10 };

/* Writes `value` to `at`, where VAMP_VARINT_BYTES_MAX bytes must be available (2 if the value is
 * below 2^14). Returns the position after it. */
static inline uint8_t *vamp_varint_write(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* Reads a number of one to five bytes, of `there` available ones, without a loop. Serial numbers,
 * sizes and durations have this length. Each byte except the last contributes 0x80 more than its
 * seven bits, which is subtracted. Returns the position after the number, or NULL if it is longer;
 * *ret_value is then unchanged. */
static inline __attribute__((always_inline)) const uint8_t *
vamp_varint_short(const uint8_t *at, ptrdiff_t there, uint64_t *ret_value)
{
    if (there >= 1 && at[0] < 0x80) {
        *ret_value = at[0];
        return at + 1;
    }
    if (there >= 2 && at[1] < 0x80) {
        *ret_value = at[0] + ((uint32_t)at[1] << 7) - 0x80;
        return at + 2;
    }
    if (there >= 3 && at[2] < 0x80) {
        *ret_value = at[0] + ((uint32_t)at[1] << 7) + ((uint32_t)at[2] << 14) - 0x4080;
        return at + 3;
    }
    if (there >= 4 && at[3] < 0x80) {
        *ret_value = at[0] + ((uint32_t)at[1] << 7) + ((uint32_t)at[2] << 14) +
                     ((uint32_t)at[3] << 21) - 0x204080;
        return at + 4;
    }
    if (there >= 5 && at[4] < 0x80) {
        *ret_value = at[0] + ((uint64_t)at[1] << 7) + ((uint64_t)at[2] << 14) +
                     ((uint64_t)at[3] << 21) + ((uint64_t)at[4] << 28) - 0x10204080;
        return at + 5;
    }
    return NULL;
}

/* Reads a number of at most `bytes_max` (up to VAMP_VARINT_BYTES_MAX) bytes between `at` and `end`.
 * Returns the position after it, or NULL if the number is incomplete or too long; *ret_value is
 * then unchanged. Bits above the 64th are dropped, as in protobuf-c. */
static inline const uint8_t *vamp_varint_read(const uint8_t *at, const uint8_t *end,
                                              size_t bytes_max, uint64_t *ret_value)
{
    uint64_t value = 0;
    const uint8_t *const limit = at + VAMP_MIN((size_t)(end - at), bytes_max);
    for (unsigned shift = 0; at != limit; shift += 7) {
        const uint8_t byte = *at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return at;
        }
    }
    return NULL;
}

/* The wire type of a field. */
enum vamp_wire_form { VAMP_WIRE_VARINT, VAMP_WIRE_FIXED64, VAMP_WIRE_BYTES, VAMP_WIRE_FIXED32 = 5 };

/* The key that precedes a value. */
#define VAMP_WIRE_KEY(number, form) ((number) << 3 | VAMP_WIRE_##form)

/* A message being read. After an error (`bad` is set) the position is at its end, and results are
 * meaningless. */
struct vamp_wire {
    const uint8_t *at, *end;
    bool bad;
};

static inline bool vamp_wire_has_more(const struct vamp_wire *wire)
{
    return wire->at != wire->end;
}

static inline void vamp_wire_fail(struct vamp_wire *wire)
{
    wire->bad = true;
    wire->at = wire->end;
}

static inline uint64_t vamp_wire_long_varint(struct vamp_wire *wire, size_t bytes_max)
{
    uint64_t value = 0;
    const uint8_t *after = vamp_varint_read(wire->at, wire->end, bytes_max, &value);
    if (after == NULL) {
        vamp_wire_fail(wire);
        return 0;
    }
    wire->at = after;
    return value;
}

static inline uint64_t vamp_wire_varint(struct vamp_wire *wire)
{
    uint64_t value = 0;
    const uint8_t *after = vamp_varint_short(wire->at, wire->end - wire->at, &value);
    if (after == NULL) {
        return vamp_wire_long_varint(wire, VAMP_VARINT_BYTES_MAX);
    }
    wire->at = after;
    return value;
}

/* Reads the number and wire type of the next field; the message must not be at its end. Number 0 in
 * one byte is rejected, as in protobuf-c. */
static inline uint64_t vamp_wire_key(struct vamp_wire *wire)
{
    const uint8_t first = *wire->at;
    if (first >= 0x80) {
        return vamp_wire_long_varint(wire, 5);
    }
    wire->at++;
    if (first < 1 << 3) {
        vamp_wire_fail(wire);
    }
    return first;
}

static inline uint64_t vamp_wire_fixed64(struct vamp_wire *wire)
{
    uint64_t value = 0;
    if (wire->end - wire->at < (ptrdiff_t)sizeof value) {
        vamp_wire_fail(wire);
        return 0;
    }
    memcpy(&value, wire->at, sizeof value);
    wire->at += sizeof value;
    return le64toh(value);
}

/* Returns the bytes of a length-delimited value, which point into the message. */
static inline const uint8_t *vamp_wire_bytes(struct vamp_wire *wire, size_t *ret_length)
{
    uint64_t length = 0;
    if (wire->at != wire->end && *wire->at < 0x80) {
        length = *wire->at++;
    } else {
        length = vamp_wire_long_varint(wire, 5);
    }
    if (length > (uint64_t)(wire->end - wire->at) || length > INT_MAX) {
        vamp_wire_fail(wire);
        *ret_length = 0;
        return wire->end;
    }
    const uint8_t *bytes = wire->at;
    wire->at += length;
    *ret_length = (size_t)length;
    return bytes;
}

/* Skips the value of a field that is not needed. */
static inline void vamp_wire_skip(struct vamp_wire *wire, uint64_t key)
{
    size_t length = 0;
    switch (key & 7) {
    case VAMP_WIRE_VARINT:
        (void)vamp_wire_varint(wire);
        break;
    case VAMP_WIRE_FIXED64:
        (void)vamp_wire_fixed64(wire);
        break;
    case VAMP_WIRE_BYTES:
        (void)vamp_wire_bytes(wire, &length);
        break;
    case VAMP_WIRE_FIXED32:
        if (wire->end - wire->at < 4) {
            vamp_wire_fail(wire);
            break;
        }
        wire->at += 4;
        break;
    default:
        vamp_wire_fail(wire);
    }
}

/* Reads a bool of any wire type. Like protobuf-c, returns whether any byte of the value, its length
 * included, is nonzero in the lower seven bits. */
static inline bool vamp_wire_bool(struct vamp_wire *wire, uint64_t key)
{
    const uint8_t *byte = wire->at;
    vamp_wire_skip(wire, key);
    while (byte < wire->at && (*byte & 0x7f) == 0) {
        byte++;
    }
    return byte < wire->at;
}

/* For writing: size of the key and the length of a message below 2^14 bytes. */
enum { VAMP_WIRE_LEAD_BYTES_MAX = 3 };
static inline size_t vamp_wire_lead_bytes(size_t length)
{
    return length < 0x80 ? 2 : VAMP_WIRE_LEAD_BYTES_MAX;
}

/* Writes key and length to `at`. The message starts `gap` bytes after `at`; it is moved if key and
 * length do not take exactly `gap` bytes. Returns the position after the message. */
static inline uint8_t *vamp_wire_wrap(uint8_t *at, size_t gap, uint8_t key, size_t length)
{
    const size_t lead = vamp_wire_lead_bytes(length);
    if (lead != gap) {
        memmove(at + lead, at + gap, length);
    }
    *at = key;
    (void)vamp_varint_write(at + 1, length);
    return at + lead + length;
}
