/* SPDX-License-Identifier: BSD-3-Clause */
/* The demands that are pending, one by one. */
#include "vampire/stats/pairing/history.h"

static const struct vamp_pending *next_pending(const struct vamp_tracker *tracker, uint32_t row,
                                               uint32_t *position)
{
    return row == VAMP_ALL_ROWS ? vamp_table_next(&tracker->demands, position)
                                : vamp_table_owned(&tracker->demands, row, position);
}

static void describe_cdo(const struct vamp_tracker *tracker, const struct vamp_cdo *cdo,
                         struct vamp_pending_demand *demand)
{
    const bool made = (cdo->flags & VAMP_CDO_MAKER) != 0 && cdo->record.owner != 0;
    demand->producer =
        made ? vamp_track_name(tracker, vamp_components_row(tracker->components, cdo->record.owner))
             : VAMP_NAME_UNKNOWN;
    demand->offered = vamp_cdo_in_pool(cdo);
    demand->size_known = (cdo->flags & VAMP_CDO_SIZED) != 0;
    demand->size_bytes = cdo->size_bytes;
    const struct vamp_cdo_history *history = vamp_track_history(tracker, cdo);
    if (history != NULL) {
        demand->cdo = history->name;
        demand->id = history->id;
        demand->id_known = history->id_known;
    }
}

bool vamp_track_next_demand(struct vamp_tracker *tracker, uint32_t row, uint32_t *position,
                            struct vamp_pending_demand *ret_demand)
{
    const struct vamp_pending *pending = next_pending(tracker, row, position);
    if (pending == NULL) {
        return false;
    }
    *ret_demand = (struct vamp_pending_demand){.row = pending->record.owner,
                                               .since_ns = pending->since.time_ns,
                                               .producer = VAMP_NAME_UNKNOWN,
                                               .cdo = ""};
    const struct vamp_key key = vamp_key_of_two(pending->key[0], pending->key[1]);
    const struct vamp_cdo *cdo = vamp_table_find(&tracker->cdos, &key);
    if (cdo != NULL) {
        describe_cdo(tracker, cdo, ret_demand);
    }
    return true;
}
