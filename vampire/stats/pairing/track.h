/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * The tracker: pairs events that belong together (a CDO's lifecycle, both ends of a wait, a
 * transport) in bounded tables and describes each event in an observation. Private to the
 * statistics; worker thread. The rules are those of docs/metrics.md and follow stream order.
 */
#pragma once

#include "vampire/core/values.h"
#include "vampire/stats/pairing/evicted.h"
#include "vampire/stats/pairing/observation.h"
#include "vampire/stats/pairing/table.h"

typedef unsigned __int128 vamp_bytes; /* a sum of sizes, each of up to 2^64 - 1 */

/* When an event was seen: its time, and its number in the stream. */
struct vamp_moment {
    int64_t time_ns;
    uint64_t sequence;
};

/* Kinds of operations pending for a component: demands, withdraws, and transports by tier. */
#define VAMP_IN_FLIGHT_DEMAND 0
#define VAMP_IN_FLIGHT_WITHDRAW 1
#define VAMP_IN_FLIGHT_TRANSPORT 2
#define VAMP_IN_FLIGHT_COUNT (VAMP_IN_FLIGHT_TRANSPORT + VAMP_TIER_COUNT)

/* Pending operations of one kind: now, and least and most since the end of the last bucket. */
struct vamp_in_flight {
    uint32_t now, least, most;
};

/* Ages of pending operations. */
enum vamp_age { VAMP_AGE_DEMAND, VAMP_AGE_WITHDRAW, VAMP_AGE_TRANSPORT };
#define VAMP_AGE_COUNT 3
/* A pending operation. */
struct vamp_oldest {
    struct vamp_moment since; /* time_ns INT64_MAX: none */
    uint32_t pending;         /* its number */
    uint32_t row;             /* of the waiting component */
};
struct vamp_ages {
    struct vamp_oldest oldest[VAMP_AGE_COUNT];
    uint32_t uncertain; /* operations, and silences, that may have ended unseen */
};

/* The oldest of several, oldest first. */
struct vamp_oldest_list {
    unsigned count, room;
    struct vamp_oldest *items; /* `room` of them */
};

/* The CDO of a pending operation, as reported by the event that started it. */
struct vamp_pending_cdo {
    struct vamp_cdo_id id;
    bool id_known;
    const char *name; /* "": not reported; cut to VAMP_CDO_NAME_BYTES */
};

/* An unsatisfied demand. Nothing else is known if its CDO is not tracked. */
struct vamp_pending_demand {
    uint32_t row; /* of the waiting component */
    int64_t since_ns;
    uint32_t producer; /* name number; VAMP_NAME_UNKNOWN */
    const char *cdo;   /* at level `cdo` the CDO's name, as vamp_track_cdo_name; "": not known */
    struct vamp_cdo_id id; /* at level `cdo` */
    uint64_t size_bytes;
    bool id_known, size_known;
    bool offered; /* the CDO is in the pool */
};
#define VAMP_ALL_ROWS UINT32_MAX

/* What was prefetched for an event: its CDO, or the number of its transport. */
struct vamp_foreseen {
    const struct vamp_event *event; /* NULL: a number */
    struct vamp_key key;
    const struct vamp_table_line *line; /* of the key */
    struct vamp_cdo *guess;             /* its record */
};
/* The events of a group; those before `next` are tracked already. */
struct vamp_prefetched_group {
    unsigned next, count;
    struct vamp_foreseen items[2 * VAMP_LOOK_AHEAD];
};

/* Classes of entries, each with its own limit. */
enum vamp_pending_class {
    VAMP_CLASS_RECEIVED,
    VAMP_CLASS_DEMANDS,
    VAMP_CLASS_TRANSPORTS,
    VAMP_CLASS_REFERENCES,
};
#define VAMP_CLASS_COUNT 4

/* The oldest entries of a class, oldest first: searched together when one of them must be evicted.
 * Entries removed since are skipped; entries added later are never older. */
#define VAMP_OLDEST_PENDING 1024
struct vamp_pending_age {
    uint64_t sequence; /* of the event that started it */
    int64_t since_ns;  /* orders deliveries that one event started */
    uint32_t pending;
};
struct vamp_class_account {
    uint32_t count;        /* entries of the class */
    int64_t begun;         /* entries ever added */
    unsigned next, filled; /* of `oldest` */
    struct vamp_pending_age oldest[VAMP_OLDEST_PENDING];
};

/* Sizes in which the names of pending CDOs are stored. */
#define VAMP_NAME_SIZES 3

struct vamp_tracker {
    const struct vamp_components *components;
    struct vamp_table cdos;        /* all records */
    struct vamp_ages_list tracked; /* records of tracked CDOs, at most max_cdos */
    uint32_t max_cdos, max_pending;
    struct vamp_slab pending;                /* of all records */
    struct vamp_class_account *classes;      /* by enum vamp_part_sort */
    struct vamp_slab transports;             /* the rest of pending transports */
    struct vamp_slab names[VAMP_NAME_SIZES]; /* of pending CDOs */
    bool keeps_cdos[VAMP_AGE_COUNT];         /* the metric of the oldest is computed */
    uint64_t number_word;                    /* of vamp_track_number_key */
    struct vamp_prefetched_group ahead;
    struct vamp_track_context *at; /* the current event */
    uint64_t received_kinds;       /* VAMP_EVENT_BIT: kinds seen before handling */
    uint64_t events;               /* tracked so far: the sequence number of the current event */
    /* Events were lost up to here: an operation that began before may have ended unseen. */
    uint64_t lost_sequence;
    uint64_t aged_events, aged_lost_sequence; /* as of the last vamp_track_ages */
    size_t aged_rows;
    struct vamp_oldest oldest_demands[VAMP_WAITING_DEMANDS_MAX]; /* of all components, as of the
                                                                    last vamp_track_ages */
    unsigned oldest_demand_count;
    vamp_bytes pool_bytes;
    int64_t shown_bytes;        /* value of the gauge after the previous event */
    struct vamp_tally *tallies; /* by row of the component table */
    bool by_model;              /* components are labelled by their model */
    /* Transport events name one component only, and the history of the CDO shows which end it is.
     */
    bool learns_ends;
    uint64_t meant[2];           /* transports of which it was the sink ([0]) or the source ([1]) */
    struct vamp_event turned;    /* the current event with both ends */
    struct vamp_evicted evicted; /* CDOs that were counted */
    struct vamp_cdo_history *histories; /* by record of `cdos`; NULL: not at level `cdo` */
    bool has_attributes;                /* attributes are declared */
    uint32_t (*read_attributes)(void *context, const struct vamp_event *event);
    void *read_context;
    /* Whether an event selects its CDO; NULL: every CDO is selected. */
    bool (*select)(void *context, const struct vamp_event *event);
    void *select_context;
};

/* The name number that labels the component. */
static inline uint32_t vamp_track_name(const struct vamp_tracker *tracker,
                                       const struct vamp_component *component)
{
    return tracker->by_model ? vamp_components_model(tracker->components, component->name_number)
                             : component->name_number;
}

/* The same by row; row 0: components without a row. */
static inline uint32_t vamp_track_row_name(const struct vamp_tracker *tracker, uint32_t row)
{
    if (row == 0) {
        return VAMP_NAME_OTHER;
    }
    return vamp_track_name(tracker, vamp_components_row(tracker->components, row));
}

/* 0 or -ENOMEM; vamp_tracker_done may be called in either case. */
VAMP_MUST_CHECK int vamp_tracker_init(struct vamp_tracker *tracker,
                                      const struct vamp_stats_options *options,
                                      const struct vamp_components *components,
                                      struct vamp_err *err);
void vamp_tracker_done(struct vamp_tracker *tracker);
/* Sets `seen` except its slot, which the caller has set. */
void vamp_track(struct vamp_tracker *tracker, const struct vamp_event *event,
                struct vamp_observation *seen);
/* Prefetches what will be looked up for the next events, at most VAMP_LOOK_AHEAD. They must be
 * tracked unchanged and in this order; single ones may be left out. Changes nothing else. */
void vamp_track_prefetch(struct vamp_tracker *tracker, const struct vamp_event *const *events,
                         unsigned count);
/* Iterates over the stays that this event ends without a LEAVE, as if there had been one: a GONE
 * ends all of them, row 0 last; a JOIN, which is tracked afterwards, ends the stay of the component
 * that had its id before. Sets `seen` except its slot, and the implied LEAVE, to which `seen`
 * refers. False at the end. `*position` starts at 0. */
bool vamp_track_next_ended(struct vamp_tracker *tracker, const struct vamp_event *event,
                           uint32_t *position, struct vamp_event *ret_leave,
                           struct vamp_observation *seen);
/* Releases the rows over the limit of the component table whose components have left and are no
 * longer referred to. To be called after vamp_in_flight_take. */
void vamp_track_give_up_rows(const struct vamp_tracker *tracker,
                             struct vamp_components *components);
/* Events of unknown components were lost here. */
static inline void vamp_track_lost(struct vamp_tracker *tracker)
{
    tracker->lost_sequence = tracker->events;
}
/* Updates the ages of all components. Takes time proportional to the pending operations. */
void vamp_track_ages(struct vamp_tracker *tracker);
/* The ages of one component, as of the last vamp_track_ages. */
const struct vamp_ages *vamp_track_ages_of(const struct vamp_tracker *tracker, uint32_t row);
/* Whether events have been lost since. */
static inline bool vamp_track_is_uncertain(const struct vamp_tracker *tracker,
                                           const struct vamp_moment *since)
{
    return since->sequence <= tracker->lost_sequence;
}
/* Inserts the item in order; a full list drops its youngest. */
void vamp_oldest_add(struct vamp_oldest_list *list, const struct vamp_oldest *item);
/* The CDO of a pending operation whose age is in `keeps_cdos`. Its name is valid as long as the
 * operation is pending. */
struct vamp_pending_cdo vamp_track_pending_cdo(struct vamp_tracker *tracker,
                                               const struct vamp_oldest *item);
/* Describes one of `oldest_demands`, whose CDO is kept. */
void vamp_track_describe_demand(struct vamp_tracker *tracker, const struct vamp_oldest *item,
                                struct vamp_waiting_demand *ret_demand);
/* Time of the component's last operation; INT64_MAX if it has left, or none was seen. */
int64_t vamp_track_acted_ns(const struct vamp_tracker *tracker, uint32_t row);
/* Copies the numbers of pending operations and restarts their least and most. */
void vamp_track_take_numbers(struct vamp_tracker *tracker, uint32_t row,
                             struct vamp_in_flight ret_numbers[static VAMP_IN_FLIGHT_COUNT]);
/* The next pending demand of a row other than 0, or of VAMP_ALL_ROWS. False at the end. `*position`
 * starts at 0. */
bool vamp_track_next_demand(struct vamp_tracker *tracker, uint32_t row, uint32_t *position,
                            struct vamp_pending_demand *ret_demand);
/* The stream has ended: iterates over CDOs of unknown size, except those that may have been counted
 * before, which are accounted to `slot`. False at the end. `*position` starts at 0. */
bool vamp_track_rest(struct vamp_tracker *tracker, struct vamp_slot *slot, uint32_t *position,
                     uint32_t *ret_component);
/* The run is over: at level `cdo` all remaining CDOs become rows of this bucket. */
void vamp_track_finish(struct vamp_tracker *tracker, struct vamp_slot *slot);
/* At level `cdo`: the name of the event's CDO if it is tracked, cut to VAMP_CDO_NAME_BYTES; "": not
 * known. Valid until the next event. */
const char *vamp_track_cdo_name(struct vamp_tracker *tracker, const struct vamp_event *event);
/* Copies the name of the event's CDO, cut at a character. */
void vamp_track_copy_name(const struct vamp_event *event, char name[static VAMP_CDO_NAME_BYTES]);
