/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tracker: pairs events that belong together (a CDO's life, a wait's two ends, a transport)
 * in bounded tables and says in an observation what each event means. Private to the statistics;
 * worker thread. The rules are written down in docs/metrics.md; they follow stream order.
 */
#pragma once

#include "vampire/stats/pairing/observation.h"
#include "vampire/stats/pairing/table.h"

typedef unsigned __int128 vamp_bytes; /* a sum of sizes, each of up to 2^64 - 1 */

/* When an event was seen: its time, and its place in the stream. */
struct vamp_moment {
    int64_t time_ns;
    uint64_t place;
};

/* What a component waits for: a demand, a withdraw, and a transport of each tier. */
#define VAMP_IN_FLIGHT_DEMAND 0
#define VAMP_IN_FLIGHT_WITHDRAW 1
#define VAMP_IN_FLIGHT_TRANSPORT 2
#define VAMP_IN_FLIGHT_COUNT (VAMP_IN_FLIGHT_TRANSPORT + VAMP_TIER_COUNT)

/* How many of one kind are pending: now, and least and most since the last bucket's end. */
struct vamp_in_flight {
    uint32_t now, least, most;
};

/* What of a component's is pending for how long. */
enum vamp_age { VAMP_AGE_DEMAND, VAMP_AGE_WITHDRAW, VAMP_AGE_TRANSPORT };
#define VAMP_AGE_COUNT 3
/* Something pending. */
struct vamp_oldest {
    struct vamp_moment since; /* time_ns INT64_MAX: none */
    uint32_t part;            /* its number */
    uint32_t row;             /* of the component that waits */
};
struct vamp_ages {
    struct vamp_oldest oldest[VAMP_AGE_COUNT];
    uint32_t uncertain; /* how many may have ended unseen, the silence included */
};

/* The oldest of some, oldest first. */
struct vamp_oldest_list {
    unsigned count, room;
    struct vamp_oldest *items; /* `room` of them */
};

/* The CDO of something pending, as the event said with which it began. */
struct vamp_pending_cdo {
    struct vamp_cdo_id id;
    bool id_known;
    const char *name; /* "": not reported; cut to what a row holds */
};

/* A demand that nothing has satisfied. Of a CDO that is not tracked nothing is known. */
struct vamp_pending_demand {
    uint32_t row; /* of the component that waits */
    int64_t since_ns;
    uint32_t producer; /* name number; VAMP_NAME_UNKNOWN */
    const char *cdo;   /* at level `cdo` the CDO's name, as vamp_track_cdo_name; "": not known */
    struct vamp_cdo_id id; /* at level `cdo` */
    uint64_t size_bytes;
    bool id_known, size_known;
    bool offered; /* the CDO is in the pool */
};
#define VAMP_ALL_ROWS UINT32_MAX

/* What is known of an event that comes next: its CDO, or the number of its transport. */
struct vamp_foreseen {
    const struct vamp_event *event; /* NULL: a number */
    struct vamp_key key;
    const struct vamp_table_line *line; /* of the key */
    struct vamp_cdo *guess;             /* its record */
};
/* Those of a group that were not tracked yet begin at `next`. */
struct vamp_track_ahead {
    unsigned next, count;
    struct vamp_foreseen items[2 * VAMP_LOOK_AHEAD];
};

/* What is pending is bounded by sort. */
enum vamp_part_sort {
    VAMP_SORT_RECEIVED,
    VAMP_SORT_DEMANDS,
    VAMP_SORT_TRANSPORTS,
    VAMP_SORT_HOLDS,
};
#define VAMP_PART_SORTS 4

/* The oldest parts of a sort, found together when one of them has to go, oldest first. One that is
 * gone meanwhile is passed over; no part that comes later is older. */
#define VAMP_OLDEST_PARTS 1024
struct vamp_part_age {
    uint64_t place;   /* of the event with which it began */
    int64_t since_ns; /* of several that began with one, which are deliveries: their number */
    uint32_t part;
};
struct vamp_sort_parts {
    uint32_t count;        /* of all parts of the sort */
    int64_t begun;         /* so far */
    unsigned next, filled; /* of the oldest */
    struct vamp_part_age oldest[VAMP_OLDEST_PARTS];
};

/* Sizes of the names of CDOs that are pending. */
#define VAMP_NAME_SIZES 3

struct vamp_tracker {
    const struct vamp_components *components;
    struct vamp_table cdos;        /* all records */
    struct vamp_ages_list tracked; /* those whose CDO is tracked: `max_cdos` at most */
    uint32_t max_cdos, max_pending;
    struct vamp_slab parts;                  /* of all records */
    struct vamp_sort_parts *sorts;           /* by enum vamp_part_sort */
    struct vamp_slab transports;             /* the rest of parts that are transports */
    struct vamp_slab names[VAMP_NAME_SIZES]; /* of the CDOs of what is pending */
    bool keeps_cdos[VAMP_AGE_COUNT]; /* of what is pending: the metric of the oldest is computed */
    uint64_t number_word;            /* of vamp_track_number_key */
    struct vamp_track_ahead ahead;
    struct vamp_track_context *at; /* the event at hand */
    uint64_t received_kinds;       /* bits of event kinds that were seen before handling */
    uint64_t events;               /* tracked so far: the place of the one at hand in the stream */
    /* The place after which nothing is known to be lost: what began before may have ended unseen.
     */
    uint64_t lost_place;
    uint64_t aged_events, aged_lost_place; /* as the ages were found */
    size_t aged_rows;
    struct vamp_oldest
        oldest_demands[VAMP_WAITING_DEMANDS_MAX]; /* of all, as the ages were found */
    unsigned oldest_demand_count;
    vamp_bytes pool_bytes;
    int64_t shown_bytes;        /* of them, as the gauge showed them after the event before */
    struct vamp_tally *tallies; /* by row of the component table */
    bool by_model;              /* labels are those of models */
    /* Events of transports name one component, and history shows which end it is: how often it was
     * the sink ([0]) or the source ([1]), and the event at hand with both. */
    bool learns_ends;
    uint64_t meant[2];
    struct vamp_event turned;
    uint64_t *evicted; /* CDOs that were counted before; a few others, too */
    bool any_evicted;
    struct vamp_cdo_history *histories; /* by record of `cdos`; NULL: not at level `cdo` */
    bool has_attributes;                /* some are declared */
    uint32_t (*read_attributes)(void *context, const struct vamp_event *event);
    void *read_context;
    /* Whether an event selects its CDO; NULL: every CDO is selected. */
    bool (*select)(void *context, const struct vamp_event *event);
    void *select_context;
};

/* The name number that is the component's label. */
static inline uint32_t vamp_track_name(const struct vamp_tracker *tracker,
                                       const struct vamp_component *component)
{
    return tracker->by_model ? vamp_components_model(tracker->components, component->name_number)
                             : component->name_number;
}

/* The same by row; row 0 is of those without one. */
static inline uint32_t vamp_track_row_name(const struct vamp_tracker *tracker, uint32_t row)
{
    return row == 0 ? VAMP_NAME_OTHER
                    : vamp_track_name(tracker, vamp_components_row(tracker->components, row));
}

/* 0 or -ENOMEM; vamp_tracker_done is right after either. */
VAMP_MUST_CHECK int vamp_tracker_init(struct vamp_tracker *tracker,
                                      const struct vamp_stats_options *options,
                                      const struct vamp_components *components,
                                      struct vamp_err *err);
void vamp_tracker_done(struct vamp_tracker *tracker);
/* Fills all of `seen` but its slot, which is set already. */
void vamp_track(struct vamp_tracker *tracker, const struct vamp_event *event,
                struct vamp_observation *seen);
/* These events come next, unchanged and in this order, though not each need be tracked: what will
 * be looked up for them is brought near. Changes nothing. At most VAMP_LOOK_AHEAD of them. */
void vamp_track_look_ahead(struct vamp_tracker *tracker, const struct vamp_event *const *events,
                           unsigned count);
/* The stays that end by this event without a LEAVE, one after the other, as if there had been one:
 * by a mark GONE all of them, that of row 0 (what is of no component) last; by a JOIN, which is
 * tracked afterwards, that of the component which had its id before. Fills all of `seen` but its
 * slot, and the LEAVE that no component sent, to which `seen` refers. False at the end. `*position`
 * starts at 0. */
bool vamp_track_next_ended(struct vamp_tracker *tracker, const struct vamp_event *event,
                           uint32_t *position, struct vamp_event *ret_leave,
                           struct vamp_observation *seen);
/* Gives up the rows beyond the component table of components that have left, of which nothing is
 * left here. To be called when what is in flight has been taken. */
void vamp_track_give_up_rows(const struct vamp_tracker *tracker,
                             struct vamp_components *components);
/* Events are missing here, of whatever component. */
static inline void vamp_track_lost(struct vamp_tracker *tracker)
{
    tracker->lost_place = tracker->events;
}
/* Finds the ages of every component, in time that grows with what is pending. */
void vamp_track_ages(struct vamp_tracker *tracker);
/* Of the component of this row, since vamp_track_ages. */
const struct vamp_ages *vamp_track_ages_of(const struct vamp_tracker *tracker, uint32_t row);
/* Whether events were lost since. */
static inline bool vamp_track_is_uncertain(const struct vamp_tracker *tracker,
                                           const struct vamp_moment *since)
{
    return since->place <= tracker->lost_place;
}
/* Puts the item where it belongs; in a full list one that is not as old gives way. */
void vamp_oldest_add(struct vamp_oldest_list *list, const struct vamp_oldest *item);
/* The CDO of something pending of an age whose CDOs are kept; its name lasts as long. */
struct vamp_pending_cdo vamp_track_pending_cdo(struct vamp_tracker *tracker,
                                               const struct vamp_oldest *item);
/* Everything about one of `oldest_demands`, which is kept. */
void vamp_track_describe_demand(struct vamp_tracker *tracker, const struct vamp_oldest *item,
                                struct vamp_waiting_demand *ret_demand);
/* When it last operated; INT64_MAX if it has left, or no operation was seen. */
int64_t vamp_track_acted_ns(const struct vamp_tracker *tracker, uint32_t row);
/* What is pending of each kind; least and most begin again. */
void vamp_track_take_numbers(struct vamp_tracker *tracker, uint32_t row,
                             struct vamp_in_flight ret_numbers[static VAMP_IN_FLIGHT_COUNT]);
/* The next pending demand of the component of this row, which is not 0, or of VAMP_ALL_ROWS. False
 * at the end. `*position` starts at 0. */
bool vamp_track_next_demand(struct vamp_tracker *tracker, uint32_t row, uint32_t *position,
                            struct vamp_pending_demand *ret_demand);
/* The stream has ended: takes the CDOs of unknown size one after the other, but for those that may
 * have been counted before, which go to the account of `slot`. False at the end. `*position` starts
 * at 0. */
bool vamp_track_rest(struct vamp_tracker *tracker, struct vamp_slot *slot, uint32_t *position,
                     uint32_t *ret_component);
/* The run is over: at level `cdo` the rows of all remaining CDOs go to this bucket. */
void vamp_track_finish(struct vamp_tracker *tracker, struct vamp_slot *slot);
/* At level `cdo`: the name of the event's CDO while its record lasts, cut to what a row holds; "":
 * not known. Valid until the next event. */
const char *vamp_track_cdo_name(struct vamp_tracker *tracker, const struct vamp_event *event);
/* The name of the event's CDO, cut to what a row holds. */
void vamp_track_copy_name(const struct vamp_event *event, char name[static VAMP_CDO_NAME_BYTES]);
