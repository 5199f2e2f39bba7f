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
