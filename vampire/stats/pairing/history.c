/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/history.h"

#include <string.h>

#include "vampire/core/utf8.h"
#include "vampire/stats/pairing/keys.h"

static struct vamp_cdo_history *history_of(const struct vamp_tracker *tracker,
                                           const struct vamp_cdo *cdo)
{
    return &tracker->histories[vamp_slab_number(&tracker->cdos.slab, cdo) - 1];
}

const struct vamp_cdo_history *vamp_track_history(const struct vamp_tracker *tracker,
                                                  const struct vamp_cdo *cdo)
{
    if (tracker->histories == NULL) {
        return NULL;
    }
    return history_of(tracker, cdo);
}

void vamp_cdo_history_begin(struct vamp_track_context *at)
{
    struct vamp_cdo_history *history = history_of(at->tracker, at->cdo);
    memset(history, 0, offsetof(struct vamp_cdo_history, times_ns));
    for (unsigned i = 0; i < VAMP_CDO_TIME_COUNT; i++) {
        history->times_ns[i] = INT64_MIN;
    }
    history->name[0] = '\0';
}

void vamp_track_copy_name(const struct vamp_event *event, char name[static VAMP_CDO_NAME_BYTES])
{
    size_t length = event->name_length;
    if (length >= VAMP_CDO_NAME_BYTES) {
        length = vamp_utf8_cut(event->name, strnlen(event->name, length), VAMP_CDO_NAME_BYTES - 1);
    }
    memcpy(name, event->name, length);
    name[length] = '\0';
}

/* Repeated events: the first time is kept, except for WITHDRAW and DISPOSE, whose last time is
 * kept. */
static void note_time(struct vamp_cdo_history *history, const struct vamp_event *event)
{
    static const struct {
        bool has_time, last;
        uint8_t time; /* enum vamp_cdo_time */
    } times[VAMP_EVENT_KIND_COUNT] = {
        [VAMP_EVENT_DECLARE] = {true, false, VAMP_CDO_TIME_DECLARED},
        [VAMP_EVENT_SEAL] = {true, false, VAMP_CDO_TIME_SEALED},
        [VAMP_EVENT_OFFER] = {true, false, VAMP_CDO_TIME_OFFERED},
        [VAMP_EVENT_DEMAND] = {true, false, VAMP_CDO_TIME_FIRST_DEMAND},
        [VAMP_EVENT_WITHDRAW] = {true, true, VAMP_CDO_TIME_WITHDRAWN},
        [VAMP_EVENT_DISPOSE] = {true, true, VAMP_CDO_TIME_DISPOSED},
    };
    int64_t *time_ns = &history->times_ns[times[event->kind].time];
    if (times[event->kind].has_time && (times[event->kind].last || *time_ns == INT64_MIN)) {
        *time_ns = event->time_ns;
    }
    history->demands += event->kind == VAMP_EVENT_DEMAND;
}

void vamp_cdo_history_select(struct vamp_track_context *at)
{
    const struct vamp_tracker *tracker = at->tracker;
    if (at->cdo != NULL) {
        struct vamp_cdo_history *history = history_of(tracker, at->cdo);
        history->selected = history->selected || tracker->select == NULL ||
                            tracker->select(tracker->select_context, at->event);
    }
}

void vamp_cdo_history_add(struct vamp_track_context *at)
{
    struct vamp_cdo_history *history = history_of(at->tracker, at->cdo);
    const struct vamp_event *event = at->event;
    if (vamp_event_has(event, VAMP_HAS_CDO_ID)) {
        history->id = event->cdo_id;
        history->id_known = true;
    }
    if (vamp_event_has(event, VAMP_HAS_CDO_NAME) && history->name[0] == '\0') {
        vamp_track_copy_name(event, history->name);
    }
    vamp_cdo_history_select(at);
    note_time(history, event);
}

void vamp_cdo_history_add_transport(struct vamp_track_context *at)
{
    if (at->cdo != NULL) {
        struct vamp_cdo_history *history = history_of(at->tracker, at->cdo);
        history->times_ns[VAMP_CDO_TIME_LAST_TRANSPORT] = at->event->time_ns;
        history->consumers++;
    }
}

static void add_row(const struct vamp_tracker *tracker, struct vamp_slot *slot,
                    const struct vamp_cdo *cdo, enum vamp_cdo_end end)
{
    const struct vamp_cdo_history *history = history_of(tracker, cdo);
    if (!history->selected) {
        return;
    }
    if (slot->cdo_count == VAMP_CDO_ROWS_MAX) {
        slot->cdos_unlisted++;
        return;
    }
    const bool made = (cdo->flags & VAMP_CDO_MAKER) != 0 && cdo->record.item.row != 0;
    const struct vamp_components *components = tracker->components;
    uint32_t producer = VAMP_NAME_UNKNOWN;
    if (made) {
        producer = vamp_components_row(components, cdo->record.item.row)->name_number;
    }
    struct vamp_cdo_row *row = &slot->cdos[slot->cdo_count++];
    *row = (struct vamp_cdo_row){
        .producer = vamp_components_name(components, producer),
        .producer_number = producer,
        .id = history->id,
        .id_known = history->id_known,
        .size_known = (cdo->flags & VAMP_CDO_SIZED) != 0,
        .size_bytes = cdo->size_bytes,
        .demands = history->demands,
        .consumers = history->consumers,
        .end = (uint8_t)end,
    };
    memcpy(row->times_ns, history->times_ns, sizeof row->times_ns);
    memcpy(row->name, history->name, sizeof row->name);
}

void vamp_cdo_history_end(struct vamp_track_context *at, const struct vamp_cdo *cdo,
                          enum vamp_cdo_end end)
{
    add_row(at->tracker, at->seen->slot, cdo, end);
}

const char *vamp_track_cdo_name(struct vamp_tracker *tracker, const struct vamp_event *event)
{
    struct vamp_key key = {.hash = 0};
    if (tracker->histories == NULL || !vamp_track_find_key(event, &key)) {
        return "";
    }
    const struct vamp_cdo *cdo = vamp_table_find(&tracker->cdos, &key);
    return cdo != NULL && cdo->tracked ? history_of(tracker, cdo)->name : "";
}

void vamp_track_finish(struct vamp_tracker *tracker, struct vamp_slot *slot)
{
    if (tracker->histories == NULL) {
        return;
    }
    uint32_t position = 0;
    const struct vamp_cdo *cdo = NULL;
    while ((cdo = vamp_slab_next(&tracker->cdos.slab, &position)) != NULL) {
        if (cdo->tracked) {
            add_row(tracker, slot, cdo, VAMP_CDO_END_RUN);
        }
    }
}

/* ---- attributes, at every level */

void vamp_track_find_attributes(struct vamp_track_context *at)
{
    const struct vamp_tracker *tracker = at->tracker;
    uint32_t number = 0;
    at->attributes = 0;
    if (at->record != NULL && at->record->attributes != 0) {
        at->attributes = at->record->attributes;
        number = at->attributes - 1U;
    } else if (tracker->read_attributes != NULL) {
        number = tracker->read_attributes(tracker->read_context, at->event);
        if (vamp_event_has(at->event, VAMP_HAS_CDO_NAME)) {
            at->attributes = (uint16_t)(number + 1);
        }
    }
    at->seen->labels.value[VAMP_PLACE_OF_ATTRIBUTES] = number;
}
