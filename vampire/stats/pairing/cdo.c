/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/handlers.h"

#include <assert.h>

#include "vampire/stats/pairing/attribution.h"
#include "vampire/stats/pairing/history.h"
#include "vampire/stats/pairing/owner.h"
#include "vampire/stats/pairing/pending.h"
#include "vampire/stats/pairing/waits.h"

static void add_own_handle(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    if (cdo->owner_handles < VAMP_OWNER_HANDLES_MAX) {
        cdo->owner_handles++;
    }
}

static void add_reference_handle(struct vamp_track_context *at)
{
    struct vamp_pending *reference = vamp_reference_need(at, at->row);
    if (reference->handles == 0) {
        reference->declared = true;
        reference->since_ns = at->event->time_ns;
    }
    reference->handles++;
    at->cdo->other_handles++;
}

static void track_declare(struct vamp_track_context *at)
{
    const bool sized = vamp_event_has(at->event, VAMP_HAS_SIZE);
    if (at->cdo == NULL) {
        vamp_cdo_add(at);
        if (sized) {
            return; /* the size was reported by the SEAL, before the start of the stream */
        }
    } else {
        if (vamp_cdo_is_owned(at)) {
            add_own_handle(at);
        } else {
            add_reference_handle(at);
        }
        if (sized || (at->cdo->flags & VAMP_CDO_MAKER) != 0) {
            return;
        }
    }
    vamp_cdo_become_producer(at);
    vamp_cdo_rest(at->tracker, at->cdo)->declared_ns = at->event->time_ns;
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
        vamp_cdo_become_producer(at); /* the component that reports the size is the producer */
    }
}

/* Handles the offer of a further component for a CDO that is in the pool. */
static void offer_too(struct vamp_track_context *at)
{
    if (vamp_cdo_is_owned(at)) {
        vamp_cdo_set_flags(at, VAMP_CDO_OFFERED, 0);
        return;
    }
    struct vamp_pending *reference = vamp_reference_need(at, at->row);
    vamp_cdo_change(at, at->cdo);
    vamp_reference_begin_offer(at, at->cdo, reference);
}

static void track_offer(struct vamp_track_context *at)
{
    if (at->cdo == NULL) {
        vamp_cdo_add(at);
    }
    struct vamp_cdo *cdo = at->cdo;
    if (vamp_track_offers(at)) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OPERATION_OUT_OF_ORDER, 1);
        return;
    }
    at->seen->offered = true;
    at->seen->found |= VAMP_FOUND_CONTENT;
    if (vamp_cdo_in_pool(cdo)) {
        offer_too(at);
        return;
    }
    vamp_track_forget_unattributed(at);
    vamp_cdo_become_producer(at);
    vamp_blocked_offer(at);
    if ((cdo->flags & (VAMP_CDO_DECLARED | VAMP_CDO_ONCE)) == VAMP_CDO_DECLARED) {
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_DECLARE_TO_OFFER,
                                    vamp_cdo_rest(at->tracker, cdo)->declared_ns);
    }
    cdo->offered_ns = at->event->time_ns;
    vamp_cdo_set_flags(at, VAMP_CDO_OFFERED | VAMP_CDO_ONCE, 0);
}

/* A component that requires or demands a CDO is not considered its producer, unless it is known to
 * be. */
static void note_consumer(struct vamp_track_context *at)
{
    if (at->cdo != NULL && vamp_cdo_is_owned(at) &&
        (at->cdo->flags & (VAMP_CDO_ONCE | VAMP_CDO_COUNTED)) == 0) {
        vamp_cdo_set_flags(at, 0, VAMP_CDO_MAKER);
    }
}

static void track_demand(struct vamp_track_context *at)
{
    const bool early = vamp_track_demand(at, false);
    struct vamp_cdo *cdo = at->cdo;
    if (cdo == NULL) {
        return;
    }
    if (vamp_cdo_in_pool(cdo) && (cdo->flags & VAMP_CDO_DEMANDED) == 0) {
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_OFFER_TO_FIRST_DEMAND, cdo->offered_ns);
    }
    cdo->flags |= VAMP_CDO_DEMANDED;
    if (!early) { /* early data were counted when they arrived */
        cdo->demands++;
    }
}

/* Handles the withdrawal of the last offer. */
static void leave_pool(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    at->seen->fan_out_known = true;
    at->seen->found |= VAMP_FOUND_LIFE;
    at->seen->fan_out = cdo->demands;
    if (cdo->demands == 0) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OFFER_NEVER_DEMANDED, 1);
    }
    vamp_cdo_reset_demands(cdo);
}

/* Ends the offer of the component of the event; others may still offer the CDO. */
static void end_own_offer(struct vamp_track_context *at)
{
    if (vamp_cdo_is_owned(at)) {
        vamp_cdo_set_flags(at, 0, VAMP_CDO_OFFERED);
        return;
    }
    struct vamp_pending *reference = vamp_reference_find(at, at->row);
    vamp_cdo_change(at, at->cdo);
    vamp_reference_stop_offer(at, at->cdo, reference);
    if (reference->handles == 0) {
        vamp_pending_remove(at, reference);
    }
}

static void track_withdraw(struct vamp_track_context *at)
{
    if (at->cdo == NULL) {
        return; /* it was offered before the start of the stream, or evicted */
    }
    if (!vamp_track_offers(at)) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OPERATION_OUT_OF_ORDER, 1);
        return;
    }
    end_own_offer(at);
    if (!vamp_cdo_in_pool(at->cdo)) {
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_OFFER_TO_WITHDRAW, at->cdo->offered_ns);
        leave_pool(at);
    }
}

/* Handles the producer's disposal of its last handle. Returns false if other components offer the
 * CDO, which keeps its record. */
static bool end_making(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    if ((cdo->flags & VAMP_CDO_DECLARED) != 0) {
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_LIFETIME,
                                    vamp_cdo_rest(at->tracker, cdo)->declared_ns);
    }
    if ((cdo->flags & VAMP_CDO_OFFERED) != 0) {
        end_own_offer(at);
        if (!vamp_cdo_in_pool(cdo)) {
            leave_pool(at);
        }
    }
    if (cdo->offers != 0) {
        vamp_cdo_hand_over(at, cdo);
        return false;
    }
    return true;
}

/* Handles a disposal by the owner. Returns whether the record ends. */
static bool dispose_by_owner(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    if (cdo->owner_handles > 0) {
        cdo->owner_handles--;
        if (cdo->owner_handles == 0) {
            cdo->flags &= (uint8_t)~VAMP_CDO_UNSEEN;
        }
    }
    return (cdo->flags & VAMP_CDO_MAKER) != 0 && cdo->owner_handles == 0 && end_making(at);
}

static void dispose_of_reference(struct vamp_track_context *at)
{
    struct vamp_pending *reference = vamp_reference_find(at, at->row);
    if (reference == NULL) {
        return; /* the DECLARE of this handle was not observed */
    }
    if (reference->handles > 0) {
        reference->handles--;
        if (at->cdo != NULL && at->cdo->other_handles > 0) {
            at->cdo->other_handles--;
        }
    }
    if (reference->handles > 0) {
        return;
    }
    if (!reference->offers) {
        vamp_pending_remove(at, reference);
        return;
    }
    assert(at->cdo != NULL); /* a CDO that is offered keeps its record */
    end_own_offer(at);
    if (!vamp_cdo_in_pool(at->cdo)) {
        leave_pool(at);
    }
}

/* Returns whether the component is known to have a handle of the CDO. */
static bool has_handle(struct vamp_track_context *at)
{
    const struct vamp_pending *reference = vamp_reference_find(at, at->row);
    return (reference != NULL && reference->handles > 0) ||
           (at->cdo != NULL && vamp_cdo_is_owned(at) && at->cdo->owner_handles > 0);
}

/* Returns whether no component has a handle and none is known to be the producer. */
static bool is_unused(const struct vamp_cdo *cdo)
{
    return (cdo->flags & VAMP_CDO_MAKER) == 0 && cdo->owner_handles == 0 && cdo->other_handles == 0;
}

static void track_dispose(struct vamp_track_context *at)
{
    /* The component may have received data. */
    const bool guessed = at->cdo != NULL && at->cdo->guessed > 0;
    if (vamp_track_demand_end(at, NULL) && !vamp_track_take_unattributed(at) && !guessed) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_DEMAND_NEVER_SATISFIED, 1);
    }
    struct vamp_cdo *cdo = at->cdo;
    bool ends = false;
    if (cdo != NULL && vamp_cdo_is_owned(at)) {
        ends = dispose_by_owner(at);
    } else {
        dispose_of_reference(at);
    }
    if (at->tracker->tallies[at->row].deliveries > 0 && !has_handle(at)) {
        vamp_track_drop_delivery(at, true);
    }
    if (ends || (cdo != NULL && is_unused(cdo))) {
        vamp_cdo_forget(at, cdo, VAMP_CDO_END_DISPOSED);
    }
}

/* Sets the producer of the observation and updates the CDO's record (size, history) with data that
 * any kind of event may contain. Must be called before the record may be freed. */
static inline void update_record(struct vamp_track_context *at)
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
        update_record(at);
        break;
    case VAMP_EVENT_SEAL:
        track_seal(at);
        update_record(at);
        break;
    case VAMP_EVENT_OFFER:
        track_offer(at);
        update_record(at);
        break;
    case VAMP_EVENT_REQUIRE:
        note_consumer(at);
        update_record(at);
        break;
    case VAMP_EVENT_DEMAND:
        note_consumer(at);
        update_record(at);
        track_demand(at);
        break;
    case VAMP_EVENT_RETRACT:
        update_record(at);
        vamp_blocked_finished(at, at->record);
        if (!vamp_track_demand_end(at, NULL)) {
            vamp_track_drop_delivery(at, false);
        }
        break;
    case VAMP_EVENT_WITHDRAW:
        update_record(at);
        track_withdraw(at);
        break;
    case VAMP_EVENT_DISPOSE:
        update_record(at);
        vamp_blocked_finished(at, at->record);
        track_dispose(at);
        break;
    default:
        update_record(at);
        break;
    }
}
