/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/metrics/statistic.h"

#include "vampire/core/clock.h"
#include "vampire/core/hash.h"
#include "vampire/core/values.h"
#include "vampire/stats/pairing/track.h"

/* ---- operations */

static void count_operation(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    vamp_cells_count(cells, seen->slot, VAMP_METRIC_POOL_OPERATIONS, &seen->labels, 1);
}

/* ---- CDOs created, by size */

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

/* ---- components present, and the length of their stays */

static void count_presence(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    vamp_cells_change(cells, seen->slot, VAMP_METRIC_COMPONENTS_PRESENT, &seen->labels,
                      seen->present);
    if (vamp_observed(seen, VAMP_INTERVAL_ASSOCIATION)) {
        vamp_cells_record(cells, seen->slot, VAMP_METRIC_COMPONENT_ASSOCIATION_NS, &seen->labels,
                          seen->interval_ns[VAMP_INTERVAL_ASSOCIATION]);
    }
}

/* ---- content of the pool, bytes produced and consumed */

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

/* ---- waits of components, their parts, and handling by the pool manager */

static const enum vamp_metric_id parts[] = {VAMP_METRIC_DEMAND_WAIT_PART_NS, VAMP_METRIC_NONE};

/* Replaces labels so that all parts of a wait can be stored with the same labels. Returns false if
 * the label `part` itself is aggregated away. */
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
    /* the filter of the whole wait also applies to its parts */
    if (cells->excluded[VAMP_METRIC_DEMAND_WAIT_NS]) {
        const unsigned count = seen->parts_known ? VAMP_WAIT_UNKNOWN : 1;
        seen->slot->filtered[VAMP_METRIC_DEMAND_WAIT_PART_NS] += count;
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

/* ---- lifecycle of CDOs, by producer */

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

/* ---- transports */

/* These metrics use the same labels for one event. */
static const enum vamp_metric_id most_labels_first[] = {VAMP_METRIC_TRANSPORTS,
                                                        VAMP_METRIC_TRANSPORT_BYTES,
                                                        VAMP_METRIC_TRANSPORT_NS, VAMP_METRIC_NONE};

static uint64_t bytes_per_second(uint64_t bytes, uint64_t ns)
{
    unsigned __int128 rate = (unsigned __int128)bytes * (uint64_t)VAMP_NS_PER_SECOND / ns;
    return (uint64_t)VAMP_MIN(rate, (unsigned __int128)UINT64_MAX);
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

/* Not inlined, so that the common case, the tier of the event, needs no stack frame. */
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

/* ---- anomalies */

/* Adds an entry with component and CDO, up to the bucket's limit. */
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

/* ---- groups of sampled CDOs, for the error of estimates */

static void count_group(struct vamp_cells *cells, const struct vamp_observation *seen)
{
    const struct vamp_event *event = seen->event;
    const uint64_t size = seen->size_known ? seen->size_bytes : 0;
    const struct {
        enum vamp_metric_id id;
        bool counts;
        uint64_t amount;
    } added[] = {
        {VAMP_METRIC_POOL_OPERATIONS, true, 1},
        {VAMP_METRIC_CDOS_CREATED_BYTES, seen->created, size},
        {VAMP_METRIC_PRODUCED_BYTES, seen->offered, size},
        {VAMP_METRIC_CONSUMED_BYTES, seen->transport_completed, size},
        {VAMP_METRIC_TRANSPORTS, seen->transport_completed, 1},
        {VAMP_METRIC_TRANSPORT_BYTES, seen->transport_completed, size},
    };
    if (!vamp_event_has(event, VAMP_HAS_CDO_ID)) {
        return;
    }
    struct vamp_labels labels = seen->labels;
    labels.value[VAMP_LABEL_GROUP] =
        (uint32_t)(vamp_hash_id(event->cdo_id.high, event->cdo_id.low) % VAMP_GROUP_COUNT);
    for (unsigned i = 0; i < sizeof added / sizeof added[0]; i++) {
        if (added[i].counts && added[i].amount > 0 && !cells->excluded[added[i].id]) {
            labels.value[VAMP_LABEL_METRIC] = added[i].id;
            vamp_cells_count(cells, seen->slot, VAMP_METRIC_VAMPIRE_SAMPLE_GROUP, &labels,
                             added[i].amount);
        }
    }
}

/* ---- the table */

#define METRICS(...) ((const enum vamp_metric_id[]){__VA_ARGS__, VAMP_METRIC_NONE})

const struct vamp_statistic_ops vamp_statistics[VAMP_STATISTIC_COUNT] = {
    [VAMP_STATISTIC_OPERATIONS] =
        {
            .name = "operations",
            .metrics = METRICS(VAMP_METRIC_POOL_OPERATIONS),
            .after = VAMP_KINDS_ALL,
            .found = VAMP_FOUND_OPERATION,
            .on_event = count_operation,
        },
    [VAMP_STATISTIC_CREATED] =
        {
            .name = "created",
            .metrics = METRICS(VAMP_METRIC_CDOS_CREATED, VAMP_METRIC_CDOS_CREATED_BYTES),
            .after = VAMP_KINDS_ALL,
            .found = VAMP_FOUND_SIZE,
            .on_event = count_created,
            .on_gone = count_created,
        },
    [VAMP_STATISTIC_PRESENCE] =
        {
            .name = "presence",
            .metrics =
                METRICS(VAMP_METRIC_COMPONENTS_PRESENT, VAMP_METRIC_COMPONENT_ASSOCIATION_NS),
            .after = VAMP_KIND_BIT(JOIN) | VAMP_KIND_BIT(LEAVE),
            .found = VAMP_FOUND_OPERATION,
            .on_event = count_presence,
            .on_gone = count_presence,
        },
    [VAMP_STATISTIC_POOL] =
        {
            .name = "pool",
            .metrics = METRICS(VAMP_METRIC_POOL_CDOS, VAMP_METRIC_POOL_BYTES,
                               VAMP_METRIC_PRODUCED_BYTES, VAMP_METRIC_CONSUMED_BYTES),
            .after = VAMP_KINDS_ALL,
            .found = VAMP_FOUND_CONTENT,
            .on_event = count_content,
            .on_gone = count_content,
        },
    [VAMP_STATISTIC_WAITS] =
        {
            .name = "waits",
            .metrics = METRICS(VAMP_METRIC_DEMAND_WAIT_NS, VAMP_METRIC_DEMAND_WAIT_PART_NS,
                               VAMP_METRIC_WITHDRAW_WAIT_NS, VAMP_METRIC_LEAVE_WAIT_NS,
                               VAMP_METRIC_HANDLING_NS),
            .after = VAMP_KINDS_ALL,
            .found = VAMP_FOUND_WAIT,
            .on_event = record_waits,
        },
    [VAMP_STATISTIC_LIFECYCLE] =
        {
            .name = "lifecycle",
            .metrics =
                METRICS(VAMP_METRIC_DECLARE_TO_OFFER_NS, VAMP_METRIC_OFFER_TO_FIRST_DEMAND_NS,
                        VAMP_METRIC_OFFER_TO_WITHDRAW_NS, VAMP_METRIC_CDO_LIFETIME_NS,
                        VAMP_METRIC_DEMANDS_PER_CDO),
            .after = VAMP_KIND_BIT(OFFER) | VAMP_KIND_BIT(DEMAND) | VAMP_KIND_BIT(WITHDRAW) |
                     VAMP_KIND_BIT(DISPOSE),
            .found = VAMP_FOUND_LIFE,
            .on_event = record_lifecycle,
        },
    [VAMP_STATISTIC_TRANSPORTS] =
        {
            .name = "transports",
            .metrics = METRICS(VAMP_METRIC_TRANSPORT_NS, VAMP_METRIC_TRANSPORTS,
                               VAMP_METRIC_TRANSPORT_BYTES, VAMP_METRIC_TRANSPORT_BYTES_PER_SECOND,
                               VAMP_METRIC_TRANSPORTS_ACTIVE),
            .after = VAMP_KIND_BIT(TRANSPORT_INIT) | VAMP_KIND_BIT(TRANSPORT_COMPLETED) |
                     VAMP_KIND_BIT(TRANSPORT_FAILED),
            .found = VAMP_FOUND_OPERATION,
            .on_event = count_transport,
            .on_gone = count_active,
        },
    [VAMP_STATISTIC_ANOMALIES] =
        {
            .name = "anomalies",
            .metrics = METRICS(VAMP_METRIC_ANOMALIES),
            .after = VAMP_KINDS_ALL,
            .before = VAMP_KINDS_ALL,
            .found = VAMP_FOUND_ANOMALY,
            .on_event = count_anomalies,
            .on_gone = count_anomalies,
        },
    [VAMP_STATISTIC_GROUPS] =
        {
            .name = "groups",
            .metrics = METRICS(VAMP_METRIC_VAMPIRE_SAMPLE_GROUP),
            .after = VAMP_KINDS_ALL & ~(VAMP_KIND_BIT(JOIN) | VAMP_KIND_BIT(LEAVE)),
            .found = VAMP_FOUND_OPERATION,
            .on_event = count_group,
        },
};
