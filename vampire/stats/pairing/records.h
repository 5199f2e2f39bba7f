/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tracker's records, and what its files do for each other. Private to the pairing; worker
 * thread.
 */
#pragma once

#include "vampire/stats/pairing/track.h"

enum vamp_cdo_flag {
    VAMP_CDO_SIZED = 1 << 0,    /* size_bytes is known */
    VAMP_CDO_COUNTED = 1 << 1,  /* in cdos_created */
    VAMP_CDO_MAKER = 1 << 2,    /* its owner may be, or is, its producer */
    VAMP_CDO_DECLARED = 1 << 3, /* declared_ns is known */
    VAMP_CDO_OFFERED = 1 << 4,  /* by its owner */
    VAMP_CDO_ONCE = 1 << 5,     /* was offered before */
    VAMP_CDO_UNSEEN = 1 << 6,   /* one of the owner's handles was not seen to be declared */
    VAMP_CDO_DEMANDED = 1 << 7, /* since it last left the pool */
};

/* All that is known of a CDO: found by one look-up. What components hold of it and what is in
 * flight of it are its parts. A record whose CDO is not tracked has parts and nothing else; its key
 * may be that of a transport's number, of a component without a CDO, or of a name. */
struct vamp_cdo {
    struct vamp_record record; /* its row: of the owner */
    uint64_t size_bytes;
    int64_t offered_ns;
    uint32_t first_part;    /* the newest, or the last one that was offered */
    uint32_t other_handles; /* declared by other components and not disposed of */
    uint32_t demands; /* since it last left the pool; data that moved before theirs included */
    uint32_t offers;  /* of other components: holds that offer it */
    uint16_t owner_handles;
    uint8_t flags;
    bool tracked : 1;
    /* In this life, transports that completed and named their source alone: to whom its data moved
     * is not known, or guessed. Saturates. */
    uint8_t guessed : 7;
    uint16_t attributes; /* their number, plus 1; 0: they are not known yet */
};
struct vamp_cdo_rest {
    struct vamp_record_rest lists;
    int64_t declared_ns;
};
#define VAMP_GUESSED_MAX 127
#define VAMP_OWNER_HANDLES_MAX UINT16_MAX /* more of one component for one CDO are not counted */

static inline bool vamp_cdo_in_pool(const struct vamp_cdo *cdo)
{
    return (cdo->flags & VAMP_CDO_OFFERED) != 0 || cdo->offers != 0;
}

/* What a part is. Below the first of these: an operation of that kind that was received. */
enum vamp_part_kind {
    VAMP_PART_DELIVERY = VAMP_EVENT_KIND_COUNT, /* data that came before their DEMAND */
    VAMP_PART_DEMAND,                           /* nothing has satisfied it */
    VAMP_PART_TRANSPORT,
    VAMP_PART_HOLD, /* what a component other than its owner holds of a CDO */
};

#define VAMP_PLACE_BITS 48 /* of an event in the stream, which is that of years */
#define VAMP_PLACE_MAX ((UINT64_C(1) << VAMP_PLACE_BITS) - 1)

/* What one component has of one CDO, or waits for. The row of its item is that of the component,
 * but of a transport 0: its sink may leave before it ends. */
struct vamp_part {
    struct vamp_item item; /* `next`: of the same CDO */
    union {
        struct vamp_neighbours neighbours;
        /* Without a row, thus in no list: of the component, or of a transport's sink, if `by_id`;
         * else 0. */
        uint64_t app_id;
    };
    uint32_t previous;                /* of the same CDO */
    uint32_t cdo;                     /* number of its record */
    int64_t since_ns;                 /* of a hold: when the CDO was declared, if `declared` */
    uint64_t place : VAMP_PLACE_BITS; /* of the event with which it began */
    bool by_id : 1;                   /* the component has no row, but `app_id` */
    bool id_known : 1;                /* the key of its record is the CDO's id */
    bool acknowledged : 1;            /* of a demand: the pool manager has taken it */
    bool failed : 1;                  /* of a demand: a transport for it failed */
    bool declared : 1, offers : 1;    /* of a hold */
    uint8_t kind;                     /* enum vamp_part_kind */
    union {
        uint32_t more;               /* the name of its CDO, or the rest of a transport; 0: none */
        uint32_t handles;            /* of a hold */
        struct {                     /* of deliveries, those that no DEMAND has met yet, */
            uint16_t early, awaited; /* and that met one of which only the *before* was seen */
        };
    };
    union {
        uint32_t again;    /* it was there so many events before it began again; saturates */
        uint32_t sink_row; /* of a transport */
    };
};

/* The rest of a part that is a transport. */
struct vamp_transport {
    uint64_t cdo_key[2], app_id; /* which CDO is transported to whom, if `has_cdo`, `has_sink` */
    uint64_t size_bytes;
    int64_t offered_ns; /* when the CDO came into the pool, in which it is at the start */
    uint32_t source, sink, producer; /* name numbers */
    uint32_t named;                  /* the name of the CDO; 0: none */
    uint8_t tier, cause;
    bool sized : 1, has_source : 1, in_pool : 1, has_cdo : 1, has_sink : 1;
    bool demanded : 1; /* it was begun for a demand */
    bool id_known : 1; /* `cdo_key` is the CDO's id */
};

/* What a component holds; by row of the component table, row 0 for those without one. */
struct vamp_tally {
    uint32_t first_cdo, first_part; /* the newest that belong to it */
    uint32_t offering;              /* CDOs that it does not own, and offers */
    uint32_t present;
    uint32_t life;       /* of the component that has the row; 0: nobody was seen in it */
    uint32_t deliveries; /* CDOs of which data came before the DEMAND for them */
    bool left;
    bool checked; /* its JOIN was seen, or that it was not has been reported */
    struct vamp_in_flight in_flight[VAMP_IN_FLIGHT_COUNT];
    struct vamp_moment acted; /* its last operation; place 0: none was seen */
    struct vamp_ages ages;    /* as vamp_track_ages found them */
};

static inline void vamp_in_flight_set(struct vamp_in_flight *in_flight, uint32_t now)
{
    in_flight->now = now;
    in_flight->least = now < in_flight->least ? now : in_flight->least;
    in_flight->most = now > in_flight->most ? now : in_flight->most;
}

/* What the tracker's files know of the event at hand. */
struct vamp_track_context {
    struct vamp_tracker *tracker;
    const struct vamp_event *event;
    struct vamp_observation *seen;
    const struct vamp_component *component; /* NULL: no row */
    uint32_t row;                           /* 0: no row */
    struct vamp_tally *tally;               /* of the row */
    bool has_cdo;
    struct vamp_key cdo_key; /* of zeros: not known */
    struct vamp_cdo *record; /* of this key; NULL: none */
    struct vamp_cdo *cdo;    /* the same, if the CDO is tracked, else NULL */
    uint16_t attributes;     /* as of a record */
    bool changing;           /* the weight of `cdo` is taken away until the event is handled */
};

void vamp_track_cdo(struct vamp_track_context *at);
/* For vamp_track_learn_size, of a CDO whose size is not known, or not counted. */
void vamp_track_learn_new_size(struct vamp_track_context *at);
/* The CDO of `at`, which is tracked, learns its size from the event, or the observation from it. */
static inline void vamp_track_learn_size(struct vamp_track_context *at)
{
    const struct vamp_cdo *cdo = at->cdo;
    const uint32_t known = VAMP_CDO_SIZED | VAMP_CDO_COUNTED;
    if ((cdo->flags & known) != known) {
        vamp_track_learn_new_size(at);
    }
    if (!at->seen->size_known && (cdo->flags & VAMP_CDO_SIZED) != 0) {
        at->seen->size_known = true;
        at->seen->size_bytes = cdo->size_bytes;
    }
}

/* The weight of a CDO that is in the pool, itself and its bytes: taken away (sign -1) or added (1).
 */
void vamp_track_weigh(struct vamp_track_context *at, const struct vamp_cdo *cdo, int sign);
/* To be called before its size, or who offers it, changes: takes the weight away. That of the
 * event's own CDO is taken away once, whatever changes, and added when the event is handled. */
static inline void vamp_cdo_change(struct vamp_track_context *at, const struct vamp_cdo *cdo)
{
    if (cdo == at->cdo) {
        if (at->changing) {
            return;
        }
        at->changing = true;
    }
    vamp_track_weigh(at, cdo, -1);
}
/* Of a CDO that need not be the event's own: all changes are made. */
static inline void vamp_cdo_changed(struct vamp_track_context *at, const struct vamp_cdo *cdo)
{
    if (cdo != at->cdo) {
        vamp_track_weigh(at, cdo, 1);
    }
}

/* Whether the record of the CDO of `at` belongs to the component of the event. */
static inline bool vamp_cdo_is_owned(const struct vamp_track_context *at)
{
    return at->cdo->record.item.row == at->row;
}

/* The name number of the component to which the record belongs. */
static inline uint32_t vamp_cdo_owner_name(const struct vamp_track_context *at,
                                           const struct vamp_cdo *cdo)
{
    if (cdo->record.item.row == 0) {
        return VAMP_NAME_UNKNOWN;
    }
    return vamp_track_name(
        at->tracker, cdo->record.item.row == at->row
                         ? at->component
                         : vamp_components_row(at->tracker->components, cdo->record.item.row));
}

/* The time and the place of the event at hand. */
static inline struct vamp_moment vamp_track_moment(const struct vamp_track_context *at)
{
    return (struct vamp_moment){at->event->time_ns, at->tracker->events};
}

/* The CDO of `at` as one that was waited for: its producer, if there is one. */
static inline void vamp_track_name_producer(struct vamp_track_context *at)
{
    at->seen->producer = at->cdo != NULL && (at->cdo->flags & VAMP_CDO_MAKER) != 0
                             ? vamp_cdo_owner_name(at, at->cdo)
                             : VAMP_NAME_UNKNOWN;
}

/* Of the CDO of `at`. */
static inline void vamp_cdo_set_flags(struct vamp_track_context *at, unsigned set, unsigned clear)
{
    struct vamp_cdo *cdo = at->cdo;
    const uint8_t flags = (uint8_t)((cdo->flags | set) & ~clear);
    if (((flags ^ cdo->flags) & VAMP_CDO_OFFERED) != 0) {
        vamp_cdo_change(at, cdo);
    }
    cdo->flags = flags;
}

/* Whether a CDO whose record ends is to be counted now, since its size was never reported. If it
 * may have been counted before, the account of `slot` says so. */
bool vamp_cdo_is_forgotten(const struct vamp_tracker *tracker, const struct vamp_cdo *cdo,
                           struct vamp_slot *slot);
/* 0 or -ENOMEM: the memory of CDOs that were evicted. */
VAMP_MUST_CHECK int vamp_track_evicted_init(struct vamp_tracker *tracker);

/* The record of every CDO that is left ends. */
void vamp_track_forget_cdos(struct vamp_track_context *at);
/* A component with a row has gone: what it held has no owner, what it waited for never comes. */
void vamp_track_leave_cdos(struct vamp_track_context *at);

/* Both ends of waits. `before`: the pool manager has not handled the operation yet. */
void vamp_track_received(struct vamp_track_context *at);
/* The other end of an operation of a kind that was seen to be received. */
void vamp_track_handled(struct vamp_track_context *at);
/* Whether the demand found its data. */
bool vamp_track_demand(struct vamp_track_context *at, bool before);
/* A transport for the pending demand failed: there may be another, or the demand is over. */
void vamp_track_demand_failed(struct vamp_track_context *at);
/* A transport of which one end is named: the event at hand becomes one with both, as far as the
 * history of the CDO shows them; who they are is to be found again. */
void vamp_track_find_ends(struct vamp_track_context *at);
/* Whether this component offers the CDO, which is tracked. */
bool vamp_track_offers(struct vamp_track_context *at);
/* The components with a pending demand of the CDO, one after the other. False at the end.
 * `*position` starts at 0. */
bool vamp_track_next_demander(const struct vamp_track_context *at, uint32_t *position,
                              uint32_t *ret_row);
/* The CDO has moved to one of those that demand it, or will; to which is not known. When it has
 * moved as often as it is demanded, all of these are satisfied, and how long they waited is not
 * known. */
void vamp_track_deliver_to_one(struct vamp_track_context *at);
/* Demands of the component whose data another may seem to have: no fewer transports named the
 * CDO's source alone than there are demands. */
uint32_t vamp_track_count_doubtful(const struct vamp_track_context *at);
/* A demand of the CDO has ended without a transport of its own: takes one of those. False: there is
 * none. */
bool vamp_track_take_of_one(struct vamp_track_context *at);
/* Forgets them. */
void vamp_track_forget_of_one(struct vamp_track_context *at);
/* Whether this CDO is demanded by this component. */
bool vamp_track_is_demanded(struct vamp_track_context *at);
/* Ends the pending demand of this CDO and component, as it was in `ret_ended` (NULL: not asked
 * for); false when there is none. */
bool vamp_track_demand_end(struct vamp_track_context *at, struct vamp_part *ret_ended);
/* Data came to a component before it demanded them (the next DEMAND finds them), or, `awaited`,
 * before the *after* event of the DEMAND that waited for them (which begins nothing any more). */
void vamp_track_deliver(struct vamp_track_context *at, bool awaited);
/* The component gives up one of the CDO's deliveries (RETRACT), or all of them (DISPOSE). */
void vamp_track_drop_delivery(struct vamp_track_context *at, bool all);
/* How the event at hand changed the bytes in the pool, as the gauge shows them: at most 2^63 - 1.
 * Only what sets `pool_changed` changes them. */
static inline void vamp_track_show_bytes(struct vamp_tracker *tracker,
                                         struct vamp_observation *seen)
{
    const int64_t shown =
        tracker->pool_bytes < INT64_MAX ? (int64_t)tracker->pool_bytes : INT64_MAX;
    seen->pool_bytes = shown - tracker->shown_bytes;
    tracker->shown_bytes = shown;
}

/* One more (1) or one less (-1) of a kind is pending for the component of the row. */
static inline void vamp_track_pending(struct vamp_tracker *tracker, uint32_t row, unsigned kind,
                                      int change)
{
    struct vamp_in_flight *in_flight = &tracker->tallies[row].in_flight[kind];
    vamp_in_flight_set(in_flight, in_flight->now + (uint32_t)change);
}
/* What the component waited for is dropped: demands and withdraws, whose records it owns. */
void vamp_track_drop_pending(struct vamp_tracker *tracker, uint32_t row);
/* Notes the name of the CDO of a part that begins with the event at hand, if the metric of its age
 * is computed. 0: it is not, or there is no name. */
uint32_t vamp_pending_name_note(struct vamp_track_context *at, enum vamp_age age);
/* Sizes, and which of them a name has that is noted, and its number there. */
extern const size_t vamp_name_bytes[VAMP_NAME_SIZES];
static inline struct vamp_slab *vamp_pending_names(struct vamp_tracker *tracker, uint32_t name)
{
    return &tracker->names[name & 3];
}
static inline uint32_t vamp_pending_name_number(uint32_t name)
{
    return name >> 2;
}

/* The attributes of the event's CDO: read once in the life of its record, where an event names it.
 * Before the event changes the record. */
void vamp_track_find_attributes(struct vamp_track_context *at);

/* ---- parts */

static inline void *vamp_part_of(const struct vamp_tracker *tracker, uint32_t number)
{
    return vamp_slab_item(&tracker->parts, number);
}
static inline struct vamp_cdo *vamp_part_cdo(const struct vamp_tracker *tracker,
                                             const struct vamp_part *part)
{
    return vamp_slab_item(&tracker->cdos.slab, part->cdo);
}
static inline struct vamp_transport *vamp_part_transport(const struct vamp_tracker *tracker,
                                                         const struct vamp_part *part)
{
    return vamp_slab_item(&tracker->transports, part->more);
}
static inline struct vamp_cdo_rest *vamp_cdo_rest(const struct vamp_tracker *tracker,
                                                  const struct vamp_cdo *cdo)
{
    return vamp_table_rest(&tracker->cdos, vamp_slab_number(&tracker->cdos.slab, cdo));
}
/* The hold of the component that began last to offer the CDO, which others than its owner offer. */
static inline struct vamp_part *vamp_track_last_offer(const struct vamp_tracker *tracker,
                                                      const struct vamp_cdo *cdo)
{
    struct vamp_part *part = vamp_part_of(tracker, cdo->first_part);
    while (part->kind != VAMP_PART_HOLD || !part->offers) {
        part = vamp_part_of(tracker, part->item.next);
    }
    return part;
}
/* Whose a part is, and which: by row, since an id may join again; by id where the component table
 * was full. */
struct vamp_who {
    uint64_t app_id;
    uint32_t row;
    uint8_t kind; /* enum vamp_part_kind */
    bool by_id;
};
/* Of something pending of the event's component. A JOIN has no row yet when it is received. */
static inline struct vamp_who vamp_track_who(const struct vamp_track_context *at, unsigned kind)
{
    struct vamp_who who = {0, at->row, (uint8_t)kind, false};
    if (kind == VAMP_EVENT_JOIN) {
        who.row = 0;
    } else if (at->row == 0 && vamp_event_has(at->event, VAMP_HAS_APP)) {
        who.app_id = at->event->app_id;
        who.by_id = true;
    }
    return who;
}
/* That part of the CDO; NULL: there is none. `cdo` NULL: it has no record. */
struct vamp_part *vamp_part_find(const struct vamp_tracker *tracker, const struct vamp_cdo *cdo,
                                 const struct vamp_who *who);

/* Where a part of the event at hand is, or will be. */
struct vamp_place {
    struct vamp_key own;        /* which `key` may be */
    const struct vamp_key *key; /* NULL: not known */
    struct vamp_cdo *record;    /* NULL: none of this key */
    struct vamp_who who;
};
/* Something pending of the event's component and CDO. */
static inline void vamp_place_of(struct vamp_track_context *at, unsigned kind,
                                 struct vamp_place *ret_place)
{
    ret_place->key = &at->cdo_key;
    ret_place->record = at->record;
    ret_place->who = vamp_track_who(at, kind);
}
/* The transport, by its number; without one by CDO and sink. */
void vamp_place_of_transport(const struct vamp_track_context *at, struct vamp_place *ret_place);
/* NULL: there is no part. */
static inline struct vamp_part *vamp_part_at(const struct vamp_track_context *at,
                                             const struct vamp_place *place)
{
    return vamp_part_find(at->tracker, place->record, &place->who);
}
/* Deliveries stand with what was received. */
static inline enum vamp_part_sort vamp_part_sort_of(unsigned kind)
{
    static_assert(VAMP_PART_HOLD - VAMP_PART_DELIVERY == VAMP_SORT_HOLDS, "in the same order");
    return kind <= VAMP_PART_DELIVERY ? VAMP_SORT_RECEIVED
                                      : (enum vamp_part_sort)(kind - VAMP_PART_DELIVERY);
}
/* The oldest part of a sort that has some. */
struct vamp_part *vamp_part_oldest(struct vamp_tracker *tracker, enum vamp_part_sort sort);
/* The part that must go before another of this kind can come: NULL while there is room. */
static inline struct vamp_part *vamp_part_crowded(struct vamp_tracker *tracker, unsigned kind)
{
    const enum vamp_part_sort sort = vamp_part_sort_of(kind);
    const uint32_t most = kind == VAMP_PART_HOLD ? tracker->max_cdos : tracker->max_pending;
    return tracker->sorts[sort].count < most ? NULL : vamp_part_oldest(tracker, sort);
}
/* It begins again, with the event at hand. */
static inline void vamp_part_renew(const struct vamp_track_context *at, struct vamp_part *part)
{
    const uint64_t again = part->again + (at->tracker->events - part->place);
    part->again = again < UINT32_MAX ? (uint32_t)again : UINT32_MAX;
    part->place = at->tracker->events & VAMP_PLACE_MAX;
    part->since_ns = at->event->time_ns;
}
static inline struct vamp_moment vamp_part_since(const struct vamp_part *part)
{
    return (struct vamp_moment){part->since_ns, part->place};
}
/* The part of a place that has none. At the bound the oldest, which must not offer, is evicted. */
struct vamp_part *vamp_part_add(struct vamp_track_context *at, const struct vamp_place *place);
/* To the front of the parts of its CDO. */
void vamp_part_to_front(const struct vamp_tracker *tracker, struct vamp_part *part);
/* Also removes the record, if nothing is left of it. */
void vamp_part_remove(struct vamp_track_context *at, struct vamp_part *part);
/* The CDO is tracked no more: its record goes, unless it has parts. */
void vamp_cdo_untrack(struct vamp_track_context *at, struct vamp_cdo *cdo);
/* The CDO of `at`, which is not tracked, is from now on, as the component's of the event. */
void vamp_cdo_track(struct vamp_track_context *at);

static inline bool vamp_track_is_transport(unsigned kind)
{
    return kind >= VAMP_EVENT_TRANSPORT_INIT && kind <= VAMP_EVENT_TRANSPORT_FAILED;
}

/* ---- the keys under which the event at hand is looked up */

/* For vamp_track_find_key, of an event without a CDO's id. */
bool vamp_track_find_key_by_name(const struct vamp_event *event, struct vamp_key *ret_key);
/* The event's CDO as a key; false when it has none. */
static inline bool vamp_track_find_key(const struct vamp_event *event, struct vamp_key *key)
{
    if (!vamp_event_has(event, VAMP_HAS_CDO_ID)) {
        return vamp_track_find_key_by_name(event, key);
    }
    *key = vamp_key_of_two(event->cdo_id.high, event->cdo_id.low);
    return true;
}
/* The key of a CDO by the event's name. */
struct vamp_key vamp_track_name_key(const struct vamp_event *event);

/* Of something that has a number of its own and is no CDO: nobody can choose a CDO's id to be the
 * same. */
static inline struct vamp_key vamp_track_number_key(const struct vamp_tracker *tracker,
                                                    uint64_t number)
{
    return vamp_key_of_two(number, tracker->number_word);
}

/* ---- histories of single CDOs, kept at level `cdo`: for each record of the table of CDOs one with
 * name and times, which becomes a row of the bucket in which the CDO's record ends. Everything is
 * allocated at creation. */

struct vamp_cdo_history {
    struct vamp_cdo_id id;
    bool id_known, selected;
    uint64_t demands, consumers;
    int64_t times_ns[VAMP_CDO_TIME_COUNT];
    char name[VAMP_CDO_NAME_BYTES];
};

/* Of the CDO with this record; NULL: no histories are kept. */
const struct vamp_cdo_history *vamp_track_history(const struct vamp_tracker *tracker,
                                                  const struct vamp_cdo *cdo);

/* Whether histories are kept: to be asked before any of the functions below. */
static inline bool vamp_track_keeps_histories(const struct vamp_tracker *tracker)
{
    return tracker->histories != NULL;
}
/* The CDO of `at` has a new record. */
void vamp_cdo_history_begin(struct vamp_track_context *at);
/* Adds what the event says about its CDO, which has a record. */
void vamp_cdo_history_add(struct vamp_track_context *at);
/* The CDO gets a row if the event, handled already, selects it. Part of vamp_cdo_history_add;
 * called alone for transports, which add nothing else. `at->cdo` may be NULL. */
void vamp_cdo_history_select(struct vamp_track_context *at);
/* A transport of the CDO was completed. */
void vamp_cdo_history_add_transport(struct vamp_track_context *at);
/* The record ends, by the event of `at`: the row goes to the event's bucket. */
void vamp_cdo_history_end(struct vamp_track_context *at, const struct vamp_cdo *cdo,
                          enum vamp_cdo_end end);
