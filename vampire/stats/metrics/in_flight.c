/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/metrics/statistic.h"

#include <string.h>

#include "vampire/core/event/event.h"
#include "vampire/stats/cells/self.h"

/* Destination of the measured values of a bucket. */
struct taking {
    struct vamp_cells *cells;
    struct vamp_slot *slot;
    int64_t start_ns, now_ns;
};

static void take_number(const struct taking *to, enum vamp_metric_id id,
                        const struct vamp_labels *labels, const struct vamp_in_flight *in_flight)
{
    const struct vamp_gauge_change amount = {in_flight->now, in_flight->least, in_flight->most};
    vamp_taken_add(to->cells, to->slot, id, labels, &amount);
}

static void take_age(const struct taking *to, enum vamp_metric_id id,
                     const struct vamp_labels *labels, int64_t since_ns)
{
    if (since_ns <= to->now_ns) { /* `since_ns` is later if the clock was set back, or if there is
                                   * no operation */
        vamp_taken_age(to->cells, to->slot, id, labels, (uint64_t)to->now_ns - (uint64_t)since_ns);
    }
}

static void take_numbers(const struct taking *to, const struct vamp_in_flight *numbers,
                         struct vamp_labels *labels)
{
    take_number(to, VAMP_METRIC_DEMANDS_PENDING, labels, &numbers[VAMP_IN_FLIGHT_DEMAND]);
    take_number(to, VAMP_METRIC_WITHDRAWS_PENDING, labels, &numbers[VAMP_IN_FLIGHT_WITHDRAW]);
    for (uint32_t tier = 0; tier < VAMP_TIER_COUNT; tier++) {
        labels->value[VAMP_LABEL_TIER] = tier;
        take_number(to, VAMP_METRIC_TRANSPORTS_PENDING, labels,
                    &numbers[VAMP_IN_FLIGHT_TRANSPORT + tier]);
    }
}

static const enum vamp_metric_id metric_of_age[VAMP_AGE_COUNT] = {
    [VAMP_AGE_DEMAND] = VAMP_METRIC_DEMAND_OLDEST_NS,
    [VAMP_AGE_WITHDRAW] = VAMP_METRIC_WITHDRAW_OLDEST_NS,
    [VAMP_AGE_TRANSPORT] = VAMP_METRIC_TRANSPORT_OLDEST_NS,
};
_Static_assert(VAMP_AGE_COUNT == VAMP_OLDEST_METRICS, "each age has room for its CDOs");

static void take_ages(const struct taking *to, const struct vamp_ages *ages,
                      const struct vamp_labels *labels)
{
    for (unsigned age = 0; age < VAMP_AGE_COUNT; age++) {
        take_age(to, metric_of_age[age], labels, ages->oldest[age].since.time_ns);
    }
    const struct vamp_gauge_change uncertain = {ages->uncertain, ages->uncertain, ages->uncertain};
    vamp_taken_add(to->cells, to->slot, VAMP_METRIC_IN_FLIGHT_UNCERTAIN, labels, &uncertain);
}

/* Lists demands that have been pending since before the bucket. */
static void take_demands(const struct taking *to, struct vamp_tracker *tracker)
{
    struct vamp_slot *slot = to->slot;
    slot->demand_count = 0;
    for (unsigned i = 0; slot->demands != NULL && i < tracker->oldest_demand_count; i++) {
        const struct vamp_oldest *item = &tracker->oldest_demands[i];
        if (item->since.time_ns <= to->start_ns) {
            struct vamp_waiting_demand *demand = &slot->demands[slot->demand_count++];
            vamp_track_describe_demand(tracker, item, demand);
            demand->age_ns = (uint64_t)to->now_ns - (uint64_t)demand->since_ns;
        }
    }
}

static void take_cdo(struct vamp_slot *slot, enum vamp_metric_id id, const char *component,
                     struct vamp_pending_cdo cdo)
{
    struct vamp_oldest_cdo *taken = &slot->oldest[slot->oldest_count];
    taken->metric = id;
    taken->component = component;
    if (cdo.name[0] != '\0') {
        memcpy(taken->name, cdo.name, strlen(cdo.name) + 1);
    } else if (cdo.id_known) {
        vamp_cdo_id_text(cdo.id, taken->name);
    } else {
        return;
    }
    slot->oldest_count++;
}

/* Lists the CDOs with the greatest ages. */
static void take_cdos(const struct taking *to, struct vamp_tracker *tracker, uint32_t rows,
                      enum vamp_age age)
{
    struct vamp_oldest oldest[VAMP_OLDEST_CDOS_MAX];
    struct vamp_oldest_list list = {.room = VAMP_OLDEST_CDOS_MAX, .items = oldest};
    for (uint32_t row = 0; row < rows; row++) {
        struct vamp_oldest item = vamp_track_ages_of(tracker, row)->oldest[age];
        if (item.since.time_ns <= to->now_ns) {
            vamp_oldest_add(&list, &item);
        }
    }
    for (unsigned i = 0; i < list.count; i++) {
        const uint32_t name = vamp_track_row_name(tracker, oldest[i].row);
        take_cdo(to->slot, metric_of_age[age], vamp_components_name(tracker->components, name),
                 vamp_track_pending_cdo(tracker, &oldest[i]));
    }
}

void vamp_in_flight_take(struct vamp_cells *cells, struct vamp_slot *slot,
                         struct vamp_tracker *tracker, int64_t start_ns, int64_t now_ns)
{
    const struct taking to = {cells, slot, start_ns, now_ns};
    const size_t rows = vamp_components_count(tracker->components);
    vamp_track_ages(tracker);
    slot->demands_pending = 0;
    for (uint32_t row = 0; row < rows; row++) {
        struct vamp_in_flight numbers[VAMP_IN_FLIGHT_COUNT];
        struct vamp_labels labels = {{0}};
        labels.value[VAMP_LABEL_COMPONENT] = vamp_track_row_name(tracker, row);
        vamp_track_take_numbers(tracker, row, numbers);
        slot->demands_pending += numbers[VAMP_IN_FLIGHT_DEMAND].now;
        take_numbers(&to, numbers, &labels);
        take_ages(&to, vamp_track_ages_of(tracker, row), &labels);
        const int64_t acted_ns = vamp_track_acted_ns(tracker, row);
        if (acted_ns < start_ns) {
            take_age(&to, VAMP_METRIC_COMPONENT_SILENT_NS, &labels, acted_ns);
        }
    }
    take_demands(&to, tracker);
    slot->oldest_count = 0;
    for (unsigned age = 0; age < VAMP_AGE_COUNT; age++) {
        if (tracker->keeps_cdos[age]) {
            take_cdos(&to, tracker, (uint32_t)rows, (enum vamp_age)age);
        }
    }
}
