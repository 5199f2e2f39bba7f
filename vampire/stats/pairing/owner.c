/* SPDX-License-Identifier: BSD-3-Clause */
/* To which component the record of a CDO belongs, and what each component holds by it. */
#include <assert.h>

#include "vampire/stats/pairing/history.h"

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

void vamp_cdo_forget(struct vamp_track_context *at, struct vamp_cdo *cdo, enum vamp_cdo_end end)
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
            vamp_hold_unlink(at, at->cdo, hold);
        }
        vamp_hold_remove(at, hold);
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
    struct vamp_hold *hold = vamp_hold_find(at);
    if (hold == NULL) {
        return;
    }
    const struct vamp_hold held = take_hold(at, hold);
    change_owner(at, at->cdo, at->row, &held);
    if (at->event->kind == VAMP_EVENT_DECLARE && at->cdo->owner_handles < VAMP_OWNER_HANDLES_MAX) {
        at->cdo->owner_handles++;
    }
}

void vamp_cdo_add(struct vamp_track_context *at)
{
    struct vamp_cdo *oldest = vamp_table_crowded(&at->tracker->cdos);
    if (oldest != NULL) {
        vamp_cdo_forget(at, oldest, VAMP_CDO_END_EVICTED);
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
    struct vamp_hold *hold = vamp_hold_need(&owner);
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
        vamp_hold_link(&owner, cdo, hold);
    }
}

void vamp_cdo_become_producer(struct vamp_track_context *at)
{
    if (!vamp_cdo_is_owned(at)) {
        vamp_cdo_change(at, at->cdo);
        const struct vamp_hold held = take_hold(at, vamp_hold_find(at));
        keep_owners_part(at);
        change_owner(at, at->cdo, at->row, &held);
    }
    vamp_cdo_set_flags(at, VAMP_CDO_MAKER, 0);
}

void vamp_cdo_hand_over(struct vamp_track_context *at, struct vamp_cdo *cdo)
{
    struct vamp_hold *hold = vamp_table_record(&at->tracker->holds, cdo->last_offer);
    const struct vamp_hold held = *hold;
    vamp_cdo_change(at, cdo);
    vamp_hold_unlink(at, cdo, hold);
    vamp_hold_remove(at, hold);
    change_owner(at, cdo, (uint32_t)held.key[2], &held);
    cdo->flags |= VAMP_CDO_MAKER;
    vamp_cdo_changed(at, cdo);
}

void vamp_track_forget_cdos(struct vamp_track_context *at)
{
    uint32_t position = 0;
    struct vamp_cdo *cdo = NULL;
    while ((cdo = vamp_table_next(&at->tracker->cdos, &position)) != NULL) {
        vamp_cdo_forget(at, cdo, VAMP_CDO_END_LEFT);
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
            vamp_cdo_hand_over(at, vamp_table_record(&tracker->cdos, position));
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
