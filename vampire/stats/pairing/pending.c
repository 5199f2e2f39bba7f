/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/pending.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/stats/pairing/blocked.h"
#include "vampire/stats/pairing/keys.h"

static inline bool matches(const struct vamp_pending *pending, const struct vamp_who *who)
{
    return pending->item.row == who->row && pending->kind == who->kind &&
           (who->row != 0 || (pending->by_id == who->by_id && pending->app_id == who->app_id));
}

/* Searches the shorter of the lists of the CDO and of the component, since both may have many
 * entries. */
static __attribute__((noinline)) struct vamp_pending *
find_by_both(const struct vamp_tracker *tracker, uint32_t of_cdo, const struct vamp_cdo *cdo,
             const struct vamp_who *who)
{
    const uint32_t number = vamp_slab_number(&tracker->cdos.slab, cdo);
    uint32_t of_row = tracker->tallies[who->row].first_pending;
    while (of_cdo != 0) {
        struct vamp_pending *pending = vamp_pending_of(tracker, of_cdo);
        if (matches(pending, who)) {
            return pending;
        }
        of_cdo = pending->item.next;
        if (who->row == 0) {
            continue;
        }
        if (of_row == 0) {
            return NULL;
        }
        pending = vamp_pending_of(tracker, of_row);
        if (pending->cdo == number && matches(pending, who)) {
            return pending;
        }
        of_row = pending->neighbours.after;
    }
    return NULL;
}

struct vamp_pending *vamp_pending_find(const struct vamp_tracker *tracker,
                                       const struct vamp_cdo *cdo, const struct vamp_who *who)
{
    uint32_t number = cdo != NULL ? cdo->first_pending : 0;
    for (unsigned few = 8; number != 0; few--) {
        if (few == 0) {
            return find_by_both(tracker, number, cdo, who);
        }
        struct vamp_pending *pending = vamp_pending_of(tracker, number);
        if (matches(pending, who)) {
            return pending;
        }
        number = pending->item.next;
    }
    return NULL;
}

void vamp_lookup_of_transport(const struct vamp_track_context *at, struct vamp_lookup *ret_lookup)
{
    const struct vamp_event *event = at->event;
    const bool has_sink = vamp_event_has(event, VAMP_HAS_APP);
    ret_lookup->who = (struct vamp_who){.kind = VAMP_PENDING_TRANSPORT};
    if (vamp_event_has(event, VAMP_HAS_TRANSPORT)) {
        ret_lookup->own = vamp_track_number_key(at->tracker, event->transport_id);
        ret_lookup->key = &ret_lookup->own;
        ret_lookup->record = vamp_table_find(&at->tracker->cdos, ret_lookup->key);
        return;
    }
    ret_lookup->who.app_id = event->app_id;
    ret_lookup->who.by_id = has_sink;
    ret_lookup->key = NULL;
    ret_lookup->record = NULL;
    if (at->tracker->learns_ends && !has_sink) {
        return; /* transports with unknown sinks cannot be distinguished */
    }
    ret_lookup->record = at->record;
    if (at->has_cdo) {
        ret_lookup->key = &at->cdo_key;
    }
}

static inline void link_first(const struct vamp_tracker *tracker, struct vamp_cdo *cdo,
                              struct vamp_pending *pending, uint32_t number)
{
    pending->previous = 0;
    pending->item.next = cdo->first_pending;
    if (cdo->first_pending != 0) {
        ((struct vamp_pending *)vamp_pending_of(tracker, cdo->first_pending))->previous = number;
    }
    cdo->first_pending = number;
}

static inline void unlink_pending(const struct vamp_tracker *tracker, struct vamp_cdo *cdo,
                                  const struct vamp_pending *pending)
{
    if (pending->previous != 0) {
        ((struct vamp_pending *)vamp_pending_of(tracker, pending->previous))->item.next =
            pending->item.next;
    } else {
        cdo->first_pending = pending->item.next;
    }
    if (pending->item.next != 0) {
        ((struct vamp_pending *)vamp_pending_of(tracker, pending->item.next))->previous =
            pending->previous;
    }
}

void vamp_pending_to_front(const struct vamp_tracker *tracker, struct vamp_pending *pending)
{
    struct vamp_cdo *cdo = vamp_pending_record(tracker, pending);
    unlink_pending(tracker, cdo, pending);
    link_first(tracker, cdo, pending, vamp_slab_number(&tracker->pending, pending));
}

/* Adds `change` (1 or -1) to the component's counters. */
static inline void count_pending(struct vamp_tracker *tracker, const struct vamp_pending *pending,
                                 int change)
{
    struct vamp_tally *tally = &tracker->tallies[pending->item.row];
    if (pending->kind == VAMP_PENDING_DEMAND) {
        vamp_pending_count(tracker, pending->item.row, VAMP_IN_FLIGHT_DEMAND, change);
    } else if (pending->kind == VAMP_EVENT_WITHDRAW) {
        vamp_pending_count(tracker, pending->item.row, VAMP_IN_FLIGHT_WITHDRAW, change);
    } else if (pending->kind == VAMP_PENDING_DELIVERY) {
        tally->deliveries += (uint32_t)change;
    }
}

void vamp_pending_remove_record(struct vamp_track_context *at, struct vamp_cdo *record)
{
    assert(!record->tracked && record->first_pending == 0);
    if (record == at->record) {
        at->record = NULL;
    }
    vamp_table_remove(&at->tracker->cdos, record);
}

/* The number of a name consists of the number of its item and, in the low bits, of the index of the
 * slab. */
#define NAME_SIZE_BITS 2
_Static_assert(VAMP_NAME_SIZES <= 1 << NAME_SIZE_BITS, "room for the index");
#define NAME_SIZE(name) ((name) & ((1U << NAME_SIZE_BITS) - 1))
#define NAME_NUMBER(name) ((name) >> NAME_SIZE_BITS)

static inline void give_name(struct vamp_tracker *tracker, uint32_t name)
{
    if (name != 0) {
        vamp_slab_give(&tracker->names[NAME_SIZE(name)], NAME_NUMBER(name));
    }
}

/* Releases the name or transport of the entry, and subtracts the entry from the component's
 * counters. */
static inline void release_pending(struct vamp_tracker *tracker, const struct vamp_pending *pending)
{
    if (pending->kind == VAMP_PENDING_REFERENCE) {
        assert(!pending->offers);
        return;
    }
    if (pending->kind == VAMP_PENDING_TRANSPORT) {
        const struct vamp_transport *transport = vamp_pending_transport(tracker, pending);
        vamp_pending_count(tracker, pending->sink_row, VAMP_IN_FLIGHT_TRANSPORT + transport->tier,
                           -1);
        give_name(tracker, transport->named);
        vamp_slab_give(&tracker->transports, pending->more);
        return;
    }
    count_pending(tracker, pending, -1);
    if (pending->kind != VAMP_PENDING_DELIVERY) {
        give_name(tracker, pending->more);
    }
}

/*
 * The entries of a class are kept in an array, in the order in which they were added, so that the
 * oldest one can be evicted. Adding and removing an entry each write one element. A linked list
 * would also access both neighbours, which are rarely in a cache. A removed entry leaves a 0. The
 * array is compacted when its used part is full; at least half of it is free afterwards, so that
 * the amortized cost per entry is constant.
 */

#define ORDER_LENGTH_MIN 1024U
#define COMPACT_AHEAD 16 /* entries that are prefetched while the order is compacted */

/* Returns where the entry's index in the order of its class is stored. */
static inline uint32_t *slot_of(const struct vamp_tracker *tracker, struct vamp_pending *pending)
{
    if (pending->kind == VAMP_PENDING_TRANSPORT) {
        return &vamp_pending_transport(tracker, pending)->slot;
    }
    return &pending->slot;
}

int vamp_class_init(struct vamp_class_account *account, uint32_t most)
{
    const uint32_t capacity = 2 * most;
    *account = (struct vamp_class_account){.capacity = capacity,
                                           .compact_at = VAMP_MIN(capacity, ORDER_LENGTH_MIN),
                                           .order = calloc(capacity, sizeof *account->order)};
    return account->order != NULL ? 0 : -ENOMEM;
}

/* Removes the zeros from the order. */
static __attribute__((noinline)) void compact_order(const struct vamp_tracker *tracker,
                                                    struct vamp_class_account *account)
{
    uint32_t kept = 0;
    for (uint32_t i = account->first; i < account->end; i++) {
        if (i + COMPACT_AHEAD < account->end) {
            __builtin_prefetch(vamp_pending_of(tracker, account->order[i + COMPACT_AHEAD]), 1);
        }
        const uint32_t number = account->order[i];
        if (number != 0) {
            *slot_of(tracker, vamp_pending_of(tracker, number)) = kept;
            account->order[kept++] = number;
        }
    }
    assert(kept == account->count && 2 * kept < account->capacity);
    account->first = 0;
    account->end = kept;
    account->compact_at = VAMP_MIN(account->capacity, VAMP_MAX(4 * kept, ORDER_LENGTH_MIN));
}

static inline void add_to_order(struct vamp_tracker *tracker, struct vamp_pending *pending,
                                uint32_t number)
{
    struct vamp_class_account *account = &tracker->classes[vamp_pending_class_of(pending->kind)];
    if (account->end == account->compact_at) {
        compact_order(tracker, account);
    }
    *slot_of(tracker, pending) = account->end;
    account->order[account->end++] = number;
    account->count++;
}

static inline void remove_from_order(struct vamp_tracker *tracker, struct vamp_pending *pending)
{
    struct vamp_class_account *account = &tracker->classes[vamp_pending_class_of(pending->kind)];
    account->order[*slot_of(tracker, pending)] = 0;
    account->count--;
}

void vamp_pending_remove(struct vamp_track_context *at, struct vamp_pending *pending)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_cdo *cdo = vamp_pending_record(tracker, pending);
    vamp_blocked_end(at, cdo, pending);
    remove_from_order(tracker, pending);
    release_pending(tracker, pending);
    unlink_pending(tracker, cdo, pending);
    vamp_row_leave(&tracker->pending, &tracker->tallies[pending->item.row].first_pending,
                   &pending->item, &pending->neighbours);
    vamp_slab_give(&tracker->pending, vamp_slab_number(&tracker->pending, pending));
    if (cdo->first_pending == 0 && !cdo->tracked) {
        vamp_pending_remove_record(at, cdo);
    }
}

struct vamp_pending *vamp_pending_oldest(struct vamp_tracker *tracker,
                                         enum vamp_pending_class class)
{
    struct vamp_class_account *account = &tracker->classes[class];
    assert(account->count > 0);
    while (account->order[account->first] == 0) {
        account->first++;
    }
    return vamp_pending_of(tracker, account->order[account->first]);
}

/* Returns the entry `ahead` slots after the first one; NULL if it was removed or does not exist. */
static inline struct vamp_pending *entry_ahead(const struct vamp_tracker *tracker,
                                               const struct vamp_class_account *account,
                                               uint32_t ahead)
{
    const uint32_t slot = account->first + ahead;
    if (slot >= account->end || account->order[slot] == 0) {
        return NULL;
    }
    return vamp_pending_of(tracker, account->order[slot]);
}

/* Prefetches memory for the next evictions: the entry six evictions ahead; the record, neighbours
 * and transport of the entry four ahead; the index line of the record of the entry two ahead.
 * Always inlined, since compilers remove calls of functions that only prefetch. */
static inline __attribute__((always_inline)) void
prefetch_evictions(const struct vamp_tracker *tracker, const struct vamp_class_account *account)
{
    __builtin_prefetch(entry_ahead(tracker, account, 6), 1);
    const struct vamp_pending *pending = entry_ahead(tracker, account, 4);
    if (pending != NULL) {
        __builtin_prefetch(vamp_pending_record(tracker, pending), 1);
        vamp_prefetch_neighbours(&tracker->pending, &pending->neighbours);
        if (pending->kind == VAMP_PENDING_TRANSPORT) {
            __builtin_prefetch(vamp_pending_transport(tracker, pending), 1);
        }
    }
    pending = entry_ahead(tracker, account, 2);
    if (pending != NULL) {
        vamp_table_prefetch_line(&tracker->cdos, vamp_pending_record(tracker, pending));
    }
}

static __attribute__((noinline)) void evict(struct vamp_track_context *at,
                                            struct vamp_pending *oldest)
{
    if (oldest->kind == VAMP_PENDING_TRANSPORT) {
        at->seen->active[vamp_pending_transport(at->tracker, oldest)->tier]--;
    }
    if (oldest->kind != VAMP_PENDING_REFERENCE) {
        vamp_track_lost(at->tracker);
    }
    at->seen->evicted++;
    const unsigned class = vamp_pending_class_of(oldest->kind);
    vamp_pending_remove(at, oldest);
    prefetch_evictions(at->tracker, &at->tracker->classes[class]);
}

struct vamp_pending *vamp_pending_add(struct vamp_track_context *at,
                                      const struct vamp_lookup *lookup)
{
    struct vamp_tracker *tracker = at->tracker;
    const struct vamp_who *who = &lookup->who;
    struct vamp_cdo *cdo = lookup->record;
    struct vamp_pending *oldest = vamp_pending_to_evict(tracker, who->kind);
    if (oldest != NULL) {
        evict(at, oldest);
        cdo = vamp_table_find(&tracker->cdos, lookup->key);
    }
    if (cdo == NULL) {
        cdo = vamp_table_insert(&tracker->cdos, lookup->key);
        if (lookup->key == &at->cdo_key) {
            at->record = cdo;
        }
    }
    uint32_t number = 0;
    struct vamp_pending *pending = vamp_slab_take(&tracker->pending, &number);
    *pending = (struct vamp_pending){.cdo = vamp_slab_number(&tracker->cdos.slab, cdo),
                                     .sequence = tracker->events & VAMP_SEQUENCE_MAX,
                                     .kind = who->kind,
                                     .by_id = who->by_id};
    if (who->kind == VAMP_PENDING_TRANSPORT) {
        (void)vamp_slab_take(&tracker->transports, &pending->more);
    }
    add_to_order(tracker, pending, number);
    link_first(tracker, cdo, pending, number);
    vamp_row_join(&tracker->pending, &tracker->tallies[who->row].first_pending, &pending->item,
                  &pending->neighbours, number, who->row);
    if (who->by_id) {
        pending->app_id = who->app_id;
    }
    count_pending(tracker, pending, 1);
    vamp_blocked_begin(at, cdo, pending);
    return pending;
}

/*
 * Names of CDOs. Records contain them at level `cdo` only; therefore the name of a pending demand,
 * withdraw or transport is copied at its start, into an item of one of three sizes.
 */

const size_t vamp_name_bytes[VAMP_NAME_SIZES] = {32, 64, VAMP_CDO_NAME_BYTES};

uint32_t vamp_pending_name_add(struct vamp_track_context *at, enum vamp_age age)
{
    struct vamp_tracker *tracker = at->tracker;
    if (!tracker->keeps_cdos[age]) {
        return 0;
    }
    const struct vamp_event *event = at->event;
    const char *name = event->name;
    size_t length = event->name_length;
    if (!vamp_event_has(event, VAMP_HAS_CDO_NAME)) {
        name = vamp_track_cdo_name(tracker, event);
        length = strlen(name);
    }
    if (length == 0) {
        return 0;
    }
    unsigned size = 0;
    while (size < VAMP_NAME_SIZES - 1 && length >= vamp_name_bytes[size]) {
        size++;
    }
    uint32_t number = 0;
    char *text = vamp_slab_take(&tracker->names[size], &number);
    if (length < VAMP_CDO_NAME_BYTES) {
        memcpy(text, name, length);
        text[length] = '\0';
    } else {
        vamp_track_copy_name(event, text);
    }
    return number << NAME_SIZE_BITS | size;
}

const char *vamp_pending_name(const struct vamp_tracker *tracker, uint32_t name)
{
    return vamp_slab_item(&tracker->names[NAME_SIZE(name)], NAME_NUMBER(name));
}
