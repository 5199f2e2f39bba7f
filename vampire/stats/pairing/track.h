/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tracker: pairs related events (lifecycle of a CDO, both ends of a wait, a transport) in
 * tables of limited size and describes each event in an observation. Private to the statistics;
 * worker thread. The rules are those of docs/metrics.md and apply in stream order.
 */
#pragma once

#include "vampire/core/values.h"
#include "vampire/stats/pairing/evicted.h"
#include "vampire/stats/pairing/observation.h"
#include "vampire/stats/pairing/table.h"

typedef unsigned __int128 vamp_bytes; /* a sum of sizes, each of up to 2^64 - 1 */

/* Position of an event: its time, and its number in the stream. */
struct vamp_moment {
    int64_t time_ns;
    uint64_t sequence;
};

/* Kinds of operations that can be pending for a component: demands, withdraws, and transports by
 * tier. */
#define VAMP_IN_FLIGHT_DEMAND 0
#define VAMP_IN_FLIGHT_WITHDRAW 1
#define VAMP_IN_FLIGHT_TRANSPORT 2
#define VAMP_IN_FLIGHT_COUNT (VAMP_IN_FLIGHT_TRANSPORT + VAMP_TIER_COUNT)

/* Number of pending operations of one kind: current, and minimum and maximum since the end of the
 * last bucket. */
struct vamp_in_flight {
    uint32_t now, least, most;
};

/* Kinds of pending operations whose age is measured. */
enum vamp_age { VAMP_AGE_DEMAND, VAMP_AGE_WITHDRAW, VAMP_AGE_TRANSPORT };
#define VAMP_AGE_COUNT 3
/* A pending operation in a list of the oldest. */
struct vamp_oldest {
    struct vamp_moment since; /* time_ns is INT64_MAX if there is none */
    uint32_t pending;         /* number of its struct vamp_pending */
    uint32_t row;             /* row of the waiting component */
};
struct vamp_ages {
    struct vamp_oldest oldest[VAMP_AGE_COUNT];
    uint32_t uncertain; /* number of operations, and of silences, that may have ended unobserved */
};

/* The oldest of several pending operations, oldest first. */
struct vamp_oldest_list {
    unsigned count, room;
    struct vamp_oldest *items; /* capacity: `room` items */
};

/* The CDO of a pending operation, as reported by the event that started it. */
struct vamp_pending_cdo {
    struct vamp_cdo_id id;
    bool id_known;
    const char *name; /* "" if it was not reported; cut to VAMP_CDO_NAME_BYTES */
};

/* A demand that is not satisfied yet. If its CDO is not tracked, only the first members are known.
 */
struct vamp_pending_demand {
    uint32_t row; /* row of the waiting component */
    int64_t since_ns;
    uint32_t producer; /* number of the producer's name; may be VAMP_NAME_UNKNOWN */
    const char *cdo;   /* at level `cdo` the CDO's name, as vamp_track_cdo_name; "" if unknown */
    struct vamp_cdo_id id; /* at level `cdo` only */
    uint64_t size_bytes;
    bool id_known, size_known;
    bool offered; /* the CDO is in the pool */
};
#define VAMP_ALL_ROWS UINT32_MAX

/* A prefetched look-up for an event: that of its CDO, or of the number of its transport. */
struct vamp_prefetched {
    const struct vamp_event *event; /* NULL: the look-up is that of a transport's number */
    struct vamp_key key;
    const struct vamp_table_line *line; /* line of the key */
    struct vamp_cdo *guess;             /* record that probably has the key */
};
/* A prefetched group of events; the events before `next` have been tracked. */
struct vamp_prefetched_group {
    unsigned next, count;
    struct vamp_prefetched items[2 * VAMP_LOOK_AHEAD];
};

/* Classes of entries, each with its own limit. */
enum vamp_pending_class {
    VAMP_CLASS_RECEIVED,
    VAMP_CLASS_DEMANDS,
    VAMP_CLASS_TRANSPORTS,
    VAMP_CLASS_REFERENCES,
};
#define VAMP_CLASS_COUNT 4

/* The entries of a class, in the order in which they were added. */
struct vamp_class_account {
    uint32_t count;      /* number of entries of the class */
    uint32_t first;      /* index in `order`: no entry is before it */
    uint32_t end;        /* index in `order` of the next added entry */
    uint32_t compact_at; /* `order` is compacted when `end` reaches this index */
    uint32_t capacity;   /* of `order`: twice the limit on entries */
    uint32_t *order;     /* numbers of entries, oldest first; 0: the entry was removed */
};

/* Sizes in which the names of pending CDOs are stored. */
#define VAMP_NAME_SIZES 3

struct vamp_tracker {
    const struct vamp_components *components;
    struct vamp_table cdos;        /* records of all CDOs, tracked or not */
    struct vamp_ages_list tracked; /* tracked CDOs; at most max_cdos */
    uint32_t max_cdos, max_pending;
    struct vamp_blocked *blocked; /* owned (blocked.h); NULL: blocked time is not measured */
    uint64_t blocked_kinds;       /* bit per enum vamp_pending_kind: kinds for which a clock runs */
    bool blocked_due;             /* vamp_blocked_count must be called for the current event */
    struct vamp_slab pending;     /* entries of all records */
    struct vamp_class_account classes[VAMP_CLASS_COUNT]; /* by enum vamp_pending_class */
    struct vamp_slab transports;                         /* additional data of pending transports */
    struct vamp_slab names[VAMP_NAME_SIZES];             /* names of pending CDOs */
    /* Whether the metric of the oldest operation's age is computed. */
    bool keeps_cdos[VAMP_AGE_COUNT];
    uint64_t number_word; /* second word of the keys of vamp_track_number_key */
    struct vamp_prefetched_group ahead;
    struct vamp_track_context *at; /* the current event */
    /* VAMP_EVENT_BIT: kinds of which events before handling were observed. */
    uint64_t received_kinds;
    uint64_t events; /* number of tracked events; equals the sequence number of the current event */
    /* Sequence number of the last known loss of events: an operation that started before may have
     * ended unobserved. */
    uint64_t lost_sequence;
    uint64_t aged_events, aged_lost_sequence; /* as of the last vamp_track_ages */
    size_t aged_rows;
    /* Over all components, as of the last vamp_track_ages. */
    struct vamp_oldest oldest_demands[VAMP_WAITING_DEMANDS_MAX];
    unsigned oldest_demand_count;
    vamp_bytes pool_bytes;
    int64_t shown_bytes;        /* value of the gauge after the previous event */
    struct vamp_tally *tallies; /* indexed by row of the component table */
    bool by_model;              /* components are labelled by their model */
    /* Transport events name one component only; which end it is follows from the history of the
     * CDO. */
    bool learns_ends;
    /* Number of transports whose named component was the sink ([0]) or the source ([1]). */
    uint64_t meant[2];
    struct vamp_event turned;    /* copy of the current event that names both ends */
    struct vamp_evicted evicted; /* CDOs that were counted before their record was evicted */
    /* Indexed by record of `cdos`; NULL unless at level `cdo`. */
    struct vamp_cdo_history *histories;
    bool has_attributes; /* attributes are declared */
    uint32_t (*read_attributes)(void *context, const struct vamp_event *event);
    void *read_context;
    /* Returns whether an event selects its CDO; NULL: every CDO is selected. */
    bool (*select)(void *context, const struct vamp_event *event);
    void *select_context;
};

/* Returns the number of the name that labels the component. */
static inline uint32_t vamp_track_name(const struct vamp_tracker *tracker,
                                       const struct vamp_component *component)
{
    return tracker->by_model ? vamp_components_model(tracker->components, component->name_number)
                             : component->name_number;
}

/* As vamp_track_name, by row. Row 0 is for components without a row. */
static inline uint32_t vamp_track_row_name(const struct vamp_tracker *tracker, uint32_t row)
{
    if (row == 0) {
        return VAMP_NAME_OTHER;
    }
    return vamp_track_name(tracker, vamp_components_row(tracker->components, row));
}

/* Returns 0 or -ENOMEM; vamp_tracker_done may be called in either case. */
VAMP_MUST_CHECK int vamp_tracker_init(struct vamp_tracker *tracker,
                                      const struct vamp_stats_options *options,
                                      const struct vamp_components *components,
                                      struct vamp_err *err);
void vamp_tracker_done(struct vamp_tracker *tracker);
/* Tracks an event. Sets `seen` except its slot, which the caller must have set. */
void vamp_track(struct vamp_tracker *tracker, const struct vamp_event *event,
                struct vamp_observation *seen);
/* Prefetches the look-ups for the next events, at most VAMP_LOOK_AHEAD. The events must be tracked
 * unchanged and in this order; some may be omitted. Has no other effect. */
void vamp_track_prefetch(struct vamp_tracker *tracker, const struct vamp_event *const *events,
                         unsigned count);
/* Iterates over the stays that end at this event without a LEAVE, and handles each as if there had
 * been a LEAVE. A GONE ends all stays, row 0 last; a JOIN, which is tracked afterwards, ends the
 * stay of the component that had the same id before. Sets `seen` except its slot, and the implied
 * LEAVE, to which `seen` points. Returns false at the end. `*position` starts at 0. */
bool vamp_track_next_ended(struct vamp_tracker *tracker, const struct vamp_event *event,
                           uint32_t *position, struct vamp_event *ret_leave,
                           struct vamp_observation *seen);
/* Releases those rows over the limit of the component table whose components have left and are no
 * longer referred to. To be called after vamp_in_flight_take. */
void vamp_track_give_up_rows(const struct vamp_tracker *tracker,
                             struct vamp_components *components);
/* Records that events of unknown components were lost at this position. */
static inline void vamp_track_lost(struct vamp_tracker *tracker)
{
    tracker->lost_sequence = tracker->events;
}
/* Updates the ages of all components. The time is proportional to the number of pending operations.
 */
void vamp_track_ages(struct vamp_tracker *tracker);
/* Returns the ages of one component, as of the last vamp_track_ages. */
const struct vamp_ages *vamp_track_ages_of(const struct vamp_tracker *tracker, uint32_t row);
/* Returns whether events have been lost since then. */
static inline bool vamp_track_is_uncertain(const struct vamp_tracker *tracker,
                                           const struct vamp_moment *since)
{
    return since->sequence <= tracker->lost_sequence;
}
/* Inserts the item in order; if the list is full, the youngest item is dropped. */
void vamp_oldest_add(struct vamp_oldest_list *list, const struct vamp_oldest *item);
/* Returns the CDO of a pending operation whose age is enabled in `keeps_cdos`. The name is valid as
 * long as the operation is pending. */
struct vamp_pending_cdo vamp_track_pending_cdo(struct vamp_tracker *tracker,
                                               const struct vamp_oldest *item);
/* Describes one of `oldest_demands`, whose CDO must be kept. */
void vamp_track_describe_demand(struct vamp_tracker *tracker, const struct vamp_oldest *item,
                                struct vamp_waiting_demand *ret_demand);
/* Returns the time of the component's last operation; INT64_MAX if the component has left, or if no
 * operation was observed. */
int64_t vamp_track_acted_ns(const struct vamp_tracker *tracker, uint32_t row);
/* Copies the numbers of pending operations and resets their minimum and maximum to the current
 * numbers. */
void vamp_track_take_numbers(struct vamp_tracker *tracker, uint32_t row,
                             struct vamp_in_flight ret_numbers[static VAMP_IN_FLIGHT_COUNT]);
/* Iterates over the pending demands of a row other than 0, or of VAMP_ALL_ROWS. Returns false at
 * the end. `*position` starts at 0. */
bool vamp_track_next_demand(struct vamp_tracker *tracker, uint32_t row, uint32_t *position,
                            struct vamp_pending_demand *ret_demand);
/* To be called after the end of the stream: iterates over CDOs of unknown size, except those that
 * may have been counted before, which are included in the accounting of `slot`. Returns false at
 * the end. `*position` starts at 0. */
bool vamp_track_rest(struct vamp_tracker *tracker, struct vamp_slot *slot, uint32_t *position,
                     uint32_t *ret_component);
/* To be called at the end of the run: at level `cdo`, all remaining CDOs become rows of the slot's
 * bucket. */
void vamp_track_finish(struct vamp_tracker *tracker, struct vamp_slot *slot);
/* Returns, at level `cdo`, the name of the event's CDO if the CDO is tracked, cut to
 * VAMP_CDO_NAME_BYTES; else "". Valid until the next event. */
const char *vamp_track_cdo_name(struct vamp_tracker *tracker, const struct vamp_event *event);
/* Copies the name of the event's CDO, cut at a character boundary. */
void vamp_track_copy_name(const struct vamp_event *event, char name[static VAMP_CDO_NAME_BYTES]);
