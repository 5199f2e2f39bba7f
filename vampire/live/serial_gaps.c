/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/serial_gaps.h"

#include "vampire/core/values.h"

static void note_gap(struct vamp_serial_gaps *gaps, const struct vamp_event *event)
{
    const uint64_t missing = event->serial - gaps->newest - 1;
    if (missing == 0 && event->phase == VAMP_PHASE_AFTER) {
        gaps->gapless |= VAMP_EVENT_BIT(event->kind);
        gaps->missing += gaps->stored[event->kind];
        gaps->stored[event->kind] = 0;
    } else if (event->phase == VAMP_PHASE_AFTER &&
               (gaps->gapless & VAMP_EVENT_BIT(event->kind)) == 0) {
        gaps->stored[event->kind] += missing;
    } else {
        gaps->missing += missing;
    }
    gaps->newest = event->serial;
}

uint64_t vamp_serial_gaps_observe(struct vamp_serial_gaps *gaps, const struct vamp_event *event)
{
    const bool is_numbered = !vamp_event_is_mark(event) && event->serial != 0;
    if (gaps->newest == 0) {
        if (is_numbered && event->phase == VAMP_PHASE_AFTER) {
            gaps->first = event->serial;
            gaps->newest = event->serial;
        }
        return event->kind == VAMP_EVENT_LOST ? event->count : 0;
    }
    /* Events from before the start are not missing. */
    const bool is_late = is_numbered && event->serial > gaps->first && event->serial < gaps->newest;
    if (event->kind == VAMP_EVENT_LOST) {
        gaps->reported += event->count;
    } else if (event->kind == VAMP_EVENT_REJECTED || is_late) {
        gaps->filled++;
    } else if (is_numbered && event->serial > gaps->newest) {
        note_gap(gaps, event);
    }
    const uint64_t lost = VAMP_MAX(gaps->reported, vamp_minus(gaps->missing, gaps->filled));
    const uint64_t more = vamp_minus(lost, gaps->counted);
    gaps->counted += more;
    return more;
}

uint64_t vamp_serial_gaps_unreported(const struct vamp_serial_gaps *gaps)
{
    return vamp_minus(vamp_minus(gaps->missing, gaps->filled), gaps->reported);
}
