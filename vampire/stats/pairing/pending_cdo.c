/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of which CDO something pending is. An event has the name of its CDO at every level, but the
 * records of CDOs have it at level `cdo` only: so that of a pending demand, withdraw or transport
 * is copied when it begins, next to its record. Nothing is allocated after creation.
 */
#include <stdlib.h>
#include <string.h>

#include "vampire/stats/pairing/records.h"

enum { SHORT_NAME_BYTES = 46 };
struct vamp_pending_cdo_line {
    struct vamp_cdo_id id;
    bool id_known;
    bool name_is_long;
    char name[SHORT_NAME_BYTES];
};
_Static_assert(sizeof(struct vamp_pending_cdo_line) == 64, "one cache line");

int vamp_pending_cdos_init(struct vamp_tracker *tracker, const struct vamp_stats_options *options)
{
    static const enum vamp_metric_id metrics[VAMP_AGE_COUNT] = {
        [VAMP_AGE_DEMAND] = VAMP_METRIC_DEMAND_OLDEST_NS,
        [VAMP_AGE_WITHDRAW] = VAMP_METRIC_WITHDRAW_OLDEST_NS,
        [VAMP_AGE_TRANSPORT] = VAMP_METRIC_TRANSPORT_OLDEST_NS,
    };
    for (unsigned age = 0; age < VAMP_AGE_COUNT; age++) {
        if (vamp_stats_wants(options, metrics[age])) {
            struct vamp_pending_cdos *cdos = &tracker->pending_cdos[age];
            cdos->lines = calloc(options->max_pending, sizeof *cdos->lines);
            cdos->long_names = calloc(options->max_pending, sizeof *cdos->long_names);
            if (cdos->lines == NULL || cdos->long_names == NULL) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

void vamp_pending_cdos_done(struct vamp_tracker *tracker)
{
    for (unsigned age = 0; age < VAMP_AGE_COUNT; age++) {
        free(tracker->pending_cdos[age].lines);
        free(tracker->pending_cdos[age].long_names);
    }
}

/* `name` of `length` bytes, which is shorter than a line's. */
static void note_short_name(struct vamp_pending_cdo_line *line, const char *name, size_t length)
{
    line->name_is_long = false;
    memcpy(line->name, name, length);
    line->name[length] = '\0';
}

static void note_name(struct vamp_track_context *at, struct vamp_pending_cdo_line *line,
                      char long_name[static VAMP_CDO_NAME_BYTES])
{
    const struct vamp_event *event = at->event;
    if (vamp_event_has(event, VAMP_HAS_CDO_NAME)) {
        if (event->name_length < SHORT_NAME_BYTES) {
            note_short_name(line, event->name, event->name_length);
            return;
        }
        vamp_track_copy_name(event, long_name);
    } else {
        const char *name = vamp_track_cdo_name(at->tracker, event);
        const size_t length = strlen(name);
        if (length < SHORT_NAME_BYTES) {
            note_short_name(line, name, length);
            return;
        }
        memcpy(long_name, name, length + 1);
    }
    line->name_is_long = true;
}

void vamp_pending_cdo_note(struct vamp_track_context *at, enum vamp_age age,
                           const struct vamp_table *table, const void *record)
{
    const struct vamp_pending_cdos *cdos = &at->tracker->pending_cdos[age];
    if (cdos->lines == NULL) {
        return;
    }
    const uint32_t place = vamp_table_number(table, record) - 1;
    struct vamp_pending_cdo_line *line = &cdos->lines[place];
    line->id_known = vamp_event_has(at->event, VAMP_HAS_CDO_ID);
    line->id = at->event->cdo_id;
    note_name(at, line, cdos->long_names[place]);
}

struct vamp_pending_cdo vamp_track_pending_cdo(const struct vamp_tracker *tracker,
                                               enum vamp_age age, const struct vamp_oldest *item)
{
    const struct vamp_pending_cdos *cdos = &tracker->pending_cdos[age];
    const struct vamp_pending_cdo_line *line = &cdos->lines[item->record - 1];
    return (struct vamp_pending_cdo){.id = line->id,
                                     .id_known = line->id_known,
                                     .name = line->name_is_long ? cdos->long_names[item->record - 1]
                                                                : line->name};
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
    const struct vamp_pending_cdo named = vamp_track_pending_cdo(tracker, VAMP_AGE_DEMAND, item);
    const struct vamp_key key = vamp_key_of_two(demand->key[0], demand->key[1]);
    const struct vamp_cdo *cdo = vamp_table_find(&tracker->cdos, &key);
    const uint32_t producer = cdo != NULL ? find_producer(tracker, cdo) : 0;
    *ret_demand = (struct vamp_waiting_demand){
        .component = name_of_row(tracker, demand->record.owner),
        .producer = producer != 0 ? name_of_row(tracker, producer) : NULL,
        .since_ns = item->since.time_ns,
        .id = named.id,
        .id_known = named.id_known,
        .offered = cdo != NULL && vamp_cdo_in_pool(cdo),
        .uncertain = vamp_track_is_uncertain(tracker, &item->since),
    };
    memcpy(ret_demand->name, named.name, strlen(named.name) + 1);
}
