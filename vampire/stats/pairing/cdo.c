/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/stats/pairing/records.h"

/* Its size was never reported, and it is not counted yet. */
static bool is_unsized(const struct vamp_cdo *cdo)
{
    return (cdo->flags & (VAMP_CDO_MAKER | VAMP_CDO_COUNTED)) == VAMP_CDO_MAKER;
}

void vamp_track_weigh(struct vamp_track_context *at, const struct vamp_cdo *cdo, int sign)
{
    if (vamp_cdo_in_pool(cdo)) {
        const vamp_bytes bytes = (cdo->flags & VAMP_CDO_SIZED) != 0 ? cdo->size_bytes : 0;
        at->tracker->pool_bytes += sign > 0 ? bytes : -bytes;
        at->seen->pool_cdos += sign;
        at->seen->pool_changed = true;
    }
}

/* What components hold of CDOs whose record belongs to another: handles and offers. */

/* The hold of this component on the CDO of `at`; NULL: it holds nothing, or owns the record. */
static struct vamp_part *find_hold(const struct vamp_track_context *at, uint32_t row)
{
    const struct vamp_who who = {.row = row, .kind = VAMP_PART_HOLD};
    return vamp_part_find(at->tracker, at->record, &who);
}

/* The hold's component begins to offer the CDO, which is changing. The parts that offer it stand in
 * the order in which they began, the newest first. */
static void begin_offer(struct vamp_track_context *at, struct vamp_cdo *cdo, struct vamp_part *hold)
{
    assert(!hold->offers);
    hold->offers = true;
    vamp_part_to_front(at->tracker, hold);
    cdo->offers++;
    at->tracker->tallies[hold->item.row].offering++;
}

/* It ends; the CDO is changing. */
static void stop_offer(struct vamp_track_context *at, struct vamp_cdo *cdo, struct vamp_part *hold)
{
    assert(hold->offers && cdo->offers > 0);
    hold->offers = false;
    cdo->offers--;
    at->tracker->tallies[hold->item.row].offering--;
}

static void forget_demands(struct vamp_cdo *cdo)
{
    cdo->demands = 0;
    cdo->flags &= (uint8_t)~VAMP_CDO_DEMANDED;
}

/* An offer ends by an event that is no WITHDRAW. */
static void end_offer(struct vamp_track_context *at, struct vamp_part *hold)
{
    struct vamp_cdo *cdo = vamp_part_cdo(at->tracker, hold);
    assert(cdo->tracked); /* as long as it is offered */
    vamp_cdo_change(at, cdo);
    stop_offer(at, cdo, hold);
    vamp_cdo_changed(at, cdo);
    if (!vamp_cdo_in_pool(cdo)) {
        forget_demands(cdo);
    }
}

/* The hold of this component on the CDO of `at`, made at need; at the bound the oldest gives way.
 */
static struct vamp_part *need_hold(struct vamp_track_context *at, uint32_t row)
{
    struct vamp_part *hold = find_hold(at, row);
    if (hold != NULL) {
        return hold;
    }
    struct vamp_part *oldest = vamp_part_crowded(at->tracker, VAMP_PART_HOLD);
    if (oldest != NULL && oldest->offers) {
        end_offer(at, oldest);
    }
    const struct vamp_place place = {
        .key = &at->cdo_key, .record = at->cdo, .who = {.row = row, .kind = VAMP_PART_HOLD}};
    return vamp_part_add(at, &place);
}

/* The component's offers of CDOs that it does not own end. Returns how many there were. */
static uint32_t leave_offers(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_tally *tally = &tracker->tallies[at->row];
    const uint32_t count = tally->offering;
    for (uint32_t number = tally->first_part; tally->offering > 0;) {
        struct vamp_part *part = vamp_part_of(tracker, number);
        if (part->kind == VAMP_PART_HOLD && part->offers) {
            end_offer(at, part);
        }
        number = part->neighbours.after;
    }
    return count;
}

/* To which component the record of a CDO belongs, and what each component holds by it. */

/* The offers of other components go with the record; their handles stay theirs. */
static void drop_offers(struct vamp_track_context *at, struct vamp_cdo *cdo)
{
    for (uint32_t number = cdo->first_part; cdo->offers > 0;) {
        struct vamp_part *part = vamp_part_of(at->tracker, number);
        number = part->item.next;
        if (part->kind == VAMP_PART_HOLD && part->offers) {
            stop_offer(at, cdo, part);
            if (part->handles == 0) {
                vamp_part_remove(at, part);
            }
        }
    }
}

/*
 * Whether a CDO is in `cdos_created` already, from before its record was evicted: a Bloom filter.
 * Of 10^6 that were evicted it remembers all, and takes 0.2 % of the others for one of them. The
 * same bits on every machine, so that a replay counts as the run did.
 */
#define EVICTED_BITS (UINT64_C(1) << 24)
#define EVICTED_BITS_OF_EACH 4

static bool was_counted(const struct vamp_tracker *tracker, const struct vamp_cdo *cdo, bool note)
{
    const uint64_t *key = cdo->record.key;
    uint64_t hash = vamp_hash_mix(key[0] ^ vamp_hash_mix(key[1]));
    bool known = tracker->any_evicted || note;
    for (unsigned i = 0; known && i < EVICTED_BITS_OF_EACH; i++) {
        uint64_t *word = &tracker->evicted[hash % EVICTED_BITS / 64];
        const uint64_t bit = UINT64_C(1) << hash % 64;
        *word |= note ? bit : 0;
        known = (*word & bit) != 0;
        hash = vamp_hash_mix(hash + 1);
    }
    return known;
}

int vamp_track_evicted_init(struct vamp_tracker *tracker)
{
    tracker->evicted = calloc(EVICTED_BITS / 64, sizeof *tracker->evicted);
    return tracker->evicted != NULL ? 0 : -ENOMEM;
}

bool vamp_cdo_is_forgotten(const struct vamp_tracker *tracker, const struct vamp_cdo *cdo,
                           struct vamp_slot *slot)
{
    const bool again = is_unsized(cdo) && was_counted(tracker, cdo, false);
    slot->account.cdos_uncounted += again;
    return is_unsized(cdo) && !again;
}

/* The CDO is tracked no more. If its size was never reported it is counted now. */
static void forget_cdo(struct vamp_track_context *at, struct vamp_cdo *cdo, enum vamp_cdo_end end)
{
    if (vamp_track_keeps_histories(at->tracker)) {
        vamp_cdo_history_end(at, cdo, end);
    }
    if (vamp_cdo_is_forgotten(at->tracker, cdo, at->seen->slot)) {
        at->seen->forgotten++;
        at->seen->found |= VAMP_FOUND_SIZE;
        at->seen->forgotten_of = vamp_cdo_owner_name(at, cdo);
    }
    if (end == VAMP_CDO_END_EVICTED && (cdo->flags & (VAMP_CDO_MAKER | VAMP_CDO_COUNTED)) != 0) {
        (void)was_counted(at->tracker, cdo, true);
        at->tracker->any_evicted = true;
    }
    vamp_cdo_change(at, cdo);
    drop_offers(at, cdo);
    vamp_cdo_untrack(at, cdo);
    at->seen->tracked--;
}

static uint32_t declared_handles(const struct vamp_cdo *cdo)
{
    return cdo->owner_handles - (unsigned)((cdo->flags & VAMP_CDO_UNSEEN) != 0);
}

/* Gives the record, which is changing, to a component that held this of it until now. */
static void change_owner(struct vamp_track_context *at, struct vamp_cdo *cdo, uint32_t row,
                         const struct vamp_part *held)
{
    struct vamp_tracker *tracker = at->tracker;
    const struct vamp_slab *slab = &tracker->cdos.slab;
    struct vamp_item *item = &cdo->record.item;
    const uint32_t number = vamp_slab_number(slab, cdo);
    struct vamp_neighbours *own = vamp_slab_neighbours(slab, number);
    vamp_row_leave(slab, &tracker->tallies[item->row].first_cdo, item, own);
    vamp_row_join(slab, &tracker->tallies[row].first_cdo, item, own, number, row);
    const uint32_t handles =
        held->handles < VAMP_OWNER_HANDLES_MAX ? held->handles : VAMP_OWNER_HANDLES_MAX;
    cdo->owner_handles = (uint16_t)(handles > 0 ? handles : 1);
    cdo->other_handles -= held->handles < cdo->other_handles ? held->handles : cdo->other_handles;
    cdo->flags &= (uint8_t) ~(VAMP_CDO_DECLARED | VAMP_CDO_OFFERED | VAMP_CDO_UNSEEN);
    cdo->flags |= handles == 0 ? VAMP_CDO_UNSEEN : held->declared ? VAMP_CDO_DECLARED : 0;
    cdo->flags |= held->offers ? VAMP_CDO_OFFERED : 0;
    vamp_cdo_rest(tracker, cdo)->declared_ns = held->since_ns;
}

/* What the component holds, which is not counted any more. */
static struct vamp_part take_hold(struct vamp_track_context *at, struct vamp_part *hold)
{
    struct vamp_part held = {.handles = 0};
    if (hold != NULL) {
        held = *hold;
        if (hold->offers) {
            vamp_cdo_change(at, at->cdo);
            stop_offer(at, at->cdo, hold);
        }
        vamp_part_remove(at, hold);
    }
    return held;
}

/* A handle that the component kept when an earlier record of the CDO ended. */
static void take_kept_handles(struct vamp_track_context *at)
{
    struct vamp_part *hold = find_hold(at, at->row);
    if (hold == NULL) {
        return;
    }
    const struct vamp_part held = take_hold(at, hold);
    change_owner(at, at->cdo, at->row, &held);
    if (at->event->kind == VAMP_EVENT_DECLARE && at->cdo->owner_handles < VAMP_OWNER_HANDLES_MAX) {
        at->cdo->owner_handles++;
    }
}

/* A record for the CDO of `at`, which has none: it belongs to the component of the event. At the
 * bound the oldest record is evicted. */
static void add_cdo(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    if (tracker->tracked.count == tracker->max_cdos) {
        forget_cdo(at, vamp_slab_item(&tracker->cdos.slab, tracker->tracked.oldest),
                   VAMP_CDO_END_EVICTED);
        at->seen->evicted++;
    }
    vamp_cdo_track(at);
    at->seen->tracked++;
    at->cdo->owner_handles = 1;
    at->cdo->flags = at->event->kind == VAMP_EVENT_DECLARE ? 0 : VAMP_CDO_UNSEEN;
    take_kept_handles(at);
    if (vamp_track_keeps_histories(tracker)) {
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
    const uint32_t row = cdo->record.item.row;
    struct vamp_part *hold = need_hold(at, row);
    assert(hold->handles == 0 && !hold->offers); /* the owner of a record has no hold on it */
    hold->handles = handles;
    hold->declared = (cdo->flags & VAMP_CDO_DECLARED) != 0;
    hold->since_ns = vamp_cdo_rest(at->tracker, cdo)->declared_ns;
    cdo->other_handles += handles;
    cdo->owner_handles = 1;
    cdo->flags |= VAMP_CDO_UNSEEN;
    if ((cdo->flags & VAMP_CDO_OFFERED) != 0) {
        cdo->flags &= (uint8_t)~VAMP_CDO_OFFERED;
        begin_offer(at, cdo, hold);
    }
}

/* The component of the event becomes the producer of the CDO of `at`, and the record its own. */
static void become_producer(struct vamp_track_context *at)
{
    if (!vamp_cdo_is_owned(at)) {
        vamp_cdo_change(at, at->cdo);
        const struct vamp_part held = take_hold(at, find_hold(at, at->row));
        keep_owners_part(at);
        change_owner(at, at->cdo, at->row, &held);
    }
    vamp_cdo_set_flags(at, VAMP_CDO_MAKER, 0);
}

/* The owner is done with a CDO that others offer: the component that offered it last becomes its
 * producer. */
static void hand_over(struct vamp_track_context *at, struct vamp_cdo *cdo)
{
    struct vamp_part *hold = vamp_track_last_offer(at->tracker, cdo);
    const struct vamp_part held = *hold;
    vamp_cdo_change(at, cdo);
    stop_offer(at, cdo, hold);
    vamp_part_remove(at, hold);
    change_owner(at, cdo, held.item.row, &held);
    cdo->flags |= VAMP_CDO_MAKER;
    vamp_cdo_changed(at, cdo);
}

void vamp_track_forget_cdos(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    while (tracker->tracked.count > 0) {
        forget_cdo(at, vamp_slab_item(&tracker->cdos.slab, tracker->tracked.oldest),
                   VAMP_CDO_END_LEFT);
    }
    if (tracker->any_evicted) { /* the next pool's CDOs are others */
        memset(tracker->evicted, 0, EVICTED_BITS / 8);
        tracker->any_evicted = false;
    }
}

/* A CDO that will go soon: its line of the index is asked for. Returns the next one of the
 * component. Inlined as what ahead.c expects. */
static inline __attribute__((always_inline)) uint32_t expect_removal(const struct vamp_table *cdos,
                                                                     uint32_t number)
{
    if (number == 0) {
        return 0;
    }
    const struct vamp_record *record = vamp_slab_item(&cdos->slab, number);
    const struct vamp_key key = vamp_key_of_two(record->key[0], record->key[1]);
    (void)vamp_table_expect(cdos, &key);
    return vamp_slab_neighbours(&cdos->slab, number)->after;
}

/* What a component had that leaves. */
struct leaving {
    uint32_t offers;
    uint32_t handles;
};

/* A CDO of the component that leaves: one that others offer goes on as that of another. */
static void leave_cdo(struct vamp_track_context *at, struct vamp_cdo *cdo, struct leaving *had)
{
    had->offers += (cdo->flags & VAMP_CDO_OFFERED) != 0;
    had->handles += declared_handles(cdo);
    if (cdo->offers > 0) {
        hand_over(at, cdo);
        return;
    }
    if (vamp_track_keeps_histories(at->tracker)) {
        vamp_cdo_history_end(at, cdo, VAMP_CDO_END_LEFT);
    }
    at->seen->forgotten += vamp_cdo_is_forgotten(at->tracker, cdo, at->seen->slot);
    vamp_track_weigh(at, cdo, -1);
    vamp_cdo_untrack(at, cdo);
    at->seen->tracked--;
}

/* All of them. One may own a million, whose lines are in no cache. */
static void leave_owned(struct vamp_track_context *at, struct leaving *had)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_tally *tally = &tracker->tallies[at->row];
    uint32_t ahead = tally->first_cdo;
    for (unsigned i = 0; i < VAMP_LOOK_AHEAD; i++) {
        ahead = expect_removal(&tracker->cdos, ahead);
    }
    while (tally->first_cdo != 0) {
        ahead = expect_removal(&tracker->cdos, ahead);
        leave_cdo(at, vamp_slab_item(&tracker->cdos.slab, tally->first_cdo), had);
    }
}

void vamp_track_leave_cdos(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    const struct vamp_tally *tally = &tracker->tallies[at->row];
    struct vamp_observation *seen = at->seen;
    struct leaving had = {.offers = leave_offers(at)};
    seen->pool_changed = true;
    seen->forgotten_of = seen->labels.value[VAMP_LABEL_COMPONENT];
    leave_owned(at, &had);
    seen->found |= seen->forgotten > 0 ? VAMP_FOUND_SIZE : 0U;
    while (tally->first_part != 0) {
        struct vamp_part *part = vamp_part_of(tracker, tally->first_part);
        had.handles += part->kind == VAMP_PART_HOLD ? part->handles : 0;
        vamp_part_remove(at, part);
    }
    vamp_observe_anomaly(seen, VAMP_ANOMALY_NOT_WITHDRAWN_AT_LEAVE, had.offers);
    vamp_observe_anomaly(seen, VAMP_ANOMALY_NOT_DISPOSED_AT_LEAVE, had.handles);
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
        if (was_counted(at->tracker, cdo, false)) {
            seen->slot->account.cdos_uncounted++;
            return;
        }
        seen->created = true;
        seen->found |= VAMP_FOUND_SIZE;
        seen->creator = vamp_cdo_owner_name(at, cdo);
    }
}

static void add_own_handle(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    if (cdo->owner_handles < VAMP_OWNER_HANDLES_MAX) {
        cdo->owner_handles++;
    }
}

static void add_hold_handle(struct vamp_track_context *at)
{
    struct vamp_part *hold = need_hold(at, at->row);
    if (hold->handles == 0) {
        hold->declared = true;
        hold->since_ns = at->event->time_ns;
    }
    hold->handles++;
    at->cdo->other_handles++;
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
    vamp_cdo_rest(at->tracker, at->cdo)->declared_ns = at->event->time_ns;
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
    const struct vamp_part *hold = at->cdo->offers != 0 ? find_hold(at, at->row) : NULL;
    return hold != NULL && hold->offers;
}

/* Of a CDO that is in the pool. */
static void offer_too(struct vamp_track_context *at)
{
    if (vamp_cdo_is_owned(at)) {
        vamp_cdo_set_flags(at, VAMP_CDO_OFFERED, 0);
        return;
    }
    struct vamp_part *hold = need_hold(at, at->row);
    vamp_cdo_change(at, at->cdo);
    begin_offer(at, at->cdo, hold);
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
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_DECLARE_TO_OFFER,
                                    vamp_cdo_rest(at->tracker, cdo)->declared_ns);
    }
    cdo->offered_ns = at->event->time_ns;
    vamp_cdo_set_flags(at, VAMP_CDO_OFFERED | VAMP_CDO_ONCE, 0);
}

/* A component that requires or demands a CDO did not make it, unless it is known to have. */
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
    struct vamp_part *hold = find_hold(at, at->row);
    vamp_cdo_change(at, at->cdo);
    stop_offer(at, at->cdo, hold);
    if (hold->handles == 0) {
        vamp_part_remove(at, hold);
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
        cdo->owner_handles--;
        if (cdo->owner_handles == 0) {
            cdo->flags &= (uint8_t)~VAMP_CDO_UNSEEN;
        }
    }
    return (cdo->flags & VAMP_CDO_MAKER) != 0 && cdo->owner_handles == 0 && end_making(at);
}

static void dispose_of_hold(struct vamp_track_context *at)
{
    struct vamp_part *hold = find_hold(at, at->row);
    if (hold == NULL) {
        return; /* its DECLARE was not seen */
    }
    if (hold->handles > 0) {
        hold->handles--;
        if (at->cdo != NULL && at->cdo->other_handles > 0) {
            at->cdo->other_handles--;
        }
    }
    if (hold->handles > 0) {
        return;
    }
    if (!hold->offers) {
        vamp_part_remove(at, hold);
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
    const struct vamp_part *hold = find_hold(at, at->row);
    return (hold != NULL && hold->handles > 0) ||
           (at->cdo != NULL && vamp_cdo_is_owned(at) && at->cdo->owner_handles > 0);
}

static void track_dispose(struct vamp_track_context *at)
{
    const bool guessed = at->cdo != NULL && at->cdo->guessed > 0; /* another may have its data */
    if (vamp_track_demand_end(at, NULL) && !vamp_track_take_of_one(at) && !guessed) {
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
