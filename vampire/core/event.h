/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One pool event as vampire sees it: flat, immutable, the only thing that crosses from a
 * source to the filters and the statistics. No Maestro or protobuf type appears in it.
 *
 * A field that the source did not report has its presence bit clear and is zero; nobody may
 * read meaning into a zero whose bit is clear. Text is borrowed: it lives in the batch, the
 * ring slot or the recording buffer that holds the event, never longer than that, and is not
 * terminated.
 */
#ifndef VAMP_CORE_EVENT_H
#define VAMP_CORE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vamp_event_kind {
    VAMP_EVENT_NONE = 0,
#define VAMP_EVENT_KIND(symbol, number, name, help) VAMP_EVENT_##symbol = (number),
#include "vampire/core/event_kinds.def"
#undef VAMP_EVENT_KIND
    /* Marks in the stream, not operations. They travel in order with the events. GONE: the pool
     * manager is gone, and with it everything that was in its pool; application ids begin anew.
     * UNWATCHED, always behind it: from the event before up to `time_ns` nobody watched. Time has
     * come to `time_ns` although no event told: buckets close. `count` events were lost or could
     * not be decoded here, so that a loss falls into its bucket. */
    VAMP_EVENT_GONE = 27,
    VAMP_EVENT_UNWATCHED = 28,
    VAMP_EVENT_TIME = 29,
    VAMP_EVENT_LOST = 30,
    VAMP_EVENT_REJECTED = 31,
};
#define VAMP_EVENT_KIND_COUNT 16 /* operations have numbers 1 to 15 */

/* When, relative to the pool manager's handling of the operation, the event was sent. */
enum vamp_event_phase { VAMP_PHASE_AFTER = 0, VAMP_PHASE_BEFORE = 1 };

enum vamp_tier { VAMP_TIER_UNKNOWN = 0, VAMP_TIER_OFI = 1, VAMP_TIER_GFS = 2, VAMP_TIER_MIO = 3 };
#define VAMP_TIER_COUNT 4

enum vamp_cause { VAMP_CAUSE_UNKNOWN = 0, VAMP_CAUSE_DEMAND = 1, VAMP_CAUSE_MANAGER = 2 };
#define VAMP_CAUSE_COUNT 3

enum vamp_leave_reason {
    VAMP_LEAVE_UNKNOWN = 0,
    VAMP_LEAVE_FINALIZED = 1,  /* the component said good-bye */
    VAMP_LEAVE_VANISHED = 2,   /* its heartbeat stopped */
    VAMP_LEAVE_PROTOCOL = 3,   /* closed for a message the pool manager could not accept */
    VAMP_LEAVE_POOL_ENDED = 4, /* the pool manager shut down */
    VAMP_LEAVE_POOL_GONE = 5,  /* nobody told: the pool manager vanished, and all with it */
};
#define VAMP_LEAVE_REASON_COUNT 6

/* Where events were lost before vampire's statistics saw them. */
enum vamp_loss {
    VAMP_LOSS_POOL_MANAGER = 0, /* the pool manager's queue for us was full */
    VAMP_LOSS_RING = 1,         /* vampire's own ring was full */
    VAMP_LOSS_RECORDING = 2,    /* a recording that is damaged or says so itself */
};
#define VAMP_LOSS_COUNT 3

enum vamp_event_field {
    VAMP_HAS_SERIAL = 1 << 0,
    VAMP_HAS_TIME = 1 << 1, /* clear: time_ns is the arrival time, filled in by the source */
    VAMP_HAS_APP = 1 << 2,
    VAMP_HAS_PEER = 1 << 3,
    VAMP_HAS_CDO_ID = 1 << 4,
    VAMP_HAS_SIZE = 1 << 5,
    VAMP_HAS_CDO_NAME = 1 << 6,
    VAMP_HAS_COMPONENT_NAME = 1 << 7,
    VAMP_HAS_TRANSPORT = 1 << 8,
    VAMP_HAS_TIER = 1 << 9,
    VAMP_HAS_CAUSE = 1 << 10,
    VAMP_HAS_REASON = 1 << 11,
    VAMP_HAS_DURATION = 1 << 12,
};

struct vamp_cdo_id {
    uint64_t high, low;
};

struct vamp_event {
    uint64_t serial;  /* the pool manager's number of the event, ascending */
    int64_t time_ns;  /* UTC, always set: the event's own time, else its arrival */
    uint64_t app_id;  /* the component that acted; of a transport: its sink */
    uint64_t peer_id; /* of a transport: its source */
    struct vamp_cdo_id cdo_id;
    uint64_t size_bytes;   /* of the CDO */
    uint64_t transport_id; /* pairs init with completed or failed */
    uint64_t duration_ns;  /* of the end of a transport: how long it took */
    uint64_t count;        /* LOST and REJECTED only: how many */
    const char *name;      /* CDO's name; of JOIN: the component's */
    uint32_t name_length;
    uint16_t present; /* enum vamp_event_field bits */
    uint8_t kind;     /* enum vamp_event_kind */
    uint8_t phase;    /* enum vamp_event_phase */
    uint8_t tier;     /* enum vamp_tier */
    uint8_t cause;    /* enum vamp_cause */
    uint8_t reason;   /* LEAVE: enum vamp_leave_reason; LOST: enum vamp_loss */
};

static inline bool vamp_event_has(const struct vamp_event *event, enum vamp_event_field field)
{
    return (event->present & (unsigned)field) != 0;
}

/* GONE and all behind it are marks, everything else an operation. */
static inline bool vamp_event_is_mark(const struct vamp_event *event)
{
    return event->kind >= VAMP_EVENT_GONE;
}

/* Longest CDO or component name vampire keeps; a longer one is cut at a character border by
 * the source. Maestro's users have names of 1,000 characters. */
#define VAMP_NAME_BYTES_MAX 4096

/* Names for labels and configuration: lower case, constant, never NULL ("unknown" for a value
 * outside the enumeration). */
const char *vamp_event_kind_name(unsigned kind);
const char *vamp_event_kind_help(unsigned kind);
const char *vamp_tier_name(unsigned tier);
const char *vamp_cause_name(unsigned cause);
const char *vamp_leave_reason_name(unsigned reason);
const char *vamp_loss_name(unsigned loss);

/* The kind with this name, VAMP_EVENT_NONE when there is none. */
enum vamp_event_kind vamp_event_kind_from_name(const char *name);

#endif
