/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/stats/pairing/records.h"

/*
 * What is pending at the end of a bucket, and since when. Numbers are kept event by event; the
 * oldest is looked for once a bucket, in all that is pending: begins and ends cost nothing, and the
 * time for a bucket is bounded by max_pending.
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

/* All that is pending, in one walk. */
static void add_ages(struct vamp_tracker *tracker)
{
    struct vamp_oldest_list list = {.room = VAMP_WAITING_DEMANDS_MAX,
                                    .items = tracker->oldest_demands};
    uint32_t position = 0;
    const struct vamp_part *part = NULL;
    while ((part = vamp_slab_next(&tracker->parts, &position)) != NULL) {
        struct vamp_oldest item = {vamp_part_since(part), position, part->item.row};
        if (part->kind == VAMP_PART_DEMAND) {
            add_age(tracker, VAMP_AGE_DEMAND, &item);
            vamp_oldest_add(&list, &item);
        } else if (part->kind == VAMP_EVENT_WITHDRAW) {
            add_age(tracker, VAMP_AGE_WITHDRAW, &item);
        } else if (part->kind == VAMP_PART_TRANSPORT) {
            item.row = part->sink_row;
            add_age(tracker, VAMP_AGE_TRANSPORT, &item);
        }
    }
    tracker->oldest_demand_count = list.count;
}

void vamp_track_ages(struct vamp_tracker *tracker)
{
    const size_t rows = vamp_components_count(tracker->components);
    if (tracker->aged_rows == rows && tracker->aged_events == tracker->events &&
        tracker->aged_lost_place == tracker->lost_place) {
        return; /* a silence: all are still those of the bucket before */
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

/* Whether a component that has left is known here by nothing but its transports, which have ended.
 */
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

void vamp_track_drop_pending(struct vamp_tracker *tracker, uint32_t row)
{
    vamp_in_flight_set(&tracker->tallies[row].in_flight[VAMP_IN_FLIGHT_DEMAND], 0);
    vamp_in_flight_set(&tracker->tallies[row].in_flight[VAMP_IN_FLIGHT_WITHDRAW], 0);
    tracker->tallies[row].deliveries = 0;
    tracker->aged_events =
        UINT64_MAX; /* without an event of the component, when the pool is gone */
}

/*
 * Of which CDO something pending is. An event has the name of its CDO at every level, but the
 * records of CDOs have it at level `cdo` only: so that of a pending demand, withdraw or transport
 * is copied when it begins, in a piece of one of three sizes. Nothing is allocated after creation.
 */

const size_t vamp_name_bytes[VAMP_NAME_SIZES] = {32, 64, VAMP_CDO_NAME_BYTES};

uint32_t vamp_pending_name_note(struct vamp_track_context *at, enum vamp_age age)
{
    struct vamp_tracker *tracker = at->tracker;
    if (!tracker->keeps_cdos[age]) {
        return 0;
    }
    const struct vamp_event *event = at->event;
    const bool named = vamp_event_has(event, VAMP_HAS_CDO_NAME);
    const char *name = named ? event->name : vamp_track_cdo_name(tracker, event);
    const size_t length = named ? event->name_length : strlen(name);
    if (length == 0) {
        return 0;
    }
    unsigned size = length >= vamp_name_bytes[0];
    size += length >= vamp_name_bytes[1];
    uint32_t number = 0;
    char *text = vamp_slab_take(&tracker->names[size], &number);
    if (length < VAMP_CDO_NAME_BYTES) {
        memcpy(text, name, length);
        text[length] = '\0';
    } else {
        vamp_track_copy_name(event, text);
    }
    return number << 2 | size;
}

struct vamp_pending_cdo vamp_track_pending_cdo(struct vamp_tracker *tracker,
                                               const struct vamp_oldest *item)
{
    const struct vamp_part *part = vamp_part_of(tracker, item->part);
    const uint64_t *key = vamp_part_cdo(tracker, part)->record.key;
    uint32_t name = part->more;
    bool id_known = part->id_known;
    if (part->kind == VAMP_PART_TRANSPORT) {
        const struct vamp_transport *transport = vamp_part_transport(tracker, part);
        key = transport->cdo_key;
        name = transport->named;
        id_known = transport->id_known;
    }
    struct vamp_pending_cdo cdo = {.id_known = id_known, .name = ""};
    if (id_known) {
        cdo.id = (struct vamp_cdo_id){.high = key[0], .low = key[1]};
    }
    if (name != 0) {
        cdo.name =
            vamp_slab_item(vamp_pending_names(tracker, name), vamp_pending_name_number(name));
    }
    return cdo;
}

static const char *name_of_row(const struct vamp_tracker *tracker, uint32_t row)
{
    const uint32_t name =
        row == 0 ? VAMP_NAME_OTHER : vamp_components_row(tracker->components, row)->name_number;
    return vamp_components_name(tracker->components, name);
}

/* Whose the CDO is for one that waits for it; 0: nobody is known. */
static uint32_t find_producer(const struct vamp_tracker *tracker, const struct vamp_cdo *cdo)
{
    if ((cdo->flags & VAMP_CDO_OFFERED) == 0 && cdo->offers != 0) {
        return vamp_track_last_offer(tracker, cdo)->item.row;
    }
    return (cdo->flags & VAMP_CDO_MAKER) != 0 ? cdo->record.item.row : 0;
}

void vamp_track_describe_demand(struct vamp_tracker *tracker, const struct vamp_oldest *item,
                                struct vamp_waiting_demand *ret_demand)
{
    const struct vamp_pending_cdo named = vamp_track_pending_cdo(tracker, item);
    const struct vamp_cdo *cdo = vamp_part_cdo(tracker, vamp_part_of(tracker, item->part));
    const uint32_t producer = cdo->tracked ? find_producer(tracker, cdo) : 0;
    *ret_demand = (struct vamp_waiting_demand){
        .component = name_of_row(tracker, item->row),
        .producer = producer != 0 ? name_of_row(tracker, producer) : NULL,
        .since_ns = item->since.time_ns,
        .id = named.id,
        .id_known = named.id_known,
        .offered = cdo->tracked && vamp_cdo_in_pool(cdo),
        .uncertain = vamp_track_is_uncertain(tracker, &item->since),
    };
    memcpy(ret_demand->name, named.name, strlen(named.name) + 1);
}

/* The demands that are pending, one by one. */

/* The next part of this row, or of all. */
static const struct vamp_part *next_part(const struct vamp_tracker *tracker, uint32_t row,
                                         uint32_t *position)
{
    if (row == VAMP_ALL_ROWS) {
        return vamp_slab_next(&tracker->parts, position);
    }
    const struct vamp_part *before = *position == 0 ? NULL : vamp_part_of(tracker, *position);
    *position = before == NULL ? tracker->tallies[row].first_part : before->neighbours.after;
    return *position == 0 ? NULL : vamp_part_of(tracker, *position);
}

static void describe_cdo(const struct vamp_tracker *tracker, const struct vamp_cdo *cdo,
                         struct vamp_pending_demand *demand)
{
    const bool made = (cdo->flags & VAMP_CDO_MAKER) != 0 && cdo->record.item.row != 0;
    demand->producer = made ? vamp_track_name(tracker, vamp_components_row(tracker->components,
                                                                           cdo->record.item.row))
                            : VAMP_NAME_UNKNOWN;
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
    const struct vamp_part *part = NULL;
    do {
        part = next_part(tracker, row, position);
    } while (part != NULL && part->kind != VAMP_PART_DEMAND);
    if (part == NULL) {
        return false;
    }
    *ret_demand = (struct vamp_pending_demand){.row = part->item.row,
                                               .since_ns = part->since_ns,
                                               .producer = VAMP_NAME_UNKNOWN,
                                               .cdo = ""};
    const struct vamp_cdo *cdo = vamp_part_cdo(tracker, part);
    if (cdo->tracked) {
        describe_cdo(tracker, cdo, ret_demand);
    }
    return true;
}

/* Where an operation that was received waits for its handling. Of a CDO not declared yet only the
 * name is known, so both ends of a declare go by name, as those of a JOIN do. What else is of no
 * CDO stands with its component. */
static void place_of_operation(struct vamp_track_context *at, struct vamp_place *ret_place)
{
    const struct vamp_event *event = at->event;
    const bool by_name =
        event->kind == VAMP_EVENT_DECLARE && vamp_event_has(event, VAMP_HAS_CDO_NAME);
    vamp_place_of(at, event->kind, ret_place);
    if (at->has_cdo && !by_name) {
        return;
    }
    if (by_name) {
        ret_place->own = vamp_track_name_key(event);
        ret_place->key = &ret_place->own;
    } else if (event->kind != VAMP_EVENT_JOIN) {
        ret_place->own = vamp_track_number_key(at->tracker, event->app_id);
        ret_place->key = &ret_place->own;
    }
    ret_place->record = vamp_table_find(&at->tracker->cdos, ret_place->key);
}

/* Whether a component waited: one that vanished or was thrown out did not ask to leave. */
static bool is_asked_for(const struct vamp_event *event)
{
    return event->kind != VAMP_EVENT_LEAVE || !vamp_event_has(event, VAMP_HAS_REASON) ||
           event->reason == VAMP_LEAVE_FINALIZED || event->reason == VAMP_LEAVE_UNKNOWN;
}

void vamp_track_received(struct vamp_track_context *at)
{
    struct vamp_place place;
    place_of_operation(at, &place);
    at->tracker->received_kinds |= VAMP_EVENT_BIT(at->event->kind);
    struct vamp_part *pending = vamp_part_at(at, &place);
    if (pending != NULL) {
        /* An operation that was refused has no end: the next of its kind takes its place. */
        vamp_part_renew(at, pending);
    } else {
        pending = vamp_part_add(at, &place);
        pending->since_ns = at->event->time_ns;
        if (at->event->kind == VAMP_EVENT_WITHDRAW) {
            pending->more = vamp_pending_name_note(at, VAMP_AGE_WITHDRAW);
            pending->id_known = vamp_event_has(at->event, VAMP_HAS_CDO_ID);
        }
    }
    if (at->event->kind == VAMP_EVENT_DEMAND && at->has_cdo) {
        (void)vamp_track_demand(at, true);
    }
}

void vamp_track_handled(struct vamp_track_context *at)
{
    struct vamp_place place;
    place_of_operation(at, &place);
    struct vamp_part *pending = vamp_part_at(at, &place);
    if (pending == NULL) {
        return;
    }
    const int64_t since_ns = pending->since_ns;
    vamp_part_remove(at, pending);
    struct vamp_observation *seen = at->seen;
    if (!is_asked_for(at->event) ||
        !vamp_observe_interval(seen, VAMP_INTERVAL_HANDLING, since_ns)) {
        return;
    }
    if (at->event->kind == VAMP_EVENT_WITHDRAW) {
        (void)vamp_observe_interval(seen, VAMP_INTERVAL_WITHDRAW_WAIT, since_ns);
    } else if (at->event->kind == VAMP_EVENT_LEAVE) {
        (void)vamp_observe_interval(seen, VAMP_INTERVAL_LEAVE_WAIT, since_ns);
    }
}

static struct vamp_part *find_demand(struct vamp_track_context *at)
{
    if (at->tracker->tallies[at->row].in_flight[VAMP_IN_FLIGHT_DEMAND].now == 0) {
        return NULL; /* the component has no pending demand at all */
    }
    struct vamp_place place;
    vamp_place_of(at, VAMP_PART_DEMAND, &place);
    return vamp_part_at(at, &place);
}

bool vamp_track_is_demanded(struct vamp_track_context *at)
{
    return find_demand(at) != NULL;
}

bool vamp_track_demand_end(struct vamp_track_context *at, struct vamp_part *ret_ended)
{
    struct vamp_part *pending = find_demand(at);
    if (pending == NULL) {
        return false;
    }
    if (ret_ended != NULL) {
        *ret_ended = *pending;
    }
    vamp_part_remove(at, pending);
    return true;
}

/* Data that came before their DEMAND: a pool manager may move them as soon as they are required.
 * They are kept with what was received, since they are no demand that waits. */

static struct vamp_part *find_delivery(struct vamp_track_context *at)
{
    if (at->tracker->tallies[at->row].deliveries == 0) {
        return NULL;
    }
    struct vamp_place place;
    vamp_place_of(at, VAMP_PART_DELIVERY, &place);
    return vamp_part_at(at, &place);
}

void vamp_track_deliver(struct vamp_track_context *at, bool awaited)
{
    if (at->tracker->tallies[at->row].left) {
        return;
    }
    struct vamp_part *delivery = find_delivery(at);
    if (delivery == NULL) {
        struct vamp_place place;
        vamp_place_of(at, VAMP_PART_DELIVERY, &place);
        delivery = vamp_part_add(at, &place);
    }
    uint16_t *count = awaited ? &delivery->awaited : &delivery->early;
    *count = (uint16_t)(*count + (*count < UINT16_MAX));
    if (!awaited && at->cdo != NULL) {
        at->cdo->demands++;
    }
}

/* One of the deliveries, of which there is one at least. */
static void take_delivery(struct vamp_track_context *at, struct vamp_part *delivery,
                          uint16_t *count)
{
    assert(*count > 0);
    --*count;
    if (delivery->early == 0 && delivery->awaited == 0) {
        vamp_part_remove(at, delivery);
    }
}

void vamp_track_drop_delivery(struct vamp_track_context *at, bool all)
{
    struct vamp_part *delivery = find_delivery(at);
    if (delivery != NULL && all) {
        vamp_part_remove(at, delivery);
    } else if (delivery != NULL && delivery->early > 0) {
        take_delivery(at, delivery, &delivery->early);
        if (at->cdo != NULL && at->cdo->demands > 0) {
            at->cdo->demands--;
        }
    }
}

/* Data of which it is not known to which of several components they have moved: kept as a delivery
 * to none. */

bool vamp_track_next_demander(const struct vamp_track_context *at, uint32_t *position,
                              uint32_t *ret_row)
{
    const struct vamp_part *part = NULL;
    uint32_t number = *position != 0
                          ? ((struct vamp_part *)vamp_part_of(at->tracker, *position))->item.next
                      : at->record != NULL ? at->record->first_part
                                           : 0;
    for (; number != 0; number = part->item.next) {
        part = vamp_part_of(at->tracker, number);
        if (part->kind == VAMP_PART_DEMAND) {
            *position = number;
            *ret_row = part->item.row;
            return true;
        }
    }
    return false;
}

static uint32_t count_demanders(const struct vamp_track_context *at)
{
    uint32_t position = 0;
    uint32_t row = 0;
    uint32_t count = 0;
    while (vamp_track_next_demander(at, &position, &row)) {
        count++;
    }
    return count;
}

static struct vamp_part *find_of_one(struct vamp_track_context *at)
{
    if (!at->tracker->learns_ends || at->tracker->tallies[0].deliveries == 0) {
        return NULL;
    }
    const struct vamp_who who = {.kind = VAMP_PART_DELIVERY};
    return vamp_part_find(at->tracker, at->record, &who);
}

/* More of them than others wait for. */
static struct vamp_part *find_surplus(struct vamp_track_context *at)
{
    struct vamp_part *delivery = find_of_one(at);
    const uint32_t others =
        delivery == NULL ? 0 : count_demanders(at) - (find_demand(at) != NULL ? 1 : 0);
    return delivery != NULL && delivery->early > others ? delivery : NULL;
}

void vamp_track_deliver_to_one(struct vamp_track_context *at)
{
    const uint32_t waiting = count_demanders(at);
    vamp_track_deliver(at, waiting > 0);
    struct vamp_part *delivery = find_of_one(at);
    assert(delivery != NULL);
    if (waiting > 0) {
        /* They are those of a demand that was counted. */
        delivery->awaited--;
        delivery->early = (uint16_t)(delivery->early + (delivery->early < UINT16_MAX));
    }
    if (waiting == 0 || delivery->early < waiting) {
        return;
    }
    uint32_t position = 0;
    uint32_t row = 0;
    for (; vamp_track_next_demander(at, &position, &row); position = 0) {
        struct vamp_part *demand = vamp_part_of(at->tracker, position);
        const bool acknowledged = demand->acknowledged;
        struct vamp_track_context sink = *at;
        sink.row = row;
        vamp_part_remove(at, demand);
        if (!acknowledged) {
            vamp_track_deliver(&sink, true); /* its *after* event begins no other */
        }
    }
    delivery = find_of_one(at); /* may have given way */
    if (delivery == NULL) {
        return;
    }
    delivery->early = (uint16_t)(delivery->early - waiting);
    if (delivery->early == 0) {
        vamp_part_remove(at, delivery);
    }
}

uint32_t vamp_track_count_doubtful(const struct vamp_track_context *at)
{
    const struct vamp_tracker *tracker = at->tracker;
    uint32_t count = 0;
    for (uint32_t number = tracker->tallies[at->row].first_part; number != 0;) {
        const struct vamp_part *part = vamp_part_of(tracker, number);
        const struct vamp_cdo *cdo = vamp_part_cdo(tracker, part);
        count += part->kind == VAMP_PART_DEMAND && cdo->guessed > 0 &&
                 (cdo->guessed >= cdo->demands || cdo->guessed == VAMP_GUESSED_MAX);
        number = part->neighbours.after;
    }
    return count;
}

bool vamp_track_take_of_one(struct vamp_track_context *at)
{
    struct vamp_part *delivery = find_of_one(at);
    if (delivery != NULL) {
        take_delivery(at, delivery, &delivery->early);
    }
    return delivery != NULL;
}

void vamp_track_forget_of_one(struct vamp_track_context *at)
{
    at->cdo->guessed = 0;
    struct vamp_part *delivery = find_of_one(at);
    if (delivery != NULL) {
        vamp_part_remove(at, delivery);
    }
}

/* A DEMAND that was handled finds its data there: it waited for its handling alone. */
static void meet_delivery(struct vamp_track_context *at, struct vamp_part *delivery)
{
    struct vamp_part demand = {.since_ns = at->event->time_ns};
    (void)vamp_track_demand_end(at, &demand);
    (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_DEMAND_WAIT, demand.since_ns);
    vamp_track_name_producer(at);
    take_delivery(at, delivery, &delivery->early);
}

bool vamp_track_demand(struct vamp_track_context *at, bool before)
{
    struct vamp_part *delivery = before ? NULL : find_delivery(at);
    delivery = before || delivery != NULL ? delivery : find_surplus(at);
    if (delivery != NULL && delivery->awaited > 0) {
        take_delivery(at, delivery, &delivery->awaited); /* the wait has ended with it */
        return false;
    }
    if (delivery != NULL) {
        meet_delivery(at, delivery);
        return true;
    }
    struct vamp_place place;
    vamp_place_of(at, VAMP_PART_DEMAND, &place);
    struct vamp_part *pending = vamp_part_at(at, &place);
    if (pending == NULL) {
        pending = vamp_part_add(at, &place);
        pending->since_ns = at->event->time_ns;
        pending->more = vamp_pending_name_note(at, VAMP_AGE_DEMAND);
        pending->id_known = vamp_event_has(at->event, VAMP_HAS_CDO_ID);
    } else if (pending->failed || (before && !pending->acknowledged)) {
        /* Asked again: the demand before has ended without data, or was refused. */
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_DEMAND_NEVER_SATISFIED, pending->failed);
        vamp_part_renew(at, pending);
        pending->acknowledged = false;
        pending->failed = false;
    }
    pending->acknowledged = pending->acknowledged || !before;
    return false;
}

void vamp_track_demand_failed(struct vamp_track_context *at)
{
    struct vamp_part *pending = at->has_cdo ? find_demand(at) : NULL;
    if (pending != NULL) {
        pending->failed = true;
    }
}
