/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/roster.h"

#include <stdlib.h>

#include "vampire/core/hash.h"

#define FIRST_SLOTS ((size_t)64)

static size_t slot_of(const struct vamp_roster *roster, uint64_t app_id)
{
    return (size_t)vamp_hash_word(0, app_id) & (roster->slot_count - 1);
}

/* Where the id is, or the free slot where it belongs. There is always a free one. */
static size_t find_app_slot(const struct vamp_roster *roster, uint64_t app_id)
{
    size_t slot = slot_of(roster, app_id);
    while (roster->slots[slot] != 0 && roster->slots[slot] != app_id) {
        slot = (slot + 1) & (roster->slot_count - 1);
    }
    return slot;
}

/* Keeps at least half of the slots free. False: at the bound, or no memory. */
static bool make_room(struct vamp_roster *roster)
{
    if (roster->present >= VAMP_ROSTER_MAX) {
        return false;
    }
    if ((roster->present + 1) * 2 <= roster->slot_count) {
        return true;
    }
    struct vamp_roster larger = {.slot_count = roster->slot_count == 0 ? FIRST_SLOTS
                                                                       : roster->slot_count * 2};
    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    if (larger.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < roster->slot_count; i++) {
        if (roster->slots[i] != 0) {
            larger.slots[find_app_slot(&larger, roster->slots[i])] = roster->slots[i];
        }
    }
    free(roster->slots);
    roster->slots = larger.slots;
    roster->slot_count = larger.slot_count;
    return true;
}

/* `joined`: the id is certainly new, so it counts even where it cannot be kept. */
static void add_component(struct vamp_roster *roster, uint64_t app_id, bool joined)
{
    if (app_id == 0) {
        roster->zero_present = true;
    } else if (roster->slot_count != 0 && roster->slots[find_app_slot(roster, app_id)] == app_id) {
        return;
    } else if (make_room(roster)) {
        roster->slots[find_app_slot(roster, app_id)] = app_id;
        roster->present++;
    } else if (joined) {
        roster->uncounted++;
    }
}

/* Closes the gap after a removed id, so that no search ends early. */
static void close_gap(struct vamp_roster *roster, size_t gap)
{
    const size_t mask = roster->slot_count - 1;
    for (size_t slot = (gap + 1) & mask; roster->slots[slot] != 0; slot = (slot + 1) & mask) {
        size_t home = slot_of(roster, roster->slots[slot]);
        if (((slot - home) & mask) >= ((slot - gap) & mask)) {
            roster->slots[gap] = roster->slots[slot];
            roster->slots[slot] = 0;
            gap = slot;
        }
    }
}

static void remove_id(struct vamp_roster *roster, uint64_t app_id)
{
    roster->left++;
    if (app_id == 0) {
        roster->zero_present = false;
        return;
    }
    if (roster->slot_count != 0) {
        size_t slot = find_app_slot(roster, app_id);
        if (roster->slots[slot] == app_id) {
            roster->slots[slot] = 0;
            roster->present--;
            close_gap(roster, slot);
            return;
        }
    }
    if (roster->uncounted > 0) {
        roster->uncounted--;
    }
}

void vamp_roster_observe(struct vamp_roster *roster, const struct vamp_event *event)
{
    if (!vamp_event_has(event, VAMP_HAS_APP) || event->phase == VAMP_PHASE_BEFORE) {
        return;
    }
    switch (event->kind) {
    case VAMP_EVENT_JOIN:
        add_component(roster, event->app_id, true);
        break;
    case VAMP_EVENT_LEAVE:
        remove_id(roster, event->app_id);
        roster->pool_ended = roster->pool_ended || event->reason == VAMP_LEAVE_POOL_ENDED;
        break;
    case VAMP_EVENT_DECLARE:
    case VAMP_EVENT_SEAL:
    case VAMP_EVENT_OFFER:
    case VAMP_EVENT_REQUIRE:
    case VAMP_EVENT_DEMAND:
        add_component(roster, event->app_id, false);
        break;
    default:
        break;
    }
}

bool vamp_roster_all_left(const struct vamp_roster *roster)
{
    return roster->left > 0 && roster->present == 0 && roster->uncounted == 0 &&
           !roster->zero_present;
}

void vamp_roster_done(struct vamp_roster *roster)
{
    free(roster->slots);
    *roster = (struct vamp_roster){.slots = NULL};
}
