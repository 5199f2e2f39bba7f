/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/keys.h"
#include "vampire/stats/pairing/pending.h"

/*
 * With many live CDOs nearly every look-up waits for memory. Therefore the memory accesses of a
 * group of events are overlapped: first all index lines are prefetched, then all records, then the
 * entries of the records and the neighbours of entries that will be removed. The key of each
 * event's CDO, and its probable record, are kept until the event is tracked.
 */

/* smaller tables fit into the processor's caches */
#define NEAR_RECORDS 4096

static inline void add_look_up(struct vamp_tracker *tracker, const struct vamp_event *event,
                               const struct vamp_key *key)
{
    struct vamp_prefetched *prefetched = &tracker->ahead.items[tracker->ahead.count++];
    prefetched->event = event;
    prefetched->key = *key;
    prefetched->line = vamp_table_expect(&tracker->cdos, key);
}

/* Adds the look-ups of the event to the group: its CDO's key, and the key of its transport's
 * number. Skips control events and events without a CDO. */
static inline void add_event(struct vamp_tracker *tracker, const struct vamp_event *event)
{
    struct vamp_key key;
    if (event->kind < VAMP_EVENT_KIND_COUNT && vamp_track_find_key(event, &key)) {
        add_look_up(tracker, event, &key);
        if (tracker->evicted.any && vamp_event_has(event, VAMP_HAS_SIZE)) {
            /* Counting the CDO will look it up in the filter. */
            vamp_evicted_prefetch(&tracker->evicted, key.words);
        }
    }
    if (vamp_event_has(event, VAMP_HAS_TRANSPORT)) {
        key = vamp_track_number_key(tracker, event->transport_id);
        add_look_up(tracker, NULL, &key);
    }
}

/* Prefetches the neighbours of entries that the event will probably remove. */
static inline __attribute__((always_inline)) void
prefetch_neighbours(const struct vamp_tracker *tracker, const struct vamp_prefetched *prefetched)
{
    const uint64_t removing =
        VAMP_EVENT_BIT(VAMP_EVENT_DEMAND) | VAMP_EVENT_BIT(VAMP_EVENT_WITHDRAW) |
        VAMP_EVENT_BIT(VAMP_EVENT_TRANSPORT_COMPLETED) | VAMP_EVENT_BIT(VAMP_EVENT_DISPOSE);
    const struct vamp_cdo *cdo = prefetched->guess;
    const struct vamp_event *event = prefetched->event;
    if (cdo == NULL) {
        return;
    }
    if (event != NULL &&
        (event->phase != VAMP_PHASE_AFTER || (removing & VAMP_EVENT_BIT(event->kind)) == 0)) {
        return;
    }
    if (cdo->first_pending != 0) {
        const struct vamp_pending *pending = vamp_pending_of(tracker, cdo->first_pending);
        if (pending->kind == VAMP_PENDING_TRANSPORT) {
            __builtin_prefetch(vamp_pending_transport(tracker, pending), 1);
        } else {
            vamp_prefetch_neighbours(&tracker->pending, &pending->neighbours);
        }
    } else {
        const struct vamp_record_rest *rest = &vamp_cdo_rest(tracker, cdo)->lists;
        vamp_prefetch_neighbours(&tracker->cdos.slab, &rest->neighbours);
        __builtin_prefetch(vamp_table_rest(&tracker->cdos, rest->older), 1);
        __builtin_prefetch(vamp_table_rest(&tracker->cdos, rest->newer), 1);
    }
}

void vamp_track_prefetch(struct vamp_tracker *tracker, const struct vamp_event *const *events,
                         unsigned count)
{
    struct vamp_prefetched_group *ahead = &tracker->ahead;
    ahead->count = 0;
    ahead->next = 0;
    if (tracker->cdos.slab.used < NEAR_RECORDS) {
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        add_event(tracker, events[i]);
    }
    for (unsigned i = 0; i < ahead->count; i++) {
        struct vamp_prefetched *prefetched = &ahead->items[i];
        prefetched->guess = vamp_table_guess(&tracker->cdos, prefetched->line, &prefetched->key);
    }
    for (unsigned i = 0; i < ahead->count; i++) {
        const struct vamp_cdo *cdo = ahead->items[i].guess;
        if (cdo == NULL) {
            continue;
        }
        if (cdo->first_pending != 0) {
            __builtin_prefetch(vamp_pending_of(tracker, cdo->first_pending), 1);
        } else { /* the event will use the rest of the record */
            __builtin_prefetch(vamp_cdo_rest(tracker, cdo), 1);
        }
    }
    for (unsigned i = 0; i < ahead->count; i++) {
        prefetch_neighbours(tracker, &ahead->items[i]);
    }
}
