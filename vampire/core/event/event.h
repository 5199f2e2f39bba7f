/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One pool event: flat, immutable, the only data passed from a source to the filters and the
 * statistics. It contains no Maestro or protobuf type. Its fields are listed in fields.def.
 *
 * The presence bit of a field that the source did not report is clear; the field is then zero.
 * Texts are not terminated. They point into the batch, the ring slot or the recording buffer of the
 * event, and are valid as long as that memory.
 */
#pragma once

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum vamp_event_kind {
    VAMP_EVENT_NONE = 0,
#define VAMP_EVENT_KIND(symbol, number, name, help) VAMP_EVENT_##symbol = (number),
#include "vampire/core/event/kinds.def"
    /* A measurement of another layer or of a component (sample.h), not an operation on the pool.
     * Its text is stored as the name; its only other field is the time. */
    VAMP_EVENT_SAMPLE = 16,
    /* Control events, which are not operations but have a position among the events. GONE: the pool
       manager is gone with everything in its pool; application ids start again. UNWATCHED, always
       directly after GONE: no source was connected between the preceding event and `time_ns`. TIME:
       time has reached `time_ns` without an event; buckets close. LOST and REJECTED: `count` events
       were lost, or could not be decoded, at this position, and count in its bucket. UNWANTED:
       `count` events happened that were not subscribed to, or that filters excluded from a
       recording. */
    VAMP_EVENT_UNWANTED = 26,
    VAMP_EVENT_GONE = 27,
    VAMP_EVENT_UNWATCHED = 28,
    VAMP_EVENT_TIME = 29,
    VAMP_EVENT_LOST = 30,
    VAMP_EVENT_REJECTED = 31,
};
#define VAMP_EVENT_KIND_COUNT 16 /* operations have numbers 1 to 15 */

/* Whether the event was sent before or after the pool manager handled the operation. */
enum vamp_event_phase { VAMP_PHASE_AFTER = 0, VAMP_PHASE_BEFORE = 1 };

/* Numbers of bits: data that a source of events may not report. */
enum vamp_unknown {
#define VAMP_UNKNOWN(symbol, number, word, sentence) VAMP_UNKNOWN_##symbol = (number),
#include "vampire/core/event/knows.def"
#undef VAMP_UNKNOWN
};
enum {
    VAMP_UNKNOWN_COUNT = 0
#define VAMP_UNKNOWN(symbol, number, word, sentence) +1
#include "vampire/core/event/knows.def"
#undef VAMP_UNKNOWN
};
#define VAMP_UNKNOWN_BIT(unknown) (UINT32_C(1) << (unknown))

enum vamp_tier { VAMP_TIER_UNKNOWN = 0, VAMP_TIER_OFI = 1, VAMP_TIER_GFS = 2, VAMP_TIER_MIO = 3 };
#define VAMP_TIER_COUNT (VAMP_TIER_MIO + 1)

enum vamp_cause { VAMP_CAUSE_UNKNOWN = 0, VAMP_CAUSE_DEMAND = 1, VAMP_CAUSE_MANAGER = 2 };
#define VAMP_CAUSE_COUNT (VAMP_CAUSE_MANAGER + 1)

enum vamp_leave_reason {
    VAMP_LEAVE_UNKNOWN = 0,
    VAMP_LEAVE_FINALIZED = 1,  /* the component finalized Maestro */
    VAMP_LEAVE_VANISHED = 2,   /* its heartbeat stopped */
    VAMP_LEAVE_PROTOCOL = 3,   /* disconnected for a message that violates the protocol */
    VAMP_LEAVE_POOL_ENDED = 4, /* the pool manager shut down */
    VAMP_LEAVE_POOL_GONE = 5,  /* implied by the end of the pool manager */
};
#define VAMP_LEAVE_REASON_COUNT (VAMP_LEAVE_POOL_GONE + 1)

/* Where events were lost before the statistics. */
enum vamp_loss {
    VAMP_LOSS_POOL_MANAGER = 0, /* the pool manager's queue for vampire was full */
    VAMP_LOSS_RING = 1,         /* the ring of vampire was full */
    VAMP_LOSS_RECORDING = 2,    /* the recording is damaged, or reports a loss */
};
#define VAMP_LOSS_COUNT (VAMP_LOSS_RECORDING + 1)

/* Index of each field in the list. */
enum vamp_event_item {
#define VAMP_EVENT_FIELD(symbol, number, form, type, member, values) VAMP_ITEM_##symbol,
#include "vampire/core/event/fields.def"
    VAMP_ITEM_COUNT
};

/* Presence bits: one for each field of the list, and two for the name. */
enum vamp_event_field {
#define VAMP_EVENT_FIELD(symbol, number, form, type, member, values)                               \
    VAMP_HAS_##symbol = 1 << VAMP_ITEM_##symbol,
#include "vampire/core/event/fields.def"
    VAMP_HAS_CDO_NAME = 1 << VAMP_ITEM_COUNT,
    VAMP_HAS_COMPONENT_NAME = 2 << VAMP_ITEM_COUNT,
};

struct vamp_cdo_id {
    uint64_t high, low;
};

struct vamp_event {
#define VAMP_EVENT_FIELD(symbol, number, form, type, member, values) type member;
#include "vampire/core/event/fields.def"
    uint64_t count;   /* LOST, REJECTED and UNWANTED only: number of events */
    const char *name; /* name of the CDO; JOIN: name of the component; SAMPLE: text of the sample */
    uint32_t name_length;
    uint16_t present; /* enum vamp_event_field bits */
    uint8_t kind;     /* enum vamp_event_kind */
    uint8_t phase;    /* enum vamp_event_phase */
};
static_assert(VAMP_ITEM_COUNT + 2 <= 16, "a presence bit has no place in `present`");

static inline bool vamp_event_has(const struct vamp_event *event, enum vamp_event_field field)
{
    return (event->present & (unsigned)field) != 0;
}

/* Range of event times: from 1678-01-01 to before 2262-01-01. For these times, the bounds of the
 * bucket and the time until it closes fit into 64 bits. */
#define VAMP_TIME_MIN (INT64_C(-9214560000) * 1000000000)
#define VAMP_TIME_MAX (INT64_C(9214646400) * 1000000000 - 1)
static inline bool vamp_time_is_valid(int64_t time_ns)
{
    return time_ns >= VAMP_TIME_MIN && time_ns <= VAMP_TIME_MAX;
}

/* Returns whether this is a control event: UNWANTED or one of the kinds above it. */
static inline bool vamp_event_is_mark(const struct vamp_event *event)
{
    return event->kind >= VAMP_EVENT_UNWANTED;
}

/* Maximum length of CDO and component names; the source cuts longer names at a character boundary.
 * Names in Maestro have at most 1,000 characters. */
#define VAMP_NAME_BYTES_MAX 4096

/* Returns whether events of this kind are sent and recorded. */
static inline bool vamp_event_kind_is_known(unsigned kind)
{
    return kind != VAMP_EVENT_NONE && kind <= VAMP_EVENT_SAMPLE;
}

#define VAMP_EVENT_BIT(kind) (UINT64_C(1) << (unsigned)(kind))
/* Bits of all operations. */
#define VAMP_EVENT_KINDS_ALL ((UINT64_C(1) << VAMP_EVENT_KIND_COUNT) - 2)
/* Kinds that concern a component, not a CDO: the name is that of the component, and there are no
 * fields or attributes of CDOs. */
#define VAMP_EVENT_KINDS_WITHOUT_CDO                                                               \
    (VAMP_EVENT_BIT(VAMP_EVENT_JOIN) | VAMP_EVENT_BIT(VAMP_EVENT_LEAVE) |                          \
     VAMP_EVENT_BIT(VAMP_EVENT_SUBSCRIBE) | VAMP_EVENT_BIT(VAMP_EVENT_UNSUBSCRIBE))

/* Returns the presence bit of the name, for operations of this kind. */
static inline enum vamp_event_field vamp_event_name_field(unsigned kind)
{
    if ((VAMP_EVENT_KINDS_WITHOUT_CDO & VAMP_EVENT_BIT(kind)) != 0) {
        return VAMP_HAS_COMPONENT_NAME;
    }
    return VAMP_HAS_CDO_NAME;
}

/* Return constant names for labels and configuration; "unknown" for other values. */
const char *vamp_event_kind_name(unsigned kind);
const char *vamp_event_kind_help(unsigned kind);
const char *vamp_tier_name(unsigned tier);
const char *vamp_cause_name(unsigned cause);
const char *vamp_leave_reason_name(unsigned reason);
const char *vamp_loss_name(unsigned loss);

/* A CDO's id as 16 bytes, as in Maestro's events, on the wire and in recordings. */
#define VAMP_CDO_ID_BYTES 16

/* Writes `high`, then `low`, most significant byte first, in the order of the id's text. */
static inline void vamp_cdo_id_to_bytes(struct vamp_cdo_id id,
                                        uint8_t bytes[static VAMP_CDO_ID_BYTES])
{
    const uint64_t words[2] = {htobe64(id.high), htobe64(id.low)};
    memcpy(bytes, words, sizeof words);
}

static inline struct vamp_cdo_id
vamp_cdo_id_from_bytes(const uint8_t bytes[static VAMP_CDO_ID_BYTES])
{
    uint64_t words[2];
    memcpy(words, bytes, sizeof words);
    return (struct vamp_cdo_id){.high = be64toh(words[0]), .low = be64toh(words[1])};
}

/* Size of a CDO's id as text: 32 hexadecimal digits and the terminator. */
#define VAMP_CDO_ID_TEXT_BYTES 33
void vamp_cdo_id_text(struct vamp_cdo_id id, char text[static VAMP_CDO_ID_TEXT_BYTES]);
