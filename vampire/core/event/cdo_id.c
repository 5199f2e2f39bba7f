/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/event/cdo_id.h"

#include <inttypes.h>
#include <stdio.h>

void vamp_cdo_id_text(struct vamp_cdo_id id, char text[static VAMP_CDO_ID_TEXT_BYTES])
{
    (void)snprintf(text, VAMP_CDO_ID_TEXT_BYTES, "%016" PRIx64 "%016" PRIx64, id.high, id.low);
}
