/* SPDX-License-Identifier: BSD-3-Clause */
/* The oracle's rules: what one event means; those of transports stand in stats_oracle_transport.h.
 * Included by one test only. */
#ifndef TESTS_UNIT_STATS_ORACLE_RULES_H
#define TESTS_UNIT_STATS_ORACLE_RULES_H

#include "tests/unit/stats_oracle.h"
#include "tests/unit/stats_oracle_transport.h"

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

/* ---- components, waits */

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

/* ---- events */

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

#endif
