/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/history.h"
#include "vampire/stats/pairing/keys.h"

static void remove_transport(struct vamp_track_context *at, struct vamp_transport *transport)
{
    vamp_track_pending(at->tracker, transport->row, VAMP_IN_FLIGHT_TRANSPORT + transport->tier, -1);
    vamp_table_remove(&at->tracker->transports, transport);
}

static void give_up(struct vamp_track_context *at, struct vamp_transport *transport)
{
    at->seen->active[transport->tier]--;
    at->seen->evicted++;
    vamp_track_lost(at->tracker);
    remove_transport(at, transport);
}

static void track_transport_start(struct vamp_track_context *at)
{
    struct vamp_table *table = &at->tracker->transports;
    struct vamp_observation *seen = at->seen;
    struct vamp_key key;
    if (!vamp_track_transport_key(at, &key)) {
        return;
    }
    if (vamp_table_find(table, &key) != NULL) {
        vamp_observe_anomaly(seen, VAMP_ANOMALY_OPERATION_OUT_OF_ORDER, 1);
        return;
    }
    struct vamp_transport *oldest = vamp_table_crowded(table);
    if (oldest != NULL) {
        give_up(at, oldest);
    }
    struct vamp_transport *transport = vamp_table_insert(table, &key, 0);
    transport->started = vamp_track_moment(at);
    transport->cdo_key[0] = at->cdo_key.words[0];
    transport->cdo_key[1] = at->cdo_key.words[1];
    transport->app_id = vamp_track_sink_id(at->event);
    if (at->cdo != NULL && vamp_cdo_in_pool(at->cdo)) {
        transport->in_pool = true;
        transport->offered_ns = at->cdo->offered_ns;
        transport->producer = vamp_cdo_owner_name(at, at->cdo);
    }
    transport->sized = seen->size_known;
    transport->size_bytes = seen->size_bytes;
    transport->has_source = vamp_event_has(at->event, VAMP_HAS_PEER);
    transport->source = seen->labels.value[VAMP_LABEL_SOURCE];
    transport->sink = seen->labels.value[VAMP_LABEL_SINK];
    transport->tier = (uint8_t)seen->labels.value[VAMP_LABEL_TIER];
    transport->cause = (uint8_t)seen->labels.value[VAMP_LABEL_CAUSE];
    transport->row = at->row;
    vamp_pending_cdo_note(at, VAMP_AGE_TRANSPORT, table, transport);
    seen->active[transport->tier]++;
    vamp_track_pending(at->tracker, at->row, VAMP_IN_FLIGHT_TRANSPORT + transport->tier, 1);
}

/* What the end of a transport does not say was said at its start. */
static void complete_labels(struct vamp_track_context *at, const struct vamp_transport *transport)
{
    struct vamp_observation *seen = at->seen;
    uint32_t *labels = seen->labels.value;
    if (!vamp_event_has(at->event, VAMP_HAS_PEER) && transport->has_source) {
        labels[VAMP_LABEL_SOURCE] = transport->source;
    }
    if (!vamp_event_has(at->event, VAMP_HAS_APP)) {
        labels[VAMP_LABEL_SINK] = transport->sink;
        labels[VAMP_LABEL_COMPONENT] = transport->sink;
    }
    if (labels[VAMP_LABEL_TIER] == VAMP_TIER_UNKNOWN) {
        labels[VAMP_LABEL_TIER] = transport->tier;
    }
    if (labels[VAMP_LABEL_CAUSE] == VAMP_CAUSE_UNKNOWN) {
        labels[VAMP_LABEL_CAUSE] = transport->cause;
    }
    if (!seen->size_known && transport->sized != 0) {
        seen->size_known = true;
        seen->size_bytes = transport->size_bytes;
    }
}

/* What the wait of this demand was for. False where demand, offer, start and end of the transport
 * were not seen all, or not in this order. */
static bool find_parts(const struct vamp_track_context *at, const struct vamp_transport *transport,
                       const struct vamp_moment *demanded, uint64_t part_ns[static 3])
{
    if (!transport->in_pool || transport->started.place < demanded->place ||
        transport->cdo_key[0] != at->cdo_key.words[0] ||
        transport->cdo_key[1] != at->cdo_key.words[1] ||
        transport->app_id != vamp_track_sink_id(at->event)) {
        return false;
    }
    const int64_t ready_ns =
        transport->offered_ns > demanded->time_ns ? transport->offered_ns : demanded->time_ns;
    const int64_t started_ns = transport->started.time_ns;
    if (started_ns < ready_ns || at->event->time_ns < started_ns) {
        return false;
    }
    part_ns[VAMP_WAIT_FOR_OFFER] = (uint64_t)ready_ns - (uint64_t)demanded->time_ns;
    part_ns[VAMP_WAIT_FOR_START] = (uint64_t)started_ns - (uint64_t)ready_ns;
    part_ns[VAMP_WAIT_MOVING] = (uint64_t)at->event->time_ns - (uint64_t)started_ns;
    return true;
}

/* The transport satisfies the demand of its sink, if there is one. `transport` NULL: its start was
 * not seen. */
static void satisfy_demand(struct vamp_track_context *at, const struct vamp_transport *transport)
{
    struct vamp_observation *seen = at->seen;
    struct vamp_moment demanded;
    if (!at->has_cdo || !vamp_track_demand_end(at, &demanded) ||
        !vamp_observe_interval(seen, VAMP_INTERVAL_DEMAND_WAIT, demanded.time_ns)) {
        return;
    }
    const bool known = transport != NULL && find_parts(at, transport, &demanded, seen->part_ns);
    seen->parts_known = known;
    if (known) {
        seen->producer = transport->producer;
    } else if (at->cdo != NULL && (at->cdo->flags & VAMP_CDO_MAKER) != 0) {
        seen->producer = vamp_cdo_owner_name(at, at->cdo);
    } else {
        seen->producer = VAMP_NAME_UNKNOWN;
    }
}

static void track_transport_end(struct vamp_track_context *at)
{
    struct vamp_observation *seen = at->seen;
    const bool completed = at->event->kind == VAMP_EVENT_TRANSPORT_COMPLETED;
    struct vamp_key key;
    struct vamp_transport *transport =
        vamp_track_transport_key(at, &key) ? vamp_table_find(&at->tracker->transports, &key) : NULL;
    if (transport != NULL) {
        complete_labels(at, transport);
        seen->active[transport->tier]--;
        if (completed) {
            (void)vamp_observe_interval(seen, VAMP_INTERVAL_TRANSPORT, transport->started.time_ns);
        }
    }
    if (!seen->size_known && at->cdo != NULL && (at->cdo->flags & VAMP_CDO_SIZED) != 0) {
        seen->size_known = true;
        seen->size_bytes = at->cdo->size_bytes;
    }
    if (completed) {
        seen->transport_completed = true;
        seen->found |= VAMP_FOUND_CONTENT;
        if (vamp_track_keeps_histories(at->tracker)) {
            vamp_cdo_history_add_transport(at);
        }
        satisfy_demand(at, transport);
    } else {
        vamp_observe_anomaly(seen, VAMP_ANOMALY_TRANSPORT_FAILED, 1);
        vamp_track_demand_failed(at);
    }
    if (transport != NULL) {
        remove_transport(at, transport);
    }
}

static uint32_t source_name(const struct vamp_track_context *at)
{
    if (!vamp_event_has(at->event, VAMP_HAS_PEER)) {
        return VAMP_NAME_UNKNOWN;
    }
    const struct vamp_component *source =
        vamp_components_find(at->tracker->components, at->event->peer_id);
    return source == NULL ? VAMP_NAME_OTHER : vamp_track_name(at->tracker, source);
}

static void label_transport(struct vamp_track_context *at)
{
    const struct vamp_event *event = at->event;
    uint32_t *labels = at->seen->labels.value;
    labels[VAMP_LABEL_SINK] = labels[VAMP_LABEL_COMPONENT];
    labels[VAMP_LABEL_SOURCE] = source_name(at);
    labels[VAMP_LABEL_TIER] = vamp_event_has(event, VAMP_HAS_TIER) && event->tier < VAMP_TIER_COUNT
                                  ? event->tier
                                  : VAMP_TIER_UNKNOWN;
    labels[VAMP_LABEL_CAUSE] =
        vamp_event_has(event, VAMP_HAS_CAUSE) && event->cause < VAMP_CAUSE_COUNT
            ? event->cause
            : VAMP_CAUSE_UNKNOWN;
}

void vamp_track_transport(struct vamp_track_context *at)
{
    label_transport(at);
    if (vamp_track_keeps_histories(at->tracker)) {
        vamp_cdo_history_select(at);
    }
    if (at->cdo != NULL && vamp_event_has(at->event, VAMP_HAS_SIZE)) {
        vamp_track_learn_size(at);
    }
    if (at->event->kind == VAMP_EVENT_TRANSPORT_INIT) {
        track_transport_start(at);
    } else {
        track_transport_end(at);
    }
}
