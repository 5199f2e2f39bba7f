/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/cells/weighted.h"

#define MILLION 1000000

/* Joins and leaves are not sampled: each stands for itself. */
static bool is_never_sampled(const struct vamp_series_set *set, uint32_t series)
{
    const uint32_t operation = vamp_series_label(set, series, VAMP_LABEL_OPERATION);
    return operation == VAMP_EVENT_JOIN || operation == VAMP_EVENT_LEAVE;
}

static void weight_series(struct vamp_cells *cells, struct vamp_slot *slot, uint32_t plain,
                          uint32_t weighted, uint64_t weight)
{
    int32_t *rest = &cells->weighted_rests[weighted];
    /* Half a whole number is added to round, so the sum is never negative. */
    const unsigned __int128 millionths =
        (unsigned __int128)slot->counters[plain] * weight + (unsigned)(*rest + MILLION / 2);
    slot->counters[weighted] = (uint64_t)(millionths / MILLION);
    *rest = (int32_t)(millionths % MILLION) - MILLION / 2;
}

void vamp_weighted_fold(struct vamp_cells *cells, struct vamp_slot *slot, uint64_t weight)
{
    for (unsigned i = 0; i < VAMP_WEIGHTED_METRIC_COUNT; i++) {
        const struct vamp_cell_range *weighted = &cells->range[vamp_weighted_metrics[i].weighted];
        const struct vamp_cell_range *plain = &cells->range[vamp_weighted_metrics[i].plain];
        if (!weighted->enabled || !plain->enabled) {
            continue;
        }
        const struct vamp_series_set *set = plain->set;
        for (uint32_t series = 0; series < set->count; series++) {
            if (slot->counters[plain->first + series] > 0) {
                weight_series(cells, slot, plain->first + series, weighted->first + series,
                              is_never_sampled(set, series) ? MILLION : weight);
            }
        }
    }
}
