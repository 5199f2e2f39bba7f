/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * With many live CDOs nearly every look-up waits for memory, several times an event. The events of
 * a group are known together, so all their look-ups can wait at the same time: first for the
 * lines of the indexes, then for the records, then for the neighbours of what will go. The key of
 * an event's CDO, and the record that it seems to have, are kept for when the event is tracked.
 */
#include "vampire/stats/pairing/keys.h"

/* A smaller table is in the processor's caches anyway. */
#define NEAR_RECORDS 4096

/* The tables in which an event is looked up, apart from that of the CDOs, as bits. */
enum { RECEIVED = 1, DEMANDS = 2, TRANSPORTS = 4, HOLDS = 8 };

static unsigned large_tables(const struct vamp_tracker *tracker)
{
    return (tracker->received.used >= NEAR_RECORDS ? RECEIVED : 0U) |
           (tracker->demands.used >= NEAR_RECORDS ? DEMANDS : 0U) |
           (tracker->transports.used >= NEAR_RECORDS ? TRANSPORTS : 0U) |
           (tracker->holds.used >= NEAR_RECORDS ? HOLDS : 0U);
}

/* The tables in which this event of a CDO is looked up. */
static unsigned tables_of(const struct vamp_tracker *tracker, const struct vamp_event *event)
{
    if (event->phase != VAMP_PHASE_AFTER) {
        return event->kind == VAMP_EVENT_DEMAND ? RECEIVED | DEMANDS : RECEIVED;
    }
    static const uint8_t after[VAMP_EVENT_KIND_COUNT] = {
        [VAMP_EVENT_DECLARE] = HOLDS,
        [VAMP_EVENT_DEMAND] = DEMANDS,
        [VAMP_EVENT_DISPOSE] = DEMANDS | HOLDS,
        [VAMP_EVENT_TRANSPORT_INIT] = TRANSPORTS,
        [VAMP_EVENT_TRANSPORT_COMPLETED] = TRANSPORTS | DEMANDS,
        [VAMP_EVENT_TRANSPORT_FAILED] = TRANSPORTS | DEMANDS,
    };
    const bool handled = (tracker->received_kinds & VAMP_EVENT_BIT(event->kind)) != 0;
    return after[event->kind] | (handled ? RECEIVED : 0U);
}

static const struct vamp_table_expected *look_up(struct vamp_track_ahead *ahead,
                                                 const struct vamp_table *table,
                                                 const struct vamp_key *key, bool removal)
{
    struct vamp_table_expected *expected = &ahead->look_ups[ahead->look_up_count++];
    vamp_table_expect(table, key, removal, expected);
    return expected;
}

static void look_up_in(struct vamp_track_context *at, unsigned tables)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_track_ahead *ahead = &tracker->ahead;
    const unsigned kind = at->event->kind;
    struct vamp_key key;
    at->row = 0;
    if (vamp_event_has(at->event, VAMP_HAS_APP)) {
        at->component = vamp_components_find(tracker->components, at->event->app_id);
        at->row = at->component == NULL ? 0 : at->component->index;
    }
    if ((tables & RECEIVED) != 0) {
        key = vamp_track_operation_key(at);
        (void)look_up(ahead, &tracker->received, &key, at->event->phase == VAMP_PHASE_AFTER);
    }
    if ((tables & DEMANDS) != 0) {
        key = vamp_track_demand_key(at);
        (void)look_up(ahead, &tracker->demands, &key, kind != VAMP_EVENT_DEMAND);
    }
    if ((tables & TRANSPORTS) != 0 && vamp_track_transport_key(at, &key)) {
        (void)look_up(ahead, &tracker->transports, &key, kind != VAMP_EVENT_TRANSPORT_INIT);
    }
    if ((tables & HOLDS) != 0) {
        key = vamp_hold_key(at);
        (void)look_up(ahead, &tracker->holds, &key, kind == VAMP_EVENT_DISPOSE);
    }
}

/* Nothing of a mark, or of an event of no CDO; of these there are few. */
static void foresee(struct vamp_tracker *tracker, const struct vamp_event *event, unsigned large)
{
    struct vamp_track_context *at = tracker->at;
    at->tracker = tracker;
    at->event = event;
    at->has_cdo = event->kind < VAMP_EVENT_KIND_COUNT && vamp_track_find_key(event, &at->cdo_key);
    if (!at->has_cdo) {
        return;
    }
    struct vamp_track_ahead *ahead = &tracker->ahead;
    struct vamp_foreseen *foreseen = &ahead->events[ahead->count++];
    foreseen->event = event;
    foreseen->cdo_key = at->cdo_key;
    foreseen->cdo = event->phase == VAMP_PHASE_AFTER ? look_up(ahead, &tracker->cdos, &at->cdo_key,
                                                               event->kind == VAMP_EVENT_DISPOSE)
                                                     : NULL;
    const unsigned tables = tables_of(tracker, event) & large;
    if (tables != 0) {
        look_up_in(at, tables);
    }
}

void vamp_track_look_ahead(struct vamp_tracker *tracker, const struct vamp_event *const *events,
                           unsigned count)
{
    struct vamp_track_ahead *ahead = &tracker->ahead;
    ahead->count = 0;
    ahead->next = 0;
    if (tracker->cdos.used < NEAR_RECORDS) {
        return;
    }
    ahead->look_up_count = 0;
    const unsigned large = large_tables(tracker);
    for (unsigned i = 0; i < count; i++) {
        foresee(tracker, events[i], large);
    }
    vamp_table_expect_records(ahead->look_ups, ahead->look_up_count);
    vamp_table_expect_removals(ahead->look_ups, ahead->look_up_count);
}
