/* SPDX-License-Identifier: BSD-3-Clause */
/* Group 1: how many operations of which kind. */
#include <stdlib.h>

#include "vampire/stats/statistic.h"

struct operations {
    uint64_t by_kind[VAMP_EVENT_KIND_COUNT];
};

static const enum vamp_metric_id metrics[] = {VAMP_METRIC_POOL_OPERATIONS, VAMP_METRIC_COUNT};

static int create(struct vamp_cells *cells, void **ret_self, struct vamp_err *err)
{
    (void)cells;
    struct operations *operations = calloc(1, sizeof *operations);
    if (operations == NULL) {
        return vamp_err_set(err, -ENOMEM, "statistic operations: out of memory");
    }
    *ret_self = operations;
    return 0;
}

static void observe(void *self, struct vamp_cells *cells, const struct vamp_observation *seen)
{
    struct operations *operations = self;
    operations->by_kind[seen->event->kind]++;
    vamp_cells_count(cells, seen->slot, VAMP_METRIC_POOL_OPERATIONS, &seen->labels, 1);
}

static void totals(const void *self, struct vamp_totals *into)
{
    const struct operations *operations = self;
    for (unsigned kind = 0; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        into->operations[kind] = operations->by_kind[kind];
    }
}

const struct vamp_statistic_ops vamp_statistic_operations = {
    .name = "operations",
    .metrics = metrics,
    .after = VAMP_KINDS_ALL,
    .create = create,
    .observe = observe,
    .totals = totals,
    .free = free,
};
