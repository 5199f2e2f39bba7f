/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/history.h"

#include <assert.h>

void vamp_track_learn_new_size(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    struct vamp_observation *seen = at->seen;
    if (vamp_event_has(at->event, VAMP_HAS_SIZE) && (cdo->flags & VAMP_CDO_SIZED) == 0) {
        vamp_cdo_change(at, cdo);
        cdo->size_bytes = at->event->size_bytes;
        cdo->flags |= VAMP_CDO_SIZED;
    }
    const uint32_t ready = VAMP_CDO_SIZED | VAMP_CDO_MAKER;
    if ((cdo->flags & (ready | VAMP_CDO_COUNTED)) == ready) {
        vamp_cdo_set_flags(at, VAMP_CDO_COUNTED, 0);
        seen->created = true;
        seen->found |= VAMP_FOUND_SIZE;
        seen->creator = vamp_cdo_owner_name(at, cdo);
    }
}

static void add_own_handle(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    if (cdo->owner_handles < VAMP_OWNER_HANDLES_MAX) {
        vamp_cdo_change(at, cdo);
        cdo->owner_handles++;
    }
}

static void add_hold_handle(struct vamp_track_context *at)
{
    struct vamp_hold *hold = vamp_hold_need(at);
    if (hold->handles == 0) {
        hold->declared = true;
        hold->declared_ns = at->event->time_ns;
    }
    hold->handles++;
    at->cdo->other_handles++;
    at->tracker->tallies[at->row].handles++;
}

static void track_declare(struct vamp_track_context *at)
{
    const bool sized = vamp_event_has(at->event, VAMP_HAS_SIZE);
    if (at->cdo == NULL) {
        vamp_cdo_add(at);
        if (sized) {
            return; /* a size is known after the SEAL: the CDO is older than the stream */
        }
    } else {
        if (vamp_cdo_is_owned(at)) {
            add_own_handle(at);
        } else {
            add_hold_handle(at);
        }
        if (sized || (at->cdo->flags & VAMP_CDO_MAKER) != 0) {
            return;
        }
    }
    vamp_cdo_become_producer(at);
    at->cdo->declared_ns = at->event->time_ns;
    vamp_cdo_set_flags(at, VAMP_CDO_DECLARED, 0);
}

static void track_seal(struct vamp_track_context *at)
{
    if (at->cdo == NULL) {
        vamp_cdo_add(at);
        vamp_cdo_become_producer(at);
    } else if ((at->cdo->flags & VAMP_CDO_MAKER) == 0 ||
               (vamp_event_has(at->event, VAMP_HAS_SIZE) &&
                (at->cdo->flags & VAMP_CDO_SIZED) == 0)) {
        vamp_cdo_become_producer(at); /* the component that brings the size is the producer */
    }
}

/* Whether this component offers the CDO. */
static bool offers_it(struct vamp_track_context *at)
{
    if (vamp_cdo_is_owned(at)) {
        return (at->cdo->flags & VAMP_CDO_OFFERED) != 0;
    }
    const struct vamp_hold *hold = at->cdo->last_offer != 0 ? vamp_hold_find(at) : NULL;
    return hold != NULL && hold->offers;
}

/* Of a CDO that is in the pool. */
static void offer_too(struct vamp_track_context *at)
{
    if (vamp_cdo_is_owned(at)) {
        vamp_cdo_set_flags(at, VAMP_CDO_OFFERED, 0);
        return;
    }
    struct vamp_hold *hold = vamp_hold_need(at);
    vamp_cdo_change(at, at->cdo);
    vamp_hold_link(at, at->cdo, hold);
}

static void track_offer(struct vamp_track_context *at)
{
    if (at->cdo == NULL) {
        vamp_cdo_add(at);
    }
    struct vamp_cdo *cdo = at->cdo;
    if (offers_it(at)) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OPERATION_OUT_OF_ORDER, 1);
        return;
    }
    at->seen->offered = true;
    at->seen->found |= VAMP_FOUND_CONTENT;
    if (vamp_cdo_in_pool(cdo)) {
        offer_too(at);
        return;
    }
    vamp_cdo_become_producer(at);
    if ((cdo->flags & (VAMP_CDO_DECLARED | VAMP_CDO_ONCE)) == VAMP_CDO_DECLARED) {
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_DECLARE_TO_OFFER, cdo->declared_ns);
    }
    cdo->offered_ns = at->event->time_ns;
    vamp_cdo_set_flags(at, VAMP_CDO_OFFERED | VAMP_CDO_ONCE, 0);
}

/* A component that requires or demands a CDO did not make it, unless it is known to have. */
static void note_consumer(struct vamp_track_context *at)
{
    if (at->cdo != NULL && vamp_cdo_is_owned(at) && !vamp_cdo_in_pool(at->cdo) &&
        (at->cdo->flags & VAMP_CDO_COUNTED) == 0) {
        vamp_cdo_set_flags(at, 0, VAMP_CDO_MAKER);
    }
}

static void track_demand(struct vamp_track_context *at)
{
    vamp_track_demand(at, false);
    struct vamp_cdo *cdo = at->cdo;
    if (cdo == NULL) {
        return;
    }
    if (vamp_cdo_in_pool(cdo) && cdo->demands == 0) {
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_OFFER_TO_FIRST_DEMAND, cdo->offered_ns);
    }
    cdo->demands++;
}

/* The last offer was taken back. */
static void leave_pool(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    at->seen->fan_out_known = true;
    at->seen->found |= VAMP_FOUND_LIFE;
    at->seen->fan_out = cdo->demands;
    if (cdo->demands == 0) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OFFER_NEVER_DEMANDED, 1);
    }
    cdo->demands = 0;
}

/* This component's; others may offer the CDO still. */
static void end_own_offer(struct vamp_track_context *at)
{
    if (vamp_cdo_is_owned(at)) {
        vamp_cdo_set_flags(at, 0, VAMP_CDO_OFFERED);
        return;
    }
    struct vamp_hold *hold = vamp_hold_find(at);
    vamp_cdo_change(at, at->cdo);
    vamp_hold_unlink(at, at->cdo, hold);
    if (hold->handles == 0) {
        vamp_hold_remove(at, hold);
    }
}

static void track_withdraw(struct vamp_track_context *at)
{
    if (at->cdo == NULL) {
        return; /* offered before the stream began, or evicted */
    }
    if (!offers_it(at)) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OPERATION_OUT_OF_ORDER, 1);
        return;
    }
    end_own_offer(at);
    if (!vamp_cdo_in_pool(at->cdo)) {
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_OFFER_TO_WITHDRAW, at->cdo->offered_ns);
        leave_pool(at);
    }
}

/* The maker has disposed of its last handle. Returns false when others offer the CDO, whose record
 * goes on. */
static bool end_making(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    if ((cdo->flags & VAMP_CDO_DECLARED) != 0) {
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_LIFETIME, cdo->declared_ns);
    }
    if ((cdo->flags & VAMP_CDO_OFFERED) != 0) {
        end_own_offer(at);
        if (!vamp_cdo_in_pool(cdo)) {
            leave_pool(at);
        }
    }
    if (cdo->last_offer != 0) {
        vamp_cdo_hand_over(at, cdo);
        return false;
    }
    return true;
}

/* Returns whether the record ends. */
static bool dispose_by_owner(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    if (cdo->owner_handles > 0) {
        vamp_cdo_change(at, cdo);
        cdo->owner_handles--;
        if (cdo->owner_handles == 0) {
            cdo->flags &= (uint8_t)~VAMP_CDO_UNSEEN;
        }
    }
    return (cdo->flags & VAMP_CDO_MAKER) != 0 && cdo->owner_handles == 0 && end_making(at);
}

static void dispose_of_hold(struct vamp_track_context *at)
{
    struct vamp_hold *hold = vamp_hold_find(at);
    if (hold == NULL) {
        return; /* its DECLARE was not seen */
    }
    if (hold->handles > 0) {
        hold->handles--;
        at->tracker->tallies[at->row].handles--;
        if (at->cdo != NULL && at->cdo->other_handles > 0) {
            at->cdo->other_handles--;
        }
    }
    if (hold->handles > 0) {
        return;
    }
    if (!hold->offers) {
        vamp_hold_remove(at, hold);
        return;
    }
    assert(at->cdo != NULL); /* an offer keeps the record */
    end_own_offer(at);
    if (!vamp_cdo_in_pool(at->cdo)) {
        leave_pool(at);
    }
}

static void track_dispose(struct vamp_track_context *at)
{
    if (vamp_track_demand_end(at, NULL)) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_DEMAND_NEVER_SATISFIED, 1);
    }
    struct vamp_cdo *cdo = at->cdo;
    bool ends = false;
    if (cdo != NULL && vamp_cdo_is_owned(at)) {
        ends = dispose_by_owner(at);
    } else {
        dispose_of_hold(at);
    }
    ends = ends || (cdo != NULL && (cdo->flags & VAMP_CDO_MAKER) == 0 && cdo->owner_handles == 0 &&
                    cdo->other_handles == 0);
    if (ends) {
        vamp_cdo_forget(at, cdo, VAMP_CDO_END_DISPOSED);
    }
}

/* What any event says of its CDO, and the observation says of the producer: before the record may
 * go. */
static inline void learn(struct vamp_track_context *at)
{
    if (at->cdo != NULL) {
        at->seen->producer = vamp_cdo_owner_name(at, at->cdo);
        vamp_track_learn_size(at);
        if (vamp_track_keeps_histories(at->tracker)) {
            vamp_cdo_history_add(at);
        }
    }
}

void vamp_track_cdo(struct vamp_track_context *at)
{
    switch (at->event->kind) {
    case VAMP_EVENT_DECLARE:
        track_declare(at);
        learn(at);
        break;
    case VAMP_EVENT_SEAL:
        track_seal(at);
        learn(at);
        break;
    case VAMP_EVENT_OFFER:
        track_offer(at);
        learn(at);
        break;
    case VAMP_EVENT_REQUIRE:
        note_consumer(at);
        learn(at);
        break;
    case VAMP_EVENT_DEMAND:
        note_consumer(at);
        learn(at);
        track_demand(at);
        break;
    case VAMP_EVENT_RETRACT:
        learn(at);
        (void)vamp_track_demand_end(at, NULL);
        break;
    case VAMP_EVENT_WITHDRAW:
        learn(at);
        track_withdraw(at);
        break;
    case VAMP_EVENT_DISPOSE:
        learn(at);
        track_dispose(at);
        break;
    default:
        learn(at);
        break;
    }
}
