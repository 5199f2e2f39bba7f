/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/cdo_history.h"

#include <assert.h>

void vamp_track_weigh(struct vamp_track_context *at, const struct vamp_cdo *cdo, int sign)
{
    struct vamp_tally *tally = &at->tracker->tallies[cdo->record.owner];
    const uint32_t one = (uint32_t)sign; /* modulo 2^32 */
    if (vamp_cdo_in_pool(cdo)) {
        const vamp_bytes bytes = (cdo->flags & VAMP_CDO_SIZED) != 0 ? cdo->size_bytes : 0;
        const vamp_bytes change = sign > 0 ? bytes : -bytes;
        tally->pool_bytes += change;
        at->tracker->pool_bytes += change;
        at->seen->pool_cdos += sign;
        tally->offered += (cdo->flags & VAMP_CDO_OFFERED) != 0 ? one : 0;
        tally->shared += cdo->last_offer != 0 ? one : 0;
    }
    if ((cdo->flags & (VAMP_CDO_MAKER | VAMP_CDO_COUNTED)) == VAMP_CDO_MAKER) {
        tally->unsized += one;
    }
    const uint64_t handles = cdo->owner_handles - (unsigned)((cdo->flags & VAMP_CDO_UNSEEN) != 0);
    tally->handles += sign > 0 ? handles : -handles;
}

static uint32_t owner_name(const struct vamp_track_context *at, const struct vamp_cdo *cdo)
{
    if (cdo->record.owner == 0) {
        return VAMP_NAME_UNKNOWN;
    }
    return vamp_components_row(at->tracker->components, cdo->record.owner)->name_number;
}

static void set_flags(struct vamp_track_context *at, struct vamp_cdo *cdo, unsigned set,
                      unsigned clear)
{
    vamp_track_weigh(at, cdo, -1);
    cdo->flags = (uint8_t)((cdo->flags | set) & ~clear);
    vamp_track_weigh(at, cdo, 1);
}

/* The offers of other components go with the record; their handles stay theirs. */
static void drop_offers(struct vamp_track_context *at, struct vamp_cdo *cdo)
{
    while (cdo->last_offer != 0) {
        struct vamp_hold *hold = vamp_table_record(&at->tracker->holds, cdo->last_offer);
        vamp_hold_unlink(at, cdo, hold);
        if (hold->handles == 0) {
            vamp_hold_remove(at, hold);
        }
    }
}

/* Removes the record. A CDO whose size was never reported is counted now. */
static void forget_cdo(struct vamp_track_context *at, struct vamp_cdo *cdo, enum vamp_cdo_end end)
{
    vamp_cdo_history_end(at, cdo, end);
    if ((cdo->flags & (VAMP_CDO_MAKER | VAMP_CDO_COUNTED)) == VAMP_CDO_MAKER) {
        at->seen->forgotten++;
        at->seen->forgotten_of = owner_name(at, cdo);
    }
    vamp_track_weigh(at, cdo, -1);
    drop_offers(at, cdo);
    vamp_table_remove(&at->tracker->cdos, cdo);
}

static void add_cdo(struct vamp_track_context *at)
{
    struct vamp_cdo *oldest = vamp_table_crowded(&at->tracker->cdos);
    if (oldest != NULL) {
        forget_cdo(at, oldest, VAMP_CDO_END_EVICTED);
        at->seen->evicted++;
    }
    at->cdo = vamp_table_insert(&at->tracker->cdos, at->cdo_key, at->row);
    at->cdo->owner_handles = 1;
    at->cdo->flags = at->event->kind == VAMP_EVENT_DECLARE ? 0 : VAMP_CDO_UNSEEN;
    vamp_track_weigh(at, at->cdo, 1);
    vamp_cdo_history_begin(at);
}

static bool is_owner(const struct vamp_track_context *at)
{
    return at->cdo->record.owner == at->row;
}

static uint32_t declared_handles(const struct vamp_cdo *cdo)
{
    return cdo->owner_handles - (unsigned)((cdo->flags & VAMP_CDO_UNSEEN) != 0);
}

/* Gives the record, which the caller weighs, to a component that held this of it until now. */
static void change_owner(struct vamp_track_context *at, struct vamp_cdo *cdo, uint32_t row,
                         const struct vamp_hold *held)
{
    vamp_table_set_owner(&at->tracker->cdos, cdo, row);
    const uint32_t handles =
        held->handles < VAMP_OWNER_HANDLES_MAX ? held->handles : VAMP_OWNER_HANDLES_MAX;
    cdo->owner_handles = (uint16_t)(handles > 0 ? handles : 1);
    cdo->other_handles -= held->handles < cdo->other_handles ? held->handles : cdo->other_handles;
    cdo->flags &= (uint8_t) ~(VAMP_CDO_DECLARED | VAMP_CDO_OFFERED | VAMP_CDO_UNSEEN);
    cdo->flags |= handles == 0 ? VAMP_CDO_UNSEEN : held->declared ? VAMP_CDO_DECLARED : 0;
    cdo->flags |= held->offers ? VAMP_CDO_OFFERED : 0;
    cdo->declared_ns = held->declared_ns;
}

/* What the component holds, which is not counted any more. */
static struct vamp_hold take_hold(struct vamp_track_context *at, struct vamp_hold *hold)
{
    const struct vamp_hold held = hold != NULL ? *hold : (struct vamp_hold){.handles = 0};
    if (hold != NULL) {
        if (hold->offers) {
            vamp_track_weigh(at, at->cdo, -1);
            vamp_hold_unlink(at, at->cdo, hold);
            vamp_track_weigh(at, at->cdo, 1);
        }
        vamp_hold_remove(at, hold);
    }
    return held;
}

/* What the owner has of the record becomes a hold. */
static void keep_owners_part(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    const uint32_t handles = declared_handles(cdo);
    if (handles == 0 && (cdo->flags & VAMP_CDO_OFFERED) == 0) {
        return;
    }
    struct vamp_track_context owner = *at;
    owner.row = cdo->record.owner;
    struct vamp_hold *hold = vamp_hold_need(&owner);
    vamp_track_weigh(at, cdo, -1);
    hold->handles = handles;
    hold->declared = (cdo->flags & VAMP_CDO_DECLARED) != 0;
    hold->declared_ns = cdo->declared_ns;
    at->tracker->tallies[owner.row].handles += handles;
    cdo->other_handles += handles;
    cdo->owner_handles = 1;
    cdo->flags |= VAMP_CDO_UNSEEN;
    if ((cdo->flags & VAMP_CDO_OFFERED) != 0) {
        cdo->flags &= (uint8_t)~VAMP_CDO_OFFERED;
        vamp_hold_link(&owner, cdo, hold);
    }
    vamp_track_weigh(at, cdo, 1);
}

/* The component becomes the CDO's producer. */
static void become_producer(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    if (!is_owner(at)) {
        const struct vamp_hold held = take_hold(at, vamp_hold_find(at));
        keep_owners_part(at);
        vamp_track_weigh(at, cdo, -1);
        change_owner(at, cdo, at->row, &held);
        vamp_track_weigh(at, cdo, 1);
    }
    set_flags(at, cdo, VAMP_CDO_MAKER, 0);
}

/* The owner is done with a CDO that others offer: the one that offered it last becomes its maker.
 */
static void hand_over(struct vamp_track_context *at, struct vamp_cdo *cdo)
{
    struct vamp_hold *hold = vamp_table_record(&at->tracker->holds, cdo->last_offer);
    const struct vamp_hold held = *hold;
    vamp_track_weigh(at, cdo, -1);
    vamp_hold_unlink(at, cdo, hold);
    vamp_hold_remove(at, hold);
    change_owner(at, cdo, (uint32_t)held.key[2], &held);
    cdo->flags |= VAMP_CDO_MAKER;
    vamp_track_weigh(at, cdo, 1);
}

/* Learns the size from this event, or copies the known size to the observation. */
void vamp_track_learn_size(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    struct vamp_observation *seen = at->seen;
    if (vamp_event_has(at->event, VAMP_HAS_SIZE) && (cdo->flags & VAMP_CDO_SIZED) == 0) {
        vamp_track_weigh(at, cdo, -1);
        cdo->size_bytes = at->event->size_bytes;
        cdo->flags |= VAMP_CDO_SIZED;
        vamp_track_weigh(at, cdo, 1);
    }
    if (!seen->size_known && (cdo->flags & VAMP_CDO_SIZED) != 0) {
        seen->size_known = true;
        seen->size_bytes = cdo->size_bytes;
    }
    const uint32_t ready = VAMP_CDO_SIZED | VAMP_CDO_MAKER;
    if ((cdo->flags & (ready | VAMP_CDO_COUNTED)) == ready) {
        set_flags(at, cdo, VAMP_CDO_COUNTED, 0);
        seen->created = true;
        seen->creator = owner_name(at, cdo);
    }
}

static void add_own_handle(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    if (cdo->owner_handles < VAMP_OWNER_HANDLES_MAX) {
        vamp_track_weigh(at, cdo, -1);
        cdo->owner_handles++;
        vamp_track_weigh(at, cdo, 1);
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
        add_cdo(at);
        if (sized) {
            return; /* a size is known after the SEAL: the CDO is older than the stream */
        }
    } else {
        if (is_owner(at)) {
            add_own_handle(at);
        } else {
            add_hold_handle(at);
        }
        if (sized || (at->cdo->flags & VAMP_CDO_MAKER) != 0) {
            return;
        }
    }
    become_producer(at);
    at->cdo->declared_ns = at->event->time_ns;
    set_flags(at, at->cdo, VAMP_CDO_DECLARED, 0);
}

static void track_seal(struct vamp_track_context *at)
{
    if (at->cdo == NULL) {
        add_cdo(at);
        become_producer(at);
    } else if ((at->cdo->flags & VAMP_CDO_MAKER) == 0 ||
               (vamp_event_has(at->event, VAMP_HAS_SIZE) &&
                (at->cdo->flags & VAMP_CDO_SIZED) == 0)) {
        become_producer(at); /* the component that brings the size is the producer */
    }
}

/* Whether this component offers the CDO. */
static bool offers_it(struct vamp_track_context *at)
{
    if (is_owner(at)) {
        return (at->cdo->flags & VAMP_CDO_OFFERED) != 0;
    }
    const struct vamp_hold *hold = at->cdo->last_offer != 0 ? vamp_hold_find(at) : NULL;
    return hold != NULL && hold->offers;
}

/* Of a CDO that is in the pool. */
static void offer_too(struct vamp_track_context *at)
{
    if (is_owner(at)) {
        set_flags(at, at->cdo, VAMP_CDO_OFFERED, 0);
        return;
    }
    struct vamp_hold *hold = vamp_hold_need(at);
    vamp_track_weigh(at, at->cdo, -1);
    vamp_hold_link(at, at->cdo, hold);
    vamp_track_weigh(at, at->cdo, 1);
}

static void track_offer(struct vamp_track_context *at)
{
    if (at->cdo == NULL) {
        add_cdo(at);
    }
    struct vamp_cdo *cdo = at->cdo;
    if (offers_it(at)) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OPERATION_OUT_OF_ORDER, 1);
        return;
    }
    at->seen->offered = true;
    if (vamp_cdo_in_pool(cdo)) {
        offer_too(at);
        return;
    }
    become_producer(at);
    if ((cdo->flags & (VAMP_CDO_DECLARED | VAMP_CDO_ONCE)) == VAMP_CDO_DECLARED) {
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_DECLARE_TO_OFFER, cdo->declared_ns);
    }
    cdo->offered_ns = at->event->time_ns;
    set_flags(at, cdo, VAMP_CDO_OFFERED | VAMP_CDO_ONCE, 0);
}

/* A component that requires or demands a CDO did not make it, unless it is known to have. */
static void note_consumer(struct vamp_track_context *at)
{
    if (at->cdo != NULL && is_owner(at) && !vamp_cdo_in_pool(at->cdo) &&
        (at->cdo->flags & VAMP_CDO_COUNTED) == 0) {
        set_flags(at, at->cdo, 0, VAMP_CDO_MAKER);
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
    at->seen->fan_out = cdo->demands;
    if (cdo->demands == 0) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OFFER_NEVER_DEMANDED, 1);
    }
    cdo->demands = 0;
}

/* This component's; others may offer the CDO still. */
static void end_own_offer(struct vamp_track_context *at)
{
    if (is_owner(at)) {
        set_flags(at, at->cdo, 0, VAMP_CDO_OFFERED);
        return;
    }
    struct vamp_hold *hold = vamp_hold_find(at);
    vamp_track_weigh(at, at->cdo, -1);
    vamp_hold_unlink(at, at->cdo, hold);
    vamp_track_weigh(at, at->cdo, 1);
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
        hand_over(at, cdo);
        return false;
    }
    return true;
}

/* Returns whether the record ends. */
static bool dispose_by_owner(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    if (cdo->owner_handles > 0) {
        vamp_track_weigh(at, cdo, -1);
        cdo->owner_handles--;
        if (cdo->owner_handles == 0) {
            cdo->flags &= (uint8_t)~VAMP_CDO_UNSEEN;
        }
        vamp_track_weigh(at, cdo, 1);
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
    int64_t since_ns = 0;
    if (vamp_track_demand_end(at, &since_ns)) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_DEMAND_NEVER_SATISFIED, 1);
    }
    struct vamp_cdo *cdo = at->cdo;
    bool ends = false;
    if (cdo != NULL && is_owner(at)) {
        ends = dispose_by_owner(at);
    } else {
        dispose_of_hold(at);
    }
    ends = ends || (cdo != NULL && (cdo->flags & VAMP_CDO_MAKER) == 0 && cdo->owner_handles == 0 &&
                    cdo->other_handles == 0);
    if (ends) {
        forget_cdo(at, cdo, VAMP_CDO_END_DISPOSED);
    }
}

void vamp_track_cdo(struct vamp_track_context *at)
{
    int64_t since_ns = 0;
    switch (at->event->kind) {
    case VAMP_EVENT_DECLARE:
        track_declare(at);
        break;
    case VAMP_EVENT_SEAL:
        track_seal(at);
        break;
    case VAMP_EVENT_OFFER:
        track_offer(at);
        break;
    case VAMP_EVENT_REQUIRE:
    case VAMP_EVENT_DEMAND:
        note_consumer(at);
        break;
    default:
        break;
    }
    /* Before the record may go. */
    if (at->cdo != NULL) {
        at->seen->producer = owner_name(at, at->cdo);
        vamp_track_learn_size(at);
        vamp_cdo_history_add(at);
    }
    switch (at->event->kind) {
    case VAMP_EVENT_DEMAND:
        track_demand(at);
        break;
    case VAMP_EVENT_RETRACT:
        (void)vamp_track_demand_end(at, &since_ns);
        break;
    case VAMP_EVENT_WITHDRAW:
        track_withdraw(at);
        break;
    case VAMP_EVENT_DISPOSE:
        track_dispose(at);
        break;
    default:
        break;
    }
}

void vamp_track_forget_cdos(struct vamp_track_context *at)
{
    uint32_t position = 0;
    struct vamp_cdo *cdo = NULL;
    while ((cdo = vamp_table_next(&at->tracker->cdos, &position)) != NULL) {
        forget_cdo(at, cdo, VAMP_CDO_END_LEFT);
    }
}

/* The CDOs of the component that others offer go on as those of others. */
static void hand_over_shared(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    uint32_t before = 0;
    while (tracker->tallies[at->row].shared > 0) {
        uint32_t position = before;
        const struct vamp_cdo *owned = vamp_table_owned(&tracker->cdos, at->row, &position);
        assert(owned != NULL);
        if (owned->last_offer != 0) {
            hand_over(at, vamp_table_record(&tracker->cdos, position));
        } else {
            before = position;
        }
    }
}

void vamp_track_leave_cdos(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_tally *tally = &tracker->tallies[at->row];
    struct vamp_observation *seen = at->seen;
    vamp_observe_anomaly(seen, VAMP_ANOMALY_NOT_WITHDRAWN_AT_LEAVE,
                         tally->offered + vamp_hold_leave_offers(at));
    vamp_observe_anomaly(seen, VAMP_ANOMALY_NOT_DISPOSED_AT_LEAVE, (uint32_t)tally->handles);
    hand_over_shared(at);
    seen->pool_cdos -= tally->offered;
    tracker->pool_bytes -= tally->pool_bytes;
    seen->forgotten = tally->unsized;
    seen->forgotten_of = seen->labels.value[VAMP_LABEL_COMPONENT];
    vamp_cdo_history_end_owned(at);
    (void)vamp_table_owner_leaves(&tracker->cdos, at->row);
    (void)vamp_table_owner_leaves(&tracker->holds, at->row);
    tally->offered = 0;
    tally->pool_bytes = 0;
    tally->unsized = 0;
    tally->handles = 0;
}
