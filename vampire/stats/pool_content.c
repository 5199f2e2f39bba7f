/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups 4 and 6: what is in the pool, and who gives and takes how much. */
#include <stdlib.h>

#include "vampire/stats/statistic.h"

struct pool_content {
    int64_t cdos, bytes;
    uint64_t produced_bytes, consumed_bytes;
};

static const enum vamp_metric_id metrics[] = {VAMP_METRIC_POOL_CDOS, VAMP_METRIC_POOL_BYTES,
                                              VAMP_METRIC_PRODUCED_BYTES,
                                              VAMP_METRIC_CONSUMED_BYTES, VAMP_METRIC_COUNT};

static int create(struct vamp_cells *cells, void **ret_self, struct vamp_err *err)
{
    (void)cells;
    struct pool_content *content = calloc(1, sizeof *content);
    if (content == NULL) {
        return vamp_err_set(err, -ENOMEM, "statistic pool: out of memory");
    }
    *ret_self = content;
    return 0;
}

static void observe(void *self, struct vamp_cells *cells, const struct vamp_observation *seen)
{
    struct pool_content *content = self;
    struct vamp_slot *slot = seen->slot;
    content->cdos += seen->pool_cdos;
    content->bytes += seen->pool_bytes;
    vamp_cells_change(cells, slot, VAMP_METRIC_POOL_CDOS, &seen->labels, seen->pool_cdos);
    vamp_cells_change(cells, slot, VAMP_METRIC_POOL_BYTES, &seen->labels, seen->pool_bytes);
    if (seen->offered && seen->size_known) {
        content->produced_bytes += seen->size_bytes;
        vamp_cells_count(cells, slot, VAMP_METRIC_PRODUCED_BYTES, &seen->labels, seen->size_bytes);
    }
    if (seen->transport_completed && seen->size_known) {
        content->consumed_bytes += seen->size_bytes;
        vamp_cells_count(cells, slot, VAMP_METRIC_CONSUMED_BYTES, &seen->labels, seen->size_bytes);
    }
}

static void totals(const void *self, struct vamp_totals *into)
{
    const struct pool_content *content = self;
    into->pool_cdos = (uint64_t)content->cdos;
    into->pool_bytes = (uint64_t)content->bytes;
    into->produced_bytes = content->produced_bytes;
    into->consumed_bytes = content->consumed_bytes;
}

const struct vamp_statistic_ops vamp_statistic_pool = {
    .name = "pool",
    .metrics = metrics,
    .after = VAMP_KINDS_ALL,
    .create = create,
    .observe = observe,
    .totals = totals,
    .free = free,
};
