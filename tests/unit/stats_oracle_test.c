/* SPDX-License-Identifier: BSD-3-Clause */
/* Random streams: every value of every bucket against the oracle. */
#include "tests/unit/stats_oracle.h"

#define SEEDS 24
#define EVENTS 1200
#define APPS 7
#define CDOS 12

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- the oracle's rules for CDOs */

static void uncounted(struct oracle *o, const struct oracle_cdo *cdo)
{
    if (cdo->maker != NOBODY && !cdo->counted) {
        char name[64];
        oracle_name(o, cdo->maker, name);
        oracle_fact(o, VAMP_METRIC_CDOS_CREATED, 1, "%s|unknown", name);
    }
}

static void pool_change(struct oracle *o, const struct oracle_cdo *cdo, int sign)
{
    oracle_fact(o, VAMP_METRIC_POOL_CDOS, sign, "%s", "");
    oracle_fact(o, VAMP_METRIC_POOL_BYTES, cdo->sized ? sign * (int64_t)cdo->size : 0, "%s", "");
}

static void end_record(struct oracle *o, struct oracle_cdo *cdo)
{
    uncounted(o, cdo);
    if (cdo->offered) {
        pool_change(o, cdo, -1);
    }
    oracle_fact(o, VAMP_METRIC_VAMPIRE_TRACKED_CDOS, -1, "%s", "");
    *cdo = o->cdos[--o->cdo_count];
}

static struct oracle_cdo *begin_record(struct oracle *o)
{
    /* Who has left holds nothing. */
    const bool gone = o->component != 0 && o->table[o->component].left;
    struct oracle_cdo *cdo = &o->cdos[o->cdo_count++];
    *cdo = (struct oracle_cdo){.id = o->event->cdo_id.low,
                               .maker = NOBODY,
                               .belongs = gone ? 0 : o->component,
                               .handles = 1,
                               .own_handles = 1};
    oracle_fact(o, VAMP_METRIC_VAMPIRE_TRACKED_CDOS, 1, "%s", "");
    return cdo;
}

static void become_maker(struct oracle *o, struct oracle_cdo *cdo)
{
    if (cdo->belongs != o->component) {
        const bool gone = o->component != 0 && o->table[o->component].left;
        cdo->belongs = gone ? 0 : o->component;
        cdo->own_handles = 1;
        cdo->declared = false;
        struct oracle_wait *second =
            oracle_wait(o->seconds, o->second_count, cdo->id, o->component, 0);
        if (second != NULL) {
            cdo->declared = true;
            cdo->declared_ns = second->since_ns;
            cdo->own_handles = second->count;
            oracle_drop(o->seconds, &o->second_count, second);
        }
    }
    cdo->maker = cdo->belongs;
}

static void on_declare(struct oracle *o, struct oracle_cdo *cdo)
{
    const bool sized = vamp_event_has(o->event, VAMP_HAS_SIZE);
    o->table[o->component].handles++;
    bool had_maker = false;
    if (cdo == NULL) {
        cdo = begin_record(o);
    } else {
        had_maker = cdo->maker != NOBODY;
        cdo->handles++;
        if (cdo->belongs == o->component) {
            cdo->own_handles++;
        } else if (had_maker) {
            struct oracle_wait *second =
                oracle_put(o->seconds, &o->second_count, cdo->id, o->component, 0);
            second->since_ns = second->count == 0 ? o->event->time_ns : second->since_ns;
            second->count++;
        }
    }
    if (!had_maker && !sized) {
        become_maker(o, cdo);
        cdo->declared = true;
        cdo->declared_ns = o->event->time_ns;
    }
}

static void on_offer(struct oracle *o, struct oracle_cdo *cdo, const char *size_class)
{
    if (cdo->offered && cdo->belongs == o->component) {
        oracle_anomaly(o, "operation_out_of_order", 1);
        return;
    }
    const bool sized = cdo->sized || vamp_event_has(o->event, VAMP_HAS_SIZE);
    const uint64_t size =
        vamp_event_has(o->event, VAMP_HAS_SIZE) ? o->event->size_bytes : cdo->size;
    if (sized) {
        oracle_fact(o, VAMP_METRIC_PRODUCED_BYTES, (int64_t)size, "%s", o->name);
    }
    if (cdo->offered) {
        cdo->offers++;
        return;
    }
    become_maker(o, cdo);
    char maker[64];
    oracle_name(o, cdo->maker, maker);
    if (cdo->declared && !cdo->once) {
        int64_t took = oracle_since(o, cdo->declared_ns);
        if (took >= 0) {
            oracle_fact(o, VAMP_METRIC_DECLARE_TO_OFFER_NS, took, "%s|%s", maker, size_class);
        }
    }
    cdo->offers = 1;
    cdo->offered = cdo->once = true;
    cdo->offered_ns = o->event->time_ns;
    pool_change(o, cdo, 1);
}

static void learn_size(struct oracle *o, struct oracle_cdo *cdo)
{
    if (vamp_event_has(o->event, VAMP_HAS_SIZE) && !cdo->sized) {
        cdo->sized = true;
        cdo->size = o->event->size_bytes;
        if (cdo->offered) {
            oracle_fact(o, VAMP_METRIC_POOL_BYTES, (int64_t)cdo->size, "%s", "");
        }
    }
    if (cdo->sized && cdo->maker != NOBODY && !cdo->counted) {
        /* The size counted is the one at hand. */
        uint64_t size = vamp_event_has(o->event, VAMP_HAS_SIZE) ? o->event->size_bytes : cdo->size;
        char name[64];
        cdo->counted = true;
        oracle_name(o, cdo->maker, name);
        oracle_fact(o, VAMP_METRIC_CDOS_CREATED, 1, "%s|%s", name, oracle_class(true, size));
        oracle_fact(o, VAMP_METRIC_CDOS_CREATED_BYTES, (int64_t)size, "%s|%s", name,
                    oracle_class(true, size));
    }
}

static void consumes(struct oracle *o, struct oracle_cdo *cdo)
{
    struct oracle_wait *second =
        oracle_wait(o->seconds, o->second_count, o->event->cdo_id.low, o->component, 0);
    if (second != NULL) {
        oracle_drop(o->seconds, &o->second_count, second);
    }
    if (cdo != NULL && cdo->belongs == o->component && !cdo->offered && !cdo->counted) {
        cdo->maker = NOBODY;
    }
}

static void on_demand(struct oracle *o, bool before)
{
    struct oracle_wait *wait =
        oracle_wait(o->demands, o->demand_count, o->event->cdo_id.low, o->component, 0);
    const bool again = wait != NULL && wait->failed;
    if (again) {
        oracle_anomaly(o, "demand_never_satisfied", 1);
    }
    if (wait == NULL || again || (before && !wait->acknowledged)) {
        wait = oracle_put(o->demands, &o->demand_count, o->event->cdo_id.low, o->component, 0);
        wait->since_ns = o->event->time_ns;
        wait->failed = wait->acknowledged = false;
    }
    wait->acknowledged = wait->acknowledged || !before;
}

static void out_of_pool(struct oracle *o, struct oracle_cdo *cdo, const char *maker)
{
    oracle_fact(o, VAMP_METRIC_DEMANDS_PER_CDO, cdo->demands, "%s", maker);
    oracle_anomaly(o, "offer_never_demanded", cdo->demands == 0);
    cdo->demands = 0;
    cdo->offered = false;
    pool_change(o, cdo, -1);
}

static void on_withdraw(struct oracle *o, struct oracle_cdo *cdo, const char *maker,
                        const char *size_class)
{
    if (cdo == NULL) {
        return;
    }
    if (!cdo->offered) {
        oracle_anomaly(o, "operation_out_of_order", 1);
    } else if (cdo->offers > 1) {
        cdo->offers--;
    } else {
        int64_t took = oracle_since(o, cdo->offered_ns);
        if (took >= 0) {
            oracle_fact(o, VAMP_METRIC_OFFER_TO_WITHDRAW_NS, took, "%s|%s", maker, size_class);
        }
        out_of_pool(o, cdo, maker);
    }
}

static void on_dispose(struct oracle *o, struct oracle_cdo *cdo, const char *maker,
                       const char *size_class)
{
    const uint64_t id = o->event->cdo_id.low;
    int *held = &o->table[o->component].handles;
    *held -= *held > 0;
    struct oracle_wait *wait = oracle_wait(o->demands, o->demand_count, id, o->component, 0);
    if (wait != NULL) {
        oracle_anomaly(o, "demand_never_satisfied", 1);
        oracle_drop(o->demands, &o->demand_count, wait);
    }
    if (cdo == NULL) {
        return;
    }
    if (cdo->maker != NOBODY && cdo->belongs == o->component && --cdo->own_handles == 0) {
        int64_t took = cdo->declared ? oracle_since(o, cdo->declared_ns) : -1;
        if (took >= 0) {
            oracle_fact(o, VAMP_METRIC_CDO_LIFETIME_NS, took, "%s|%s", maker, size_class);
        }
        if (cdo->offered) {
            out_of_pool(o, cdo, maker);
        }
        end_record(o, cdo);
        return;
    }
    wait = oracle_wait(o->seconds, o->second_count, id, o->component, 0);
    if (wait != NULL) {
        oracle_drop(o->seconds, &o->second_count, wait);
    }
    if (cdo->handles > (cdo->maker != NOBODY ? cdo->own_handles : 0)) {
        cdo->handles--;
    }
    if (cdo->handles == 0) {
        end_record(o, cdo);
    }
}

static void on_first_demand(struct oracle *o, struct oracle_cdo *cdo, const char *maker,
                            const char *size_class)
{
    if (cdo == NULL) {
        return;
    }
    int64_t took = cdo->offered && cdo->demands == 0 ? oracle_since(o, cdo->offered_ns) : -1;
    if (took >= 0) {
        oracle_fact(o, VAMP_METRIC_OFFER_TO_FIRST_DEMAND_NS, took, "%s|%s", maker, size_class);
    }
    cdo->demands++;
}

static void on_cdo(struct oracle *o)
{
    const struct vamp_event *event = o->event;
    struct oracle_cdo *cdo = oracle_find(o, event->cdo_id.low);
    const bool tells = vamp_event_has(event, VAMP_HAS_SIZE);
    const char *size_class =
        oracle_class(tells || (cdo != NULL && cdo->sized), tells         ? event->size_bytes
                                                           : cdo != NULL ? cdo->size
                                                                         : 0);
    if (event->kind == VAMP_EVENT_DECLARE) {
        on_declare(o, cdo);
    } else if (event->kind == VAMP_EVENT_SEAL && (cdo == NULL || (tells && !cdo->sized))) {
        become_maker(o, cdo == NULL ? begin_record(o) : cdo);
    } else if (event->kind == VAMP_EVENT_OFFER) {
        on_offer(o, cdo == NULL ? begin_record(o) : cdo, size_class);
    }
    cdo = oracle_find(o, event->cdo_id.low);
    char maker[64] = "";
    if (cdo != NULL) {
        oracle_name(o, cdo->belongs, maker);
        learn_size(o, cdo);
    }
    struct oracle_wait *wait =
        oracle_wait(o->demands, o->demand_count, event->cdo_id.low, o->component, 0);
    if (event->kind == VAMP_EVENT_REQUIRE) {
        consumes(o, cdo);
    } else if (event->kind == VAMP_EVENT_DEMAND) {
        consumes(o, cdo);
        on_demand(o, false);
        on_first_demand(o, cdo, maker, size_class);
    } else if (event->kind == VAMP_EVENT_RETRACT && wait != NULL) {
        oracle_drop(o->demands, &o->demand_count, wait);
    } else if (event->kind == VAMP_EVENT_WITHDRAW) {
        on_withdraw(o, cdo, maker, size_class);
    } else if (event->kind == VAMP_EVENT_DISPOSE) {
        on_dispose(o, cdo, maker, size_class);
    }
}

/* ---- components, waits, transports */

static void on_join(struct oracle *o)
{
    struct oracle_component *component = &o->table[o->component];
    if (component->present > 0) {
        oracle_anomaly(o, "operation_out_of_order", 1);
        return;
    }
    component->present = 1;
    oracle_fact(o, VAMP_METRIC_COMPONENTS_PRESENT, 1, "%s", "");
}

static void on_leave(struct oracle *o)
{
    struct oracle_component *component = &o->table[o->component];
    if (component->left) {
        return;
    }
    if (component->present > 0) {
        component->present = 0;
        oracle_fact(o, VAMP_METRIC_COMPONENTS_PRESENT, -1, "%s", "");
    }
    component->left = true;
    const struct vamp_component *row = vamp_components_row(o->components, o->component);
    int64_t took = row->joined_ns == INT64_MIN ? -1 : oracle_since(o, row->joined_ns);
    if (took >= 0) {
        oracle_fact(o, VAMP_METRIC_COMPONENT_ASSOCIATION_NS, took, "%s", "");
    }
    for (size_t i = o->cdo_count; i-- > 0;) {
        if (o->cdos[i].belongs == o->component) {
            oracle_anomaly(o, "not_withdrawn_at_leave", o->cdos[i].offered);
            end_record(o, &o->cdos[i]);
        }
    }
    oracle_anomaly(o, "not_disposed_at_leave", component->handles);
    component->handles = 0;
    oracle_anomaly(o, "demand_never_satisfied",
                   oracle_drop_all(o->demands, &o->demand_count, o->component));
    (void)oracle_drop_all(o->received, &o->received_count, o->component);
    (void)oracle_drop_all(o->seconds, &o->second_count, o->component);
}

static void on_handled(struct oracle *o)
{
    const struct vamp_event *event = o->event;
    struct oracle_wait *wait =
        oracle_wait(o->received, o->received_count, event->cdo_id.low, o->component, event->kind);
    if (wait == NULL) {
        return;
    }
    const int64_t since_ns = wait->since_ns;
    oracle_drop(o->received, &o->received_count, wait);
    if (event->kind == VAMP_EVENT_LEAVE && event->reason != VAMP_LEAVE_FINALIZED) {
        return;
    }
    int64_t took = oracle_since(o, since_ns);
    if (took < 0) {
        return;
    }
    oracle_fact(o, VAMP_METRIC_HANDLING_NS, took, "%s", vamp_event_kind_name(event->kind));
    if (event->kind == VAMP_EVENT_LEAVE) {
        oracle_fact(o, VAMP_METRIC_LEAVE_WAIT_NS, took, "%s", o->name);
    } else if (event->kind == VAMP_EVENT_WITHDRAW) {
        const bool tells = vamp_event_has(event, VAMP_HAS_SIZE);
        const struct oracle_cdo *cdo = oracle_find(o, event->cdo_id.low);
        oracle_fact(o, VAMP_METRIC_WITHDRAW_WAIT_NS, took, "%s|%s", o->name,
                    oracle_class(tells || (cdo != NULL && cdo->sized), tells ? event->size_bytes
                                                                       : cdo != NULL ? cdo->size
                                                                                     : 0));
    }
}

static void source_name(const struct oracle *o, char name[64])
{
    if (vamp_event_has(o->event, VAMP_HAS_PEER)) {
        oracle_name(o, vamp_components_find(o->components, o->event->peer_id)->index, name);
    } else {
        (void)snprintf(name, 64, "unknown");
    }
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
    const struct oracle_cdo *cdo = oracle_find(o, event->cdo_id.low);
    bool sized = true;
    uint64_t size = event->size_bytes;
    if (!vamp_event_has(event, VAMP_HAS_SIZE)) {
        sized = start.sized || (cdo != NULL && cdo->sized);
        size = start.sized ? start.size : sized ? cdo->size : 0;
    }
    char source[64];
    source_name(o, source);
    if (!vamp_event_has(event, VAMP_HAS_PEER) && start.has_source) {
        memcpy(source, start.source, sizeof source);
    }
    const char *tier = vamp_tier_name(event->tier != 0 ? event->tier : start.tier);
    const char *cause = vamp_cause_name(event->cause != 0 ? event->cause : start.cause);
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
        if (took > 0 && size > 0) {
            /* Sizes of these streams are small enough for this. */
            oracle_fact(o, VAMP_METRIC_TRANSPORT_BYTES_PER_SECOND,
                        (int64_t)(size * 1000000000 / (uint64_t)took), "%s", tier);
        }
    }
    took = wait == NULL ? -1 : oracle_since(o, wait->since_ns);
    if (took >= 0) {
        oracle_fact(o, VAMP_METRIC_DEMAND_WAIT_NS, took, "%s|%s", o->name, size_class);
    }
    if (wait != NULL) {
        oracle_drop(o->demands, &o->demand_count, wait);
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

static bool is_transport(const struct vamp_event *event)
{
    return event->kind >= VAMP_EVENT_TRANSPORT_INIT && event->kind <= VAMP_EVENT_TRANSPORT_FAILED;
}

static void oracle_before(struct oracle *o)
{
    const struct vamp_event *event = o->event;
    if (is_transport(event)) {
        return;
    }
    struct oracle_wait *wait =
        oracle_put(o->received, &o->received_count, event->cdo_id.low, o->component, event->kind);
    wait->since_ns = event->time_ns;
    if (event->kind == VAMP_EVENT_DEMAND) {
        on_demand(o, true);
    }
}

static void oracle_after(struct oracle *o)
{
    const struct vamp_event *event = o->event;
    struct oracle_component *component = &o->table[o->component];
    oracle_fact(o, VAMP_METRIC_POOL_OPERATIONS, 1, "%s|%s", o->name,
                vamp_event_kind_name(event->kind));
    const bool joined = vamp_components_row(o->components, o->component)->joined_ns != INT64_MIN;
    if (!joined && !component->told) {
        component->told = true;
        oracle_anomaly(o, "unknown_component", 1);
    }
    oracle_anomaly(o, "operation_out_of_order", component->left);
    if (event->kind == VAMP_EVENT_TRANSPORT_INIT) {
        on_transport_start(o);
    } else if (is_transport(event)) {
        on_transport_end(o);
    } else {
        on_handled(o);
        if (event->kind == VAMP_EVENT_JOIN) {
            on_join(o);
        } else if (event->kind == VAMP_EVENT_LEAVE) {
            on_leave(o);
        } else if (vamp_event_has(event, VAMP_HAS_CDO_ID)) {
            on_cdo(o);
        }
    }
}

static void oracle_observe(struct oracle *o, const struct vamp_event *event)
{
    o->event = event;
    o->bucket = oracle_bucket(o, event->time_ns);
    const struct vamp_component *row = vamp_components_find(o->components, event->app_id);
    o->component = row == NULL ? 0 : row->index;
    oracle_name(o, o->component, o->name);
    oracle_fact(o, VAMP_METRIC_VAMPIRE_RECEIVED, 1, "%s", "");
    oracle_fact(o, VAMP_METRIC_VAMPIRE_DECODED, 1, "%s", "");
    oracle_fact(o, VAMP_METRIC_VAMPIRE_COUNTED, 1, "%s", "");
    if (event->phase == VAMP_PHASE_BEFORE) {
        oracle_before(o);
    } else {
        oracle_after(o);
    }
}

/* ---- comparing */

static uint64_t slow_bin(const struct vamp_bins *bins, uint64_t value)
{
    for (unsigned i = 0; i < bins->count; i++) {
        if (bins->lower[i] <= value && value <= bins->upper[i]) {
            return i;
        }
    }
    return UINT64_MAX;
}

static void differ(const struct fact *fact, size_t bucket, long long found, long long expected)
{
    fail_msg("%s {%s} in bucket %zu is %lld, the oracle says %lld", vamp_metrics[fact->metric].name,
             fact->labels, bucket, found, expected);
}

/* What the oracle says of one series in all buckets up to `bucket`. A gauge moves once an event. */
struct sum {
    int64_t before, within, min, max; /* of changes: the running value's bounds */
    uint64_t count, smallest, largest;
    uint64_t bins[VAMP_BINS_MAX];
};

static void bound(struct sum *sum)
{
    sum->min = sum->within < sum->min ? sum->within : sum->min;
    sum->max = sum->within > sum->max ? sum->within : sum->max;
}

static void add_up(const struct oracle *o, const struct fact *which, int64_t bucket,
                   const struct vamp_bins *bins, struct sum *sum)
{
    size_t event = SIZE_MAX;
    *sum = (struct sum){.smallest = UINT64_MAX};
    for (size_t i = 0; i < o->fact_count; i++) {
        const struct fact *fact = &o->facts[i];
        if (fact->metric != which->metric || fact->bucket > bucket ||
            strcmp(fact->labels, which->labels) != 0) {
            continue;
        }
        if (fact->bucket < bucket) {
            sum->before += fact->value;
            continue;
        }
        if (fact->event != event) {
            bound(sum);
        }
        event = fact->event;
        sum->within += fact->value;
        uint64_t value = (uint64_t)fact->value;
        sum->count++;
        sum->smallest = value < sum->smallest ? value : sum->smallest;
        sum->largest = value > sum->largest ? value : sum->largest;
        if (vamp_metrics[which->metric].kind == VAMP_HISTOGRAM) {
            sum->bins[slow_bin(bins, value)]++;
        }
    }
    bound(sum);
}

static void compare_gauge(const struct collect *run, const struct fact *fact, size_t b,
                          const struct sum *sum)
{
    const struct vamp_gauge_value gauge = collect_gauge(run, b, fact->metric, fact->labels);
    if (gauge.value != sum->before + sum->within) {
        differ(fact, b, gauge.value, sum->before + sum->within);
    }
    if (gauge.min != sum->before + sum->min || gauge.max != sum->before + sum->max) {
        differ(fact, b, gauge.max, sum->before + sum->max);
    }
}

static void compare_histogram(const struct collect *run, const struct fact *fact, size_t b,
                              const struct sum *sum)
{
    const struct vamp_histogram *histogram = collect_histogram(run, b, fact->metric, fact->labels);
    const uint64_t count = histogram == NULL ? 0 : histogram->count;
    if (count != sum->count) {
        differ(fact, b, (long long)count, (long long)sum->count);
    }
    if (histogram == NULL) {
        return;
    }
    if (histogram->sum != (uint64_t)sum->within || histogram->min != sum->smallest ||
        histogram->max != sum->largest) {
        differ(fact, b, (long long)histogram->sum, sum->within);
    }
    const unsigned bins = vamp_stats_schema(run->stats)->bins.count;
    assert_memory_equal(histogram->bins, sum->bins, bins * sizeof(uint64_t));
}

static void compare_series(const struct collect *run, const struct oracle *o,
                           const struct fact *fact)
{
    for (size_t b = 0; b < run->count; b++) {
        struct sum sum;
        const int64_t bucket = run->buckets[b]->start_ns / SECOND;
        add_up(o, fact, bucket, &vamp_stats_schema(run->stats)->bins, &sum);
        switch (vamp_metrics[fact->metric].kind) {
        case VAMP_COUNTER: {
            uint64_t value = collect_counter(run, b, fact->metric, fact->labels);
            if (value != (uint64_t)(sum.before + sum.within)) {
                differ(fact, b, (long long)value, sum.before + sum.within);
            }
            break;
        }
        case VAMP_GAUGE:
            compare_gauge(run, fact, b, &sum);
            break;
        case VAMP_HISTOGRAM:
            compare_histogram(run, fact, b, &sum);
            break;
        }
    }
}

static bool is_first_of_series(const struct oracle *o, size_t which)
{
    for (size_t i = 0; i < which; i++) {
        if (o->facts[i].metric == o->facts[which].metric &&
            strcmp(o->facts[i].labels, o->facts[which].labels) == 0) {
            return false;
        }
    }
    return true;
}

/* No series may have values the oracle knows nothing of. */
static void compare_counts(const struct collect *run, const struct oracle *o)
{
    const struct vamp_bucket *last = run->buckets[run->count - 1];
    for (unsigned m = 0; m < last->schema->metric_count; m++) {
        const enum vamp_metric_id id = last->schema->metrics[m].id;
        uint64_t found = 0, expected = 0;
        if (vamp_metrics[id].kind == VAMP_HISTOGRAM) {
            found = collect_recorded(run, id);
        }
        for (unsigned s = 0; vamp_metrics[id].kind == VAMP_COUNTER && s < last->values[m].count;
             s++) {
            found += last->values[m].counters[s].value;
        }
        for (size_t i = 0; i < o->fact_count; i++) {
            if (o->facts[i].metric == id) {
                expected +=
                    vamp_metrics[id].kind == VAMP_HISTOGRAM ? 1 : (uint64_t)o->facts[i].value;
            }
        }
        if (vamp_metrics[id].kind != VAMP_GAUGE && found != expected) {
            fail_msg("%s has %llu values, the oracle %llu", vamp_metrics[id].name,
                     (unsigned long long)found, (unsigned long long)expected);
        }
    }
}

/* ---- random streams */

static struct vamp_event random_event(uint64_t *random, int64_t *now_ns)
{
    static const uint8_t kinds[] = {1, 1, 2, 3, 3,  3,  4,  4,  5,  5,  5,  6,  7,  7,  7,
                                    8, 9, 9, 9, 10, 10, 11, 11, 11, 12, 12, 12, 13, 14, 15};
    const uint64_t dice = next_random(random);
    *now_ns += (int64_t)(next_random(random) % 5000000);
    *now_ns += dice % 500 == 0 ? 3 * SECOND : 0;
    /* Most events come in order, some a little early, few very late. */
    int64_t time_ns = *now_ns;
    time_ns -= dice % 7 == 0 ? (int64_t)(next_random(random) % 20000000) : 0;
    time_ns -= dice % 97 == 0 ? (int64_t)(next_random(random) % (3 * (uint64_t)SECOND)) : 0;
    const enum vamp_event_kind kind =
        (enum vamp_event_kind)kinds[next_random(random) % (sizeof kinds)];
    const uint64_t app = 1 + next_random(random) % APPS;
    const uint64_t cdo = 1 + next_random(random) % CDOS;
    struct vamp_event event;
    if (kind == VAMP_EVENT_JOIN) {
        static const char *const names[] = {"IFS -- 0", "IFS -- 1", "IFS -- 0", "Products, \"1\""};
        event = event_join(time_ns, app, names[app % 4]);
        return event; /* after, always: before, it has no id */
    }
    if (kind == VAMP_EVENT_LEAVE) {
        event = event_leave(time_ns, app, (enum vamp_leave_reason)(1 + dice % 4));
    } else if (kind >= VAMP_EVENT_TRANSPORT_INIT && kind <= VAMP_EVENT_TRANSPORT_FAILED) {
        event = event_transport(kind, time_ns, 1 + next_random(random) % 9, cdo, app,
                                next_random(random) % (APPS + 1));
        event.tier = (uint8_t)(next_random(random) % VAMP_TIER_COUNT);
        event.cause = (uint8_t)(next_random(random) % VAMP_CAUSE_COUNT);
        event.present |= VAMP_HAS_TIER | VAMP_HAS_CAUSE;
    } else if (kind == VAMP_EVENT_SUBSCRIBE || kind == VAMP_EVENT_UNSUBSCRIBE) {
        event = event_of(kind, time_ns, app);
    } else {
        event = event_cdo(kind, time_ns, app, cdo);
    }
    if (next_random(random) % 3 == 0 && vamp_event_has(&event, VAMP_HAS_CDO_ID)) {
        event = event_with_size(event, next_random(random) >> (32 + next_random(random) % 32));
    }
    return next_random(random) % 4 == 0 ? event_before(event) : event;
}

static void check_stream(uint64_t seed)
{
    struct oracle *o = calloc(1, sizeof *o);
    struct vamp_stats_options options = collect_options();
    options.max_components = 256;
    struct collect run;
    collect_start(&run, &options);
    o->components = run.components;
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
    int64_t now_ns = 1700000000 * SECOND;
    for (unsigned i = 0; i < EVENTS; i++) {
        struct vamp_event event = random_event(&random, &now_ns);
        o->event_number = i;
        collect_feed(&run, event);
        oracle_observe(o, &event);
    }
    o->bucket = o->latest_ns / SECOND;
    for (size_t i = 0; i < o->cdo_count; i++) {
        uncounted(o, &o->cdos[i]);
    }
    vamp_stats_finish(run.stats);
    compare_counts(&run, o);
    for (size_t i = 0; i < o->fact_count; i++) {
        if (is_first_of_series(o, i)) {
            compare_series(&run, o, &o->facts[i]);
        }
    }
    collect_end(&run);
    free(o);
}

static void random_streams_agree_with_the_oracle(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        check_stream(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_streams_agree_with_the_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
