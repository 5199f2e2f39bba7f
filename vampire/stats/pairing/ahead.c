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
#define AHEAD_TABLES 4

/* The look-ups in these tables that the events to come will make. */
struct look_ups {
    unsigned count;
    struct {
        struct vamp_table_expected expected;
        bool removal; /* what is found will be removed */
    } items[VAMP_LOOK_AHEAD * AHEAD_TABLES];
};

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

static void add_look_up(struct look_ups *ups, const struct vamp_table *table,
                        const struct vamp_key *key, bool removal)
{
    vamp_table_expect(table, key, &ups->items[ups->count].expected);
    ups->items[ups->count].removal = removal;
    ups->count++;
}

static void add_look_ups(struct vamp_track_context *at, unsigned tables, struct look_ups *ups)
{
    const struct vamp_tracker *tracker = at->tracker;
    const unsigned kind = at->event->kind;
    struct vamp_key key;
    if (vamp_event_has(at->event, VAMP_HAS_APP)) {
        at->component = vamp_components_find(tracker->components, at->event->app_id);
        at->row = at->component == NULL ? 0 : at->component->index;
    }
    if ((tables & RECEIVED) != 0) {
        key = vamp_track_operation_key(at);
        add_look_up(ups, &tracker->received, &key, at->event->phase == VAMP_PHASE_AFTER);
    }
    if ((tables & DEMANDS) != 0) {
        key = vamp_track_demand_key(at);
        add_look_up(ups, &tracker->demands, &key, kind != VAMP_EVENT_DEMAND);
    }
    if ((tables & TRANSPORTS) != 0 && vamp_track_transport_key(at, &key)) {
        add_look_up(ups, &tracker->transports, &key, kind != VAMP_EVENT_TRANSPORT_INIT);
    }
    if ((tables & HOLDS) != 0) {
        key = vamp_hold_key(at);
        add_look_up(ups, &tracker->holds, &key, kind == VAMP_EVENT_DISPOSE);
    }
}

/* False: the event is a mark, or of no CDO; of these there are few. */
static bool foresee(struct vamp_tracker *tracker, const struct vamp_event *event,
                    struct vamp_foreseen *ret_foreseen)
{
    ret_foreseen->event = event;
    if (event->kind >= VAMP_EVENT_KIND_COUNT ||
        !vamp_track_find_key(event, &ret_foreseen->cdo_key)) {
        return false;
    }
    ret_foreseen->cdo = (struct vamp_table_expected){.line = NULL};
    if (event->phase == VAMP_PHASE_AFTER) {
        vamp_table_expect(&tracker->cdos, &ret_foreseen->cdo_key, &ret_foreseen->cdo);
    }
    return true;
}

static void expect_records(struct vamp_track_ahead *ahead, struct look_ups *ups)
{
    for (unsigned i = 0; i < ahead->count; i++) {
        if (ahead->events[i].cdo.line != NULL) {
            vamp_table_expect_record(&ahead->events[i].cdo);
        }
    }
    for (unsigned i = 0; i < ups->count; i++) {
        vamp_table_expect_record(&ups->items[i].expected);
    }
}

static void expect_removals(const struct vamp_track_ahead *ahead, const struct look_ups *ups)
{
    for (unsigned i = 0; i < ahead->count; i++) {
        if (ahead->events[i].event->kind == VAMP_EVENT_DISPOSE) {
            vamp_table_expect_removal(&ahead->events[i].cdo);
        }
    }
    for (unsigned i = 0; i < ups->count; i++) {
        if (ups->items[i].removal) {
            vamp_table_expect_removal(&ups->items[i].expected);
        }
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
    const unsigned large = large_tables(tracker);
    struct look_ups ups;
    ups.count = 0;
    for (unsigned i = 0; i < count; i++) {
        struct vamp_foreseen *foreseen = &ahead->events[ahead->count];
        if (foresee(tracker, events[i], foreseen)) {
            ahead->count++;
            const unsigned tables = tables_of(tracker, events[i]) & large;
            if (tables != 0) {
                struct vamp_track_context at = {
                    .tracker = tracker, .event = events[i], .cdo_key = foreseen->cdo_key};
                at.has_cdo = true;
                add_look_ups(&at, tables, &ups);
            }
        }
    }
    expect_records(ahead, &ups);
    expect_removals(ahead, &ups);
}
