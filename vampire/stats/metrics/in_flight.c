/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/metrics/in_flight.h"

#include "vampire/stats/cells/taken.h"

/* The place of everything that is taken for a bucket. */
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
    if (since_ns <= to->now_ns) { /* it may have begun later, when a clock was set back */
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

static void take_ages(const struct taking *to, const struct vamp_ages *ages,
                      const struct vamp_labels *labels)
{
    static const enum vamp_metric_id oldest[VAMP_AGE_COUNT] = {
        [VAMP_AGE_DEMAND] = VAMP_METRIC_DEMAND_OLDEST_NS,
        [VAMP_AGE_WITHDRAW] = VAMP_METRIC_WITHDRAW_OLDEST_NS,
        [VAMP_AGE_TRANSPORT] = VAMP_METRIC_TRANSPORT_OLDEST_NS,
    };
    for (unsigned age = 0; age < VAMP_AGE_COUNT; age++) {
        take_age(to, oldest[age], labels, ages->since_ns[age]);
    }
    const struct vamp_gauge_change uncertain = {ages->uncertain, ages->uncertain, ages->uncertain};
    vamp_taken_add(to->cells, to->slot, VAMP_METRIC_IN_FLIGHT_UNCERTAIN, labels, &uncertain);
}

void vamp_in_flight_take(struct vamp_cells *cells, struct vamp_slot *slot,
                         struct vamp_tracker *tracker, int64_t start_ns, int64_t now_ns)
{
    const struct taking to = {cells, slot, start_ns, now_ns};
    const size_t rows = vamp_components_count(tracker->components);
    vamp_track_ages(tracker);
    for (uint32_t row = 0; row < rows; row++) {
        struct vamp_in_flight numbers[VAMP_IN_FLIGHT_COUNT];
        struct vamp_labels labels = {{0}};
        labels.value[VAMP_LABEL_COMPONENT] =
            row == 0 ? VAMP_NAME_OTHER
                     : vamp_track_name(tracker, vamp_components_row(tracker->components, row));
        vamp_track_take_numbers(tracker, row, numbers);
        take_numbers(&to, numbers, &labels);
        take_ages(&to, vamp_track_ages_of(tracker, row), &labels);
        const int64_t acted_ns = vamp_track_acted_ns(tracker, row);
        if (acted_ns < start_ns) {
            take_age(&to, VAMP_METRIC_COMPONENT_SILENT_NS, &labels, acted_ns);
        }
    }
}
