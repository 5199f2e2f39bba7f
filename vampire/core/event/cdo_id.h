/* SPDX-License-Identifier: BSD-3-Clause */
/* A CDO's id as 16 bytes, the form it has in Maestro's events, on the wire and in recordings. */
#ifndef VAMP_CORE_EVENT_CDO_ID_H
#define VAMP_CORE_EVENT_CDO_ID_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "vampire/core/event/event.h"

#define VAMP_CDO_ID_BYTES 16

/* `high`, then `low`, each most significant byte first: the bytes read like the id's text. */
static inline void vamp_cdo_id_to_bytes(struct vamp_cdo_id id,
                                        uint8_t bytes[static VAMP_CDO_ID_BYTES])
{
    const uint64_t words[2] = {htobe64(id.high), htobe64(id.low)};
    memcpy(bytes, words, sizeof words);
}

static inline struct vamp_cdo_id
vamp_cdo_id_from_bytes(const uint8_t bytes[static VAMP_CDO_ID_BYTES])
{
    uint64_t words[2];
    memcpy(words, bytes, sizeof words);
    return (struct vamp_cdo_id){.high = be64toh(words[0]), .low = be64toh(words[1])};
}

/* 32 hexadecimal digits, terminated. */
#define VAMP_CDO_ID_TEXT_BYTES 33
void vamp_cdo_id_text(struct vamp_cdo_id id, char text[static VAMP_CDO_ID_TEXT_BYTES]);

#endif
