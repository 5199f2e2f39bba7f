/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of which CDO something pending is. An event has the name of its CDO at every level, but the
 * records of CDOs have it at level `cdo` only: so that of a pending demand, withdraw or transport
 * is copied when it begins, next to its record. Nothing is allocated after creation.
 */
#include <stdlib.h>
#include <string.h>

#include "vampire/stats/pairing/records.h"

int vamp_pending_cdos_init(struct vamp_tracker *tracker, const struct vamp_stats_options *options)
{
    static const enum vamp_metric_id metrics[VAMP_AGE_COUNT] = {
        [VAMP_AGE_DEMAND] = VAMP_METRIC_DEMAND_OLDEST_NS,
        [VAMP_AGE_WITHDRAW] = VAMP_METRIC_WITHDRAW_OLDEST_NS,
        [VAMP_AGE_TRANSPORT] = VAMP_METRIC_TRANSPORT_OLDEST_NS,
    };
    for (unsigned age = 0; age < VAMP_AGE_COUNT; age++) {
        if (vamp_stats_wants(options, metrics[age])) {
            tracker->pending_cdos[age] =
                calloc(options->max_pending, sizeof *tracker->pending_cdos[age]);
            if (tracker->pending_cdos[age] == NULL) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

void vamp_pending_cdos_done(struct vamp_tracker *tracker)
{
    for (unsigned age = 0; age < VAMP_AGE_COUNT; age++) {
        free(tracker->pending_cdos[age]);
    }
}

void vamp_pending_cdo_note(struct vamp_track_context *at, enum vamp_age age,
                           const struct vamp_table *table, const void *record)
{
    struct vamp_tracker *tracker = at->tracker;
    if (tracker->pending_cdos[age] == NULL) {
        return;
    }
    struct vamp_pending_cdo *cdo =
        &tracker->pending_cdos[age][vamp_table_number(table, record) - 1];
    cdo->id_known = vamp_event_has(at->event, VAMP_HAS_CDO_ID);
    cdo->id = at->event->cdo_id;
    if (vamp_event_has(at->event, VAMP_HAS_CDO_NAME)) {
        vamp_track_copy_name(at->event, cdo->name);
    } else {
        const char *name = vamp_track_cdo_name(tracker, at->event);
        memcpy(cdo->name, name, strlen(name) + 1);
    }
}

const struct vamp_pending_cdo *vamp_track_pending_cdo(const struct vamp_tracker *tracker,
                                                      enum vamp_age age,
                                                      const struct vamp_oldest *item)
{
    return tracker->pending_cdos[age] == NULL ? NULL
                                              : &tracker->pending_cdos[age][item->record - 1];
}

static const char *name_of_row(const struct vamp_tracker *tracker, uint32_t row)
{
    const uint32_t name =
        row == 0 ? VAMP_NAME_OTHER : vamp_components_row(tracker->components, row)->name_number;
    return vamp_components_name(tracker->components, name);
}

/* Whose the CDO is for one that waits for it; 0: nobody is known. */
static uint32_t find_producer(const struct vamp_tracker *tracker, const struct vamp_cdo *cdo)
{
    if ((cdo->flags & VAMP_CDO_OFFERED) == 0 && cdo->last_offer != 0) {
        const struct vamp_hold *hold = vamp_table_record(&tracker->holds, cdo->last_offer);
        return (uint32_t)hold->key[2];
    }
    return (cdo->flags & VAMP_CDO_MAKER) != 0 ? cdo->record.owner : 0;
}

void vamp_track_describe_demand(struct vamp_tracker *tracker, const struct vamp_oldest *item,
                                struct vamp_waiting_demand *ret_demand)
{
    const struct vamp_pending *demand = vamp_table_record(&tracker->demands, item->record);
    const struct vamp_pending_cdo *named = vamp_track_pending_cdo(tracker, VAMP_AGE_DEMAND, item);
    const struct vamp_key key = vamp_key_of_two(demand->key[0], demand->key[1]);
    const struct vamp_cdo *cdo = vamp_table_find(&tracker->cdos, &key);
    const uint32_t producer = cdo != NULL ? find_producer(tracker, cdo) : 0;
    *ret_demand = (struct vamp_waiting_demand){
        .component = name_of_row(tracker, demand->record.owner),
        .producer = producer != 0 ? name_of_row(tracker, producer) : NULL,
        .since_ns = item->since.time_ns,
        .id = named->id,
        .id_known = named->id_known,
        .offered = cdo != NULL && vamp_cdo_in_pool(cdo),
        .uncertain = vamp_track_is_uncertain(tracker, &item->since),
    };
    memcpy(ret_demand->name, named->name, sizeof ret_demand->name);
}
