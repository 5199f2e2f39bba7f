/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "vampire/stats/pairing/history.h"
#include "vampire/stats/pairing/owner.h"
#include "vampire/stats/pairing/pending.h"

/*
 * Operations pending at the end of a bucket, and their ages. The numbers of pending operations are
 * updated at each event. The oldest operations are determined once per bucket by a search through
 * all pending operations, so that events have no additional cost; the time per bucket is limited by
 * max_pending.
 */

static void forget_ages(struct vamp_tracker *tracker, size_t rows)
{
    for (size_t row = 0; row < rows; row++) {
        struct vamp_ages *ages = &tracker->tallies[row].ages;
        ages->uncertain = 0;
        for (unsigned age = 0; age < VAMP_AGE_COUNT; age++) {
            ages->oldest[age] = (struct vamp_oldest){.since = {INT64_MAX, 0}};
        }
    }
}

static bool is_older(const struct vamp_moment *one, const struct vamp_moment *other)
{
    return one->time_ns < other->time_ns ||
           (one->time_ns == other->time_ns && one->sequence < other->sequence);
}

void vamp_oldest_add(struct vamp_oldest_list *list, const struct vamp_oldest *item)
{
    if (list->count == list->room) {
        if (!is_older(&item->since, &list->items[list->count - 1].since)) {
            return;
        }
        list->count--;
    }
    unsigned at = list->count++;
    for (; at > 0 && is_older(&item->since, &list->items[at - 1].since); at--) {
        list->items[at] = list->items[at - 1];
    }
    list->items[at] = *item;
}

static void add_age(struct vamp_tracker *tracker, enum vamp_age age, const struct vamp_oldest *item)
{
    struct vamp_ages *ages = &tracker->tallies[item->row].ages;
    if (is_older(&item->since, &ages->oldest[age].since)) {
        ages->oldest[age] = *item;
    }
    ages->uncertain += vamp_track_is_uncertain(tracker, &item->since);
}

/* Finds the oldest operation of each kind in one pass. */
static void add_ages(struct vamp_tracker *tracker)
{
    struct vamp_oldest_list list = {.room = VAMP_WAITING_DEMANDS_MAX,
                                    .items = tracker->oldest_demands};
    uint32_t position = 0;
    const struct vamp_pending *pending = NULL;
    while ((pending = vamp_slab_next(&tracker->pending, &position)) != NULL) {
        struct vamp_oldest item = {vamp_pending_since(pending), position, pending->item.row};
        if (pending->kind == VAMP_PENDING_DEMAND) {
            add_age(tracker, VAMP_AGE_DEMAND, &item);
            vamp_oldest_add(&list, &item);
        } else if (pending->kind == VAMP_EVENT_WITHDRAW) {
            add_age(tracker, VAMP_AGE_WITHDRAW, &item);
        } else if (pending->kind == VAMP_PENDING_TRANSPORT) {
            item.row = pending->sink_row;
            add_age(tracker, VAMP_AGE_TRANSPORT, &item);
        }
    }
    tracker->oldest_demand_count = list.count;
}

void vamp_track_ages(struct vamp_tracker *tracker)
{
    const size_t rows = vamp_components_count(tracker->components);
    if (tracker->aged_rows == rows && tracker->aged_events == tracker->events &&
        tracker->aged_lost_sequence == tracker->lost_sequence) {
        return; /* nothing has changed since the previous bucket */
    }
    forget_ages(tracker, rows);
    add_ages(tracker);
    for (uint32_t row = 1; row < rows; row++) {
        struct vamp_tally *tally = &tracker->tallies[row];
        if (vamp_track_acted_ns(tracker, row) != INT64_MAX) {
            tally->ages.uncertain += vamp_track_is_uncertain(tracker, &tally->acted);
        }
    }
    tracker->aged_rows = rows;
    tracker->aged_events = tracker->events;
    tracker->aged_lost_sequence = tracker->lost_sequence;
}

const struct vamp_ages *vamp_track_ages_of(const struct vamp_tracker *tracker, uint32_t row)
{
    return &tracker->tallies[row].ages;
}

int64_t vamp_track_acted_ns(const struct vamp_tracker *tracker, uint32_t row)
{
    const struct vamp_tally *tally = &tracker->tallies[row];
    if (row == 0 || tally->left || tally->acted.sequence == 0) {
        return INT64_MAX;
    }
    return tally->acted.time_ns;
}

void vamp_track_take_numbers(struct vamp_tracker *tracker, uint32_t row,
                             struct vamp_in_flight ret_numbers[static VAMP_IN_FLIGHT_COUNT])
{
    struct vamp_in_flight *numbers = tracker->tallies[row].in_flight;
    for (unsigned kind = 0; kind < VAMP_IN_FLIGHT_COUNT; kind++) {
        ret_numbers[kind] = numbers[kind];
        numbers[kind].least = numbers[kind].now;
        numbers[kind].most = numbers[kind].now;
    }
}

/* Returns whether nothing refers to the row of a component that has left: its transports have
 * ended. */
static bool is_done_with(const struct vamp_tally *tally, const struct vamp_component *component)
{
    uint32_t transports = 0;
    for (unsigned kind = VAMP_IN_FLIGHT_TRANSPORT; kind < VAMP_IN_FLIGHT_COUNT; kind++) {
        transports += tally->in_flight[kind].now;
    }
    return tally->life != component->life || (tally->left && transports == 0);
}

void vamp_track_give_up_rows(const struct vamp_tracker *tracker, struct vamp_components *components)
{
    const size_t count = vamp_components_count(components);
    for (size_t row = vamp_components_listed(components); row < count; row++) {
        const struct vamp_component *component = vamp_components_row(components, row);
        if (component->left_ns != INT64_MIN && is_done_with(&tracker->tallies[row], component)) {
            vamp_components_give_up(components, row);
        }
    }
}

struct vamp_pending_cdo vamp_track_pending_cdo(struct vamp_tracker *tracker,
                                               const struct vamp_oldest *item)
{
    const struct vamp_pending *pending = vamp_pending_of(tracker, item->pending);
    const uint64_t *key = vamp_pending_record(tracker, pending)->record.key;
    uint32_t name = pending->more;
    bool id_known = pending->id_known;
    if (pending->kind == VAMP_PENDING_TRANSPORT) {
        const struct vamp_transport *transport = vamp_pending_transport(tracker, pending);
        key = transport->cdo_key;
        name = transport->named;
        id_known = transport->id_known;
    }
    struct vamp_pending_cdo cdo = {.id_known = id_known, .name = ""};
    if (id_known) {
        cdo.id = (struct vamp_cdo_id){.high = key[0], .low = key[1]};
    }
    if (name != 0) {
        cdo.name = vamp_pending_name(tracker, name);
    }
    return cdo;
}

static const char *name_of_row(const struct vamp_tracker *tracker, uint32_t row)
{
    uint32_t name = VAMP_NAME_OTHER;
    if (row != 0) {
        name = vamp_components_row(tracker->components, row)->name_number;
    }
    return vamp_components_name(tracker->components, name);
}

/* Returns the row of the component that offers or produces the CDO; 0 if unknown. */
static uint32_t find_producer(const struct vamp_tracker *tracker, const struct vamp_cdo *cdo)
{
    if ((cdo->flags & VAMP_CDO_OFFERED) == 0 && cdo->offers != 0) {
        return vamp_reference_last_offer(tracker, cdo)->item.row;
    }
    return (cdo->flags & VAMP_CDO_MAKER) != 0 ? cdo->record.item.row : 0;
}

void vamp_track_describe_demand(struct vamp_tracker *tracker, const struct vamp_oldest *item,
                                struct vamp_waiting_demand *ret_demand)
{
    const struct vamp_pending_cdo named = vamp_track_pending_cdo(tracker, item);
    const struct vamp_cdo *cdo =
        vamp_pending_record(tracker, vamp_pending_of(tracker, item->pending));
    *ret_demand = (struct vamp_waiting_demand){
        .component = name_of_row(tracker, item->row),
        .since_ns = item->since.time_ns,
        .id = named.id,
        .id_known = named.id_known,
        .offered = cdo->tracked && vamp_cdo_in_pool(cdo),
        .uncertain = vamp_track_is_uncertain(tracker, &item->since),
    };
    const uint32_t producer = cdo->tracked ? find_producer(tracker, cdo) : 0;
    if (producer != 0) {
        ret_demand->producer = name_of_row(tracker, producer);
    }
    memcpy(ret_demand->name, named.name, strlen(named.name) + 1);
}

/* Returns the next entry of this row, or of any row. */
static const struct vamp_pending *next_pending(const struct vamp_tracker *tracker, uint32_t row,
                                               uint32_t *position)
{
    if (row == VAMP_ALL_ROWS) {
        return vamp_slab_next(&tracker->pending, position);
    }
    if (*position == 0) {
        *position = tracker->tallies[row].first_pending;
    } else {
        const struct vamp_pending *before = vamp_pending_of(tracker, *position);
        *position = before->neighbours.after;
    }
    return *position == 0 ? NULL : vamp_pending_of(tracker, *position);
}

static void describe_cdo(const struct vamp_tracker *tracker, const struct vamp_cdo *cdo,
                         struct vamp_pending_demand *demand)
{
    const uint32_t owner = cdo->record.item.row;
    if ((cdo->flags & VAMP_CDO_MAKER) != 0 && owner != 0) {
        demand->producer = vamp_track_row_name(tracker, owner);
    }
    demand->offered = vamp_cdo_in_pool(cdo);
    demand->size_known = (cdo->flags & VAMP_CDO_SIZED) != 0;
    demand->size_bytes = cdo->size_bytes;
    const struct vamp_cdo_history *history = vamp_track_history(tracker, cdo);
    if (history != NULL) {
        demand->cdo = history->name;
        demand->id = history->id;
        demand->id_known = history->id_known;
    }
}

bool vamp_track_next_demand(struct vamp_tracker *tracker, uint32_t row, uint32_t *position,
                            struct vamp_pending_demand *ret_demand)
{
    const struct vamp_pending *pending = NULL;
    do {
        pending = next_pending(tracker, row, position);
    } while (pending != NULL && pending->kind != VAMP_PENDING_DEMAND);
    if (pending == NULL) {
        return false;
    }
    *ret_demand = (struct vamp_pending_demand){.row = pending->item.row,
                                               .since_ns = pending->since_ns,
                                               .producer = VAMP_NAME_UNKNOWN,
                                               .cdo = ""};
    const struct vamp_cdo *cdo = vamp_pending_record(tracker, pending);
    if (cdo->tracked) {
        describe_cdo(tracker, cdo, ret_demand);
    }
    return true;
}
