/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>

#include "vampire/stats/pairing/records.h"

/*
 * The parts of a CDO's record: what components hold of it, and what is in flight of it. Most CDOs
 * have one or two.
 */

static inline bool is_it(const struct vamp_part *part, const struct vamp_who *who)
{
    return part->item.row == who->row && part->kind == who->kind &&
           (who->row != 0 || (part->by_id == who->by_id && part->app_id == who->app_id));
}

/* A CDO that everybody waits for has many parts, and so has a component that waits for many CDOs:
 * the shorter of the two chains is gone through. */
static __attribute__((noinline)) struct vamp_part *find_by_both(const struct vamp_tracker *tracker,
                                                                uint32_t of_cdo,
                                                                const struct vamp_cdo *cdo,
                                                                const struct vamp_who *who)
{
    const uint32_t number = vamp_slab_number(&tracker->cdos.slab, cdo);
    uint32_t of_row = tracker->tallies[who->row].first_part;
    while (of_cdo != 0) {
        struct vamp_part *part = vamp_part_of(tracker, of_cdo);
        if (is_it(part, who)) {
            return part;
        }
        of_cdo = part->item.next;
        if (who->row == 0) {
            continue;
        }
        if (of_row == 0) {
            return NULL;
        }
        part = vamp_part_of(tracker, of_row);
        if (part->cdo == number && is_it(part, who)) {
            return part;
        }
        of_row = part->neighbours.after;
    }
    return NULL;
}

struct vamp_part *vamp_part_find(const struct vamp_tracker *tracker, const struct vamp_cdo *cdo,
                                 const struct vamp_who *who)
{
    uint32_t number = cdo != NULL ? cdo->first_part : 0;
    for (unsigned few = 8; number != 0; few--) {
        if (few == 0) {
            return find_by_both(tracker, number, cdo, who);
        }
        struct vamp_part *part = vamp_part_of(tracker, number);
        if (is_it(part, who)) {
            return part;
        }
        number = part->item.next;
    }
    return NULL;
}

void vamp_place_of_transport(const struct vamp_track_context *at, struct vamp_place *ret_place)
{
    const struct vamp_event *event = at->event;
    const bool has_sink = vamp_event_has(event, VAMP_HAS_APP);
    ret_place->who = (struct vamp_who){.kind = VAMP_PART_TRANSPORT};
    if (vamp_event_has(event, VAMP_HAS_TRANSPORT)) {
        ret_place->own = vamp_track_number_key(at->tracker, event->transport_id);
        ret_place->key = &ret_place->own;
        ret_place->record = vamp_table_find(&at->tracker->cdos, ret_place->key);
        return;
    }
    /* Several whose sink is not known cannot be distinguished. */
    const bool known = !at->tracker->learns_ends || has_sink;
    ret_place->who.app_id = event->app_id;
    ret_place->who.by_id = has_sink;
    ret_place->key = at->has_cdo && known ? &at->cdo_key : NULL;
    ret_place->record = known ? at->record : NULL;
}

static inline void link_first(const struct vamp_tracker *tracker, struct vamp_cdo *cdo,
                              struct vamp_part *part, uint32_t number)
{
    part->previous = 0;
    part->item.next = cdo->first_part;
    if (cdo->first_part != 0) {
        ((struct vamp_part *)vamp_part_of(tracker, cdo->first_part))->previous = number;
    }
    cdo->first_part = number;
}

static inline void unlink_part(const struct vamp_tracker *tracker, struct vamp_cdo *cdo,
                               const struct vamp_part *part)
{
    if (part->previous != 0) {
        ((struct vamp_part *)vamp_part_of(tracker, part->previous))->item.next = part->item.next;
    } else {
        cdo->first_part = part->item.next;
    }
    if (part->item.next != 0) {
        ((struct vamp_part *)vamp_part_of(tracker, part->item.next))->previous = part->previous;
    }
}

void vamp_part_to_front(const struct vamp_tracker *tracker, struct vamp_part *part)
{
    struct vamp_cdo *cdo = vamp_part_cdo(tracker, part);
    unlink_part(tracker, cdo, part);
    link_first(tracker, cdo, part, vamp_slab_number(&tracker->parts, part));
}

/* One more (1) or one less (-1) of what a component waits for. */
static inline void count_part(struct vamp_tracker *tracker, const struct vamp_part *part,
                              int change)
{
    struct vamp_tally *tally = &tracker->tallies[part->item.row];
    if (part->kind == VAMP_PART_DEMAND) {
        vamp_track_pending(tracker, part->item.row, VAMP_IN_FLIGHT_DEMAND, change);
    } else if (part->kind == VAMP_EVENT_WITHDRAW) {
        vamp_track_pending(tracker, part->item.row, VAMP_IN_FLIGHT_WITHDRAW, change);
    } else if (part->kind == VAMP_PART_DELIVERY) {
        tally->deliveries += (uint32_t)change;
    }
}

static inline void remove_record(struct vamp_track_context *at, struct vamp_cdo *cdo)
{
    if (cdo == at->record) {
        at->record = NULL;
    }
    vamp_table_remove(&at->tracker->cdos, cdo);
}

static inline void give_name(struct vamp_tracker *tracker, uint32_t name)
{
    if (name != 0) {
        vamp_slab_give(vamp_pending_names(tracker, name), vamp_pending_name_number(name));
    }
}

/* What a part has besides itself, and what its component has by it. */
static inline void release_part(struct vamp_tracker *tracker, const struct vamp_part *part)
{
    if (part->kind == VAMP_PART_HOLD) {
        assert(!part->offers);
        return;
    }
    if (part->kind == VAMP_PART_TRANSPORT) {
        const struct vamp_transport *transport = vamp_part_transport(tracker, part);
        vamp_track_pending(tracker, part->sink_row, VAMP_IN_FLIGHT_TRANSPORT + transport->tier, -1);
        give_name(tracker, transport->named);
        vamp_slab_give(&tracker->transports, part->more);
        return;
    }
    count_part(tracker, part, -1);
    if (part->kind != VAMP_PART_DELIVERY) {
        give_name(tracker, part->more);
    }
}

void vamp_part_remove(struct vamp_track_context *at, struct vamp_part *part)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_cdo *cdo = vamp_part_cdo(tracker, part);
    release_part(tracker, part);
    unlink_part(tracker, cdo, part);
    tracker->sorts[vamp_part_sort_of(part->kind)].count--;
    vamp_row_leave(&tracker->parts, &tracker->tallies[part->item.row].first_part, &part->item,
                   &part->neighbours);
    vamp_slab_give(&tracker->parts, vamp_slab_number(&tracker->parts, part));
    if (cdo->first_part == 0 && !cdo->tracked) {
        remove_record(at, cdo);
    }
}

/*
 * The oldest is asked for at a bound only: a list by age would cost each part two more neighbours,
 * most of which are in no cache.
 */

static bool is_older(const struct vamp_part_age *one, const struct vamp_part_age *other)
{
    return one->place < other->place ||
           (one->place == other->place && one->since_ns < other->since_ns);
}

static struct vamp_part_age age_of(const struct vamp_part *part, uint32_t number)
{
    const uint32_t again = part->kind == VAMP_PART_TRANSPORT ? 0 : part->again;
    return (struct vamp_part_age){part->place - again, part->since_ns, number};
}

/* Puts `item` at the root of the heap, whose root is the youngest of it. */
static void sink(struct vamp_part_age *heap, unsigned count, struct vamp_part_age item)
{
    unsigned at = 0;
    for (unsigned child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && is_older(&heap[child], &heap[child + 1]);
        if (!is_older(&item, &heap[child])) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = item;
}

static void rise(struct vamp_part_age *heap, unsigned at, struct vamp_part_age item)
{
    for (; at > 0 && is_older(&heap[(at - 1) / 2], &item); at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
    }
    heap[at] = item;
}

static void find_oldest(const struct vamp_tracker *tracker, enum vamp_part_sort sort)
{
    struct vamp_sort_parts *parts = &tracker->sorts[sort];
    struct vamp_part_age *heap = parts->oldest;
    unsigned count = 0;
    uint32_t number = 0;
    const struct vamp_part *part = NULL;
    while ((part = vamp_slab_next(&tracker->parts, &number)) != NULL) {
        const struct vamp_part_age item = age_of(part, number);
        if (vamp_part_sort_of(part->kind) != sort) {
            continue;
        }
        if (count < VAMP_OLDEST_PARTS) {
            rise(heap, count++, item);
        } else if (is_older(&item, &heap[0])) {
            sink(heap, count, item);
        }
    }
    parts->next = 0;
    parts->filled = count;
    while (count-- > 1) {
        const struct vamp_part_age youngest = heap[0];
        sink(heap, count, heap[count]);
        heap[count] = youngest;
    }
}

struct vamp_part *vamp_part_oldest(struct vamp_tracker *tracker, enum vamp_part_sort sort)
{
    struct vamp_sort_parts *parts = &tracker->sorts[sort];
    for (;; parts->next++) {
        if (parts->next == parts->filled) {
            find_oldest(tracker, sort);
        }
        const struct vamp_part_age *oldest = &parts->oldest[parts->next];
        struct vamp_part *part = vamp_part_of(tracker, oldest->part);
        if (part->item.row != VAMP_ITEM_FREE && vamp_part_sort_of(part->kind) == sort &&
            age_of(part, oldest->part).place == oldest->place) {
            return part;
        }
    }
}

static __attribute__((noinline)) void evict(struct vamp_track_context *at, struct vamp_part *oldest)
{
    if (oldest->kind == VAMP_PART_TRANSPORT) {
        at->seen->active[vamp_part_transport(at->tracker, oldest)->tier]--;
    }
    if (oldest->kind != VAMP_PART_HOLD) {
        vamp_track_lost(at->tracker);
    }
    at->seen->evicted++;
    vamp_part_remove(at, oldest);
}

struct vamp_part *vamp_part_add(struct vamp_track_context *at, const struct vamp_place *place)
{
    struct vamp_tracker *tracker = at->tracker;
    const struct vamp_who *who = &place->who;
    struct vamp_cdo *cdo = place->record;
    struct vamp_part *oldest = vamp_part_crowded(tracker, who->kind);
    if (oldest != NULL) {
        evict(at, oldest);
        cdo = vamp_table_find(&tracker->cdos, place->key);
    }
    if (cdo == NULL) {
        cdo = vamp_table_insert(&tracker->cdos, place->key);
        at->record = place->key == &at->cdo_key ? cdo : at->record;
    }
    uint32_t number = 0;
    struct vamp_part *part = vamp_slab_take(&tracker->parts, &number);
    struct vamp_sort_parts *parts = &tracker->sorts[vamp_part_sort_of(who->kind)];
    parts->count++;
    *part = (struct vamp_part){.cdo = vamp_slab_number(&tracker->cdos.slab, cdo),
                               .since_ns = parts->begun++,
                               .place = tracker->events & VAMP_PLACE_MAX,
                               .kind = who->kind,
                               .by_id = who->by_id};
    link_first(tracker, cdo, part, number);
    vamp_row_join(&tracker->parts, &tracker->tallies[who->row].first_part, &part->item,
                  &part->neighbours, number, who->row);
    if (who->by_id) {
        part->app_id = who->app_id;
    }
    count_part(tracker, part, 1);
    return part;
}

void vamp_cdo_track(struct vamp_track_context *at)
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

void vamp_cdo_untrack(struct vamp_track_context *at, struct vamp_cdo *cdo)
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
    if (cdo->first_part == 0) {
        remove_record(at, cdo);
        return;
    }
    *cdo = (struct vamp_cdo){.record = cdo->record,
                             .first_part = cdo->first_part,
                             .guessed = cdo->guessed,
                             .attributes = cdo->attributes};
}
