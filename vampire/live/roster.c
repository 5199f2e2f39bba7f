/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/roster.h"

#include <stdlib.h>

/* The hash of an application id is unique, so a member consists only of its link. `joined`: the id
 * is certainly new, so it is counted even if it cannot be stored. */
static void add_component(struct vamp_roster *roster, uint64_t app_id, bool joined)
{
    if (map_find_number(&roster->present, app_id) != NULL) {
        roster->seen[app_id % 64] = app_id;
        return;
    }
    const bool has_room = roster->present.count < VAMP_ROSTER_MAX &&
                          (roster->present.slots != NULL || map_init(&roster->present) == 0);
    struct map_link *member = NULL;
    if (has_room) {
        member = malloc(sizeof *member);
    }
    if (member == NULL) {
        roster->uncounted += joined;
        return;
    }
    map_insert_number(&roster->present, member, app_id);
}

static void remove_component(struct vamp_roster *roster, uint64_t app_id)
{
    struct map_link *member = map_find_number(&roster->present, app_id);
    uint64_t *seen = &roster->seen[app_id % 64];
    if (*seen == app_id) {
        *seen = 0;
    }
    roster->left++;
    if (member != NULL) {
        map_remove(&roster->present, member);
        free(member);
    } else if (roster->uncounted > 0) {
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
        remove_component(roster, event->app_id);
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
    return roster->left > 0 && roster->present.count == 0 && roster->uncounted == 0;
}

static void free_member(struct map_link *link)
{
    free(link);
}

void vamp_roster_done(struct vamp_roster *roster)
{
    map_drop(&roster->present, free_member);
    *roster = (struct vamp_roster){.left = 0};
}
