/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/event/cdo_id.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put_big_endian(uint64_t value, uint8_t bytes[static 8])
{
    const uint64_t turned = htobe64(value);
    memcpy(bytes, &turned, sizeof turned);
}

static uint64_t get_big_endian(const uint8_t bytes[static 8])
{
    uint64_t value = 0;
    memcpy(&value, bytes, sizeof value);
    return be64toh(value);
}

void vamp_cdo_id_to_bytes(struct vamp_cdo_id id, uint8_t bytes[static VAMP_CDO_ID_BYTES])
{
    put_big_endian(id.high, bytes);
    put_big_endian(id.low, bytes + 8);
}

struct vamp_cdo_id vamp_cdo_id_from_bytes(const uint8_t bytes[static VAMP_CDO_ID_BYTES])
{
    return (struct vamp_cdo_id){.high = get_big_endian(bytes), .low = get_big_endian(bytes + 8)};
}

void vamp_cdo_id_text(struct vamp_cdo_id id, char text[static VAMP_CDO_ID_TEXT_BYTES])
{
    (void)snprintf(text, VAMP_CDO_ID_TEXT_BYTES, "%016" PRIx64 "%016" PRIx64, id.high, id.low);
}
