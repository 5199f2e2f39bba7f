/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/stats/pairing/attribution.h"
#include "vampire/stats/pairing/handlers.h"
#include "vampire/stats/pairing/history.h"
#include "vampire/stats/pairing/keys.h"
#include "vampire/stats/pairing/owner.h"
#include "vampire/stats/pairing/pending.h"
#include "vampire/stats/pairing/waits.h"

static void begin_transport(struct vamp_track_context *at, struct vamp_transport *transport)
{
    const struct vamp_observation *seen = at->seen;
    const uint32_t *labels = seen->labels.value;
    *transport = (struct vamp_transport){
        .slot = transport->slot,
        .cdo_key = {at->cdo_key.words[0], at->cdo_key.words[1]},
        .app_id = at->event->app_id,
        .has_cdo = at->has_cdo,
        .has_sink = vamp_event_has(at->event, VAMP_HAS_APP),
        .sized = seen->size_known,
        .size_bytes = seen->size_bytes,
        .has_source = vamp_event_has(at->event, VAMP_HAS_PEER),
        .source = labels[VAMP_LABEL_SOURCE],
        .sink = labels[VAMP_LABEL_SINK],
        .tier = (uint8_t)labels[VAMP_LABEL_TIER],
        .cause = (uint8_t)labels[VAMP_LABEL_CAUSE],
        .demanded = at->has_cdo && vamp_track_is_demanded(at),
        .named = vamp_pending_name_add(at, VAMP_AGE_TRANSPORT),
        .id_known = vamp_event_has(at->event, VAMP_HAS_CDO_ID),
    };
    if (at->cdo != NULL && vamp_cdo_in_pool(at->cdo)) {
        transport->in_pool = true;
        transport->offered_ns = at->cdo->offered_ns;
        transport->producer = vamp_cdo_owner_name(at, at->cdo);
    }
}

static void track_transport_start(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_lookup lookup;
    vamp_lookup_of_transport(at, &lookup);
    if (lookup.key == NULL) {
        return;
    }
    if (vamp_pending_lookup(at, &lookup) != NULL) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OPERATION_OUT_OF_ORDER, 1);
        return;
    }
    struct vamp_pending *pending = vamp_pending_add(at, &lookup);
    struct vamp_transport *transport = vamp_pending_transport(tracker, pending);
    pending->since_ns = at->event->time_ns;
    pending->sink_row = at->row;
    begin_transport(at, transport);
    vamp_blocked_transport(at, pending);
    at->seen->active[transport->tier]++;
    vamp_pending_count(tracker, at->row, VAMP_IN_FLIGHT_TRANSPORT + transport->tier, 1);
}

/* Adds labels that the start of the transport reported and its end did not. */
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

/* Returns whether the transport started for the same CDO and sink with which it ends. */
static bool is_same_transport(const struct vamp_track_context *at,
                              const struct vamp_transport *transport)
{
    return transport->has_cdo && transport->cdo_key[0] == at->cdo_key.words[0] &&
           transport->cdo_key[1] == at->cdo_key.words[1] &&
           transport->has_sink == vamp_event_has(at->event, VAMP_HAS_APP) &&
           transport->app_id == at->event->app_id;
}

/* Divides the wait of the demand into its parts. Returns false if demand, offer, start and end of
 * the transport were not all observed, or not in this order. If the demand arrived during the
 * transport, its wait is the rest of the transport. */
static bool find_wait_parts(const struct vamp_track_context *at, const struct vamp_pending *pending,
                            const struct vamp_pending *demand,
                            uint64_t part_ns[static VAMP_WAIT_UNKNOWN])
{
    const struct vamp_transport *transport = vamp_pending_transport(at->tracker, pending);
    if (!transport->in_pool || !is_same_transport(at, transport)) {
        return false;
    }
    const int64_t ready_ns = VAMP_MAX(transport->offered_ns, demand->since_ns);
    int64_t started_ns = pending->since_ns;
    if (pending->sequence < demand->sequence) {
        if (transport->offered_ns > started_ns || started_ns > demand->since_ns) {
            return false;
        }
        started_ns = demand->since_ns;
    }
    if (started_ns < ready_ns || at->event->time_ns < started_ns) {
        return false;
    }
    part_ns[VAMP_WAIT_FOR_OFFER] = (uint64_t)ready_ns - (uint64_t)demand->since_ns;
    part_ns[VAMP_WAIT_FOR_START] = (uint64_t)started_ns - (uint64_t)ready_ns;
    part_ns[VAMP_WAIT_MOVING] = (uint64_t)at->event->time_ns - (uint64_t)started_ns;
    return true;
}

/* The transport satisfies the demand of its sink, or a later demand. `pending` is NULL if the start
 * of the transport was not observed. */
static void satisfy_demand(struct vamp_track_context *at, const struct vamp_pending *pending)
{
    struct vamp_observation *seen = at->seen;
    const struct vamp_transport *transport = NULL;
    if (pending != NULL) {
        transport = vamp_pending_transport(at->tracker, pending);
    }
    /* Start and end may report different causes. */
    const bool by_demand = seen->labels.value[VAMP_LABEL_CAUSE] == VAMP_CAUSE_DEMAND ||
                           (transport != NULL && transport->cause == VAMP_CAUSE_DEMAND);
    struct vamp_pending demand;
    if (!at->has_cdo) {
        return;
    }
    if (at->tracker->learns_ends && !vamp_event_has(at->event, VAMP_HAS_APP)) {
        vamp_track_deliver_unattributed(at);
        return;
    }
    if (!vamp_track_demand_end(at, &demand)) {
        if (!by_demand && (transport == NULL || !transport->demanded)) {
            vamp_track_deliver(at, false);
        }
        return;
    }
    const bool in_pool =
        transport != NULL && transport->in_pool && is_same_transport(at, transport);
    vamp_blocked_satisfied(at, in_pool ? pending : NULL);
    if (!demand.acknowledged && !by_demand) {
        vamp_track_deliver(at, true);
    }
    if (!vamp_observe_interval(seen, VAMP_INTERVAL_DEMAND_WAIT, demand.since_ns)) {
        return;
    }
    seen->parts_known = transport != NULL && find_wait_parts(at, pending, &demand, seen->part_ns);
    if (seen->parts_known) {
        seen->producer = transport->producer;
    } else {
        vamp_track_name_producer(at);
    }
}

static void track_transport_end(struct vamp_track_context *at)
{
    struct vamp_observation *seen = at->seen;
    const bool completed = at->event->kind == VAMP_EVENT_TRANSPORT_COMPLETED;
    struct vamp_lookup lookup;
    vamp_lookup_of_transport(at, &lookup);
    struct vamp_pending *pending = vamp_pending_lookup(at, &lookup);
    if (pending != NULL) {
        const struct vamp_transport *transport = vamp_pending_transport(at->tracker, pending);
        complete_labels(at, transport);
        seen->active[transport->tier]--;
        if (completed) {
            (void)vamp_observe_interval(seen, VAMP_INTERVAL_TRANSPORT, pending->since_ns);
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
        satisfy_demand(at, pending);
    } else {
        vamp_observe_anomaly(seen, VAMP_ANOMALY_TRANSPORT_FAILED, 1);
        vamp_track_demand_failed(at);
    }
    vamp_blocked_finished(at, at->record);
    if (pending != NULL) {
        vamp_pending_remove(at, pending);
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
    labels[VAMP_LABEL_TIER] = VAMP_TIER_UNKNOWN;
    if (vamp_event_has(event, VAMP_HAS_TIER) && event->tier < VAMP_TIER_COUNT) {
        labels[VAMP_LABEL_TIER] = event->tier;
    }
    labels[VAMP_LABEL_CAUSE] = VAMP_CAUSE_UNKNOWN;
    if (vamp_event_has(event, VAMP_HAS_CAUSE) && event->cause < VAMP_CAUSE_COUNT) {
        labels[VAMP_LABEL_CAUSE] = event->cause;
    }
}

static __attribute__((noinline)) void track_transport(struct vamp_track_context *at)
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

/* Handles the leave of a component with a row: counts its pending demands as never satisfied,
 * except for demands whose data may have been attributed to another component, ends or transfers
 * the records of its CDOs, and removes its pending operations. */
static __attribute__((noinline)) void release_component(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    tracker->tallies[at->row].left = true;
    uint32_t demands = tracker->tallies[at->row].in_flight[VAMP_IN_FLIGHT_DEMAND].now;
    if (tracker->learns_ends) {
        demands -= vamp_track_count_doubtful(at);
    }
    vamp_track_leave_cdos(at);
    vamp_observe_anomaly(at->seen, VAMP_ANOMALY_DEMAND_NEVER_SATISFIED, demands);
    vamp_track_drop_pending(tracker, at->row);
}

/* ---- stays that end without a LEAVE: everything is released as if the component had left */

static void label_component(struct vamp_track_context *at)
{
    uint32_t *labels = at->seen->labels.value;
    labels[VAMP_LABEL_COMPONENT] = VAMP_NAME_UNKNOWN;
    if (at->component != NULL) {
        labels[VAMP_LABEL_COMPONENT] = vamp_track_name(at->tracker, at->component);
    }
    labels[VAMP_LABEL_OPERATION] = VAMP_EVENT_LEAVE;
    labels[VAMP_LABEL_SIZE_CLASS] = vamp_size_class(false, 0);
    at->seen->producer = labels[VAMP_LABEL_COMPONENT];
    at->seen->size_bytes = 0;
}

/* Releases row 0: events without a component, and components that are not distinguished. */
static void release_rest(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    vamp_track_forget_cdos(at);
    uint32_t position = 0;
    struct vamp_pending *pending = NULL;
    while ((pending = vamp_slab_next(&tracker->pending, &position)) != NULL) {
        if (pending->kind == VAMP_PENDING_TRANSPORT) {
            at->seen->active[vamp_pending_transport(tracker, pending)->tier]--;
        }
        vamp_pending_remove(at, pending);
    }
    vamp_track_drop_pending(tracker, 0);
    struct vamp_tally rest = {.present = 0};
    memcpy(rest.in_flight, tracker->tallies[0].in_flight, sizeof rest.in_flight);
    tracker->tallies[0] = rest;
}

/* Ends the stay of the component of this row. Returns false if it had already ended. */
static bool release_row(struct vamp_tracker *tracker, uint32_t row, const struct vamp_event *leave,
                        struct vamp_observation *seen)
{
    struct vamp_tally *tally = &tracker->tallies[row];
    if (tally->left) {
        return false;
    }
    vamp_observation_begin(seen, leave);
    struct vamp_track_context at = {.tracker = tracker, .event = leave, .seen = seen, .row = row};
    if (row != 0) {
        at.component = vamp_components_row(tracker->components, row);
    }
    label_component(&at);
    seen->present = -(int64_t)tally->present;
    tally->present = 0;
    if (row != 0) {
        release_component(&at);
    } else {
        release_rest(&at);
    }
    vamp_track_show_bytes(tracker, seen);
    return true;
}

bool vamp_track_next_ended(struct vamp_tracker *tracker, const struct vamp_event *event,
                           uint32_t *position, struct vamp_event *ret_leave,
                           struct vamp_observation *seen)
{
    const bool pool = event->kind == VAMP_EVENT_GONE;
    const bool joins = event->kind == VAMP_EVENT_JOIN && event->phase == VAMP_PHASE_AFTER;
    const struct vamp_components *components = tracker->components;
    const uint32_t replaced = joins ? vamp_components_replaced(components) : 0;
    uint32_t count = replaced != 0;
    if (pool) {
        count = (uint32_t)vamp_components_count(components);
    }
    while (*position < count) {
        ++*position;
        const uint32_t row = pool ? *position % count : replaced;
        *ret_leave = (struct vamp_event){
            .kind = VAMP_EVENT_LEAVE,
            .time_ns = event->time_ns,
            .app_id = vamp_components_row(components, row)->app_id,
            .reason = VAMP_LEAVE_UNKNOWN,
        };
        if (row != 0) {
            ret_leave->present |= VAMP_HAS_APP;
        }
        if (pool) {
            ret_leave->reason = VAMP_LEAVE_POOL_GONE;
            ret_leave->present |= VAMP_HAS_REASON;
        }
        if (release_row(tracker, row, ret_leave, seen)) {
            return true;
        }
    }
    return false;
}

_Static_assert(sizeof(struct vamp_cdo) == 64, "one cache line");
_Static_assert(sizeof(struct vamp_cdo_rest) == 24, "small");
_Static_assert(sizeof(struct vamp_pending) == 48, "small");
_Static_assert(sizeof(struct vamp_transport) == 64, "one cache line");

/* Capacity of the entries: one reference per CDO, and max_pending entries of each other class. A
 * record is needed for each tracked CDO and for each entry. */
static int reserve(struct vamp_tracker *tracker, const struct vamp_stats_options *options)
{
    static const enum vamp_metric_id metrics[VAMP_AGE_COUNT] = {
        [VAMP_AGE_DEMAND] = VAMP_METRIC_DEMAND_OLDEST_NS,
        [VAMP_AGE_WITHDRAW] = VAMP_METRIC_WITHDRAW_OLDEST_NS,
        [VAMP_AGE_TRANSPORT] = VAMP_METRIC_TRANSPORT_OLDEST_NS,
    };
    const size_t pending_max =
        options->max_cdos + (size_t)(VAMP_CLASS_COUNT - 1) * options->max_pending;
    size_t names = 1;
    for (unsigned age = 0; age < VAMP_AGE_COUNT; age++) {
        tracker->keeps_cdos[age] = vamp_stats_wants(options, metrics[age]);
        if (tracker->keeps_cdos[age]) {
            names += options->max_pending;
        }
    }
    tracker->max_cdos = (uint32_t)options->max_cdos;
    tracker->max_pending = (uint32_t)options->max_pending;
    tracker->number_word = vamp_hash_seed();
    int status = vamp_table_init(&tracker->cdos, options->max_cdos + pending_max,
                                 sizeof(struct vamp_cdo), sizeof(struct vamp_cdo_rest));
    status |= vamp_slab_init(&tracker->pending, pending_max, sizeof(struct vamp_pending));
    if (tracker->pending.items != NULL) {
        tracker->pending.neighbours =
            tracker->pending.items + offsetof(struct vamp_pending, neighbours);
        tracker->pending.neighbour_bytes = sizeof(struct vamp_pending);
    }
    status |=
        vamp_slab_init(&tracker->transports, options->max_pending, sizeof(struct vamp_transport));
    for (unsigned size = 0; size < VAMP_NAME_SIZES; size++) {
        status |= vamp_slab_init(&tracker->names[size], names, vamp_name_bytes[size]);
    }
    for (unsigned class = 0; class < VAMP_CLASS_COUNT; class ++) {
        const uint64_t most =
            class == VAMP_CLASS_REFERENCES ? options->max_cdos : options->max_pending;
        status |= vamp_class_init(&tracker->classes[class], (uint32_t)most);
    }
    return status != 0 ? -ENOMEM : 0;
}

int vamp_tracker_init(struct vamp_tracker *tracker, const struct vamp_stats_options *options,
                      const struct vamp_components *components, struct vamp_err *err)
{
    memset(tracker, 0, sizeof *tracker);
    tracker->components = components;
    tracker->tallies = calloc(vamp_components_capacity(components), sizeof *tracker->tallies);
    tracker->at = calloc(1, sizeof *tracker->at);
    int status = reserve(tracker, options);
    status |= vamp_blocked_create(tracker, options);
    status |= vamp_evicted_init(&tracker->evicted);
    tracker->has_attributes = vamp_attribute_count() > 0;
    tracker->by_model = options->level == VAMP_LEVEL_MODEL;
    tracker->learns_ends = (options->unknown & VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_PEER)) != 0;
    if (options->level == VAMP_LEVEL_CDO) {
        tracker->histories = calloc(tracker->cdos.slab.capacity, sizeof *tracker->histories);
        if (tracker->histories == NULL) {
            status = -ENOMEM;
        }
    }
    if (status != 0 || tracker->tallies == NULL || tracker->at == NULL) {
        return vamp_err_set(err, -ENOMEM,
                            "statistics: out of memory for %llu CDOs and %llu waits and "
                            "transports; smaller max_cdos and max_pending need less",
                            (unsigned long long)options->max_cdos,
                            (unsigned long long)options->max_pending);
    }
    return 0;
}

void vamp_tracker_done(struct vamp_tracker *tracker)
{
    vamp_table_done(&tracker->cdos);
    vamp_slab_done(&tracker->pending);
    vamp_slab_done(&tracker->transports);
    for (unsigned size = 0; size < VAMP_NAME_SIZES; size++) {
        vamp_slab_done(&tracker->names[size]);
    }
    for (unsigned class = 0; class < VAMP_CLASS_COUNT; class ++) {
        free(tracker->classes[class].order);
    }
    free(tracker->tallies);
    free(tracker->at);
    free(tracker->histories);
    vamp_blocked_free(tracker);
    vamp_evicted_done(&tracker->evicted);
    memset(tracker, 0, sizeof *tracker);
}

/* Assigns the row to this component. Its previous component has no remaining entries. */
static __attribute__((noinline)) void begin_tally(struct vamp_track_context *at)
{
    struct vamp_tally *tally = at->tally;
    assert(tally->first_cdo == 0 && tally->first_pending == 0);
    *tally = (struct vamp_tally){.life = at->component->life};
    vamp_blocked_begin_row(at->tracker, at->row);
}

/* Inlined twice; the second time for transports that name only one end. */
static inline __attribute__((always_inline)) void find_component(struct vamp_track_context *at)
{
    const struct vamp_event *event = at->event;
    uint32_t name = VAMP_NAME_UNKNOWN;
    at->component = NULL;
    at->row = 0;
    at->tally = at->tracker->tallies;
    if (vamp_event_has(event, VAMP_HAS_APP)) {
        const struct vamp_component *component =
            vamp_components_find(at->tracker->components, event->app_id);
        at->component = component;
        if (component == NULL) { /* a received JOIN has no row yet and is not an error */
            name = VAMP_NAME_OTHER;
            at->seen->slot->account.unidentified +=
                event->kind != VAMP_EVENT_JOIN || event->phase == VAMP_PHASE_AFTER;
        } else {
            name = vamp_track_name(at->tracker, component);
            at->row = component->index;
            at->tally = &at->tracker->tallies[at->row];
            if (component->life != at->tally->life) {
                begin_tally(at);
            }
        }
    }
    uint32_t *labels = at->seen->labels.value;
    labels[VAMP_LABEL_COMPONENT] = name;
    labels[VAMP_LABEL_OPERATION] = event->kind;
    at->seen->producer = name;
}

static void find_size(struct vamp_observation *seen, const struct vamp_event *event)
{
    seen->size_known = vamp_event_has(event, VAMP_HAS_SIZE);
    seen->size_bytes = seen->size_known ? event->size_bytes : 0;
}

static void track_join(struct vamp_track_context *at)
{
    struct vamp_tally *tally = &at->tracker->tallies[at->row];
    if (at->row != 0 && tally->present > 0) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OPERATION_OUT_OF_ORDER, 1);
        return;
    }
    tally->present++;
    at->seen->present = 1;
}

static void track_leave(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_tally *tally = &tracker->tallies[at->row];
    assert(!tally->left);
    if (tally->present > 0) {
        tally->present--;
        at->seen->present = -1;
    }
    if (at->row == 0) {
        return; /* events without a component, or components that are not distinguished */
    }
    if (at->component->joined_ns != INT64_MIN) {
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_ASSOCIATION, at->component->joined_ns);
    }
    release_component(at);
}

/* Reports operations of a component with a row before its JOIN or after its LEAVE. */
static void check_component(struct vamp_track_context *at, struct vamp_tally *tally)
{
    if (!tally->checked) {
        tally->checked = true;
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_UNKNOWN_COMPONENT,
                             at->component->joined_ns == INT64_MIN);
    }
    if (tally->left) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OPERATION_OUT_OF_ORDER, 1);
    }
}

/* Operations of a component that has left are ignored: its CDOs were counted at the LEAVE, and new
 * operations would never end. */
static void track_after(struct vamp_track_context *at)
{
    struct vamp_tally *tally = at->tally;
    if ((!tally->checked || tally->left) && at->row != 0) {
        check_component(at, tally);
    }
    if (vamp_track_is_transport(at->event->kind)) {
        track_transport(at);
        return;
    }
    if (tally->left) {
        return;
    }
    tally->acted = vamp_track_moment(at);
    if ((at->tracker->received_kinds & VAMP_EVENT_BIT(at->event->kind)) != 0) {
        vamp_track_handled(at);
    }
    if (at->event->kind == VAMP_EVENT_JOIN) {
        track_join(at);
    } else if (at->event->kind == VAMP_EVENT_LEAVE) {
        track_leave(at);
    } else if (at->has_cdo) {
        vamp_track_cdo(at);
    }
}

/* As track_after, ignores components that have left. */
static void track_before(struct vamp_track_context *at)
{
    struct vamp_tally *tally = at->tally;
    if (!tally->left) {
        tally->acted = vamp_track_moment(at);
        vamp_track_received(at);
    }
}

/* Returns the prefetched look-up of the event; NULL if there is none. */
static const struct vamp_prefetched *next_prefetched(struct vamp_track_context *at)
{
    struct vamp_prefetched_group *ahead = &at->tracker->ahead;
    while (ahead->next < ahead->count) {
        const struct vamp_prefetched *prefetched = &ahead->items[ahead->next++];
        if (prefetched->event == at->event) {
            return prefetched;
        }
    }
    return NULL;
}

/* Sets the key of the event's CDO, and its record. */
static inline void find_cdo(struct vamp_track_context *at)
{
    const struct vamp_table *cdos = &at->tracker->cdos;
    const struct vamp_prefetched_group *ahead = &at->tracker->ahead;
    const struct vamp_prefetched *prefetched = NULL;
    if (ahead->next < ahead->count) {
        prefetched = next_prefetched(at);
    }
    at->record = NULL;
    at->cdo = NULL;
    at->changing = false;
    if (prefetched != NULL) {
        at->has_cdo = true;
        at->cdo_key = prefetched->key;
        at->record = vamp_table_find_guessed(cdos, &at->cdo_key, prefetched->guess);
    } else {
        at->has_cdo = vamp_track_find_key(at->event, &at->cdo_key);
        if (at->has_cdo) {
            at->record = vamp_table_find(cdos, &at->cdo_key);
        }
    }
    /* only handled operations change a CDO */
    if (at->record != NULL && at->record->tracked && at->event->phase == VAMP_PHASE_AFTER) {
        at->cdo = at->record;
    }
}

void vamp_track(struct vamp_tracker *tracker, const struct vamp_event *event,
                struct vamp_observation *seen)
{
    vamp_observation_begin(seen, event);
    seen->found = VAMP_FOUND_OPERATION;
    tracker->events++;
    struct vamp_track_context *at = tracker->at;
    at->tracker = tracker;
    at->event = event;
    at->seen = seen;
    find_component(at);
    find_size(seen, event);
    find_cdo(at);
    if (tracker->has_attributes) {
        vamp_track_find_attributes(at);
    }
    if (tracker->learns_ends && event->phase == VAMP_PHASE_AFTER &&
        vamp_track_is_transport(event->kind)) {
        vamp_track_find_ends(at);
        find_component(at);
    }
    if (event->phase == VAMP_PHASE_AFTER) {
        track_after(at);
        if (at->changing) {
            vamp_track_weigh(at, at->cdo, 1);
        }
    } else if (!vamp_track_is_transport(event->kind)) {
        track_before(at);
    }
    if (tracker->has_attributes && at->record != NULL) {
        at->record->attributes = at->attributes;
    }
    if (seen->pool_changed) {
        vamp_track_show_bytes(tracker, seen);
        if ((seen->pool_cdos | seen->pool_bytes) != 0) {
            seen->found |= VAMP_FOUND_CONTENT;
        }
    }
    seen->labels.value[VAMP_LABEL_SIZE_CLASS] = vamp_size_class(seen->size_known, seen->size_bytes);
}

bool vamp_track_rest(struct vamp_tracker *tracker, struct vamp_slot *slot, uint32_t *position,
                     uint32_t *ret_component)
{
    const struct vamp_cdo *cdo = NULL;
    while ((cdo = vamp_slab_next(&tracker->cdos.slab, position)) != NULL) {
        if (vamp_cdo_count_unsized(tracker, cdo, slot)) {
            const uint32_t owner = cdo->record.item.row;
            *ret_component = VAMP_NAME_UNKNOWN;
            if (owner != 0) {
                *ret_component = vamp_track_row_name(tracker, owner);
            }
            return true;
        }
    }
    return false;
}
