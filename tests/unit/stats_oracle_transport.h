/* SPDX-License-Identifier: BSD-3-Clause */
/* The oracle's rules for transports. Included by stats_oracle_rules.h only. */
#ifndef TESTS_UNIT_STATS_ORACLE_TRANSPORT_H
#define TESTS_UNIT_STATS_ORACLE_TRANSPORT_H

#include "tests/unit/stats_oracle.h"

static void source_name(const struct oracle *o, char name[64])
{
    if (vamp_event_has(o->event, VAMP_HAS_PEER)) {
        oracle_name(o, vamp_components_find(o->components, o->event->peer_id)->index, name);
    } else {
        (void)snprintf(name, 64, "unknown");
    }
}

static void on_transport_start(struct oracle *o)
{
    const struct vamp_event *event = o->event;
    if (oracle_wait(o->transports, o->transport_count, event->transport_id, 0, 0) != NULL) {
        oracle_anomaly(o, "operation_out_of_order", 1);
        return;
    }
    struct oracle_wait *begun =
        oracle_put(o->transports, &o->transport_count, event->transport_id, 0, 0);
    begun->since_ns = event->time_ns;
    begun->sized = vamp_event_has(event, VAMP_HAS_SIZE);
    begun->size = event->size_bytes;
    begun->tier = event->tier;
    begun->cause = event->cause;
    begun->has_source = vamp_event_has(event, VAMP_HAS_PEER);
    source_name(o, begun->source);
    oracle_fact(o, VAMP_METRIC_TRANSPORTS_ACTIVE, 1, "%s", vamp_tier_name(event->tier));
}

/* What the start told counts where the end does not tell. Returns the size class. */
static const char *count_transport(struct oracle *o, const struct oracle_wait *start, int64_t took)
{
    const struct vamp_event *event = o->event;
    const struct oracle_cdo *cdo = oracle_find(o, event->cdo_id.low);
    bool sized = true;
    uint64_t size = event->size_bytes;
    if (!vamp_event_has(event, VAMP_HAS_SIZE)) {
        sized = start->sized || (cdo != NULL && cdo->sized);
        size = start->sized ? start->size : sized ? cdo->size : 0;
    }
    char source[64];
    source_name(o, source);
    if (!vamp_event_has(event, VAMP_HAS_PEER) && start->has_source) {
        memcpy(source, start->source, sizeof source);
    }
    const char *tier = vamp_tier_name(event->tier != 0 ? event->tier : start->tier);
    const char *cause = vamp_cause_name(event->cause != 0 ? event->cause : start->cause);
    const char *size_class = oracle_class(sized, size);
    oracle_fact(o, VAMP_METRIC_TRANSPORTS, 1, "%s|%s|%s|%s|%s", source, o->name, size_class, tier,
                cause);
    oracle_fact(o, VAMP_METRIC_TRANSPORT_BYTES, (int64_t)size, "%s|%s|%s|%s|%s", source, o->name,
                size_class, tier, cause);
    if (sized) {
        oracle_fact(o, VAMP_METRIC_CONSUMED_BYTES, (int64_t)size, "%s", o->name);
    }
    if (took >= 0) {
        oracle_fact(o, VAMP_METRIC_TRANSPORT_NS, took, "%s|%s|%s|%s", source, o->name, size_class,
                    tier);
    }
    if (took > 0 && size > 0) {
        /* Sizes of these streams are small enough for this. */
        oracle_fact(o, VAMP_METRIC_TRANSPORT_BYTES_PER_SECOND,
                    (int64_t)(size * 1000000000 / (uint64_t)took), "%s", tier);
    }
    return size_class;
}

static void on_transport_end(struct oracle *o)
{
    const struct vamp_event *event = o->event;
    struct oracle_wait start = {.tier = 0};
    struct oracle_wait *begun =
        oracle_wait(o->transports, o->transport_count, event->transport_id, 0, 0);
    const bool completed = event->kind == VAMP_EVENT_TRANSPORT_COMPLETED;
    int64_t took = -1;
    if (begun != NULL) {
        start = *begun;
        oracle_drop(o->transports, &o->transport_count, begun);
        oracle_fact(o, VAMP_METRIC_TRANSPORTS_ACTIVE, -1, "%s", vamp_tier_name(start.tier));
        took = completed ? oracle_since(o, start.since_ns) : -1;
    }
    struct oracle_wait *wait =
        oracle_wait(o->demands, o->demand_count, event->cdo_id.low, o->component, 0);
    if (!completed) {
        oracle_anomaly(o, "transport_failed", 1);
        if (wait != NULL) {
            wait->failed = true;
        }
        return;
    }
    const char *size_class = count_transport(o, &start, took);
    took = wait == NULL ? -1 : oracle_since(o, wait->since_ns);
    if (took >= 0) {
        oracle_fact(o, VAMP_METRIC_DEMAND_WAIT_NS, took, "%s|%s", o->name, size_class);
    }
    if (wait != NULL) {
        oracle_drop(o->demands, &o->demand_count, wait);
    }
}

#endif
