/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last field of each message of a recording: a CRC-32 (zlib's) of the bytes before it, so that
 * a reader knows a message that is not the one written. Private to the recorder and the reader.
 */
#ifndef VAMP_CORE_RECORDING_CHECK_H
#define VAMP_CORE_RECORDING_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

/* Keys of the field `check`, of wire type fixed32. */
#define VAMP_CHECK_KEY_HEADER ((uint8_t)(11 << 3 | 5))
#define VAMP_CHECK_KEY_BATCH ((uint8_t)(7 << 3 | 5))
#define VAMP_CHECK_BYTES ((size_t)5) /* key and value */

/* Writes the field after the message. */
static inline void vamp_check_write(uint8_t *message, size_t length, uint8_t key)
{
    const uint32_t sum = (uint32_t)crc32(0, message, (uInt)length);
    uint8_t *at = message + length;
    at[0] = key;
    for (unsigned i = 0; i < 4; i++) {
        at[1 + i] = (uint8_t)(sum >> 8 * i);
    }
}

/* Whether the message ends with the field and is the one for which it was written. */
static inline bool vamp_check_holds(const uint8_t *message, size_t length, uint8_t key)
{
    uint8_t expected[VAMP_CHECK_BYTES];
    if (length <= VAMP_CHECK_BYTES || message[length - VAMP_CHECK_BYTES] != key) {
        return false;
    }
    const uint32_t sum = (uint32_t)crc32(0, message, (uInt)(length - VAMP_CHECK_BYTES));
    expected[0] = key;
    for (unsigned i = 0; i < 4; i++) {
        expected[1 + i] = (uint8_t)(sum >> 8 * i);
    }
    return memcmp(message + length - VAMP_CHECK_BYTES, expected, VAMP_CHECK_BYTES) == 0;
}

#endif
