/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tracker's data structures: records of CDOs, pending operations, references, counters of
 * components, and the state of the event being tracked. Private to the pairing; worker thread.
 */
#pragma once

#include "vampire/stats/pairing/track.h"

enum vamp_cdo_flag {
    VAMP_CDO_SIZED = 1 << 0,    /* size_bytes is known */
    VAMP_CDO_COUNTED = 1 << 1,  /* in cdos_created */
    VAMP_CDO_MAKER = 1 << 2,    /* its owner is, or may be, its producer */
    VAMP_CDO_DECLARED = 1 << 3, /* declared_ns is known */
    VAMP_CDO_OFFERED = 1 << 4,  /* by its owner */
    VAMP_CDO_ONCE = 1 << 5,     /* was offered before */
    VAMP_CDO_UNSEEN = 1 << 6,   /* the DECLARE of one of the owner's handles was not seen */
    VAMP_CDO_DEMANDED = 1 << 7, /* since it last left the pool */
};

/* The record of a CDO, found by one look-up. It heads the list of references to the CDO and of
 * operations pending on it. A record whose CDO is not tracked has this list and nothing else; its
 * key may be derived from the number of a transport, from a component or from a name. */
struct vamp_cdo {
    struct vamp_record record; /* `item.row`: the owner */
    uint64_t size_bytes;
    int64_t offered_ns;
    uint32_t first_pending; /* the newest, or the one that most recently began to offer */
    uint32_t other_handles; /* declared by other components and not disposed of */
    uint32_t demands;       /* since it last left the pool; includes early deliveries */
    uint32_t offers;        /* references of other components that offer the CDO */
    uint16_t owner_handles;
    uint8_t flags; /* enum vamp_cdo_flag */
    bool tracked : 1;
    /* Completed transports of this lifecycle that named their source only, so that the sink is
     * unknown or inferred. Saturates. */
    uint8_t guessed : 7;
    uint16_t attributes; /* number of the attribute set plus 1; 0: not read yet */
};
struct vamp_cdo_rest {
    struct vamp_record_rest lists;
    int64_t declared_ns;
};
#define VAMP_GUESSED_MAX 127
#define VAMP_OWNER_HANDLES_MAX UINT16_MAX /* further handles of the owner are not counted */

/* Kinds of entries in a CDO's list. Smaller values are event kinds: an operation of that kind that
 * was received and not handled yet. */
enum vamp_pending_kind {
    VAMP_PENDING_DELIVERY = VAMP_EVENT_KIND_COUNT, /* data that arrived before their DEMAND */
    VAMP_PENDING_DEMAND,                           /* unsatisfied */
    VAMP_PENDING_TRANSPORT,
    VAMP_PENDING_REFERENCE, /* handles and offer of a component that is not the owner */
};

#define VAMP_SEQUENCE_BITS 48 /* of the event's number in the stream: enough for years */
#define VAMP_SEQUENCE_MAX ((UINT64_C(1) << VAMP_SEQUENCE_BITS) - 1)

/* One operation pending on a CDO, or one reference to it. `item.row` is the component's, but 0 for
 * transports, whose sink may leave before they end. */
struct vamp_pending {
    struct vamp_item item; /* `next`: of the same CDO */
    union {
        struct vamp_neighbours neighbours; /* in the list of the component, if it has a row */
        uint64_t app_id; /* without a row: of the component or the sink if `by_id`, else 0 */
    };
    uint32_t previous;                      /* of the same CDO */
    uint32_t cdo;                           /* number of its record */
    int64_t since_ns;                       /* of references: time of the DECLARE if `declared` */
    uint64_t sequence : VAMP_SEQUENCE_BITS; /* of the event that started it */
    bool by_id : 1;                         /* the component has no row and is known by `app_id` */
    bool id_known : 1;                      /* the key of its record is the CDO's id */
    bool acknowledged : 1;                  /* demands: the pool manager has handled it */
    bool failed : 1;                        /* demands: a transport for it failed */
    bool declared : 1, offers : 1;          /* references */
    uint8_t kind;                           /* enum vamp_pending_kind */
    union {
        uint32_t more;        /* name of the CDO, or number of the vamp_transport; 0: none */
        uint32_t handles;     /* references */
        struct {              /* deliveries */
            uint16_t early;   /* not matched by a DEMAND yet */
            uint16_t awaited; /* matched by a DEMAND whose *after* event is still to come */
        };
    };
    union {
        uint32_t again;    /* events between its first and its last start; saturates */
        uint32_t sink_row; /* transports */
    };
};

/* What is stored of a transport besides its vamp_pending, as of its start. */
struct vamp_transport {
    uint64_t cdo_key[2], app_id; /* CDO and sink, if `has_cdo`, `has_sink` */
    uint64_t size_bytes;
    int64_t offered_ns;              /* when the CDO came into the pool, if `in_pool` */
    uint32_t source, sink, producer; /* name numbers */
    uint32_t named;                  /* name of the CDO; 0: none */
    uint8_t tier, cause;
    bool sized : 1, has_source : 1, in_pool : 1, has_cdo : 1, has_sink : 1;
    bool demanded : 1; /* a demand was pending, or was its cause */
    bool id_known : 1; /* `cdo_key` is the CDO's id */
};

/* Lists and counters of one component, by row of the component table. Row 0: components without a
 * row of their own. */
struct vamp_tally {
    uint32_t first_cdo, first_pending; /* the newest that belong to it */
    uint32_t offering;                 /* CDOs that it offers and does not own */
    uint32_t present;
    uint32_t life;       /* of the component that has the row; 0: none yet */
    uint32_t deliveries; /* entries of kind VAMP_PENDING_DELIVERY */
    bool left;
    bool checked; /* its JOIN was seen, or its absence was reported */
    struct vamp_in_flight in_flight[VAMP_IN_FLIGHT_COUNT];
    struct vamp_moment acted; /* its last operation; sequence 0: none was seen */
    struct vamp_ages ages;    /* as of the last vamp_track_ages */
};

/* The event being tracked, and what was looked up for it. */
struct vamp_track_context {
    struct vamp_tracker *tracker;
    const struct vamp_event *event;
    struct vamp_observation *seen;
    const struct vamp_component *component; /* NULL: no row */
    uint32_t row;                           /* 0: no row */
    struct vamp_tally *tally;               /* of the row */
    bool has_cdo;
    struct vamp_key cdo_key; /* zero: not known */
    struct vamp_cdo *record; /* of this key; NULL: none */
    struct vamp_cdo *cdo;    /* `record` if the CDO is tracked, else NULL */
    uint16_t attributes;     /* as in struct vamp_cdo */
    bool changing;           /* `cdo` is not part of the pool's totals until the event is handled */
};

/* Which component an entry belongs to, and its kind: by row, since an id may join again; by id
 * where the component table was full. */
struct vamp_who {
    uint64_t app_id;
    uint32_t row;
    uint8_t kind; /* enum vamp_pending_kind */
    bool by_id;
};

/* Where an entry of the current event is, or will be added. */
struct vamp_lookup {
    struct vamp_key own;        /* storage that `key` may refer to */
    const struct vamp_key *key; /* NULL: not known */
    struct vamp_cdo *record;    /* NULL: no record has the key */
    struct vamp_who who;
};

/* History of one CDO, kept at level `cdo` only: one for each record. */
struct vamp_cdo_history {
    struct vamp_cdo_id id;
    bool id_known, selected;
    uint64_t demands, consumers;
    int64_t times_ns[VAMP_CDO_TIME_COUNT];
    char name[VAMP_CDO_NAME_BYTES];
};

static inline struct vamp_cdo_rest *vamp_cdo_rest(const struct vamp_tracker *tracker,
                                                  const struct vamp_cdo *cdo)
{
    return vamp_table_rest(&tracker->cdos, vamp_slab_number(&tracker->cdos.slab, cdo));
}

/* Time and sequence number of the current event. */
static inline struct vamp_moment vamp_track_moment(const struct vamp_track_context *at)
{
    return (struct vamp_moment){at->event->time_ns, at->tracker->events};
}
