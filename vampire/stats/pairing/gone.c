/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a pool, without LEAVE events: everything is released as if all components had left. */
#include <string.h>

#include "vampire/stats/pairing/records.h"

static void label_component(struct vamp_track_context *at)
{
    uint32_t *labels = at->seen->labels.value;
    labels[VAMP_LABEL_COMPONENT] =
        at->component != NULL ? vamp_track_name(at->tracker, at->component) : VAMP_NAME_UNKNOWN;
    labels[VAMP_LABEL_OPERATION] = VAMP_EVENT_LEAVE;
    labels[VAMP_LABEL_SIZE_CLASS] = vamp_size_class(false, 0);
    at->seen->producer = labels[VAMP_LABEL_COMPONENT];
    at->seen->size_bytes = 0;
}

static void empty_table(struct vamp_table *table)
{
    uint32_t position = 0;
    void *record = NULL;
    while ((record = vamp_table_next(table, &position)) != NULL) {
        vamp_table_remove(table, record);
    }
}

/* What belongs to no component, or to several that cannot be distinguished. */
static void release_rest(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    vamp_track_forget_cdos(at);
    empty_table(&tracker->holds);
    empty_table(&tracker->received);
    empty_table(&tracker->demands);
    uint32_t position = 0;
    struct vamp_transport *transport = NULL;
    while ((transport = vamp_table_next(&tracker->transports, &position)) != NULL) {
        at->seen->active[transport->tier]--;
        vamp_track_pending(tracker, transport->row, VAMP_IN_FLIGHT_TRANSPORT + transport->tier, -1);
        vamp_table_remove(&tracker->transports, transport);
    }
    vamp_track_drop_pending(tracker, 0);
    struct vamp_tally rest = {.present = 0};
    memcpy(rest.in_flight, tracker->tallies[0].in_flight, sizeof rest.in_flight);
    tracker->tallies[0] = rest;
}

struct vamp_event vamp_track_leave_of(const struct vamp_components *components, uint32_t row,
                                      int64_t time_ns, enum vamp_leave_reason reason)
{
    return (struct vamp_event){
        .kind = VAMP_EVENT_LEAVE,
        .time_ns = time_ns,
        .app_id = vamp_components_row(components, row)->app_id,
        .reason = (uint8_t)reason,
        .present = (uint16_t)((row == 0 ? 0 : VAMP_HAS_APP) |
                              (reason == VAMP_LEAVE_UNKNOWN ? 0 : VAMP_HAS_REASON)),
    };
}

bool vamp_track_gone(struct vamp_tracker *tracker, uint32_t row, const struct vamp_event *leave,
                     struct vamp_observation *seen)
{
    struct vamp_tally *tally = &tracker->tallies[row];
    if (tally->left) {
        return false;
    }
    vamp_observation_begin(seen, leave);
    struct vamp_track_context at = {.tracker = tracker, .event = leave, .seen = seen, .row = row};
    if (row != 0) {
        at.component = vamp_components_row(tracker->components, row);
    }
    label_component(&at);
    seen->present = -(int64_t)tally->present;
    tally->present = 0;
    if (row != 0) {
        vamp_track_release(&at);
    } else {
        release_rest(&at);
    }
    vamp_track_show_bytes(tracker, seen);
    return true;
}
