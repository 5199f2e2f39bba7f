/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/keys.h"

/* One more or one less of what counts as pending. */
static void count_pending(struct vamp_tracker *tracker, const struct vamp_pending *pending,
                          int change)
{
    if ((uint32_t)pending->key[3] == VAMP_KEY_DEMAND) {
        vamp_track_pending(tracker, pending->record.owner, VAMP_IN_FLIGHT_DEMAND, change);
    } else if (vamp_pending_is_withdraw(pending)) {
        vamp_track_pending(tracker, pending->record.owner, VAMP_IN_FLIGHT_WITHDRAW, change);
    }
}

static void remove_pending(struct vamp_track_context *at, struct vamp_table *table,
                           struct vamp_pending *pending)
{
    count_pending(at->tracker, pending, -1);
    vamp_table_remove(table, pending);
}

/* An entry for this key, which has none; the oldest gives way at the bound. */
static struct vamp_pending *add_pending(struct vamp_track_context *at, struct vamp_table *table,
                                        const struct vamp_key *key)
{
    struct vamp_pending *oldest = vamp_table_crowded(table);
    if (oldest != NULL) {
        remove_pending(at, table, oldest);
        vamp_track_lost(at->tracker);
        at->seen->evicted++;
    }
    struct vamp_pending *pending = vamp_table_insert(table, key, at->row);
    count_pending(at->tracker, pending, 1);
    if (table == &at->tracker->demands) {
        vamp_pending_cdo_note(at, VAMP_AGE_DEMAND, table, pending);
    } else if (vamp_pending_is_withdraw(pending)) {
        vamp_pending_cdo_note(at, VAMP_AGE_WITHDRAW, table, pending);
    }
    return pending;
}

/* Whether a component waited: one that vanished or was thrown out did not ask to leave. */
static bool is_asked_for(const struct vamp_event *event)
{
    return event->kind != VAMP_EVENT_LEAVE || !vamp_event_has(event, VAMP_HAS_REASON) ||
           event->reason == VAMP_LEAVE_FINALIZED || event->reason == VAMP_LEAVE_UNKNOWN;
}

void vamp_track_received(struct vamp_track_context *at)
{
    const struct vamp_key key = vamp_track_operation_key(at);
    at->tracker->received_kinds |= VAMP_EVENT_BIT(at->event->kind);
    struct vamp_pending *pending = vamp_table_find(&at->tracker->received, &key);
    if (pending == NULL) {
        pending = add_pending(at, &at->tracker->received, &key);
    }
    /* An operation that was refused has no end: the next of its kind takes its place. */
    pending->since = vamp_track_moment(at);
    if (at->event->kind == VAMP_EVENT_DEMAND && at->has_cdo) {
        vamp_track_demand(at, true);
    }
}

void vamp_track_handled(struct vamp_track_context *at)
{
    const struct vamp_key key = vamp_track_operation_key(at);
    struct vamp_pending *pending = vamp_table_find(&at->tracker->received, &key);
    if (pending == NULL) {
        return;
    }
    const int64_t since_ns = pending->since.time_ns;
    remove_pending(at, &at->tracker->received, pending);
    struct vamp_observation *seen = at->seen;
    if (!is_asked_for(at->event) ||
        !vamp_observe_interval(seen, VAMP_INTERVAL_HANDLING, since_ns)) {
        return;
    }
    if (at->event->kind == VAMP_EVENT_WITHDRAW) {
        (void)vamp_observe_interval(seen, VAMP_INTERVAL_WITHDRAW_WAIT, since_ns);
    } else if (at->event->kind == VAMP_EVENT_LEAVE) {
        (void)vamp_observe_interval(seen, VAMP_INTERVAL_LEAVE_WAIT, since_ns);
    }
}

static struct vamp_pending *find_demand(struct vamp_track_context *at)
{
    if (at->tracker->tallies[at->row].in_flight[VAMP_IN_FLIGHT_DEMAND].now == 0) {
        return NULL; /* the component has no pending demand at all */
    }
    const struct vamp_key key = vamp_track_demand_key(at);
    return vamp_table_find(&at->tracker->demands, &key);
}

void vamp_track_demand(struct vamp_track_context *at, bool before)
{
    const struct vamp_key key = vamp_track_demand_key(at);
    struct vamp_pending *pending = vamp_table_find(&at->tracker->demands, &key);
    bool begins = pending == NULL;
    if (begins) {
        pending = add_pending(at, &at->tracker->demands, &key);
    } else if (pending->failed) {
        /* Asked again: the demand before has ended without data. */
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_DEMAND_NEVER_SATISFIED, 1);
        begins = true;
    } else if (before && !pending->acknowledged) {
        begins = true; /* the one before was refused */
    }
    if (begins) {
        pending->since = vamp_track_moment(at);
        pending->acknowledged = false;
        pending->failed = false;
    }
    pending->acknowledged = pending->acknowledged || !before;
}

void vamp_track_demand_failed(struct vamp_track_context *at)
{
    struct vamp_pending *pending = at->has_cdo ? find_demand(at) : NULL;
    if (pending != NULL) {
        pending->failed = true;
    }
}

bool vamp_track_demand_end(struct vamp_track_context *at, struct vamp_moment *ret_since)
{
    struct vamp_pending *pending = find_demand(at);
    if (pending == NULL) {
        return false;
    }
    if (ret_since != NULL) {
        *ret_since = pending->since;
    }
    remove_pending(at, &at->tracker->demands, pending);
    return true;
}
