/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/handlers.h"

#include "vampire/stats/pairing/owner.h"
#include "vampire/stats/pairing/pending.h"
#include "vampire/stats/pairing/waits.h"

/*
 * Determines which side of a transport is the source, if events name one component without its
 * role: a component that offers the CDO is the source, a component that demands it is the sink. If
 * the component does neither or both, the role that most transports named is assumed. If a
 * transport contradicts the majority, its ends are unknown.
 */

/* Returns whether a transport of the CDO to this component is in progress. */
static bool is_on_its_way(const struct vamp_track_context *at, uint64_t app_id)
{
    const struct vamp_who who = {app_id, 0, VAMP_PENDING_TRANSPORT, true};
    return vamp_pending_find(at->tracker, at->record, &who) != NULL;
}

static uint64_t id_of(const struct vamp_track_context *at, uint32_t row)
{
    return vamp_components_row(at->tracker->components, row)->app_id;
}

/* Returns the row of the only component that may be the sink: a component with a pending demand for
 * the CDO. At the end of a transport, only components with a transport in progress are considered,
 * if there are any; otherwise only those without. Returns 0 if there is none, or more than one. */
static uint32_t find_sink(struct vamp_track_context *at)
{
    const bool begins = at->event->kind == VAMP_EVENT_TRANSPORT_INIT;
    if (vamp_event_has(at->event, VAMP_HAS_TRANSPORT) && !begins) {
        struct vamp_lookup lookup;
        vamp_lookup_of_transport(at, &lookup);
        const struct vamp_pending *pending = vamp_pending_lookup(at, &lookup);
        if (pending != NULL) {
            return pending->sink_row;
        }
    }
    uint32_t position = 0;
    uint32_t row = 0;
    uint32_t found[2] = {0, 0}; /* the last component found; [1]: with a transport in progress */
    unsigned count[2] = {0, 0};
    while (vamp_track_next_demander(at, &position, &row)) {
        if (row != 0 && row != at->row) {
            const bool moves = is_on_its_way(at, id_of(at, row));
            found[moves] = row;
            count[moves]++;
        }
    }
    const bool wanted = !begins && count[true] > 0;
    return count[wanted] == 1 ? found[wanted] : 0;
}

/* Returns the row of the only component that offers the CDO; 0 if there is none, or more than one.
 */
static uint32_t find_source(const struct vamp_track_context *at)
{
    const struct vamp_cdo *cdo = at->cdo;
    if (cdo == NULL) {
        return 0;
    }
    const bool by_owner = (cdo->flags & VAMP_CDO_OFFERED) != 0;
    if (by_owner && cdo->offers == 0) {
        return cdo->record.item.row;
    }
    if (!by_owner && cdo->offers == 1) {
        return vamp_reference_last_offer(at->tracker, cdo)->item.row;
    }
    return 0;
}

static void name_source(struct vamp_event *event, uint64_t app_id)
{
    event->peer_id = app_id;
    event->present |= VAMP_HAS_PEER;
}

static void name_sink(const struct vamp_track_context *at, struct vamp_event *event, uint32_t row)
{
    event->present &= (uint16_t)~VAMP_HAS_APP;
    if (row != 0) {
        event->app_id = id_of(at, row);
        event->present |= VAMP_HAS_APP;
    }
}

void vamp_track_find_ends(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_event *event = &tracker->turned;
    *event = *at->event;
    const bool offers = at->row != 0 && at->cdo != NULL && vamp_track_offers(at);
    const bool demands = at->row != 0 && at->has_cdo && vamp_track_is_demanded(at);
    const bool shown = offers != demands;
    bool is_source = tracker->meant[true] > tracker->meant[false];
    if (shown) {
        is_source = offers;
        tracker->meant[offers]++;
    }
    if (is_source && at->cdo != NULL && at->event->kind == VAMP_EVENT_TRANSPORT_COMPLETED &&
        at->cdo->guessed < VAMP_GUESSED_MAX) {
        at->cdo->guessed++;
    }
    if (shown && tracker->meant[offers] < tracker->meant[!offers]) {
        name_sink(at, event, 0);
    } else if (is_source && at->row != 0) {
        name_source(event, at->event->app_id);
        name_sink(at, event, find_sink(at));
    } else {
        const uint32_t source = find_source(at);
        if (source != 0 && source != at->row) {
            name_source(event, id_of(at, source));
        }
    }
    at->event = event;
    at->seen->event = event;
}
