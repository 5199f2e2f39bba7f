/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/story.h"

#include <string.h>

#include "vampire/core/utf8.h"

static struct vamp_story *story_of(const struct vamp_tracker *tracker, const struct vamp_cdo *cdo)
{
    const size_t offset = (size_t)((const unsigned char *)cdo - tracker->cdos.records);
    return &tracker->stories[offset / tracker->cdos.record_bytes];
}

void vamp_story_begin(struct vamp_track_context *at)
{
    if (at->tracker->stories == NULL) {
        return;
    }
    struct vamp_story *story = story_of(at->tracker, at->cdo);
    memset(story, 0, offsetof(struct vamp_story, times_ns));
    for (unsigned i = 0; i < VAMP_CDO_TIME_COUNT; i++) {
        story->times_ns[i] = INT64_MIN;
    }
    story->name[0] = '\0';
}

/* Cut at a character's border. */
void vamp_story_copy_name(const struct vamp_event *event, char name[static VAMP_CDO_NAME_BYTES])
{
    const size_t length = vamp_utf8_cut(event->name, strnlen(event->name, event->name_length),
                                        VAMP_CDO_NAME_BYTES - 1);
    memcpy(name, event->name, length);
    name[length] = '\0';
}

static void note_first(struct vamp_story *story, enum vamp_cdo_time what, int64_t time_ns)
{
    if (story->times_ns[what] == INT64_MIN) {
        story->times_ns[what] = time_ns;
    }
}

static void note_time(struct vamp_story *story, const struct vamp_event *event)
{
    switch (event->kind) {
    case VAMP_EVENT_DECLARE:
        note_first(story, VAMP_CDO_TIME_DECLARED, event->time_ns);
        break;
    case VAMP_EVENT_SEAL:
        note_first(story, VAMP_CDO_TIME_SEALED, event->time_ns);
        break;
    case VAMP_EVENT_OFFER:
        note_first(story, VAMP_CDO_TIME_OFFERED, event->time_ns);
        break;
    case VAMP_EVENT_DEMAND:
        note_first(story, VAMP_CDO_TIME_FIRST_DEMAND, event->time_ns);
        story->demands++;
        break;
    case VAMP_EVENT_WITHDRAW:
        story->times_ns[VAMP_CDO_TIME_WITHDRAWN] = event->time_ns;
        break;
    case VAMP_EVENT_DISPOSE:
        story->times_ns[VAMP_CDO_TIME_DISPOSED] = event->time_ns;
        break;
    default:
        break;
    }
}

void vamp_story_select(struct vamp_track_context *at)
{
    const struct vamp_tracker *tracker = at->tracker;
    if (tracker->stories != NULL && at->cdo != NULL) {
        struct vamp_story *story = story_of(tracker, at->cdo);
        story->selected = story->selected || tracker->select == NULL ||
                          tracker->select(tracker->select_context, at->event);
    }
}

void vamp_story_learn(struct vamp_track_context *at)
{
    const struct vamp_tracker *tracker = at->tracker;
    if (tracker->stories == NULL) {
        return;
    }
    struct vamp_story *story = story_of(tracker, at->cdo);
    const struct vamp_event *event = at->event;
    if (vamp_event_has(event, VAMP_HAS_CDO_ID)) {
        story->id = event->cdo_id;
        story->id_known = true;
    }
    if (vamp_event_has(event, VAMP_HAS_CDO_NAME) && story->name[0] == '\0') {
        vamp_story_copy_name(event, story->name);
    }
    vamp_story_select(at);
    note_time(story, event);
}

void vamp_story_transported(struct vamp_track_context *at)
{
    if (at->tracker->stories != NULL && at->cdo != NULL) {
        struct vamp_story *story = story_of(at->tracker, at->cdo);
        story->times_ns[VAMP_CDO_TIME_LAST_TRANSPORT] = at->event->time_ns;
        story->consumers++;
    }
}

static void tell(const struct vamp_tracker *tracker, struct vamp_slot *slot,
                 const struct vamp_cdo *cdo, enum vamp_cdo_end end)
{
    const struct vamp_story *story = story_of(tracker, cdo);
    if (!story->selected) {
        return;
    }
    if (slot->cdo_count == VAMP_CDO_ROWS_MAX) {
        slot->cdos_unlisted++;
        return;
    }
    const bool made = (cdo->flags & VAMP_CDO_MAKER) != 0 && cdo->record.owner != 0;
    const struct vamp_components *components = tracker->components;
    struct vamp_cdo_row *row = &slot->cdos[slot->cdo_count++];
    *row = (struct vamp_cdo_row){
        .producer = made ? vamp_components_row(components, cdo->record.owner)->name
                         : vamp_components_name(components, VAMP_NAME_UNKNOWN),
        .id = story->id,
        .id_known = story->id_known,
        .size_known = (cdo->flags & VAMP_CDO_SIZED) != 0,
        .size_bytes = cdo->size_bytes,
        .demands = story->demands,
        .consumers = story->consumers,
        .end = (uint8_t)end,
    };
    memcpy(row->times_ns, story->times_ns, sizeof row->times_ns);
    memcpy(row->name, story->name, sizeof row->name);
}

void vamp_story_end(struct vamp_track_context *at, const struct vamp_cdo *cdo,
                    enum vamp_cdo_end end)
{
    if (at->tracker->stories != NULL) {
        tell(at->tracker, at->seen->slot, cdo, end);
    }
}

void vamp_story_owner_leaves(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    uint32_t position = 0;
    const struct vamp_cdo *cdo = NULL;
    while (tracker->stories != NULL &&
           (cdo = vamp_table_owned(&tracker->cdos, at->row, &position)) != NULL) {
        tell(tracker, at->seen->slot, cdo, VAMP_CDO_END_LEFT);
    }
}

void vamp_story_finish(struct vamp_tracker *tracker, struct vamp_slot *slot)
{
    uint32_t position = 0;
    const struct vamp_cdo *cdo = NULL;
    while (tracker->stories != NULL && (cdo = vamp_table_next(&tracker->cdos, &position)) != NULL) {
        tell(tracker, slot, cdo, VAMP_CDO_END_RUN);
    }
}
