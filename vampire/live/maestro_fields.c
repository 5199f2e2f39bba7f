/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/maestro_fields.h"

#include <string.h>

#include "vampire/core/event/event.h"
#include "vampire/core/utf8.h"

/* ------------------------------------------------------------------ kinds */

/* Kinds that have no counterpart in vampire; 0 if missing in this maestro.h. */
#if VAMP_MSTRO_HAS_KIND_LOST
#define KIND_LOST ((uint64_t)MSTRO_POOL_EVENT_LOST)
#define LOST_COUNT(theirs) ((theirs)->payload.lost.count)
#else
#define KIND_LOST UINT64_C(0)
#define LOST_COUNT(theirs) UINT64_C(0)
#endif
/* Reported after a JOIN, to subscribers to both kinds. */
#if VAMP_MSTRO_HAS_KIND_SAMPLE
#define KIND_SAMPLE ((uint64_t)MSTRO_POOL_EVENT_SAMPLE)
#define SAMPLE_TEXT(theirs) ((theirs)->payload.sample.text)
#else
#define KIND_SAMPLE UINT64_C(0)
#define SAMPLE_TEXT(theirs) ((const char *)NULL)
#endif
#if VAMP_MSTRO_HAS_KIND_POOL_GONE
#define KIND_GONE ((uint64_t)MSTRO_POOL_EVENT_POOL_GONE)
#else
#define KIND_GONE UINT64_C(0)
#endif

/* VAMP_MSTRO_KIND_<kind> is 0 for kinds missing in this maestro.h. */

uint64_t vamp_maestro_kinds(uint64_t event_kinds)
{
    uint64_t theirs = 0;
    if ((event_kinds & VAMP_EVENT_BIT(VAMP_EVENT_JOIN)) != 0) {
        theirs = KIND_SAMPLE;
    }
#define VAMP_EVENT_KIND(symbol, number, name, help)                                                \
    if ((event_kinds >> (number)&1) != 0) {                                                        \
        theirs |= VAMP_MSTRO_KIND_##name;                                                          \
    }
#include "vampire/core/event/kinds.def"
    return theirs;
}

static enum vamp_event_kind our_kind(uint64_t theirs)
{
#define VAMP_EVENT_KIND(symbol, number, name, help)                                                \
    if (VAMP_MSTRO_KIND_##name != 0 && theirs == VAMP_MSTRO_KIND_##name) {                         \
        return VAMP_EVENT_##symbol;                                                                \
    }
#include "vampire/core/event/kinds.def"
    return VAMP_EVENT_NONE;
}

uint64_t vamp_maestro_service_kinds(void)
{
    return KIND_LOST | KIND_GONE;
}

bool vamp_maestro_is_service(const struct mstro_pool_event_ *theirs)
{
    return ((uint64_t)theirs->kind & vamp_maestro_service_kinds()) != 0;
}

bool vamp_maestro_is_gone(const struct mstro_pool_event_ *theirs)
{
    return KIND_GONE != 0 && (uint64_t)theirs->kind == KIND_GONE;
}

bool vamp_maestro_packed(const struct mstro_pool_event_ *theirs, struct vamp_event_batch *ret_batch)
{
#if VAMP_MSTRO_HAS_PACKED
    if (theirs->kind == MSTRO_POOL_EVENT_PACKED) {
        const uint8_t *bytes = (const uint8_t *)theirs->payload.packed.bytes;
        ret_batch->at = bytes;
        ret_batch->end = bytes + theirs->payload.packed.length;
        return true;
    }
#endif
    (void)theirs, (void)ret_batch;
    return false;
}

/* ------------------------------------------------------------------ fields */

uint64_t vamp_maestro_serial(const struct mstro_pool_event_ *theirs)
{
#if VAMP_MSTRO_HAS_SERIAL
    return theirs->serial;
#else
    (void)theirs;
    return 0;
#endif
}

static uint32_t name_length(const struct mstro_pool_event_ *theirs, const char *name)
{
#if VAMP_MSTRO_HAS_NAME_LENGTH
    size_t length = theirs->name_length;
#else
    (void)theirs;
    size_t length = strnlen(name, (size_t)VAMP_NAME_BYTES_MAX + 1);
#endif
    return (uint32_t)vamp_utf8_cut(name, length, VAMP_NAME_BYTES_MAX);
}

static void now_has(struct vamp_event *event, unsigned fields)
{
    event->present = (uint16_t)(event->present | fields);
}

/* Copies the component and its object from the member of the union for this kind. */
static void take_actor(const struct mstro_pool_event_ *theirs, struct vamp_event *event)
{
    const char *name = NULL; /* not reported */
    switch ((enum vamp_event_kind)event->kind) {
#define VAMP_EVENT_KIND(symbol, number, kind, help)                                                \
    case VAMP_EVENT_##symbol:                                                                      \
        if (VAMP_MSTRO_HAS_APPID_##kind) {                                                         \
            event->app_id = VAMP_MSTRO_APPID_##kind(theirs);                                       \
            now_has(event, VAMP_HAS_APP);                                                          \
        }                                                                                          \
        name = VAMP_MSTRO_NAME_##kind(theirs);                                                     \
        break;
#include "vampire/core/event/kinds.def"
    case VAMP_EVENT_NONE:
    case VAMP_EVENT_UNWANTED:
    case VAMP_EVENT_SAMPLE:
    case VAMP_EVENT_GONE:
    case VAMP_EVENT_UNWATCHED:
    case VAMP_EVENT_TIME:
    case VAMP_EVENT_LOST:
    case VAMP_EVENT_REJECTED:
        break;
    }
    if (name != NULL) {
        event->name = name;
        event->name_length = name_length(theirs, name);
        now_has(event, vamp_event_name_field(event->kind));
    }
}

/* A value unknown to vampire (from a newer Maestro) counts as absent. */
#define TAKE_CHOICE(symbol, type, member, values)                                                  \
    case VAMP_ITEM_##symbol:                                                                       \
        if (value >= (values)) {                                                                   \
            return;                                                                                \
        }                                                                                          \
        event->member = (type)value;                                                               \
        break;
#define TAKE_NUMBER(symbol, type, member, values)                                                  \
    case VAMP_ITEM_##symbol:                                                                       \
        event->member = (type)value;                                                               \
        break;
#define TAKE_TIME TAKE_NUMBER
#define TAKE_ID(symbol, type, member, values)                                                      \
    case VAMP_ITEM_##symbol: /* take_extensions */                                                 \
        return;

static inline void take_value(struct vamp_event *event, enum vamp_event_item item, uint64_t value)
{
    switch (item) {
#define VAMP_EVENT_FIELD(symbol, number, form, type, member, values)                               \
    TAKE_##form(symbol, type, member, values)
#include "vampire/core/event/fields.def"
    case VAMP_ITEM_COUNT:
        return;
    }
    now_has(event, 1U << item);
}

/* Copies the fields that upstream is not known to have. */
static void take_extensions(const struct mstro_pool_event_ *theirs, struct vamp_event *event)
{
#define VAMP_EVENT_MAESTRO(symbol, bit, member, name)                                              \
    if (VAMP_MSTRO_GIVES_##symbol(theirs)) {                                                       \
        take_value(event, VAMP_ITEM_##symbol, VAMP_MSTRO_VALUE_##symbol(theirs));                  \
    }
#include "vampire/core/event/fields.def"
#if VAMP_MSTRO_HAS_CDO_ID
    if ((theirs->present & MSTRO_POOL_EVENT_HAS_CDO_ID) != 0) {
        event->cdo_id = vamp_cdo_id_from_bytes(theirs->cdo_id);
        now_has(event, VAMP_HAS_CDO_ID);
    }
#endif
}

void vamp_maestro_convert(const struct mstro_pool_event_ *theirs, enum vamp_event_phase phase,
                          int64_t arrival_ns, struct vamp_event *ret_event)
{
    *ret_event = (struct vamp_event){
        .kind = (uint8_t)our_kind((uint64_t)theirs->kind),
        .phase = (uint8_t)phase,
        .time_ns = arrival_ns,
        .serial = vamp_maestro_serial(theirs),
    };
    if (ret_event->serial != 0) {
        ret_event->present = VAMP_HAS_SERIAL;
    }
    take_extensions(theirs, ret_event);
    if (ret_event->kind != VAMP_EVENT_NONE) {
        take_actor(theirs, ret_event);
        return;
    }
    const char *sample = NULL;
    if (KIND_SAMPLE != 0 && (uint64_t)theirs->kind == KIND_SAMPLE) {
        sample = SAMPLE_TEXT(theirs);
    }
    if (sample != NULL) {
        ret_event->kind = VAMP_EVENT_SAMPLE;
        ret_event->name = sample;
        ret_event->name_length = name_length(theirs, sample);
        now_has(ret_event, VAMP_HAS_CDO_NAME);
        return;
    }
    uint64_t lost = 0;
    if (KIND_LOST != 0 && (uint64_t)theirs->kind == KIND_LOST) {
        lost = LOST_COUNT(theirs);
    }
    *ret_event = (struct vamp_event){
        .kind = VAMP_EVENT_REJECTED,
        .reason = VAMP_LOSS_POOL_MANAGER, /* no effect for REJECTED */
        .phase = (uint8_t)phase,
        .time_ns = ret_event->time_ns,
        .count = 1,
    };
    if (lost != 0) {
        ret_event->kind = VAMP_EVENT_LOST;
        ret_event->count = lost;
        ret_event->time_ns = 0;
    }
}

/* ------------------------------------------------------------------ statuses */

bool vamp_maestro_status_no_manager(mstro_status status)
{
#if VAMP_MSTRO_HAS_STATUS_NO_PM
    return status == MSTRO_NO_PM;
#else
    /* If there is no status for this, every failure to read a subscription counts as the end of the
     * pool manager. */
    return status != MSTRO_OK && status != MSTRO_TIMEOUT;
#endif
}

/* ------------------------------------------------------------------ missing features */

uint32_t vamp_maestro_unknown(void)
{
    static const bool there[VAMP_UNKNOWN_COUNT] = {
        [VAMP_UNKNOWN_TIME] = VAMP_MSTRO_HAS_TIME,
        [VAMP_UNKNOWN_SIZE] = VAMP_MSTRO_HAS_SIZE,
        [VAMP_UNKNOWN_PEER] = VAMP_MSTRO_HAS_PEER,
        [VAMP_UNKNOWN_TRANSPORT] = VAMP_MSTRO_HAS_TRANSPORT,
        [VAMP_UNKNOWN_CDO_ID] = VAMP_MSTRO_HAS_CDO_ID,
        [VAMP_UNKNOWN_PHASES] = VAMP_MSTRO_HAS_SIGNAL_BEFORE,
        [VAMP_UNKNOWN_LOSSES] = VAMP_MSTRO_HAS_KIND_LOST,
        [VAMP_UNKNOWN_CAUSE] = VAMP_MSTRO_HAS_CAUSE,
        [VAMP_UNKNOWN_TIER] = VAMP_MSTRO_HAS_TIER,
        [VAMP_UNKNOWN_REASON] = VAMP_MSTRO_HAS_REASON,
        [VAMP_UNKNOWN_TRANSPORTS] = VAMP_MSTRO_KIND_transport_completed != 0,
        [VAMP_UNKNOWN_SERIALS] = VAMP_MSTRO_HAS_SERIAL,
        [VAMP_UNKNOWN_DEMANDS] = true, /* left out by the configuration only */
        [VAMP_UNKNOWN_FAILURES] = VAMP_MSTRO_KIND_transport_failed != 0,
    };
    uint32_t unknown = 0;
    for (unsigned i = 0; i < VAMP_UNKNOWN_COUNT; i++) {
        if (!there[i]) {
            unknown |= VAMP_UNKNOWN_BIT(i);
        }
    }
    return unknown;
}

struct ability {
    const char *name;
    bool there;
};

static void list_abilities(FILE *stream, const char *title, bool there,
                           const struct ability *abilities, size_t count)
{
    unsigned listed = 0;
    for (size_t i = 0; i < count; i++) {
        if (abilities[i].there == there) {
            (void)fprintf(stream, "%s %s", listed == 0 ? title : "", abilities[i].name);
            listed++;
        }
    }
    if (listed != 0) {
        (void)fputc('\n', stream);
    }
}

void vamp_maestro_abilities(FILE *stream)
{
    static const struct ability kinds[] = {
#define VAMP_EVENT_KIND(symbol, number, name, help) {#name, VAMP_MSTRO_KIND_##name != 0},
#include "vampire/core/event/kinds.def"
    };
    static const struct ability fields[] = {
        {"serial", VAMP_MSTRO_HAS_SERIAL},
#define VAMP_EVENT_MAESTRO(symbol, bit, member, name) {name, VAMP_MSTRO_HAS_##symbol},
#include "vampire/core/event/fields.def"
        {"cdo_id", VAMP_MSTRO_HAS_CDO_ID},
        {"offer_appid", VAMP_MSTRO_HAS_APPID_offer},
        {"offer_name", VAMP_MSTRO_HAS_NAME_offer},
        {"component_place", VAMP_MSTRO_HAS_KIND_SAMPLE},
        {"lost_counts", VAMP_MSTRO_HAS_KIND_LOST},
        {"pool_gone", VAMP_MSTRO_HAS_KIND_POOL_GONE},
        {"signal_before", VAMP_MSTRO_HAS_SIGNAL_BEFORE},
        {"signal_before_by_default", VAMP_MSTRO_HAS_HARMLESS_BEFORE},
    };
    const size_t kind_count = sizeof kinds / sizeof *kinds;
    const size_t field_count = sizeof fields / sizeof *fields;
    (void)fprintf(stream, "maestro.h: event members %s\n",
                  VAMP_MSTRO_HAS_PAYLOAD ? "in payload" : "without payload");
    list_abilities(stream, "event kinds:", true, kinds, kind_count);
    list_abilities(stream, "event kinds not available:", false, kinds, kind_count);
    list_abilities(stream, "event fields:", true, fields, field_count);
    list_abilities(stream, "event fields not available:", false, fields, field_count);
}
