/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last field of each message of a recording: a CRC-32 (as computed by zlib) of the bytes before
 * it, by which the reader detects damaged messages. Computed by libdeflate, which needs a tenth of
 * the instructions of zlib. Private to the recorder and the reader.
 */
#pragma once

#include <libdeflate.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Keys of the field `check`, of wire type fixed32. */
#define VAMP_CHECK_KEY_HEADER ((uint8_t)(11 << 3 | 5))
#define VAMP_CHECK_KEY_BATCH ((uint8_t)(7 << 3 | 5))
#define VAMP_CHECK_BYTES ((size_t)5) /* key and value */

/* Writes the field `check` of the message to `field`. */
static inline void vamp_check_field(const uint8_t *message, size_t length, uint8_t key,
                                    uint8_t field[static VAMP_CHECK_BYTES])
{
    const uint32_t sum = libdeflate_crc32(0, message, length);
    field[0] = key;
    for (unsigned i = 0; i < 4; i++) {
        field[1 + i] = (uint8_t)(sum >> 8 * i);
    }
}

/* Appends the field `check` to the message. */
static inline void vamp_check_write(uint8_t *message, size_t length, uint8_t key)
{
    vamp_check_field(message, length, key, message + length);
}

/* Returns whether the message ends with the field `check` and the value is correct. */
static inline bool vamp_check_holds(const uint8_t *message, size_t length, uint8_t key)
{
    uint8_t expected[VAMP_CHECK_BYTES];
    if (length <= VAMP_CHECK_BYTES || message[length - VAMP_CHECK_BYTES] != key) {
        return false;
    }
    vamp_check_field(message, length - VAMP_CHECK_BYTES, key, expected);
    return memcmp(message + length - VAMP_CHECK_BYTES, expected, VAMP_CHECK_BYTES) == 0;
}
