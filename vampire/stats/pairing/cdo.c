/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>

#include "vampire/stats/pairing/records.h"

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
        at->seen->pool_changed = true;
        tally->offered += (cdo->flags & VAMP_CDO_OFFERED) != 0 ? one : 0;
        tally->shared += cdo->last_offer != 0 ? one : 0;
    }
    if ((cdo->flags & (VAMP_CDO_MAKER | VAMP_CDO_COUNTED)) == VAMP_CDO_MAKER) {
        tally->unsized += one;
    }
    const uint64_t handles = cdo->owner_handles - (unsigned)((cdo->flags & VAMP_CDO_UNSEEN) != 0);
    tally->handles += sign > 0 ? handles : -handles;
}

/* What components hold of CDOs whose record belongs to another: handles and offers. */

static uint32_t row_of(const struct vamp_hold *hold)
{
    return (uint32_t)hold->key[2];
}

/* The hold of this CDO and component; NULL: it holds nothing, or owns the record. */
static struct vamp_hold *find_hold(struct vamp_track_context *at)
{
    const struct vamp_key key = vamp_hold_key(at);
    return vamp_table_find(&at->tracker->holds, &key);
}

/* The same, made at need; at the bound the oldest hold gives way. */
static void remove_hold(struct vamp_track_context *at, struct vamp_hold *hold)
{
    assert(!hold->offers);
    at->tracker->tallies[row_of(hold)].handles -= hold->handles;
    vamp_table_remove(&at->tracker->holds, hold);
}

/* Links the hold into the offers of the CDO, which is changing, or takes it out. */
static void link_offer(struct vamp_track_context *at, struct vamp_cdo *cdo, struct vamp_hold *hold)
{
    struct vamp_table *holds = &at->tracker->holds;
    assert(!hold->offers);
    hold->offers = true;
    hold->newer_offer = 0;
    hold->older_offer = cdo->last_offer;
    cdo->last_offer = vamp_table_number(holds, hold);
    if (hold->older_offer != 0) {
        struct vamp_hold *older = vamp_table_record(holds, hold->older_offer);
        older->newer_offer = cdo->last_offer;
    }
    at->tracker->tallies[row_of(hold)].offering++;
}

/* Links the hold into the offers of the CDO, which is changing, or takes it out. */
static void unlink_offer(struct vamp_track_context *at, struct vamp_cdo *cdo,
                         struct vamp_hold *hold)
{
    struct vamp_table *holds = &at->tracker->holds;
    assert(hold->offers && cdo->last_offer != 0);
    if (hold->newer_offer != 0) {
        struct vamp_hold *newer = vamp_table_record(holds, hold->newer_offer);
        newer->older_offer = hold->older_offer;
    } else {
        cdo->last_offer = hold->older_offer;
    }
    if (hold->older_offer != 0) {
        struct vamp_hold *older = vamp_table_record(holds, hold->older_offer);
        older->newer_offer = hold->newer_offer;
    }
    hold->offers = false;
    at->tracker->tallies[row_of(hold)].offering--;
}

static void forget_demands(struct vamp_cdo *cdo)
{
    cdo->demands = 0;
    cdo->flags &= (uint8_t)~VAMP_CDO_DEMANDED;
}

/* An offer ends by an event that is no WITHDRAW. */
static void end_offer(struct vamp_track_context *at, struct vamp_hold *hold)
{
    const struct vamp_key key = vamp_key_of_two(hold->key[0], hold->key[1]);
    struct vamp_cdo *cdo = vamp_table_find(&at->tracker->cdos, &key);
    assert(cdo != NULL); /* a CDO's record lasts as long as it is offered, or unlinks the offers */
    vamp_cdo_change(at, cdo);
    unlink_offer(at, cdo, hold);
    vamp_cdo_changed(at, cdo);
    if (!vamp_cdo_in_pool(cdo)) {
        forget_demands(cdo);
    }
}

/* The same, made at need; at the bound the oldest hold gives way. */
static struct vamp_hold *need_hold(struct vamp_track_context *at)
{
    struct vamp_table *holds = &at->tracker->holds;
    const struct vamp_key key = vamp_hold_key(at);
    struct vamp_hold *hold = vamp_table_find(holds, &key);
    if (hold != NULL) {
        return hold;
    }
    struct vamp_hold *oldest = vamp_table_crowded(holds);
    if (oldest != NULL) {
        if (oldest->offers) {
            end_offer(at, oldest);
        }
        remove_hold(at, oldest);
        at->seen->evicted++;
    }
    return vamp_table_insert(holds, &key, at->row);
}

/* The component's offers of CDOs that it does not own end. Returns how many there were. */
static uint32_t leave_offers(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    const uint32_t count = tracker->tallies[at->row].offering;
    uint32_t position = 0;
    while (tracker->tallies[at->row].offering > 0) {
        const void *owned = vamp_table_owned(&tracker->holds, at->row, &position);
        assert(owned != NULL);
        struct vamp_hold *hold = vamp_table_record(&tracker->holds, position);
        if (hold->offers) {
            end_offer(at, hold);
        }
    }
    return count;
}

/* To which component the record of a CDO belongs, and what each component holds by it. */

/* The offers of other components go with the record; their handles stay theirs. */
static void drop_offers(struct vamp_track_context *at, struct vamp_cdo *cdo)
{
    while (cdo->last_offer != 0) {
        struct vamp_hold *hold = vamp_table_record(&at->tracker->holds, cdo->last_offer);
        unlink_offer(at, cdo, hold);
        if (hold->handles == 0) {
            remove_hold(at, hold);
        }
    }
}

/* Removes the record. A CDO whose size was never reported is counted now. */
static void forget_cdo(struct vamp_track_context *at, struct vamp_cdo *cdo, enum vamp_cdo_end end)
{
    if (vamp_track_keeps_histories(at->tracker)) {
        vamp_cdo_history_end(at, cdo, end);
    }
    if ((cdo->flags & (VAMP_CDO_MAKER | VAMP_CDO_COUNTED)) == VAMP_CDO_MAKER) {
        at->seen->forgotten++;
        at->seen->found |= VAMP_FOUND_SIZE;
        at->seen->forgotten_of = vamp_cdo_owner_name(at, cdo);
    }
    vamp_cdo_change(at, cdo);
    drop_offers(at, cdo);
    vamp_table_remove(&at->tracker->cdos, cdo);
    at->seen->tracked--;
    if (cdo == at->cdo) {
        at->cdo = NULL;
        at->changing = false;
    }
}

static uint32_t declared_handles(const struct vamp_cdo *cdo)
{
    return cdo->owner_handles - (unsigned)((cdo->flags & VAMP_CDO_UNSEEN) != 0);
}

/* Gives the record, which is changing, to a component that held this of it until now. */
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
            vamp_cdo_change(at, at->cdo);
            unlink_offer(at, at->cdo, hold);
        }
        remove_hold(at, hold);
    }
    return held;
}

/* A handle that the component kept when an earlier record of the CDO ended. */
static void take_kept_handles(struct vamp_track_context *at)
{
    uint32_t position = 0;
    if (at->row != 0 && vamp_table_owned(&at->tracker->holds, at->row, &position) == NULL) {
        return; /* it has no holds at all (row 0 has no list of its own) */
    }
    struct vamp_hold *hold = find_hold(at);
    if (hold == NULL) {
        return;
    }
    const struct vamp_hold held = take_hold(at, hold);
    change_owner(at, at->cdo, at->row, &held);
    if (at->event->kind == VAMP_EVENT_DECLARE && at->cdo->owner_handles < VAMP_OWNER_HANDLES_MAX) {
        at->cdo->owner_handles++;
    }
}

/* A record for the CDO of `at`, which has none: it belongs to the component of the event. At the
 * bound the oldest record is evicted. */
static void add_cdo(struct vamp_track_context *at)
{
    struct vamp_cdo *oldest = vamp_table_crowded(&at->tracker->cdos);
    if (oldest != NULL) {
        forget_cdo(at, oldest, VAMP_CDO_END_EVICTED);
        at->seen->evicted++;
    }
    at->cdo = vamp_table_insert(&at->tracker->cdos, &at->cdo_key, at->row);
    at->seen->tracked++;
    at->cdo->owner_handles = 1;
    at->cdo->flags = at->event->kind == VAMP_EVENT_DECLARE ? 0 : VAMP_CDO_UNSEEN;
    at->changing = true; /* it has no weight yet */
    take_kept_handles(at);
    if (vamp_track_keeps_histories(at->tracker)) {
        vamp_cdo_history_begin(at);
    }
}

/* What the owner has of the record, which is changing, becomes a hold. */
static void keep_owners_part(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    const uint32_t handles = declared_handles(cdo);
    if (handles == 0 && (cdo->flags & VAMP_CDO_OFFERED) == 0) {
        return;
    }
    struct vamp_track_context owner = *at;
    owner.row = cdo->record.owner;
    struct vamp_hold *hold = need_hold(&owner);
    assert(hold->handles == 0 && !hold->offers); /* the owner of a record has no hold on it */
    hold->handles = handles;
    hold->declared = (cdo->flags & VAMP_CDO_DECLARED) != 0;
    hold->declared_ns = cdo->declared_ns;
    at->tracker->tallies[owner.row].handles += handles;
    cdo->other_handles += handles;
    cdo->owner_handles = 1;
    cdo->flags |= VAMP_CDO_UNSEEN;
    if ((cdo->flags & VAMP_CDO_OFFERED) != 0) {
        cdo->flags &= (uint8_t)~VAMP_CDO_OFFERED;
        link_offer(&owner, cdo, hold);
    }
}

/* The component of the event becomes the producer of the CDO of `at`, and the record its own. */
static void become_producer(struct vamp_track_context *at)
{
    if (!vamp_cdo_is_owned(at)) {
        vamp_cdo_change(at, at->cdo);
        const struct vamp_hold held = take_hold(at, find_hold(at));
        keep_owners_part(at);
        change_owner(at, at->cdo, at->row, &held);
    }
    vamp_cdo_set_flags(at, VAMP_CDO_MAKER, 0);
}

/* The owner is done with a CDO that others offer: the component that offered it last becomes its
 * producer. */
static void hand_over(struct vamp_track_context *at, struct vamp_cdo *cdo)
{
    struct vamp_hold *hold = vamp_table_record(&at->tracker->holds, cdo->last_offer);
    const struct vamp_hold held = *hold;
    vamp_cdo_change(at, cdo);
    unlink_offer(at, cdo, hold);
    remove_hold(at, hold);
    change_owner(at, cdo, (uint32_t)held.key[2], &held);
    cdo->flags |= VAMP_CDO_MAKER;
    vamp_cdo_changed(at, cdo);
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
                         tally->offered + leave_offers(at));
    vamp_observe_anomaly(seen, VAMP_ANOMALY_NOT_DISPOSED_AT_LEAVE, (uint32_t)tally->handles);
    hand_over_shared(at);
    seen->pool_cdos -= tally->offered;
    tracker->pool_bytes -= tally->pool_bytes;
    seen->pool_changed = true;
    seen->forgotten = tally->unsized;
    seen->found |= tally->unsized > 0 ? VAMP_FOUND_SIZE : 0U;
    seen->forgotten_of = seen->labels.value[VAMP_LABEL_COMPONENT];
    vamp_cdo_history_end_owned(at);
    seen->tracked -= vamp_table_owner_leaves(&tracker->cdos, at->row);
    (void)vamp_table_owner_leaves(&tracker->holds, at->row);
    tally->offered = 0;
    tally->pool_bytes = 0;
    tally->unsized = 0;
    tally->handles = 0;
}

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
    struct vamp_hold *hold = need_hold(at);
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
        if (vamp_cdo_is_owned(at)) {
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
    vamp_cdo_set_flags(at, VAMP_CDO_DECLARED, 0);
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

bool vamp_track_offers(struct vamp_track_context *at)
{
    if (vamp_cdo_is_owned(at)) {
        return (at->cdo->flags & VAMP_CDO_OFFERED) != 0;
    }
    const struct vamp_hold *hold = at->cdo->last_offer != 0 ? find_hold(at) : NULL;
    return hold != NULL && hold->offers;
}

/* Of a CDO that is in the pool. */
static void offer_too(struct vamp_track_context *at)
{
    if (vamp_cdo_is_owned(at)) {
        vamp_cdo_set_flags(at, VAMP_CDO_OFFERED, 0);
        return;
    }
    struct vamp_hold *hold = need_hold(at);
    vamp_cdo_change(at, at->cdo);
    link_offer(at, at->cdo, hold);
}

static void track_offer(struct vamp_track_context *at)
{
    if (at->cdo == NULL) {
        add_cdo(at);
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
    vamp_track_forget_of_one(at);
    become_producer(at);
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
    const bool early = vamp_track_demand(at, false);
    struct vamp_cdo *cdo = at->cdo;
    if (cdo == NULL) {
        return;
    }
    if (vamp_cdo_in_pool(cdo) && (cdo->flags & VAMP_CDO_DEMANDED) == 0) {
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_OFFER_TO_FIRST_DEMAND, cdo->offered_ns);
    }
    cdo->flags |= VAMP_CDO_DEMANDED;
    cdo->demands += early ? 0 : 1; /* it was counted when its data moved */
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
    forget_demands(cdo);
}

/* This component's; others may offer the CDO still. */
static void end_own_offer(struct vamp_track_context *at)
{
    if (vamp_cdo_is_owned(at)) {
        vamp_cdo_set_flags(at, 0, VAMP_CDO_OFFERED);
        return;
    }
    struct vamp_hold *hold = find_hold(at);
    vamp_cdo_change(at, at->cdo);
    unlink_offer(at, at->cdo, hold);
    if (hold->handles == 0) {
        remove_hold(at, hold);
    }
}

static void track_withdraw(struct vamp_track_context *at)
{
    if (at->cdo == NULL) {
        return; /* offered before the stream began, or evicted */
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
    struct vamp_hold *hold = find_hold(at);
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
        remove_hold(at, hold);
        return;
    }
    assert(at->cdo != NULL); /* an offer keeps the record */
    end_own_offer(at);
    if (!vamp_cdo_in_pool(at->cdo)) {
        leave_pool(at);
    }
}

/* Whether the component is known to have a handle of the CDO. */
static bool holds_it(struct vamp_track_context *at)
{
    const struct vamp_hold *hold = find_hold(at);
    return (hold != NULL && hold->handles > 0) ||
           (at->cdo != NULL && vamp_cdo_is_owned(at) && at->cdo->owner_handles > 0);
}

static void track_dispose(struct vamp_track_context *at)
{
    if (vamp_track_demand_end(at, NULL) && !vamp_track_take_of_one(at)) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_DEMAND_NEVER_SATISFIED, 1);
    }
    struct vamp_cdo *cdo = at->cdo;
    bool ends = false;
    if (cdo != NULL && vamp_cdo_is_owned(at)) {
        ends = dispose_by_owner(at);
    } else {
        dispose_of_hold(at);
    }
    if (at->tracker->tallies[at->row].deliveries > 0 && !holds_it(at)) {
        vamp_track_drop_delivery(at, true);
    }
    ends = ends || (cdo != NULL && (cdo->flags & VAMP_CDO_MAKER) == 0 && cdo->owner_handles == 0 &&
                    cdo->other_handles == 0);
    if (ends) {
        forget_cdo(at, cdo, VAMP_CDO_END_DISPOSED);
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
        if (!vamp_track_demand_end(at, NULL)) {
            vamp_track_drop_delivery(at, false);
        }
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
