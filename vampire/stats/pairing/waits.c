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
    tracker->tallies[row].deliveries = 0;
    tracker->aged_events =
        UINT64_MAX; /* without an event of the component, when the pool is gone */
}

/*
 * Of which CDO something pending is. An event has the name of its CDO at every level, but the
 * records of CDOs have it at level `cdo` only: so that of a pending demand, withdraw or transport
 * is copied when it begins, next to its record. Nothing is allocated after creation.
 */

enum { SHORT_NAME_BYTES = 46 };
struct vamp_pending_cdo_line {
    struct vamp_cdo_id id;
    bool id_known;
    bool name_is_long;
    char name[SHORT_NAME_BYTES];
};
_Static_assert(sizeof(struct vamp_pending_cdo_line) == 64, "one cache line");

int vamp_pending_cdos_init(struct vamp_tracker *tracker, const struct vamp_stats_options *options)
{
    static const enum vamp_metric_id metrics[VAMP_AGE_COUNT] = {
        [VAMP_AGE_DEMAND] = VAMP_METRIC_DEMAND_OLDEST_NS,
        [VAMP_AGE_WITHDRAW] = VAMP_METRIC_WITHDRAW_OLDEST_NS,
        [VAMP_AGE_TRANSPORT] = VAMP_METRIC_TRANSPORT_OLDEST_NS,
    };
    for (unsigned age = 0; age < VAMP_AGE_COUNT; age++) {
        if (vamp_stats_wants(options, metrics[age])) {
            struct vamp_pending_cdos *cdos = &tracker->pending_cdos[age];
            cdos->lines = calloc(options->max_pending, sizeof *cdos->lines);
            cdos->long_names = calloc(options->max_pending, sizeof *cdos->long_names);
            if (cdos->lines == NULL || cdos->long_names == NULL) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

void vamp_pending_cdos_done(struct vamp_tracker *tracker)
{
    for (unsigned age = 0; age < VAMP_AGE_COUNT; age++) {
        free(tracker->pending_cdos[age].lines);
        free(tracker->pending_cdos[age].long_names);
    }
}

/* `name` of `length` bytes, which is shorter than a line's. */
static void note_short_name(struct vamp_pending_cdo_line *line, const char *name, size_t length)
{
    line->name_is_long = false;
    memcpy(line->name, name, length);
    line->name[length] = '\0';
}

static void note_name(struct vamp_track_context *at, struct vamp_pending_cdo_line *line,
                      char long_name[static VAMP_CDO_NAME_BYTES])
{
    const struct vamp_event *event = at->event;
    if (vamp_event_has(event, VAMP_HAS_CDO_NAME)) {
        if (event->name_length < SHORT_NAME_BYTES) {
            note_short_name(line, event->name, event->name_length);
            return;
        }
        vamp_track_copy_name(event, long_name);
    } else {
        const char *name = vamp_track_cdo_name(at->tracker, event);
        const size_t length = strlen(name);
        if (length < SHORT_NAME_BYTES) {
            note_short_name(line, name, length);
            return;
        }
        memcpy(long_name, name, length + 1);
    }
    line->name_is_long = true;
}

void vamp_pending_cdo_note(struct vamp_track_context *at, enum vamp_age age,
                           const struct vamp_table *table, const void *record)
{
    const struct vamp_pending_cdos *cdos = &at->tracker->pending_cdos[age];
    if (cdos->lines == NULL) {
        return;
    }
    const uint32_t place = vamp_table_number(table, record) - 1;
    struct vamp_pending_cdo_line *line = &cdos->lines[place];
    line->id_known = vamp_event_has(at->event, VAMP_HAS_CDO_ID);
    line->id = at->event->cdo_id;
    note_name(at, line, cdos->long_names[place]);
}

struct vamp_pending_cdo vamp_track_pending_cdo(const struct vamp_tracker *tracker,
                                               enum vamp_age age, const struct vamp_oldest *item)
{
    const struct vamp_pending_cdos *cdos = &tracker->pending_cdos[age];
    const struct vamp_pending_cdo_line *line = &cdos->lines[item->record - 1];
    return (struct vamp_pending_cdo){.id = line->id,
                                     .id_known = line->id_known,
                                     .name = line->name_is_long ? cdos->long_names[item->record - 1]
                                                                : line->name};
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
    if ((cdo->flags & VAMP_CDO_OFFERED) == 0 && cdo->last_offer != 0) {
        const struct vamp_hold *hold = vamp_table_record(&tracker->holds, cdo->last_offer);
        return (uint32_t)hold->key[2];
    }
    return (cdo->flags & VAMP_CDO_MAKER) != 0 ? cdo->record.owner : 0;
}

void vamp_track_describe_demand(struct vamp_tracker *tracker, const struct vamp_oldest *item,
                                struct vamp_waiting_demand *ret_demand)
{
    const struct vamp_pending *demand = vamp_table_record(&tracker->demands, item->record);
    const struct vamp_pending_cdo named = vamp_track_pending_cdo(tracker, VAMP_AGE_DEMAND, item);
    const struct vamp_key key = vamp_key_of_two(demand->key[0], demand->key[1]);
    const struct vamp_cdo *cdo = vamp_table_find(&tracker->cdos, &key);
    const uint32_t producer = cdo != NULL ? find_producer(tracker, cdo) : 0;
    *ret_demand = (struct vamp_waiting_demand){
        .component = name_of_row(tracker, demand->record.owner),
        .producer = producer != 0 ? name_of_row(tracker, producer) : NULL,
        .since_ns = item->since.time_ns,
        .id = named.id,
        .id_known = named.id_known,
        .offered = cdo != NULL && vamp_cdo_in_pool(cdo),
        .uncertain = vamp_track_is_uncertain(tracker, &item->since),
    };
    memcpy(ret_demand->name, named.name, strlen(named.name) + 1);
}

/* The demands that are pending, one by one. */

static const struct vamp_pending *next_pending(const struct vamp_tracker *tracker, uint32_t row,
                                               uint32_t *position)
{
    return row == VAMP_ALL_ROWS ? vamp_table_next(&tracker->demands, position)
                                : vamp_table_owned(&tracker->demands, row, position);
}

static void describe_cdo(const struct vamp_tracker *tracker, const struct vamp_cdo *cdo,
                         struct vamp_pending_demand *demand)
{
    const bool made = (cdo->flags & VAMP_CDO_MAKER) != 0 && cdo->record.owner != 0;
    demand->producer =
        made ? vamp_track_name(tracker, vamp_components_row(tracker->components, cdo->record.owner))
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
    const struct vamp_pending *pending = next_pending(tracker, row, position);
    if (pending == NULL) {
        return false;
    }
    *ret_demand = (struct vamp_pending_demand){.row = pending->record.owner,
                                               .since_ns = pending->since.time_ns,
                                               .producer = VAMP_NAME_UNKNOWN,
                                               .cdo = ""};
    const struct vamp_key key = vamp_key_of_two(pending->key[0], pending->key[1]);
    const struct vamp_cdo *cdo = vamp_table_find(&tracker->cdos, &key);
    if (cdo != NULL) {
        describe_cdo(tracker, cdo, ret_demand);
    }
    return true;
}

/* One more or one less of what counts as pending. */
static void count_pending(struct vamp_tracker *tracker, const struct vamp_pending *pending,
                          int change)
{
    if ((uint32_t)pending->key[3] == VAMP_KEY_DEMAND) {
        vamp_track_pending(tracker, pending->record.owner, VAMP_IN_FLIGHT_DEMAND, change);
    } else if (vamp_pending_is_withdraw(pending)) {
        vamp_track_pending(tracker, pending->record.owner, VAMP_IN_FLIGHT_WITHDRAW, change);
    } else if ((uint32_t)pending->key[3] == VAMP_KEY_DELIVERY) {
        tracker->tallies[pending->record.owner].deliveries += (uint32_t)change;
    }
}

static void remove_pending(struct vamp_track_context *at, struct vamp_table *table,
                           struct vamp_pending *pending)
{
    count_pending(at->tracker, pending, -1);
    vamp_table_remove(table, pending);
}

/* An entry for this key, which has none; the oldest gives way at the bound. */
static struct vamp_pending *add_pending(struct vamp_track_context *at, struct vamp_table *table,
                                        const struct vamp_key *key)
{
    struct vamp_pending *oldest = vamp_table_crowded(table);
    if (oldest != NULL) {
        remove_pending(at, table, oldest);
        vamp_track_lost(at->tracker);
        at->seen->evicted++;
    }
    struct vamp_pending *pending = vamp_table_insert(table, key, at->row);
    count_pending(at->tracker, pending, 1);
    if (table == &at->tracker->demands) {
        vamp_pending_cdo_note(at, VAMP_AGE_DEMAND, table, pending);
    } else if (vamp_pending_is_withdraw(pending)) {
        vamp_pending_cdo_note(at, VAMP_AGE_WITHDRAW, table, pending);
    }
    return pending;
}

/* Whether a component waited: one that vanished or was thrown out did not ask to leave. */
static bool is_asked_for(const struct vamp_event *event)
{
    return event->kind != VAMP_EVENT_LEAVE || !vamp_event_has(event, VAMP_HAS_REASON) ||
           event->reason == VAMP_LEAVE_FINALIZED || event->reason == VAMP_LEAVE_UNKNOWN;
}

void vamp_track_received(struct vamp_track_context *at)
{
    const struct vamp_key key = vamp_track_operation_key(at);
    at->tracker->received_kinds |= VAMP_EVENT_BIT(at->event->kind);
    struct vamp_pending *pending = vamp_table_find(&at->tracker->received, &key);
    if (pending == NULL) {
        pending = add_pending(at, &at->tracker->received, &key);
    }
    /* An operation that was refused has no end: the next of its kind takes its place. */
    pending->since = vamp_track_moment(at);
    if (at->event->kind == VAMP_EVENT_DEMAND && at->has_cdo) {
        (void)vamp_track_demand(at, true);
    }
}

void vamp_track_handled(struct vamp_track_context *at)
{
    const struct vamp_key key = vamp_track_operation_key(at);
    struct vamp_pending *pending = vamp_table_find(&at->tracker->received, &key);
    if (pending == NULL) {
        return;
    }
    const int64_t since_ns = pending->since.time_ns;
    remove_pending(at, &at->tracker->received, pending);
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

static struct vamp_pending *find_demand(struct vamp_track_context *at)
{
    if (at->tracker->tallies[at->row].in_flight[VAMP_IN_FLIGHT_DEMAND].now == 0) {
        return NULL; /* the component has no pending demand at all */
    }
    const struct vamp_key key = vamp_track_demand_key(at);
    return vamp_table_find(&at->tracker->demands, &key);
}

bool vamp_track_is_demanded(struct vamp_track_context *at)
{
    return find_demand(at) != NULL;
}

bool vamp_track_demand_end(struct vamp_track_context *at, struct vamp_pending *ret_ended)
{
    struct vamp_pending *pending = find_demand(at);
    if (pending == NULL) {
        return false;
    }
    if (ret_ended != NULL) {
        *ret_ended = *pending;
    }
    remove_pending(at, &at->tracker->demands, pending);
    return true;
}

/* Data that came before their DEMAND: a pool manager may move them as soon as they are required.
 * They are kept with what was received, since they are no demand that waits. */

static struct vamp_pending *find_delivery(struct vamp_track_context *at)
{
    if (at->tracker->tallies[at->row].deliveries == 0) {
        return NULL;
    }
    const struct vamp_key key = vamp_track_pending_key(at, &at->cdo_key, VAMP_KEY_DELIVERY);
    return vamp_table_find(&at->tracker->received, &key);
}

void vamp_track_deliver(struct vamp_track_context *at, bool awaited)
{
    if (at->tracker->tallies[at->row].left) {
        return;
    }
    struct vamp_pending *delivery = find_delivery(at);
    if (delivery == NULL) {
        const struct vamp_key key = vamp_track_pending_key(at, &at->cdo_key, VAMP_KEY_DELIVERY);
        delivery = add_pending(at, &at->tracker->received, &key);
    }
    uint16_t *count = awaited ? &delivery->awaited : &delivery->early;
    *count = (uint16_t)(*count + (*count < UINT16_MAX));
    if (!awaited && at->cdo != NULL) {
        at->cdo->demands++;
    }
}

/* One of the deliveries, of which there is one at least. */
static void take_delivery(struct vamp_track_context *at, struct vamp_pending *delivery,
                          uint16_t *count)
{
    assert(*count > 0);
    --*count;
    if (delivery->early == 0 && delivery->awaited == 0) {
        remove_pending(at, &at->tracker->received, delivery);
    }
}

void vamp_track_drop_delivery(struct vamp_track_context *at, bool all)
{
    struct vamp_pending *delivery = find_delivery(at);
    if (delivery != NULL && all) {
        remove_pending(at, &at->tracker->received, delivery);
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
    const struct vamp_pending *demand = NULL;
    while ((demand = vamp_table_next(&at->tracker->demands, position)) != NULL) {
        if (demand->key[0] == at->cdo_key.words[0] && demand->key[1] == at->cdo_key.words[1]) {
            *ret_row = demand->record.owner;
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

static struct vamp_pending *find_of_one(struct vamp_track_context *at)
{
    if (!at->tracker->learns_ends || at->tracker->tallies[0].deliveries == 0) {
        return NULL;
    }
    const struct vamp_key key = vamp_key_of_four(&at->cdo_key, 0, VAMP_KEY_DELIVERY);
    return vamp_table_find(&at->tracker->received, &key);
}

/* More of them than others wait for. */
static struct vamp_pending *find_surplus(struct vamp_track_context *at)
{
    struct vamp_pending *delivery = find_of_one(at);
    const uint32_t others =
        delivery == NULL ? 0 : count_demanders(at) - (find_demand(at) != NULL ? 1 : 0);
    return delivery != NULL && delivery->early > others ? delivery : NULL;
}

void vamp_track_deliver_to_one(struct vamp_track_context *at)
{
    const uint32_t waiting = count_demanders(at);
    vamp_track_deliver(at, waiting > 0);
    struct vamp_pending *delivery = find_of_one(at);
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
    while (vamp_track_next_demander(at, &position, &row)) {
        remove_pending(at, &at->tracker->demands,
                       vamp_table_record(&at->tracker->demands, position));
    }
    delivery->early = (uint16_t)(delivery->early - waiting);
    if (delivery->early == 0) {
        remove_pending(at, &at->tracker->received, delivery);
    }
}

bool vamp_track_take_of_one(struct vamp_track_context *at)
{
    struct vamp_pending *delivery = find_of_one(at);
    if (delivery != NULL) {
        take_delivery(at, delivery, &delivery->early);
    }
    return delivery != NULL;
}

void vamp_track_forget_of_one(struct vamp_track_context *at)
{
    struct vamp_pending *delivery = find_of_one(at);
    if (delivery != NULL) {
        remove_pending(at, &at->tracker->received, delivery);
    }
}

/* A DEMAND that was handled finds its data there: it waited for its handling alone. */
static void meet_delivery(struct vamp_track_context *at, struct vamp_pending *delivery)
{
    struct vamp_pending demand = {.since = vamp_track_moment(at)};
    (void)vamp_track_demand_end(at, &demand);
    (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_DEMAND_WAIT, demand.since.time_ns);
    vamp_track_name_producer(at);
    take_delivery(at, delivery, &delivery->early);
}

bool vamp_track_demand(struct vamp_track_context *at, bool before)
{
    struct vamp_pending *delivery = before ? NULL : find_delivery(at);
    delivery = before || delivery != NULL ? delivery : find_surplus(at);
    if (delivery != NULL && delivery->awaited > 0) {
        take_delivery(at, delivery, &delivery->awaited); /* the wait has ended with it */
        return false;
    }
    if (delivery != NULL) {
        meet_delivery(at, delivery);
        return true;
    }
    const struct vamp_key key = vamp_track_demand_key(at);
    struct vamp_pending *pending = vamp_table_find(&at->tracker->demands, &key);
    bool begins = pending == NULL;
    if (begins) {
        pending = add_pending(at, &at->tracker->demands, &key);
    } else if (pending->failed) {
        /* Asked again: the demand before has ended without data. */
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_DEMAND_NEVER_SATISFIED, 1);
        begins = true;
    } else if (before && !pending->acknowledged) {
        begins = true; /* the one before was refused */
    }
    if (begins) {
        pending->since = vamp_track_moment(at);
        pending->acknowledged = false;
        pending->failed = false;
    }
    pending->acknowledged = pending->acknowledged || !before;
    return false;
}

void vamp_track_demand_failed(struct vamp_track_context *at)
{
    struct vamp_pending *pending = at->has_cdo ? find_demand(at) : NULL;
    if (pending != NULL) {
        pending->failed = true;
    }
}
