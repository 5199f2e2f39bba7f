/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/attribution.h"

#include "vampire/stats/pairing/owner.h"
#include "vampire/stats/pairing/pending.h"

void vamp_blocked_do_transport(struct vamp_track_context *at, const struct vamp_pending *pending)
{
    struct vamp_blocked *blocked = at->tracker->blocked;
    struct vamp_blocked_clock *clock = &blocked->rows[at->row].demands;
    struct vamp_blocked_share *share = vamp_blocked_share(at->tracker, pending);
    vamp_blocked_advance(blocked, clock, at->event->time_ns);
    vamp_blocked_set_counted_to(share, clock->now);
    share->own = at->cdo != NULL && vamp_cdo_is_owned(at);
}

/* Returns whether this transport satisfied the demand that was removed last. The sink may have left
 * and joined again since the transport started. */
static bool is_transport_of_demand(const struct vamp_track_context *at,
                                   const struct vamp_pending *transport)
{
    return transport != NULL && transport->sink_row == at->row;
}

/* Returns whether the CDO has a known producer other than the component of the event. */
static bool has_other_producer(struct vamp_track_context *at)
{
    return at->cdo != NULL && (at->cdo->flags & VAMP_CDO_MAKER) != 0 && !vamp_cdo_is_owned(at);
}

void vamp_blocked_do_satisfied(struct vamp_track_context *at, const struct vamp_pending *transport)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_blocked_due *due = &tracker->blocked->due;
    tracker->blocked_due = true;
    due->satisfied = true;
    due->parts_known = false;
    due->producer = VAMP_NAME_UNKNOWN;
    if (is_transport_of_demand(at, transport)) {
        const struct vamp_blocked_share *share = vamp_blocked_share(tracker, transport);
        due->parts_known = true;
        due->transport_started = VAMP_MAX(vamp_blocked_counted_to(share), due->demand_from);
        if (!share->own) {
            due->producer = vamp_pending_transport(tracker, transport)->producer;
        }
    } else if (has_other_producer(at)) {
        due->producer = vamp_cdo_owner_name(at, at->cdo);
    }
}

void vamp_blocked_do_finished(struct vamp_track_context *at, const struct vamp_cdo *record)
{
    struct vamp_tracker *tracker = at->tracker;
    const uint32_t owner = record->record.item.row;
    const bool has_other_owner = owner != 0 && owner != at->row;
    if (!has_other_owner || !record->tracked) {
        return;
    }
    const uint32_t consumer = at->seen->labels.value[VAMP_LABEL_COMPONENT];
    struct vamp_blocked_row *row = &tracker->blocked->rows[owner];
    if (row->leaving) {
        row->leave_consumer = consumer;
    }
    if (record->withdraws == 0) {
        return;
    }
    const struct vamp_who who = {.row = owner, .kind = VAMP_EVENT_WITHDRAW};
    const struct vamp_pending *withdraw = vamp_pending_find(tracker, record, &who);
    if (withdraw != NULL) {
        vamp_blocked_share(tracker, withdraw)->consumer = consumer;
    }
}

void vamp_blocked_do_released(struct vamp_track_context *at, const struct vamp_pending *pending)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_blocked_due *due = &tracker->blocked->due;
    const struct vamp_blocked_share *share = vamp_blocked_share(tracker, pending);
    struct vamp_blocked_row *row = &tracker->blocked->rows[pending->item.row];
    due->consumer = share->consumer;
    if (pending->kind == VAMP_EVENT_LEAVE) {
        due->consumer = row->leave_consumer;
    }
    if (due->consumer == VAMP_NAME_UNKNOWN) {
        return; /* no consumer delayed the operation */
    }
    vamp_blocked_advance(tracker->blocked, &row->releases, at->event->time_ns);
    tracker->blocked_due = true;
    due->released = true;
    due->released_row = pending->item.row;
    due->release_from = vamp_blocked_counted_to(share);
    due->release_to = row->releases.now;
}
