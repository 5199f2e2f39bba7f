/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/metrics/statistic.h"

#include "vampire/core/clock.h"
#include "vampire/core/hash.h"
#include "vampire/stats/pairing/track.h"

/* ---- Group 1: how many operations of which kind. */

static void count_operation(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    vamp_cells_count(cells, seen->slot, VAMP_METRIC_POOL_OPERATIONS, &seen->labels, 1);
}

/* ---- Group 2: CDOs created, by size. */

static void count_created(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    struct vamp_labels labels = seen->labels;
    if (seen->created) {
        labels.value[VAMP_LABEL_COMPONENT] = seen->creator;
        vamp_cells_count(cells, seen->slot, VAMP_METRIC_CDOS_CREATED, &labels, 1);
        vamp_cells_count(cells, seen->slot, VAMP_METRIC_CDOS_CREATED_BYTES, &labels,
                         seen->size_bytes);
    }
    if (seen->forgotten > 0) {
        labels.value[VAMP_LABEL_COMPONENT] = seen->forgotten_of;
        labels.value[VAMP_LABEL_SIZE_CLASS] = VAMP_SIZE_CLASS_UNKNOWN;
        vamp_cells_count(cells, seen->slot, VAMP_METRIC_CDOS_CREATED, &labels, seen->forgotten);
    }
}

/* ---- Groups 3 and 5: which components are there, and for how long. */

static void count_presence(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    vamp_cells_change(cells, seen->slot, VAMP_METRIC_COMPONENTS_PRESENT, &seen->labels,
                      seen->present);
    if (vamp_observed(seen, VAMP_INTERVAL_ASSOCIATION)) {
        vamp_cells_record(cells, seen->slot, VAMP_METRIC_COMPONENT_ASSOCIATION_NS, &seen->labels,
                          seen->interval_ns[VAMP_INTERVAL_ASSOCIATION]);
    }
}

/* ---- Groups 4 and 6: what is in the pool, and who gives and takes how much. */

static void count_content(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    struct vamp_slot *slot = seen->slot;
    vamp_cells_change(cells, slot, VAMP_METRIC_POOL_CDOS, &seen->labels, seen->pool_cdos);
    vamp_cells_change(cells, slot, VAMP_METRIC_POOL_BYTES, &seen->labels, seen->pool_bytes);
    if (seen->offered && seen->size_known) {
        vamp_cells_count(cells, slot, VAMP_METRIC_PRODUCED_BYTES, &seen->labels, seen->size_bytes);
    }
    if (seen->transport_completed && seen->size_known) {
        vamp_cells_count(cells, slot, VAMP_METRIC_CONSUMED_BYTES, &seen->labels, seen->size_bytes);
    }
}

/* ---- Groups 7 to 10: how long components wait, for what, and how long the pool manager takes. */

static const enum vamp_metric_id parts[] = {VAMP_METRIC_DEMAND_WAIT_PART_NS, VAMP_METRIC_NONE};

/* The parts of one wait have room with the same labels: what one gives up, all do. False: they
 * give up the label `part` itself. */
static bool admit_parts(struct vamp_cells *cells, struct vamp_labels *labels)
{
    for (uint32_t part = 0; part < VAMP_WAIT_UNKNOWN;) {
        struct vamp_labels room = *labels;
        room.value[VAMP_LABEL_PART] = part;
        vamp_cells_admit(cells, parts, &room);
        if (room.value[VAMP_LABEL_PART] != part) {
            *labels = room;
            return false;
        }
        const bool is_same =
            room.value[VAMP_LABEL_PRODUCER] == labels->value[VAMP_LABEL_PRODUCER] &&
            room.value[VAMP_PLACE_OF_ATTRIBUTES] == labels->value[VAMP_PLACE_OF_ATTRIBUTES];
        room.value[VAMP_LABEL_PART] = labels->value[VAMP_LABEL_PART];
        *labels = room;
        part = is_same ? part + 1 : 0;
    }
    return true;
}

static void record_known_parts(struct vamp_cells *cells, const struct vamp_observation *seen,
                               struct vamp_labels *labels)
{
    const bool has_parts =
        !vamp_cells_is_scarce(cells, VAMP_METRIC_DEMAND_WAIT_PART_NS) || admit_parts(cells, labels);
    for (uint32_t part = 0; part < VAMP_WAIT_UNKNOWN; part++) {
        if (has_parts) {
            labels->value[VAMP_LABEL_PART] = part;
        }
        vamp_cells_record(cells, seen->slot, VAMP_METRIC_DEMAND_WAIT_PART_NS, labels,
                          seen->part_ns[part]);
    }
}

static void record_wait_parts(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    if (!cells->range[VAMP_METRIC_DEMAND_WAIT_PART_NS].enabled) {
        return;
    }
    /* The filter of the whole is that of its parts. */
    if (cells->excluded[VAMP_METRIC_DEMAND_WAIT_NS]) {
        seen->slot->filtered[VAMP_METRIC_DEMAND_WAIT_PART_NS] +=
            seen->parts_known ? VAMP_WAIT_UNKNOWN : 1;
        return;
    }
    struct vamp_labels labels = seen->labels;
    labels.value[VAMP_LABEL_PRODUCER] = seen->producer;
    if (seen->parts_known) {
        record_known_parts(cells, seen, &labels);
        return;
    }
    labels.value[VAMP_LABEL_PART] = VAMP_WAIT_UNKNOWN;
    vamp_cells_record(cells, seen->slot, VAMP_METRIC_DEMAND_WAIT_PART_NS, &labels,
                      seen->interval_ns[VAMP_INTERVAL_DEMAND_WAIT]);
}

static void record_waits(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    static const enum vamp_metric_id metric_of[VAMP_INTERVAL_COUNT] = {
        [VAMP_INTERVAL_DEMAND_WAIT] = VAMP_METRIC_DEMAND_WAIT_NS,
        [VAMP_INTERVAL_WITHDRAW_WAIT] = VAMP_METRIC_WITHDRAW_WAIT_NS,
        [VAMP_INTERVAL_LEAVE_WAIT] = VAMP_METRIC_LEAVE_WAIT_NS,
        [VAMP_INTERVAL_HANDLING] = VAMP_METRIC_HANDLING_NS,
    };
    for (uint32_t left = seen->intervals & VAMP_INTERVALS_OF_WAITS; left != 0; left &= left - 1) {
        const unsigned interval = (unsigned)__builtin_ctz(left);
        vamp_cells_record(cells, seen->slot, metric_of[interval], &seen->labels,
                          seen->interval_ns[interval]);
    }
    if (vamp_observed(seen, VAMP_INTERVAL_DEMAND_WAIT)) {
        record_wait_parts(cells, seen);
    }
}

/* ---- Groups 11 and 12: the life of a CDO, under its producer's name. */

static void record_lifecycle(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    static const enum vamp_metric_id metric_of[VAMP_INTERVAL_COUNT] = {
        [VAMP_INTERVAL_DECLARE_TO_OFFER] = VAMP_METRIC_DECLARE_TO_OFFER_NS,
        [VAMP_INTERVAL_OFFER_TO_FIRST_DEMAND] = VAMP_METRIC_OFFER_TO_FIRST_DEMAND_NS,
        [VAMP_INTERVAL_OFFER_TO_WITHDRAW] = VAMP_METRIC_OFFER_TO_WITHDRAW_NS,
        [VAMP_INTERVAL_LIFETIME] = VAMP_METRIC_CDO_LIFETIME_NS,
    };
    struct vamp_labels labels = seen->labels;
    labels.value[VAMP_LABEL_COMPONENT] = seen->producer;
    for (uint32_t left = seen->intervals & VAMP_INTERVALS_OF_LIFE; left != 0; left &= left - 1) {
        const unsigned interval = (unsigned)__builtin_ctz(left);
        vamp_cells_record(cells, seen->slot, metric_of[interval], &labels,
                          seen->interval_ns[interval]);
    }
    if (seen->fan_out_known) {
        vamp_cells_record(cells, seen->slot, VAMP_METRIC_DEMANDS_PER_CDO, &labels, seen->fan_out);
    }
}

/* ---- Groups 13 to 16: transports. */

/* A pair's transports and their times have room together, or neither has. */
static const enum vamp_metric_id most_labels_first[] = {VAMP_METRIC_TRANSPORTS,
                                                        VAMP_METRIC_TRANSPORT_BYTES,
                                                        VAMP_METRIC_TRANSPORT_NS, VAMP_METRIC_NONE};

static uint64_t bytes_per_second(uint64_t bytes, uint64_t ns)
{
    unsigned __int128 rate = (unsigned __int128)bytes * (uint64_t)VAMP_NS_PER_SECOND / ns;
    return rate > UINT64_MAX ? UINT64_MAX : (uint64_t)rate;
}

static void count_completed(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    struct vamp_slot *slot = seen->slot;
    const uint64_t bytes = seen->size_known ? seen->size_bytes : 0;
    struct vamp_labels labels = seen->labels;
    vamp_cells_admit(cells, most_labels_first, &labels);
    vamp_cells_count(cells, slot, VAMP_METRIC_TRANSPORTS, &labels, 1);
    vamp_cells_count(cells, slot, VAMP_METRIC_TRANSPORT_BYTES, &labels, bytes);
    if (!vamp_observed(seen, VAMP_INTERVAL_TRANSPORT)) {
        return;
    }
    const uint64_t ns = seen->interval_ns[VAMP_INTERVAL_TRANSPORT];
    vamp_cells_record(cells, slot, VAMP_METRIC_TRANSPORT_NS, &labels, ns);
    if (ns > 0 && bytes > 0) {
        vamp_cells_record(cells, slot, VAMP_METRIC_TRANSPORT_BYTES_PER_SECOND, &seen->labels,
                          bytes_per_second(bytes, ns));
    }
}

/* Not inlined: few transports are of another tier than the event says, and the usual needs no room
 * on the stack. */
static __attribute__((noinline)) void
count_active_of(struct vamp_cells *cells, const struct vamp_observation *seen, uint32_t tier)
{
    struct vamp_labels labels = seen->labels;
    labels.value[VAMP_LABEL_TIER] = tier;
    vamp_cells_change(cells, seen->slot, VAMP_METRIC_TRANSPORTS_ACTIVE, &labels,
                      seen->active[tier]);
}

static void count_active(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    for (uint32_t tier = 0; tier < VAMP_TIER_COUNT; tier++) {
        if (seen->active[tier] == 0) {
            continue;
        }
        if (tier != seen->labels.value[VAMP_LABEL_TIER]) {
            count_active_of(cells, seen, tier);
            continue;
        }
        vamp_cells_change(cells, seen->slot, VAMP_METRIC_TRANSPORTS_ACTIVE, &seen->labels,
                          seen->active[tier]);
    }
}

static void count_transport(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    count_active(cells, seen);
    if (seen->transport_completed) {
        count_completed(cells, seen);
    }
}

/* ---- Group 17: what should not happen. */

/* Who and which CDO; the bucket lists a bounded number of them. */
static void list_anomaly(struct vamp_slot *slot, const struct vamp_components *components,
                         const struct vamp_observation *seen, uint32_t anomaly)
{
    if (slot->anomaly_count == VAMP_ANOMALIES_MAX) {
        slot->anomalies_unlisted++;
        return;
    }
    const struct vamp_event *event = seen->event;
    struct vamp_listed_anomaly *listed = &slot->anomalies[slot->anomaly_count++];
    *listed = (struct vamp_listed_anomaly){
        .component = vamp_components_name(components, seen->labels.value[VAMP_LABEL_COMPONENT]),
        .time_ns = event->time_ns,
        .id = event->cdo_id,
        .id_known = vamp_event_has(event, VAMP_HAS_CDO_ID),
        .anomaly = (uint8_t)anomaly,
        .kind = event->kind,
        .count = seen->anomalies[anomaly],
    };
    if (vamp_event_has(event, VAMP_HAS_CDO_NAME)) {
        vamp_track_copy_name(event, listed->name);
    }
}

static void count_anomalies(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    if ((seen->found & VAMP_FOUND_ANOMALY) == 0) {
        return;
    }
    struct vamp_labels labels = seen->labels;
    for (uint32_t anomaly = 0; anomaly < VAMP_ANOMALY_COUNT; anomaly++) {
        if (seen->anomalies[anomaly] > 0) {
            labels.value[VAMP_LABEL_ANOMALY] = anomaly;
            vamp_cells_count(cells, seen->slot, VAMP_METRIC_ANOMALIES, &labels,
                             seen->anomalies[anomaly]);
            if (!cells->excluded[VAMP_METRIC_ANOMALIES]) {
                list_anomaly(seen->slot, cells->series.components, seen, anomaly);
            }
        }
    }
}

/* ---- how far sampled CDOs differ */

static void count_group(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    const struct vamp_event *event = seen->event;
    const uint64_t size = seen->size_known ? seen->size_bytes : 0;
    const struct {
        enum vamp_metric_id id;
        uint64_t amount;
    } added[] = {
        {VAMP_METRIC_POOL_OPERATIONS, 1},
        {VAMP_METRIC_CDOS_CREATED_BYTES, seen->created ? size : 0},
        {VAMP_METRIC_PRODUCED_BYTES, seen->offered ? size : 0},
        {VAMP_METRIC_CONSUMED_BYTES, seen->transport_completed ? size : 0},
        {VAMP_METRIC_TRANSPORTS, seen->transport_completed},
        {VAMP_METRIC_TRANSPORT_BYTES, seen->transport_completed ? size : 0},
    };
    if (!vamp_event_has(event, VAMP_HAS_CDO_ID)) {
        return;
    }
    struct vamp_labels labels = seen->labels;
    labels.value[VAMP_LABEL_GROUP] =
        (uint32_t)(vamp_hash_id(event->cdo_id.high, event->cdo_id.low) % VAMP_GROUP_COUNT);
    for (unsigned i = 0; i < sizeof added / sizeof added[0]; i++) {
        if (added[i].amount > 0 && !cells->excluded[added[i].id]) {
            labels.value[VAMP_LABEL_METRIC] = added[i].id;
            vamp_cells_count(cells, seen->slot, VAMP_METRIC_VAMPIRE_SAMPLE_GROUP, &labels,
                             added[i].amount);
        }
    }
}

/* ---- all of them */

const struct vamp_statistic_ops vamp_statistics[VAMP_STATISTIC_COUNT] = {
    {
        .name = "operations",
        .metrics = {VAMP_METRIC_POOL_OPERATIONS, VAMP_METRIC_NONE},
        .after = VAMP_KINDS_ALL,
        .found = VAMP_FOUND_OPERATION,
        .on_event = count_operation,
    },
    {
        .name = "created",
        .metrics = {VAMP_METRIC_CDOS_CREATED, VAMP_METRIC_CDOS_CREATED_BYTES, VAMP_METRIC_NONE},
        .after = VAMP_KINDS_ALL,
        .found = VAMP_FOUND_SIZE,
        .on_event = count_created,
        .on_gone = count_created,
    },
    {
        .name = "presence",
        .metrics = {VAMP_METRIC_COMPONENTS_PRESENT, VAMP_METRIC_COMPONENT_ASSOCIATION_NS,
                    VAMP_METRIC_NONE},
        .after = VAMP_KIND_BIT(JOIN) | VAMP_KIND_BIT(LEAVE),
        .found = VAMP_FOUND_OPERATION,
        .on_event = count_presence,
        .on_gone = count_presence,
    },
    {
        .name = "pool",
        .metrics = {VAMP_METRIC_POOL_CDOS, VAMP_METRIC_POOL_BYTES, VAMP_METRIC_PRODUCED_BYTES,
                    VAMP_METRIC_CONSUMED_BYTES, VAMP_METRIC_NONE},
        .after = VAMP_KINDS_ALL,
        .found = VAMP_FOUND_CONTENT,
        .on_event = count_content,
        .on_gone = count_content,
    },
    {
        .name = "waits",
        .metrics = {VAMP_METRIC_DEMAND_WAIT_NS, VAMP_METRIC_DEMAND_WAIT_PART_NS,
                    VAMP_METRIC_WITHDRAW_WAIT_NS, VAMP_METRIC_LEAVE_WAIT_NS,
                    VAMP_METRIC_HANDLING_NS, VAMP_METRIC_NONE},
        .after = VAMP_KINDS_ALL,
        .found = VAMP_FOUND_WAIT,
        .on_event = record_waits,
    },
    {
        .name = "lifecycle",
        .metrics = {VAMP_METRIC_DECLARE_TO_OFFER_NS, VAMP_METRIC_OFFER_TO_FIRST_DEMAND_NS,
                    VAMP_METRIC_OFFER_TO_WITHDRAW_NS, VAMP_METRIC_CDO_LIFETIME_NS,
                    VAMP_METRIC_DEMANDS_PER_CDO, VAMP_METRIC_NONE},
        .after = VAMP_KIND_BIT(OFFER) | VAMP_KIND_BIT(DEMAND) | VAMP_KIND_BIT(WITHDRAW) |
                 VAMP_KIND_BIT(DISPOSE),
        .found = VAMP_FOUND_LIFE,
        .on_event = record_lifecycle,
    },
    {
        .name = "transports",
        .metrics = {VAMP_METRIC_TRANSPORT_NS, VAMP_METRIC_TRANSPORTS, VAMP_METRIC_TRANSPORT_BYTES,
                    VAMP_METRIC_TRANSPORT_BYTES_PER_SECOND, VAMP_METRIC_TRANSPORTS_ACTIVE,
                    VAMP_METRIC_NONE},
        .after = VAMP_KIND_BIT(TRANSPORT_INIT) | VAMP_KIND_BIT(TRANSPORT_COMPLETED) |
                 VAMP_KIND_BIT(TRANSPORT_FAILED),
        .found = VAMP_FOUND_OPERATION,
        .on_event = count_transport,
        .on_gone = count_active,
    },
    {
        .name = "anomalies",
        .metrics = {VAMP_METRIC_ANOMALIES, VAMP_METRIC_NONE},
        .after = VAMP_KINDS_ALL,
        .before = VAMP_KINDS_ALL,
        .found = VAMP_FOUND_ANOMALY,
        .on_event = count_anomalies,
        .on_gone = count_anomalies,
    },
    {
        .name = "groups",
        .metrics = {VAMP_METRIC_VAMPIRE_SAMPLE_GROUP, VAMP_METRIC_NONE},
        .after = VAMP_KINDS_ALL & ~(VAMP_KIND_BIT(JOIN) | VAMP_KIND_BIT(LEAVE)),
        .found = VAMP_FOUND_OPERATION,
        .on_event = count_group,
    },
};
