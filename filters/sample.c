/* SPDX-License-Identifier: BSD-3-Clause */
#include "filters/sample.h"

#include <assert.h>

#include "vampire/core/hash.h"

bool vamp_sample_passes(uint64_t fraction, const struct vamp_event *event)
{
    assert(fraction >= 1 && fraction <= VAMP_SAMPLE_ALL);
    if (fraction == VAMP_SAMPLE_ALL || !vamp_event_has(event, VAMP_HAS_CDO_ID) ||
        vamp_event_is_mark(event) || event->kind == VAMP_EVENT_JOIN ||
        event->kind == VAMP_EVENT_LEAVE) {
        return true;
    }
    const uint64_t limit = (uint64_t)(((unsigned __int128)fraction << 64) / VAMP_SAMPLE_ALL);
    return vamp_hash_id(event->cdo_id.high, event->cdo_id.low) < limit;
}
