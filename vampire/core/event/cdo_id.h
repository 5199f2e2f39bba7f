/* SPDX-License-Identifier: BSD-3-Clause */
/* A CDO's id as 16 bytes, the form it has in Maestro's events, on the wire and in recordings. */
#ifndef VAMP_CORE_EVENT_CDO_ID_H
#define VAMP_CORE_EVENT_CDO_ID_H

#include <stdint.h>

#include "vampire/core/event/event.h"

#define VAMP_CDO_ID_BYTES 16

/* `high`, then `low`, each most significant byte first: the bytes read like the id's text. */
void vamp_cdo_id_to_bytes(struct vamp_cdo_id id, uint8_t bytes[static VAMP_CDO_ID_BYTES]);
struct vamp_cdo_id vamp_cdo_id_from_bytes(const uint8_t bytes[static VAMP_CDO_ID_BYTES]);

/* 32 hexadecimal digits, terminated. */
#define VAMP_CDO_ID_TEXT_BYTES 33
void vamp_cdo_id_text(struct vamp_cdo_id id, char text[static VAMP_CDO_ID_TEXT_BYTES]);

#endif
