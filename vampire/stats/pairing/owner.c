/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/owner.h"

#include <assert.h>

#include "vampire/stats/pairing/attribution.h"
#include "vampire/stats/pairing/evicted.h"
#include "vampire/stats/pairing/history.h"
#include "vampire/stats/pairing/pending.h"

void vamp_track_weigh(struct vamp_track_context *at, const struct vamp_cdo *cdo, int sign)
{
    if (vamp_cdo_in_pool(cdo)) {
        const vamp_bytes bytes = (cdo->flags & VAMP_CDO_SIZED) != 0 ? cdo->size_bytes : 0;
        at->tracker->pool_bytes += sign > 0 ? bytes : -bytes;
        at->seen->pool_cdos += sign;
        at->seen->pool_changed = true;
    }
}

/* ---- references */

/* Returns the reference of this row to the CDO of `at`; NULL if there is none, or if the row owns
 * the record. */
struct vamp_pending *vamp_reference_find(const struct vamp_track_context *at, uint32_t row)
{
    const struct vamp_who who = {.row = row, .kind = VAMP_PENDING_REFERENCE};
    return vamp_pending_find(at->tracker, at->record, &who);
}

struct vamp_pending *vamp_reference_last_offer(const struct vamp_tracker *tracker,
                                               const struct vamp_cdo *cdo)
{
    assert(cdo->offers > 0);
    struct vamp_pending *entry = vamp_pending_of(tracker, cdo->first_pending);
    while (entry->kind != VAMP_PENDING_REFERENCE || !entry->offers) {
        entry = vamp_pending_of(tracker, entry->item.next);
    }
    return entry;
}

bool vamp_track_offers(struct vamp_track_context *at)
{
    if (vamp_cdo_is_owned(at)) {
        return (at->cdo->flags & VAMP_CDO_OFFERED) != 0;
    }
    const struct vamp_pending *reference =
        at->cdo->offers != 0 ? vamp_reference_find(at, at->row) : NULL;
    return reference != NULL && reference->offers;
}

/* Moves the reference to the front of the CDO's list, so that references with an offer are in the
 * order in which the offers started, newest first. */
void vamp_reference_begin_offer(struct vamp_track_context *at, struct vamp_cdo *cdo,
                                struct vamp_pending *reference)
{
    assert(!reference->offers);
    reference->offers = true;
    vamp_pending_to_front(at->tracker, reference);
    cdo->offers++;
    at->tracker->tallies[reference->item.row].offering++;
}

void vamp_reference_stop_offer(struct vamp_track_context *at, struct vamp_cdo *cdo,
                               struct vamp_pending *reference)
{
    assert(reference->offers && cdo->offers > 0);
    reference->offers = false;
    cdo->offers--;
    at->tracker->tallies[reference->item.row].offering--;
}

/* Ends an offer at an event other than WITHDRAW. */
static void end_offer(struct vamp_track_context *at, struct vamp_pending *reference)
{
    struct vamp_cdo *cdo = vamp_pending_record(at->tracker, reference);
    assert(cdo->tracked); /* it remains tracked while it is offered */
    vamp_cdo_change(at, cdo);
    vamp_reference_stop_offer(at, cdo, reference);
    vamp_cdo_changed(at, cdo);
    if (!vamp_cdo_in_pool(cdo)) {
        vamp_cdo_reset_demands(cdo);
    }
}

struct vamp_pending *vamp_reference_need(struct vamp_track_context *at, uint32_t row)
{
    struct vamp_pending *reference = vamp_reference_find(at, row);
    if (reference != NULL) {
        return reference;
    }
    struct vamp_pending *oldest = vamp_pending_to_evict(at->tracker, VAMP_PENDING_REFERENCE);
    if (oldest != NULL && oldest->offers) {
        end_offer(at, oldest);
    }
    const struct vamp_lookup lookup = {.key = &at->cdo_key,
                                       .record = at->cdo,
                                       .who = {.row = row, .kind = VAMP_PENDING_REFERENCE}};
    return vamp_pending_add(at, &lookup);
}

/* Ends the component's offers of CDOs that it does not own. Returns the number of these offers. */
static uint32_t leave_offers(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_tally *tally = &tracker->tallies[at->row];
    const uint32_t count = tally->offering;
    for (uint32_t number = tally->first_pending; tally->offering > 0;) {
        struct vamp_pending *pending = vamp_pending_of(tracker, number);
        if (pending->kind == VAMP_PENDING_REFERENCE && pending->offers) {
            end_offer(at, pending);
        }
        number = pending->neighbours.after;
    }
    return count;
}

/* ---- records */

/* Makes the record of `at`, which may be new, a tracked CDO owned by the row of `at`. */
static void track_record(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    if (at->record == NULL) {
        at->record = vamp_table_insert(&tracker->cdos, &at->cdo_key);
    }
    struct vamp_cdo *cdo = at->record;
    cdo->tracked = true;
    const uint32_t number = vamp_slab_number(&tracker->cdos.slab, cdo);
    vamp_age_join(&tracker->cdos, &tracker->tracked, number);
    vamp_row_join(&tracker->cdos.slab, &tracker->tallies[at->row].first_cdo, &cdo->record.item,
                  vamp_slab_neighbours(&tracker->cdos.slab, number), number, at->row);
    at->cdo = cdo;
}

/* Ends the tracking of a CDO. The record is removed, unless operations or references remain. */
static void untrack_record(struct vamp_track_context *at, struct vamp_cdo *cdo)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_item *item = &cdo->record.item;
    const uint32_t number = vamp_slab_number(&tracker->cdos.slab, cdo);
    vamp_age_leave(&tracker->cdos, &tracker->tracked, number);
    vamp_row_leave(&tracker->cdos.slab, &tracker->tallies[item->row].first_cdo, item,
                   vamp_slab_neighbours(&tracker->cdos.slab, number));
    if (cdo == at->cdo) {
        at->cdo = NULL;
        at->changing = false;
    }
    if (cdo->first_pending == 0) {
        cdo->tracked = false;
        vamp_pending_remove_record(at, cdo);
        return;
    }
    *cdo = (struct vamp_cdo){.record = cdo->record,
                             .offered_ns = cdo->offered_ns,
                             .first_pending = cdo->first_pending,
                             .guessed = cdo->guessed,
                             .attributes = cdo->attributes,
                             .withdraws = cdo->withdraws};
}

/* Drops the offers of other components together with the record; their handles are kept. */
static void drop_offers(struct vamp_track_context *at, struct vamp_cdo *cdo)
{
    for (uint32_t number = cdo->first_pending; cdo->offers > 0;) {
        struct vamp_pending *pending = vamp_pending_of(at->tracker, number);
        number = pending->item.next;
        if (pending->kind == VAMP_PENDING_REFERENCE && pending->offers) {
            vamp_reference_stop_offer(at, cdo, pending);
            if (pending->handles == 0) {
                vamp_pending_remove(at, pending);
            }
        }
    }
}

bool vamp_cdo_count_unsized(const struct vamp_tracker *tracker, const struct vamp_cdo *cdo,
                            struct vamp_slot *slot)
{
    if ((cdo->flags & (VAMP_CDO_MAKER | VAMP_CDO_COUNTED)) != VAMP_CDO_MAKER) {
        return false;
    }
    if (vamp_evicted_test(&tracker->evicted, cdo->record.key)) {
        slot->account.cdos_uncounted++;
        return false;
    }
    return true;
}

void vamp_cdo_forget(struct vamp_track_context *at, struct vamp_cdo *cdo, enum vamp_cdo_end end)
{
    if (vamp_track_keeps_histories(at->tracker)) {
        vamp_cdo_history_end(at, cdo, end);
    }
    if (vamp_cdo_count_unsized(at->tracker, cdo, at->seen->slot)) {
        at->seen->forgotten++;
        at->seen->found |= VAMP_FOUND_SIZE;
        at->seen->forgotten_of = vamp_cdo_owner_name(at, cdo);
    }
    if (end == VAMP_CDO_END_EVICTED && (cdo->flags & (VAMP_CDO_MAKER | VAMP_CDO_COUNTED)) != 0) {
        vamp_evicted_add(&at->tracker->evicted, cdo->record.key);
    }
    vamp_cdo_change(at, cdo);
    if (vamp_cdo_in_pool(cdo)) {
        vamp_cdo_reset_demands(cdo);
    }
    drop_offers(at, cdo);
    untrack_record(at, cdo);
    at->seen->tracked--;
}

static uint32_t declared_handles(const struct vamp_cdo *cdo)
{
    return cdo->owner_handles - (unsigned)((cdo->flags & VAMP_CDO_UNSEEN) != 0);
}

/* Transfers the ownership of a record under modification to a row; `held` is the row's former
 * reference. */
static void change_owner(struct vamp_track_context *at, struct vamp_cdo *cdo, uint32_t row,
                         const struct vamp_pending *held)
{
    struct vamp_tracker *tracker = at->tracker;
    const struct vamp_slab *slab = &tracker->cdos.slab;
    struct vamp_item *item = &cdo->record.item;
    const uint32_t number = vamp_slab_number(slab, cdo);
    struct vamp_neighbours *own = vamp_slab_neighbours(slab, number);
    vamp_row_leave(slab, &tracker->tallies[item->row].first_cdo, item, own);
    vamp_row_join(slab, &tracker->tallies[row].first_cdo, item, own, number, row);
    const uint32_t handles = VAMP_MIN(held->handles, (uint32_t)VAMP_OWNER_HANDLES_MAX);
    cdo->owner_handles = (uint16_t)VAMP_MAX(handles, 1U);
    cdo->other_handles -= VAMP_MIN(held->handles, cdo->other_handles);
    cdo->flags &= (uint8_t) ~(VAMP_CDO_DECLARED | VAMP_CDO_OFFERED | VAMP_CDO_UNSEEN);
    if (handles == 0) {
        cdo->flags |= VAMP_CDO_UNSEEN;
    } else if (held->declared) {
        cdo->flags |= VAMP_CDO_DECLARED;
    }
    if (held->offers) {
        cdo->flags |= VAMP_CDO_OFFERED;
    }
    vamp_cdo_rest(tracker, cdo)->declared_ns = held->since_ns;
}

/* Removes the reference, which may be NULL, and returns its former content. */
static struct vamp_pending take_reference(struct vamp_track_context *at,
                                          struct vamp_pending *reference)
{
    struct vamp_pending held = {.handles = 0};
    if (reference != NULL) {
        held = *reference;
        if (reference->offers) {
            vamp_cdo_change(at, at->cdo);
            vamp_reference_stop_offer(at, at->cdo, reference);
        }
        vamp_pending_remove(at, reference);
    }
    return held;
}

/* Restores handles that the component kept when an earlier record of the CDO ended. */
static void take_kept_handles(struct vamp_track_context *at)
{
    struct vamp_pending *reference = vamp_reference_find(at, at->row);
    if (reference == NULL) {
        return;
    }
    const struct vamp_pending held = take_reference(at, reference);
    change_owner(at, at->cdo, at->row, &held);
    if (at->event->kind == VAMP_EVENT_DECLARE && at->cdo->owner_handles < VAMP_OWNER_HANDLES_MAX) {
        at->cdo->owner_handles++;
    }
}

/* Returns the next younger tracked CDO; 0: none. */
static uint32_t next_tracked(const struct vamp_tracker *tracker, uint32_t number)
{
    if (number == 0) {
        return 0;
    }
    return ((struct vamp_record_rest *)vamp_table_rest(&tracker->cdos, number))->newer;
}

/* Prefetches memory for the next evictions: of the third record from now, the record itself; of the
 * second record, its neighbours in lists and its lines in the index and in the filter. */
static inline __attribute__((always_inline)) void
prefetch_evictions(const struct vamp_tracker *tracker)
{
    const struct vamp_table *cdos = &tracker->cdos;
    const uint32_t second = next_tracked(tracker, tracker->tracked.oldest);
    const uint32_t third = next_tracked(tracker, second);
    __builtin_prefetch(vamp_table_rest(cdos, third), 1);
    __builtin_prefetch(vamp_slab_item(&cdos->slab, third), 1);
    if (second != 0) {
        const struct vamp_record *record = vamp_slab_item(&cdos->slab, second);
        vamp_prefetch_neighbours(&cdos->slab, vamp_slab_neighbours(&cdos->slab, second));
        vamp_table_prefetch_line(cdos, record);
        vamp_evicted_prefetch(&tracker->evicted, record->key);
    }
}

void vamp_cdo_add(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    if (tracker->tracked.count == tracker->max_cdos) {
        vamp_cdo_forget(at, vamp_slab_item(&tracker->cdos.slab, tracker->tracked.oldest),
                        VAMP_CDO_END_EVICTED);
        prefetch_evictions(tracker);
        at->seen->evicted++;
    }
    track_record(at);
    at->seen->tracked++;
    at->cdo->owner_handles = 1;
    if (at->event->kind != VAMP_EVENT_DECLARE) {
        at->cdo->flags = VAMP_CDO_UNSEEN;
    }
    take_kept_handles(at);
    if (vamp_track_keeps_histories(tracker)) {
        vamp_cdo_history_begin(at);
    }
}

/* Converts the handles and the offer of the owner into a reference. Does nothing if the owner has
 * neither. The record must be under modification, and the caller must then set a new owner. */
static void keep_owner_reference(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    const uint32_t handles = declared_handles(cdo);
    if (handles == 0 && (cdo->flags & VAMP_CDO_OFFERED) == 0) {
        return;
    }
    const uint32_t row = cdo->record.item.row;
    struct vamp_pending *reference = vamp_reference_need(at, row);
    assert(reference->handles == 0 &&
           !reference->offers); /* an owner has neither handles nor an offer in a reference */
    reference->handles = handles;
    reference->declared = (cdo->flags & VAMP_CDO_DECLARED) != 0;
    reference->since_ns = vamp_cdo_rest(at->tracker, cdo)->declared_ns;
    cdo->other_handles += handles;
    cdo->owner_handles = 1;
    cdo->flags |= VAMP_CDO_UNSEEN;
    if ((cdo->flags & VAMP_CDO_OFFERED) != 0) {
        cdo->flags &= (uint8_t)~VAMP_CDO_OFFERED;
        vamp_reference_begin_offer(at, cdo, reference);
    }
}

void vamp_cdo_become_producer(struct vamp_track_context *at)
{
    if (!vamp_cdo_is_owned(at)) {
        vamp_cdo_change(at, at->cdo);
        const struct vamp_pending held = take_reference(at, vamp_reference_find(at, at->row));
        keep_owner_reference(at);
        change_owner(at, at->cdo, at->row, &held);
    }
    vamp_cdo_set_flags(at, VAMP_CDO_MAKER, 0);
}

void vamp_cdo_hand_over(struct vamp_track_context *at, struct vamp_cdo *cdo)
{
    struct vamp_pending *reference = vamp_reference_last_offer(at->tracker, cdo);
    const struct vamp_pending held = *reference;
    vamp_cdo_change(at, cdo);
    vamp_reference_stop_offer(at, cdo, reference);
    vamp_pending_remove(at, reference);
    change_owner(at, cdo, held.item.row, &held);
    cdo->flags |= VAMP_CDO_MAKER;
    vamp_cdo_changed(at, cdo);
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
        if (vamp_evicted_test(&at->tracker->evicted, cdo->record.key)) {
            seen->slot->account.cdos_uncounted++;
            return;
        }
        seen->created = true;
        seen->found |= VAMP_FOUND_SIZE;
        seen->creator = vamp_cdo_owner_name(at, cdo);
    }
}

/* ---- the end of components and of the pool */

void vamp_track_forget_cdos(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    while (tracker->tracked.count > 0) {
        vamp_cdo_forget(at, vamp_slab_item(&tracker->cdos.slab, tracker->tracked.oldest),
                        VAMP_CDO_END_LEFT);
    }
    vamp_evicted_clear(&tracker->evicted); /* the next pool has different CDOs */
}

/* Prefetches the index line of a CDO that will be removed soon. Returns the next CDO of the
 * component. */
static inline __attribute__((always_inline)) uint32_t
prefetch_removal(const struct vamp_table *cdos, uint32_t number)
{
    if (number == 0) {
        return 0;
    }
    vamp_table_prefetch_line(cdos, vamp_slab_item(&cdos->slab, number));
    return vamp_slab_neighbours(&cdos->slab, number)->after;
}

/* Counts of the CDOs of a component that has left. */
struct leaving {
    uint32_t offers;
    uint32_t handles;
};

/* Ends the record of a CDO, or transfers it to another owner if other components offer the CDO. */
static void leave_cdo(struct vamp_track_context *at, struct vamp_cdo *cdo, struct leaving *had)
{
    had->offers += (cdo->flags & VAMP_CDO_OFFERED) != 0;
    had->handles += declared_handles(cdo);
    if (cdo->offers > 0) {
        vamp_cdo_hand_over(at, cdo);
        return;
    }
    if (vamp_track_keeps_histories(at->tracker)) {
        vamp_cdo_history_end(at, cdo, VAMP_CDO_END_LEFT);
    }
    at->seen->forgotten += vamp_cdo_count_unsized(at->tracker, cdo, at->seen->slot);
    vamp_track_weigh(at, cdo, -1);
    if (vamp_cdo_in_pool(cdo)) {
        vamp_cdo_reset_demands(cdo);
    }
    untrack_record(at, cdo);
    at->seen->tracked--;
}

/* Ends all records of the component. There may be a million, most of which are in no cache, so that
 * the next records are prefetched. */
static void leave_owned(struct vamp_track_context *at, struct leaving *had)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_tally *tally = &tracker->tallies[at->row];
    uint32_t ahead = tally->first_cdo;
    for (unsigned i = 0; i < VAMP_LOOK_AHEAD; i++) {
        ahead = prefetch_removal(&tracker->cdos, ahead);
    }
    while (tally->first_cdo != 0) {
        ahead = prefetch_removal(&tracker->cdos, ahead);
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
    if (seen->forgotten > 0) {
        seen->found |= VAMP_FOUND_SIZE;
    }
    while (tally->first_pending != 0) {
        struct vamp_pending *pending = vamp_pending_of(tracker, tally->first_pending);
        if (pending->kind == VAMP_PENDING_REFERENCE) {
            had.handles += pending->handles;
        } else if (pending->kind == VAMP_PENDING_DEMAND) {
            vamp_blocked_finished(at, vamp_pending_record(tracker, pending));
        }
        vamp_pending_remove(at, pending);
    }
    vamp_observe_anomaly(seen, VAMP_ANOMALY_NOT_WITHDRAWN_AT_LEAVE, had.offers);
    vamp_observe_anomaly(seen, VAMP_ANOMALY_NOT_DISPOSED_AT_LEAVE, had.handles);
}
