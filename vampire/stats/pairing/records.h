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
    VAMP_CDO_OFFERED = 1 << 4,  /* offered by its owner */
    VAMP_CDO_ONCE = 1 << 5,     /* was offered before */
    VAMP_CDO_UNSEEN = 1 << 6,   /* the DECLARE of one of the owner's handles was not observed */
    VAMP_CDO_DEMANDED = 1 << 7, /* demanded since it last left the pool */
};

/* The record of a CDO, found by one look-up. It contains the head of the list of operations pending
 * on the CDO and of references to it. The record of a CDO that is not tracked has only this list;
 * its key may be derived from the number of a transport, from a component or from a name. */
struct vamp_cdo {
    struct vamp_record record; /* `item.row` is the row of the owner */
    uint64_t size_bytes;
    union {
        int64_t offered_ns; /* if in the pool: when it came into the pool */
        /* If not in the pool: first of the demands that wait for an offer (blocked.h); 0: none. */
        uint32_t first_unoffered;
    };
    /* Head of the list. New entries are added at the front, and a reference that starts to offer
     * the CDO moves to the front. */
    uint32_t first_pending;
    uint32_t other_handles; /* handles declared by other components and not yet disposed of */
    uint32_t demands;       /* number since it last left the pool; includes early deliveries */
    uint32_t offers;        /* references of other components that offer the CDO */
    uint16_t owner_handles;
    uint8_t flags; /* enum vamp_cdo_flag */
    bool tracked : 1;
    /* Completed transports of this lifecycle that named only their source, so that the sink is
     * unknown or inferred. Saturates. */
    uint8_t guessed : 7;
    uint16_t attributes; /* number of the attribute set plus 1; 0: not read yet */
    uint16_t withdraws;  /* number of pending WITHDRAWs with a clock (blocked.h); saturates */
};
struct vamp_cdo_rest {
    struct vamp_record_rest lists;
    int64_t declared_ns;
};
#define VAMP_GUESSED_MAX 127
#define VAMP_OWNER_HANDLES_MAX UINT16_MAX /* further handles of the owner are not counted */

/* Kinds of entries in a CDO's list. Smaller values are kinds of events: an operation of that kind
 * that was received and not yet handled. */
enum vamp_pending_kind {
    VAMP_PENDING_DELIVERY = VAMP_EVENT_KIND_COUNT, /* data that arrived before its DEMAND */
    VAMP_PENDING_DEMAND,                           /* a demand that is not satisfied yet */
    VAMP_PENDING_TRANSPORT,
    VAMP_PENDING_REFERENCE, /* handles and offer of a component that is not the owner */
};

/* Width of the number of an event in the stream: enough for years. */
#define VAMP_SEQUENCE_BITS 48
#define VAMP_SEQUENCE_MAX ((UINT64_C(1) << VAMP_SEQUENCE_BITS) - 1)

/* One operation pending on a CDO, or one reference to it. `item.row` is the row of the component;
 * for transports it is 0, since the sink may leave before they end. */
struct vamp_pending {
    struct vamp_item item; /* `next`: next entry of the same CDO */
    union {
        /* Links in the component's list, if the component has a row. */
        struct vamp_neighbours neighbours;
        /* Entries without a row: id of the component or of the sink if `by_id`, else 0. */
        uint64_t app_id;
    };
    uint32_t previous; /* previous entry of the same CDO */
    uint32_t cdo;      /* number of the CDO's record */
    int64_t since_ns;  /* start of the operation; references: time of the DECLARE if `declared` */
    uint64_t sequence
        : VAMP_SEQUENCE_BITS;      /* sequence number of the event that started the operation */
    bool by_id : 1;                /* the component has no row and is identified by `app_id` */
    bool id_known : 1;             /* the key of its record is the CDO's id */
    bool acknowledged : 1;         /* demands: the pool manager has handled the demand */
    bool failed : 1;               /* demands: a transport for the demand failed */
    bool declared : 1, offers : 1; /* references only */
    uint8_t kind;                  /* enum vamp_pending_kind */
    union {
        uint32_t more;        /* number of the CDO's name, or of the vamp_transport; 0: none */
        uint32_t handles;     /* references only */
        struct {              /* deliveries only */
            uint16_t early;   /* not matched by a DEMAND yet */
            uint16_t awaited; /* matched by a DEMAND whose *after* event is still to come */
        };
    };
    union {
        uint32_t slot;     /* index in the order of its class */
        uint32_t sink_row; /* transports only; their slot is in struct vamp_transport */
    };
};

/* Data of a transport in addition to its vamp_pending, as of the start of the transport. */
struct vamp_transport {
    uint64_t cdo_key[2], app_id; /* CDO if `has_cdo`, and sink if `has_sink` */
    uint64_t size_bytes;
    int64_t offered_ns;              /* when the CDO came into the pool, if `in_pool` */
    uint32_t source, sink, producer; /* name numbers */
    uint32_t named;                  /* number of the CDO's name; 0: none */
    uint32_t slot;                   /* index in the order of its class */
    uint8_t tier, cause;
    bool sized : 1, has_source : 1, in_pool : 1, has_cdo : 1, has_sink : 1;
    bool demanded : 1; /* a demand was pending when it started */
    bool id_known : 1; /* `cdo_key` is the CDO's id */
};

/* Lists and counters of one component, indexed by row of the component table. Row 0 is for
 * components without a row of their own. */
struct vamp_tally {
    uint32_t first_cdo, first_pending; /* newest entry of each list */
    uint32_t offering; /* number of CDOs that the component offers and does not own */
    uint32_t present;
    uint32_t life;       /* lifetime of the component that has the row; 0: none yet */
    uint32_t deliveries; /* number of entries of kind VAMP_PENDING_DELIVERY */
    bool left;
    bool checked; /* the component's JOIN was observed, or the absence of a JOIN was reported */
    struct vamp_in_flight in_flight[VAMP_IN_FLIGHT_COUNT];
    struct vamp_moment acted; /* last operation of the component; sequence 0: none was observed */
    struct vamp_ages ages;    /* as of the last vamp_track_ages */
};

/* The event being tracked, and the objects found for it. */
struct vamp_track_context {
    struct vamp_tracker *tracker;
    const struct vamp_event *event;
    struct vamp_observation *seen;
    const struct vamp_component *component; /* NULL: no row */
    uint32_t row;                           /* 0: no row */
    struct vamp_tally *tally;               /* tally of the row */
    bool has_cdo;
    struct vamp_key cdo_key; /* zero: the key is unknown */
    struct vamp_cdo *record; /* record with this key; NULL: none */
    struct vamp_cdo *cdo;    /* `record` if the CDO is tracked, else NULL */
    uint16_t attributes;     /* as in struct vamp_cdo */
    /* `cdo` is not included in the totals of the pool until the event has been handled. */
    bool changing;
};

/* Identifies the component of an entry, and the entry's kind: by row, since the same id may join
 * again; by id if the component table was full. */
struct vamp_who {
    uint64_t app_id;
    uint32_t row;
    uint8_t kind; /* enum vamp_pending_kind */
    bool by_id;
};

/* Where an entry for the current event is, or will be added. */
struct vamp_lookup {
    struct vamp_key own;        /* storage for `key`, which may point to it */
    const struct vamp_key *key; /* NULL: the key is unknown */
    struct vamp_cdo *record;    /* NULL: no record has the key */
    struct vamp_who who;
};

/* History of one CDO, kept at level `cdo` only; one per record. */
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

/* Returns the time and the sequence number of the current event. */
static inline struct vamp_moment vamp_track_moment(const struct vamp_track_context *at)
{
    return (struct vamp_moment){at->event->time_ns, at->tracker->events};
}

static inline bool vamp_cdo_in_pool(const struct vamp_cdo *cdo)
{
    return (cdo->flags & VAMP_CDO_OFFERED) != 0 || cdo->offers != 0;
}
