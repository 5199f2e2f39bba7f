/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/lib/events.h"

#include <string.h>

struct vamp_event event_of(enum vamp_event_kind kind, int64_t time_ns, uint64_t app_id)
{
    return (struct vamp_event){
        .time_ns = time_ns,
        .app_id = app_id,
        .kind = (uint8_t)kind,
        .present = (uint16_t)(VAMP_HAS_TIME | (app_id != 0 ? VAMP_HAS_APP : 0)),
    };
}

static struct vamp_event with_text(struct vamp_event event, const char *text,
                                   enum vamp_event_field field)
{
    event.name = text;
    event.name_length = (uint32_t)strlen(text);
    event.present = (uint16_t)(event.present | field);
    return event;
}

struct vamp_event event_join(int64_t time_ns, uint64_t app_id, const char *name)
{
    return with_text(event_of(VAMP_EVENT_JOIN, time_ns, app_id), name, VAMP_HAS_COMPONENT_NAME);
}

struct vamp_event event_leave(int64_t time_ns, uint64_t app_id, enum vamp_leave_reason reason)
{
    struct vamp_event event = event_of(VAMP_EVENT_LEAVE, time_ns, app_id);
    event.reason = (uint8_t)reason;
    event.present |= VAMP_HAS_REASON;
    return event;
}

struct vamp_event event_cdo(enum vamp_event_kind kind, int64_t time_ns, uint64_t app_id,
                            uint64_t cdo)
{
    struct vamp_event event = event_of(kind, time_ns, app_id);
    event.cdo_id.low = cdo;
    event.cdo_id.high = cdo * UINT64_C(0x9E3779B97F4A7C15);
    event.present |= VAMP_HAS_CDO_ID;
    return event;
}

struct vamp_event event_transport(enum vamp_event_kind kind, int64_t time_ns, uint64_t transport,
                                  uint64_t cdo, uint64_t sink, uint64_t source)
{
    struct vamp_event event = event_cdo(kind, time_ns, sink, cdo);
    event.transport_id = transport;
    event.peer_id = source;
    event.present |= VAMP_HAS_TRANSPORT;
    if (source != 0) {
        event.present |= VAMP_HAS_PEER;
    }
    return event;
}

struct vamp_event event_lost(int64_t time_ns, enum vamp_loss reason, uint64_t count)
{
    struct vamp_event event = event_of(VAMP_EVENT_LOST, time_ns, 0);
    event.reason = (uint8_t)reason;
    event.count = count;
    return event;
}

struct vamp_event event_rejected(int64_t time_ns, uint64_t count)
{
    struct vamp_event event = event_of(VAMP_EVENT_REJECTED, time_ns, 0);
    event.count = count;
    return event;
}

struct vamp_event event_before(struct vamp_event event)
{
    event.phase = VAMP_PHASE_BEFORE;
    return event;
}

struct vamp_event event_with_size(struct vamp_event event, uint64_t size_bytes)
{
    event.size_bytes = size_bytes;
    event.present |= VAMP_HAS_SIZE;
    return event;
}

struct vamp_event event_with_name(struct vamp_event event, const char *name)
{
    return with_text(event, name, VAMP_HAS_CDO_NAME);
}

struct vamp_event event_with_tier(struct vamp_event event, enum vamp_tier tier)
{
    event.tier = (uint8_t)tier;
    event.present |= VAMP_HAS_TIER;
    return event;
}

struct vamp_event event_with_cause(struct vamp_event event, enum vamp_cause cause)
{
    event.cause = (uint8_t)cause;
    event.present |= VAMP_HAS_CAUSE;
    return event;
}
