/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is pending at the end of a bucket, and since when. Numbers are kept event by event; the
 * oldest is looked for once a bucket, in all that is pending: begins and ends cost nothing, and the
 * time for a bucket is bounded by max_pending.
 */
#include "vampire/stats/pairing/records.h"

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
           (one->time_ns == other->time_ns && one->place < other->place);
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

static void add_demands(struct vamp_tracker *tracker)
{
    struct vamp_oldest_list list = {.room = VAMP_WAITING_DEMANDS_MAX,
                                    .items = tracker->oldest_demands};
    uint32_t position = 0;
    const struct vamp_pending *pending = NULL;
    while ((pending = vamp_table_next(&tracker->demands, &position)) != NULL) {
        const struct vamp_oldest item = {pending->since, position, pending->record.owner};
        add_age(tracker, VAMP_AGE_DEMAND, &item);
        vamp_oldest_add(&list, &item);
    }
    tracker->oldest_demand_count = list.count;
}

static void add_withdraws(struct vamp_tracker *tracker)
{
    uint32_t position = 0;
    const struct vamp_pending *pending = NULL;
    while ((pending = vamp_table_next(&tracker->received, &position)) != NULL) {
        if (vamp_pending_is_withdraw(pending)) {
            const struct vamp_oldest item = {pending->since, position, pending->record.owner};
            add_age(tracker, VAMP_AGE_WITHDRAW, &item);
        }
    }
}

static void add_transports(struct vamp_tracker *tracker)
{
    uint32_t position = 0;
    const struct vamp_transport *transport = NULL;
    while ((transport = vamp_table_next(&tracker->transports, &position)) != NULL) {
        const struct vamp_oldest item = {transport->started, position, transport->row};
        add_age(tracker, VAMP_AGE_TRANSPORT, &item);
    }
}

void vamp_track_ages(struct vamp_tracker *tracker)
{
    const size_t rows = vamp_components_count(tracker->components);
    if (tracker->aged_rows == rows && tracker->aged_events == tracker->events &&
        tracker->aged_lost_place == tracker->lost_place) {
        return; /* a silence: all are still those of the bucket before */
    }
    forget_ages(tracker, rows);
    add_demands(tracker);
    add_withdraws(tracker);
    add_transports(tracker);
    for (uint32_t row = 1; row < rows; row++) {
        struct vamp_tally *tally = &tracker->tallies[row];
        if (vamp_track_acted_ns(tracker, row) != INT64_MAX) {
            tally->ages.uncertain += vamp_track_is_uncertain(tracker, &tally->acted);
        }
    }
    tracker->aged_rows = rows;
    tracker->aged_events = tracker->events;
    tracker->aged_lost_place = tracker->lost_place;
}

const struct vamp_ages *vamp_track_ages_of(const struct vamp_tracker *tracker, uint32_t row)
{
    return &tracker->tallies[row].ages;
}

int64_t vamp_track_acted_ns(const struct vamp_tracker *tracker, uint32_t row)
{
    const struct vamp_tally *tally = &tracker->tallies[row];
    return row == 0 || tally->left || tally->acted.place == 0 ? INT64_MAX : tally->acted.time_ns;
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

void vamp_track_drop_pending(struct vamp_tracker *tracker, uint32_t row)
{
    vamp_in_flight_set(&tracker->tallies[row].in_flight[VAMP_IN_FLIGHT_DEMAND], 0);
    vamp_in_flight_set(&tracker->tallies[row].in_flight[VAMP_IN_FLIGHT_WITHDRAW], 0);
    tracker->aged_events =
        UINT64_MAX; /* without an event of the component, when the pool is gone */
}
