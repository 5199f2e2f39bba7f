/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * With many live CDOs nearly every look-up waits for memory, several times an event. The events of
 * a group are known together, so all their look-ups can wait at the same time: first for the
 * lines of the indexes, then for the records, then for the neighbours of what will go.
 */
#include "vampire/stats/pairing/records.h"

static void add_event(struct vamp_tracker *tracker, const struct vamp_event *event,
                      struct vamp_ahead *ahead)
{
    struct vamp_track_context at = {.tracker = tracker, .event = event};
    at.has_cdo = vamp_track_find_key(event, &at.cdo_key);
    if (!at.has_cdo) {
        return; /* of components and transports without a CDO there are few */
    }
    if (vamp_event_has(event, VAMP_HAS_APP)) {
        at.component = vamp_components_find(tracker->components, event->app_id);
        at.row = at.component == NULL ? 0 : at.component->index;
    }
    if (event->phase == VAMP_PHASE_AFTER) {
        vamp_ahead_add(ahead, &tracker->cdos, &at.cdo_key, event->kind == VAMP_EVENT_DISPOSE);
    }
    vamp_track_waits_ahead(&at, ahead);
    vamp_track_transport_ahead(&at, ahead);
}

void vamp_track_look_ahead(struct vamp_tracker *tracker, const struct vamp_event *const *events,
                           unsigned count)
{
    if (tracker->cdos.used < VAMP_NEAR_RECORDS) {
        return;
    }
    struct vamp_ahead ahead;
    ahead.count = 0;
    for (unsigned i = 0; i < count; i++) {
        add_event(tracker, events[i], &ahead);
    }
    for (unsigned i = 0; i < ahead.count; i++) {
        vamp_table_expect_record(&ahead.items[i].expected);
    }
    for (unsigned i = 0; i < ahead.count; i++) {
        if (ahead.items[i].removal) {
            vamp_table_expect_removal(&ahead.items[i].expected);
        }
    }
}
