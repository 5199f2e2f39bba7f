/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The judge of the event codec: what protobuf-c makes of a message, field by field, checked as
 * vamp_event_read promises, and the message that it packs of an event. For tests and fuzz targets.
 */
#pragma once

#include <stdbool.h>

#include "event.pb-c.h"
#include "vampire/core/event/event.h"

/* A flag when the sender gave the field. */
static inline uint16_t judge_flag(bool has, enum vamp_event_field field)
{
    return has ? (uint16_t)field : 0;
}

static inline bool judge_accepts(const Vamp__Wire__Event *message)
{
    return message->kind != VAMP_EVENT_NONE && message->kind <= VAMP_EVENT_SAMPLE &&
           (!message->has_cdo_id || message->cdo_id.len == VAMP_CDO_ID_BYTES) &&
           (!message->has_name || message->name.len <= VAMP_NAME_BYTES_MAX);
}

/* The event of a message; false: it is to be refused. The name points into the message. */
static inline bool judge_event(const Vamp__Wire__Event *message, struct vamp_event *ret_event)
{
    if (message == NULL || !judge_accepts(message)) {
        return false;
    }
    const bool has_tier = message->has_tier && message->tier < VAMP_TIER_COUNT;
    const bool has_cause = message->has_cause && message->cause < VAMP_CAUSE_COUNT;
    const bool has_reason = message->has_reason && message->reason < VAMP_LEAVE_REASON_COUNT;
    const bool of_component =
        message->kind == VAMP_EVENT_JOIN || message->kind == VAMP_EVENT_LEAVE ||
        message->kind == VAMP_EVENT_SUBSCRIBE || message->kind == VAMP_EVENT_UNSUBSCRIBE;
    const unsigned present =
        (unsigned)judge_flag(message->has_serial, VAMP_HAS_SERIAL) |
        judge_flag(message->has_time_ns, VAMP_HAS_TIME) |
        judge_flag(message->has_app_id, VAMP_HAS_APP) |
        judge_flag(message->has_peer_id, VAMP_HAS_PEER) |
        judge_flag(message->has_cdo_id, VAMP_HAS_CDO_ID) |
        judge_flag(message->has_size_bytes, VAMP_HAS_SIZE) |
        judge_flag(message->has_name, of_component ? VAMP_HAS_COMPONENT_NAME : VAMP_HAS_CDO_NAME) |
        judge_flag(message->has_transport_id, VAMP_HAS_TRANSPORT) |
        judge_flag(has_tier, VAMP_HAS_TIER) | judge_flag(has_cause, VAMP_HAS_CAUSE) |
        judge_flag(has_reason, VAMP_HAS_REASON) |
        judge_flag(message->has_duration_ns, VAMP_HAS_DURATION);
    /* protobuf-c has no data for an empty text. */
    const char *name = message->name.data != NULL ? (const char *)message->name.data : "";
    *ret_event = (struct vamp_event){
        .serial = message->serial,
        .time_ns = message->has_time_ns ? message->time_ns : message->arrival_ns,
        .app_id = message->app_id,
        .peer_id = message->peer_id,
        .size_bytes = message->size_bytes,
        .transport_id = message->transport_id,
        .duration_ns = message->duration_ns,
        .name = message->has_name ? name : NULL,
        .name_length = message->has_name ? (uint32_t)message->name.len : 0,
        .present = (uint16_t)present,
        .kind = (uint8_t)message->kind,
        .phase = message->has_before && message->before ? VAMP_PHASE_BEFORE : VAMP_PHASE_AFTER,
        .tier = has_tier ? (uint8_t)message->tier : VAMP_TIER_UNKNOWN,
        .cause = has_cause ? (uint8_t)message->cause : VAMP_CAUSE_UNKNOWN,
        .reason = has_reason ? (uint8_t)message->reason : VAMP_LEAVE_UNKNOWN,
    };
    if (message->has_cdo_id) {
        ret_event->cdo_id = vamp_cdo_id_from_bytes(message->cdo_id.data);
    }
    return true;
}

/* What vamp_event_pack should write: protobuf-c's bytes of the event, `buffer` has room for them.
 * The event is none that has a tier, cause or reason beyond its list. */
static inline size_t judge_pack(const struct vamp_event *event, uint8_t *buffer)
{
    uint8_t id[VAMP_CDO_ID_BYTES];
    union { /* protobuf-c's members are not const; packing only reads */
        const char *in;
        uint8_t *out;
    } name = {.in = event->name};
    Vamp__Wire__Event message = VAMP__WIRE__EVENT__INIT;
    vamp_cdo_id_to_bytes(event->cdo_id, id);
    message.kind = event->kind;
    message.has_serial = vamp_event_has(event, VAMP_HAS_SERIAL);
    message.serial = event->serial;
    message.has_time_ns = vamp_event_has(event, VAMP_HAS_TIME);
    message.time_ns = event->time_ns;
    message.has_arrival_ns = !message.has_time_ns;
    message.arrival_ns = event->time_ns;
    message.has_app_id = vamp_event_has(event, VAMP_HAS_APP);
    message.app_id = event->app_id;
    message.has_peer_id = vamp_event_has(event, VAMP_HAS_PEER);
    message.peer_id = event->peer_id;
    message.has_cdo_id = vamp_event_has(event, VAMP_HAS_CDO_ID);
    message.cdo_id = (ProtobufCBinaryData){.len = sizeof id, .data = id};
    message.has_size_bytes = vamp_event_has(event, VAMP_HAS_SIZE);
    message.size_bytes = event->size_bytes;
    message.has_transport_id = vamp_event_has(event, VAMP_HAS_TRANSPORT);
    message.transport_id = event->transport_id;
    message.has_tier = vamp_event_has(event, VAMP_HAS_TIER);
    message.tier = event->tier;
    message.has_cause = vamp_event_has(event, VAMP_HAS_CAUSE);
    message.cause = event->cause;
    message.has_reason = vamp_event_has(event, VAMP_HAS_REASON);
    message.reason = event->reason;
    message.has_duration_ns = vamp_event_has(event, VAMP_HAS_DURATION);
    message.duration_ns = event->duration_ns;
    message.has_before = message.before = event->phase == VAMP_PHASE_BEFORE;
    message.has_name = (event->present & (VAMP_HAS_CDO_NAME | VAMP_HAS_COMPONENT_NAME)) != 0;
    message.name = (ProtobufCBinaryData){.len = event->name_length, .data = name.out};
    return vamp__wire__event__pack(&message, buffer);
}
