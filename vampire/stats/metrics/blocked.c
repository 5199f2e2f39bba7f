/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/blocked.h"

#include <string.h>

#include "vampire/stats/metrics/statistic.h"

/* Arguments of all counting functions below. */
struct counting {
    struct vamp_cells *cells;
    struct vamp_slot *slot;
    struct vamp_tracker *tracker;
    struct vamp_blocked *blocked;
};

/* Converts to whole nanoseconds. The remainder is added to the next conversion for this clock, so
 * that the sum over all shares is exact. */
static inline uint64_t whole_ns(struct vamp_blocked_clock *clock, vamp_ticks ticks)
{
    const vamp_ticks sum = ticks + clock->fraction;
    clock->fraction = (uint16_t)sum;
    return (uint64_t)(sum >> VAMP_TICK_BITS);
}

/* Adds to blocked_on_ns. Component and producer must be set in the labels. Their cells are cached,
 * because consecutive shares mostly have the same names. */
static inline void count_blocked_on(const struct counting *to, struct vamp_blocked_row *row,
                                    enum vamp_wait_part part, uint64_t ns)
{
    const struct vamp_labels *labels = &to->blocked->labels;
    const struct vamp_cell_range *range = &to->cells->range[VAMP_METRIC_BLOCKED_ON_NS];
    if (row->producer != labels->value[VAMP_LABEL_PRODUCER] ||
        row->component != labels->value[VAMP_LABEL_COMPONENT]) {
        row->producer = labels->value[VAMP_LABEL_PRODUCER];
        row->component = labels->value[VAMP_LABEL_COMPONENT];
        memset(row->cells, 0, sizeof row->cells);
    }
    if (row->cells[part] != 0) {
        to->slot->counters[row->cells[part]] += ns;
        return;
    }
    vamp_cells_count(to->cells, to->slot, VAMP_METRIC_BLOCKED_ON_NS, labels, ns);
    if (range->enabled) {
        const uint32_t series = vamp_series_find(range->set, labels);
        if (series != VAMP_SERIES_NOT_FOUND) {
            row->cells[part] = range->first + series;
        }
    }
}

/* Counts one part of a wait: the time between two values of the component's clock of demands. */
static inline void count_part(const struct counting *to, struct vamp_blocked_row *row,
                              enum vamp_wait_part part, vamp_ticks from, vamp_ticks until)
{
    if (from == until) {
        return;
    }
    struct vamp_labels *labels = &to->blocked->labels;
    labels->value[VAMP_LABEL_PART] = part;
    count_blocked_on(to, row, part, whole_ns(&row->demands, until - from));
    if (from < row->demands.at_bucket) {
        const vamp_ticks before = VAMP_MIN(until, row->demands.at_bucket) - from;
        vamp_cells_count(to->cells, to->slot, VAMP_METRIC_BLOCKED_ON_BEFORE_NS, labels,
                         (uint64_t)(before >> VAMP_TICK_BITS));
    }
}

/* For each demand of a CDO that came into the pool: counts its wait for the offer. A component is
 * not blocked on itself. */
static void count_offered(const struct counting *to, int64_t time_ns)
{
    struct vamp_blocked *blocked = to->blocked;
    struct vamp_blocked_due *due = &blocked->due;
    const bool is_certain = due->offerer_row != 0 && due->offerer != VAMP_NAME_UNKNOWN;
    blocked->labels.value[VAMP_LABEL_PRODUCER] = due->offerer;
    for (uint32_t number = due->first_offered; number != 0;) {
        struct vamp_blocked_share *share = &blocked->shares[number - 1];
        const struct vamp_pending *demand = vamp_slab_item(&to->tracker->pending, number);
        const uint32_t row = demand->item.row;
        struct vamp_blocked_clock *clock = &blocked->rows[row].demands;
        vamp_blocked_advance(blocked, clock, time_ns);
        if (is_certain && row != due->offerer_row) {
            blocked->labels.value[VAMP_LABEL_COMPONENT] = vamp_track_row_name(to->tracker, row);
            count_part(to, &blocked->rows[row], VAMP_WAIT_FOR_OFFER, vamp_blocked_counted_to(share),
                       clock->now);
        }
        vamp_blocked_set_counted_to(share, clock->now);
        share->offered = true;
        number = share->after;
    }
    due->first_offered = 0;
}

/* Counts the wait of a satisfied demand since the CDO was offered. */
static void count_satisfied(const struct counting *to)
{
    struct vamp_blocked *blocked = to->blocked;
    struct vamp_blocked_due *due = &blocked->due;
    struct vamp_blocked_row *row = &blocked->rows[due->demand_row];
    due->satisfied = false;
    if (due->producer == VAMP_NAME_UNKNOWN) {
        return;
    }
    blocked->labels.value[VAMP_LABEL_COMPONENT] = vamp_track_row_name(to->tracker, due->demand_row);
    blocked->labels.value[VAMP_LABEL_PRODUCER] = due->producer;
    if (due->parts_known) {
        count_part(to, row, VAMP_WAIT_FOR_START, due->demand_from, due->transport_started);
        count_part(to, row, VAMP_WAIT_MOVING, due->transport_started, due->demand_to);
    } else {
        count_part(to, row, VAMP_WAIT_UNKNOWN, due->demand_from, due->demand_to);
    }
}

/* Counts the time of a WITHDRAW or LEAVE that a consumer delayed. */
static void count_released(const struct counting *to)
{
    struct vamp_blocked *blocked = to->blocked;
    struct vamp_blocked_due *due = &blocked->due;
    struct vamp_blocked_clock *clock = &blocked->rows[due->released_row].releases;
    due->released = false;
    blocked->labels.value[VAMP_LABEL_COMPONENT] =
        vamp_track_row_name(to->tracker, due->released_row);
    blocked->labels.value[VAMP_LABEL_CONSUMER] = due->consumer;
    vamp_cells_count(to->cells, to->slot, VAMP_METRIC_HELD_BACK_NS, &blocked->labels,
                     whole_ns(clock, due->release_to - due->release_from));
}

void vamp_blocked_count(struct vamp_cells *cells, struct vamp_slot *slot,
                        struct vamp_tracker *tracker, int64_t time_ns)
{
    const struct counting to = {cells, slot, tracker, tracker->blocked};
    tracker->blocked_due = false;
    if (to.blocked->due.first_offered != 0) {
        count_offered(&to, time_ns);
    }
    if (to.blocked->due.satisfied) {
        count_satisfied(&to);
    }
    if (to.blocked->due.released) {
        count_released(&to);
    }
}

void vamp_blocked_end_bucket(struct vamp_cells *cells, struct vamp_slot *slot,
                             struct vamp_tracker *tracker, int64_t now_ns)
{
    struct vamp_blocked *blocked = tracker->blocked;
    const size_t rows = vamp_components_count(tracker->components);
    for (uint32_t row = 1; row < rows; row++) {
        struct vamp_blocked_clock *clock = &blocked->rows[row].demands;
        vamp_blocked_advance(blocked, clock, now_ns);
        vamp_blocked_advance(blocked, &blocked->rows[row].releases, now_ns);
        clock->at_bucket = clock->now;
        if (clock->elapsed_ns > 0) {
            blocked->labels.value[VAMP_LABEL_COMPONENT] = vamp_track_row_name(tracker, row);
            vamp_cells_count(cells, slot, VAMP_METRIC_BLOCKED_NS, &blocked->labels,
                             clock->elapsed_ns);
            clock->elapsed_ns = 0;
        }
    }
}
