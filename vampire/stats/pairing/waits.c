/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/waits.h"

#include <assert.h>

#include "vampire/stats/pairing/attribution.h"
#include "vampire/stats/pairing/keys.h"
#include "vampire/stats/pairing/owner.h"
#include "vampire/stats/pairing/pending.h"

void vamp_track_drop_pending(struct vamp_tracker *tracker, uint32_t row)
{
    vamp_in_flight_set(&tracker->tallies[row].in_flight[VAMP_IN_FLIGHT_DEMAND], 0);
    vamp_in_flight_set(&tracker->tallies[row].in_flight[VAMP_IN_FLIGHT_WITHDRAW], 0);
    tracker->tallies[row].deliveries = 0;
    /* Invalidates the ages: operations are removed without an event of the component if the pool
     * manager is gone. */
    tracker->aged_events = UINT64_MAX;
}

/* Sets the look-up for a received operation. A DECLARE or JOIN is identified by name, since its id
 * does not exist yet when it is received; another operation without a CDO is identified by its
 * component. */
static void lookup_of_operation(struct vamp_track_context *at, struct vamp_lookup *ret_lookup)
{
    const struct vamp_event *event = at->event;
    const bool by_name =
        event->kind == VAMP_EVENT_DECLARE && vamp_event_has(event, VAMP_HAS_CDO_NAME);
    vamp_lookup_of(at, event->kind, ret_lookup);
    if (at->has_cdo && !by_name) {
        return;
    }
    if (by_name) {
        ret_lookup->own = vamp_track_name_key(event);
        ret_lookup->key = &ret_lookup->own;
    } else if (event->kind != VAMP_EVENT_JOIN) {
        ret_lookup->own = vamp_track_number_key(at->tracker, event->app_id);
        ret_lookup->key = &ret_lookup->own;
    }
    ret_lookup->record = vamp_table_find(&at->tracker->cdos, ret_lookup->key);
}

/* Returns whether the component requested the operation; false if it vanished or was evicted from
 * the pool. */
static bool is_asked_for(const struct vamp_event *event)
{
    return event->kind != VAMP_EVENT_LEAVE || !vamp_event_has(event, VAMP_HAS_REASON) ||
           event->reason == VAMP_LEAVE_FINALIZED || event->reason == VAMP_LEAVE_UNKNOWN;
}

void vamp_track_received(struct vamp_track_context *at)
{
    struct vamp_lookup lookup;
    lookup_of_operation(at, &lookup);
    at->tracker->received_kinds |= VAMP_EVENT_BIT(at->event->kind);
    struct vamp_pending *pending = vamp_pending_lookup(at, &lookup);
    if (pending != NULL) {
        /* a refused operation never ends: it is replaced by the next one of its kind */
        vamp_pending_restart(at, pending);
    } else {
        pending = vamp_pending_add(at, &lookup);
        pending->since_ns = at->event->time_ns;
        if (at->event->kind == VAMP_EVENT_WITHDRAW) {
            pending->more = vamp_pending_name_add(at, VAMP_AGE_WITHDRAW);
            pending->id_known = vamp_event_has(at->event, VAMP_HAS_CDO_ID);
        }
    }
    if (at->event->kind == VAMP_EVENT_DEMAND && at->has_cdo) {
        (void)vamp_track_demand(at, true);
    }
}

void vamp_track_handled(struct vamp_track_context *at)
{
    struct vamp_lookup lookup;
    lookup_of_operation(at, &lookup);
    struct vamp_pending *pending = vamp_pending_lookup(at, &lookup);
    if (pending == NULL) {
        return;
    }
    const int64_t since_ns = pending->since_ns;
    const bool asked_for = is_asked_for(at->event);
    if (asked_for) {
        vamp_blocked_released(at, pending);
    }
    vamp_pending_remove(at, pending);
    struct vamp_observation *seen = at->seen;
    if (!asked_for || !vamp_observe_interval(seen, VAMP_INTERVAL_HANDLING, since_ns)) {
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
        return NULL; /* the component has no pending demand */
    }
    struct vamp_lookup lookup;
    vamp_lookup_of(at, VAMP_PENDING_DEMAND, &lookup);
    return vamp_pending_lookup(at, &lookup);
}

bool vamp_track_is_demanded(struct vamp_track_context *at)
{
    return find_demand(at) != NULL;
}

bool vamp_track_demand_end(struct vamp_track_context *at, struct vamp_pending *ret_ended)
{
    struct vamp_pending *pending = find_demand(at);
    if (pending == NULL) {
        return false;
    }
    if (ret_ended != NULL) {
        *ret_ended = *pending;
    }
    vamp_pending_remove(at, pending);
    return true;
}

/* ---- deliveries: a pool manager may transport data as soon as they are required, before the
 * DEMAND */

static struct vamp_pending *find_delivery(struct vamp_track_context *at)
{
    if (at->tracker->tallies[at->row].deliveries == 0) {
        return NULL;
    }
    struct vamp_lookup lookup;
    vamp_lookup_of(at, VAMP_PENDING_DELIVERY, &lookup);
    return vamp_pending_lookup(at, &lookup);
}

/* Saturates. */
static void count_delivery(uint16_t *count)
{
    if (*count < UINT16_MAX) {
        ++*count;
    }
}

void vamp_track_deliver(struct vamp_track_context *at, bool awaited)
{
    if (at->tracker->tallies[at->row].left) {
        return;
    }
    struct vamp_pending *delivery = find_delivery(at);
    if (delivery == NULL) {
        struct vamp_lookup lookup;
        vamp_lookup_of(at, VAMP_PENDING_DELIVERY, &lookup);
        delivery = vamp_pending_add(at, &lookup);
    }
    if (awaited) {
        count_delivery(&delivery->awaited);
        return;
    }
    count_delivery(&delivery->early);
    if (at->cdo != NULL) {
        at->cdo->demands++;
    }
}

/* Removes one delivery; there must be at least one. */
static void take_delivery(struct vamp_track_context *at, struct vamp_pending *delivery,
                          uint16_t *count)
{
    assert(*count > 0);
    --*count;
    if (delivery->early == 0 && delivery->awaited == 0) {
        vamp_pending_remove(at, delivery);
    }
}

void vamp_track_drop_delivery(struct vamp_track_context *at, bool all)
{
    struct vamp_pending *delivery = find_delivery(at);
    if (delivery != NULL && all) {
        vamp_pending_remove(at, delivery);
    } else if (delivery != NULL && delivery->early > 0) {
        take_delivery(at, delivery, &delivery->early);
        if (at->cdo != NULL && at->cdo->demands > 0) {
            at->cdo->demands--;
        }
    }
}

/* ---- unattributed deliveries: stored as deliveries of row 0 */

bool vamp_track_next_demander(const struct vamp_track_context *at, uint32_t *position,
                              uint32_t *ret_row)
{
    const struct vamp_pending *pending = NULL;
    uint32_t number = 0;
    if (*position != 0) {
        pending = vamp_pending_of(at->tracker, *position);
        number = pending->item.next;
    } else if (at->record != NULL) {
        number = at->record->first_pending;
    }
    for (; number != 0; number = pending->item.next) {
        pending = vamp_pending_of(at->tracker, number);
        if (pending->kind == VAMP_PENDING_DEMAND) {
            *position = number;
            *ret_row = pending->item.row;
            return true;
        }
    }
    return false;
}

static uint32_t count_demanders(const struct vamp_track_context *at)
{
    uint32_t position = 0;
    uint32_t row = 0;
    uint32_t count = 0;
    while (vamp_track_next_demander(at, &position, &row)) {
        count++;
    }
    return count;
}

static struct vamp_pending *find_unattributed(struct vamp_track_context *at)
{
    if (!at->tracker->learns_ends || at->tracker->tallies[0].deliveries == 0) {
        return NULL;
    }
    const struct vamp_who who = {.kind = VAMP_PENDING_DELIVERY};
    return vamp_pending_find(at->tracker, at->record, &who);
}

/* Returns the unattributed deliveries if there are more than pending demands of other components;
 * else NULL. */
static struct vamp_pending *find_surplus(struct vamp_track_context *at)
{
    struct vamp_pending *delivery = find_unattributed(at);
    if (delivery == NULL) {
        return NULL;
    }
    const uint32_t others = count_demanders(at) - vamp_track_is_demanded(at);
    return delivery->early > others ? delivery : NULL;
}

void vamp_track_deliver_unattributed(struct vamp_track_context *at)
{
    const uint32_t waiting = count_demanders(at);
    vamp_track_deliver(at, waiting > 0);
    struct vamp_pending *delivery = find_unattributed(at);
    assert(delivery != NULL);
    if (waiting > 0) {
        /* counts as early again, but its demand is not counted again */
        delivery->awaited--;
        count_delivery(&delivery->early);
    }
    if (waiting == 0 || delivery->early < waiting) {
        return;
    }
    uint32_t position = 0;
    uint32_t row = 0;
    for (; vamp_track_next_demander(at, &position, &row); position = 0) {
        struct vamp_pending *demand = vamp_pending_of(at->tracker, position);
        const bool acknowledged = demand->acknowledged;
        struct vamp_track_context sink = *at;
        sink.row = row;
        vamp_pending_remove(at, demand);
        if (!acknowledged) {
            vamp_track_deliver(&sink, true); /* the *after* event of this demand starts no wait */
        }
    }
    delivery = find_unattributed(at); /* it may have been evicted */
    if (delivery == NULL) {
        return;
    }
    delivery->early = (uint16_t)(delivery->early - waiting);
    if (delivery->early == 0) {
        vamp_pending_remove(at, delivery);
    }
}

static bool is_doubtful(const struct vamp_cdo *cdo)
{
    return cdo->guessed > 0 && (cdo->guessed >= cdo->demands || cdo->guessed == VAMP_GUESSED_MAX);
}

uint32_t vamp_track_count_doubtful(const struct vamp_track_context *at)
{
    const struct vamp_tracker *tracker = at->tracker;
    uint32_t count = 0;
    for (uint32_t number = tracker->tallies[at->row].first_pending; number != 0;) {
        const struct vamp_pending *pending = vamp_pending_of(tracker, number);
        const struct vamp_cdo *cdo = vamp_pending_record(tracker, pending);
        count += pending->kind == VAMP_PENDING_DEMAND && is_doubtful(cdo);
        number = pending->neighbours.after;
    }
    return count;
}

bool vamp_track_take_unattributed(struct vamp_track_context *at)
{
    struct vamp_pending *delivery = find_unattributed(at);
    if (delivery != NULL) {
        take_delivery(at, delivery, &delivery->early);
    }
    return delivery != NULL;
}

void vamp_track_forget_unattributed(struct vamp_track_context *at)
{
    at->cdo->guessed = 0;
    struct vamp_pending *delivery = find_unattributed(at);
    if (delivery != NULL) {
        vamp_pending_remove(at, delivery);
    }
}

/* Handles a DEMAND whose data had already arrived: its wait consists of its handling only. */
static void meet_delivery(struct vamp_track_context *at, struct vamp_pending *delivery)
{
    struct vamp_pending demand = {.since_ns = at->event->time_ns};
    if (vamp_track_demand_end(at, &demand)) {
        vamp_blocked_satisfied(at, NULL);
    }
    (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_DEMAND_WAIT, demand.since_ns);
    vamp_track_name_producer(at);
    take_delivery(at, delivery, &delivery->early);
}

bool vamp_track_demand(struct vamp_track_context *at, bool before)
{
    struct vamp_pending *delivery = NULL;
    if (!before) {
        delivery = find_delivery(at);
        if (delivery == NULL) {
            delivery = find_surplus(at);
        }
    }
    if (delivery != NULL && delivery->awaited > 0) {
        take_delivery(at, delivery, &delivery->awaited); /* its wait has ended */
        return false;
    }
    if (delivery != NULL) {
        meet_delivery(at, delivery);
        return true;
    }
    struct vamp_lookup lookup;
    vamp_lookup_of(at, VAMP_PENDING_DEMAND, &lookup);
    struct vamp_pending *pending = vamp_pending_lookup(at, &lookup);
    if (pending == NULL) {
        pending = vamp_pending_add(at, &lookup);
        pending->since_ns = at->event->time_ns;
        pending->more = vamp_pending_name_add(at, VAMP_AGE_DEMAND);
        pending->id_known = vamp_event_has(at->event, VAMP_HAS_CDO_ID);
    } else if (pending->failed || (before && !pending->acknowledged)) {
        /* Demanded again: the previous demand ended without data, or was refused. */
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_DEMAND_NEVER_SATISFIED, pending->failed);
        vamp_pending_restart(at, pending);
        pending->acknowledged = false;
        pending->failed = false;
    }
    pending->acknowledged = pending->acknowledged || !before;
    return false;
}

void vamp_track_demand_failed(struct vamp_track_context *at)
{
    struct vamp_pending *pending = at->has_cdo ? find_demand(at) : NULL;
    if (pending != NULL) {
        pending->failed = true;
    }
}
