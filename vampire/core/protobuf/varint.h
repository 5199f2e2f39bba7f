/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers as Protocol Buffers write them: seven bits a byte, the lowest first; the top bit of a
 * byte is set when another byte follows. No state; any thread.
 */
#ifndef VAMP_CORE_PROTOBUF_VARINT_H
#define VAMP_CORE_PROTOBUF_VARINT_H

#include <stddef.h>
#include <stdint.h>

enum { VAMP_VARINT_BYTES_MAX = 10 };

/* Writes `value` to `at`, where VAMP_VARINT_BYTES_MAX bytes have room (2 below 2^14). Returns the
 * place after it. */
static inline uint8_t *vamp_varint_write(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* Reads a number of one to five bytes, of which `there` are there, without a loop: serial numbers,
 * sizes and durations have them. A byte that is not the last one adds 0x80 more than its seven
 * bits. Returns the place after it, or NULL when it is longer; *ret_value is then unchanged. */
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

/* Reads a number of at most `bytes_max` (up to VAMP_VARINT_BYTES_MAX) bytes from `at`, not
 * beyond `end`. Returns the place after it, or NULL when the number ends neither within
 * `bytes_max` bytes nor before `end`; *ret_value is then unchanged. Bits above the 64th are
 * dropped, as protobuf-c does. */
static inline const uint8_t *vamp_varint_read(const uint8_t *at, const uint8_t *end,
                                              size_t bytes_max, uint64_t *ret_value)
{
    uint64_t value = 0;
    const size_t there = (size_t)(end - at);
    const uint8_t *const limit = at + (there < bytes_max ? there : bytes_max);
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

#endif
