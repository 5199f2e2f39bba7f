/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/bucket/totals.h"

uint64_t vamp_totals_operations(const struct vamp_totals *totals)
{
    uint64_t sum = 0;
    for (unsigned kind = 0; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        sum += totals->operations[kind];
    }
    return sum;
}

uint64_t vamp_totals_lost(const struct vamp_totals *totals)
{
    uint64_t sum = 0;
    for (unsigned reason = 0; reason < VAMP_LOSS_COUNT; reason++) {
        sum += totals->accounting.lost[reason];
    }
    return sum;
}
