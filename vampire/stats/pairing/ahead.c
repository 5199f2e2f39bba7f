/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/records.h"

/*
 * With many live CDOs nearly every look-up waits for memory. The events of a group are known
 * together, so all their look-ups can wait at the same time: first for the lines of the index, then
 * for the records, then for their parts and for the neighbours of what will go. The key of an
 * event's CDO, and the record that it seems to have, are kept for when the event is tracked.
 */

/* A smaller table is in the processor's caches anyway. */
#define NEAR_RECORDS 4096

static inline void foresee(struct vamp_tracker *tracker, const struct vamp_event *event,
                           const struct vamp_key *key)
{
    struct vamp_foreseen *foreseen = &tracker->ahead.items[tracker->ahead.count++];
    foreseen->event = event;
    foreseen->key = *key;
    foreseen->line = vamp_table_expect(&tracker->cdos, key);
}

/* Nothing of a mark, or of an event of no CDO; of these there are few. */
static inline void foresee_event(struct vamp_tracker *tracker, const struct vamp_event *event)
{
    struct vamp_key key;
    if (event->kind < VAMP_EVENT_KIND_COUNT && vamp_track_find_key(event, &key)) {
        foresee(tracker, event, &key);
    }
    if (vamp_event_has(event, VAMP_HAS_TRANSPORT)) {
        key = vamp_track_number_key(tracker, event->transport_id);
        foresee(tracker, NULL, &key);
    }
}

/* Of the same component. Inlined, since the compiler takes what only asks for memory for a function
 * without an effect. */
static inline __attribute__((always_inline)) void
expect_neighbours_of(const struct vamp_slab *slab, const struct vamp_neighbours *neighbours)
{
    __builtin_prefetch(vamp_slab_neighbours(slab, neighbours->before), 1);
    __builtin_prefetch(vamp_slab_neighbours(slab, neighbours->after), 1);
}

/* Of what the event probably ends. */
static inline __attribute__((always_inline)) void
expect_neighbours(const struct vamp_tracker *tracker, const struct vamp_foreseen *foreseen)
{
    const uint64_t ends = VAMP_EVENT_BIT(VAMP_EVENT_DEMAND) | VAMP_EVENT_BIT(VAMP_EVENT_WITHDRAW) |
                          VAMP_EVENT_BIT(VAMP_EVENT_TRANSPORT_COMPLETED) |
                          VAMP_EVENT_BIT(VAMP_EVENT_DISPOSE);
    const struct vamp_cdo *cdo = foreseen->guess;
    const struct vamp_event *event = foreseen->event;
    if (cdo == NULL || (event != NULL && (event->phase != VAMP_PHASE_AFTER ||
                                          (ends & VAMP_EVENT_BIT(event->kind)) == 0))) {
        return;
    }
    if (cdo->first_part != 0) {
        const struct vamp_part *part = vamp_part_of(tracker, cdo->first_part);
        if (part->kind == VAMP_PART_TRANSPORT) {
            __builtin_prefetch(vamp_part_transport(tracker, part), 1);
        } else {
            expect_neighbours_of(&tracker->parts, &part->neighbours);
        }
    } else {
        const struct vamp_record_rest *rest = &vamp_cdo_rest(tracker, cdo)->lists;
        expect_neighbours_of(&tracker->cdos.slab, &rest->neighbours);
        __builtin_prefetch(vamp_table_rest(&tracker->cdos, rest->older), 1);
        __builtin_prefetch(vamp_table_rest(&tracker->cdos, rest->newer), 1);
    }
}

void vamp_track_look_ahead(struct vamp_tracker *tracker, const struct vamp_event *const *events,
                           unsigned count)
{
    struct vamp_track_ahead *ahead = &tracker->ahead;
    ahead->count = 0;
    ahead->next = 0;
    if (tracker->cdos.slab.used < NEAR_RECORDS) {
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        foresee_event(tracker, events[i]);
    }
    for (unsigned i = 0; i < ahead->count; i++) {
        struct vamp_foreseen *foreseen = &ahead->items[i];
        foreseen->guess = vamp_table_guess(&tracker->cdos, foreseen->line, &foreseen->key);
    }
    for (unsigned i = 0; i < ahead->count; i++) {
        const struct vamp_cdo *cdo = ahead->items[i].guess;
        if (cdo != NULL) { /* what is done to a CDO without parts is done to its rest */
            __builtin_prefetch(cdo->first_part != 0 ? vamp_part_of(tracker, cdo->first_part)
                                                    : (void *)vamp_cdo_rest(tracker, cdo),
                               1);
        }
    }
    for (unsigned i = 0; i < ahead->count; i++) {
        expect_neighbours(tracker, &ahead->items[i]);
    }
}
