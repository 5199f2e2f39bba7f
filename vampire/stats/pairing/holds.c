/* SPDX-License-Identifier: BSD-3-Clause */
/* What components hold of CDOs whose record belongs to another: handles and offers. */
#include <assert.h>

#include "vampire/stats/pairing/keys.h"

static uint32_t row_of(const struct vamp_hold *hold)
{
    return (uint32_t)hold->key[2];
}

struct vamp_hold *vamp_hold_find(struct vamp_track_context *at)
{
    const struct vamp_key key = vamp_hold_key(at);
    return vamp_table_find(&at->tracker->holds, &key);
}

void vamp_hold_remove(struct vamp_track_context *at, struct vamp_hold *hold)
{
    assert(!hold->offers);
    at->tracker->tallies[row_of(hold)].handles -= hold->handles;
    vamp_table_remove(&at->tracker->holds, hold);
}

void vamp_hold_link(struct vamp_track_context *at, struct vamp_cdo *cdo, struct vamp_hold *hold)
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

void vamp_hold_unlink(struct vamp_track_context *at, struct vamp_cdo *cdo, struct vamp_hold *hold)
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

/* An offer ends by an event that is no WITHDRAW. */
static void end_offer(struct vamp_track_context *at, struct vamp_hold *hold)
{
    const struct vamp_key key = vamp_key_of_two(hold->key[0], hold->key[1]);
    struct vamp_cdo *cdo = vamp_table_find(&at->tracker->cdos, &key);
    assert(cdo != NULL); /* a CDO's record lasts as long as it is offered, or unlinks the offers */
    vamp_cdo_change(at, cdo);
    vamp_hold_unlink(at, cdo, hold);
    vamp_cdo_changed(at, cdo);
    cdo->demands = vamp_cdo_in_pool(cdo) ? cdo->demands : 0;
}

struct vamp_hold *vamp_hold_need(struct vamp_track_context *at)
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
        vamp_hold_remove(at, oldest);
        at->seen->evicted++;
    }
    return vamp_table_insert(holds, &key, at->row);
}

uint32_t vamp_hold_leave_offers(struct vamp_track_context *at)
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
