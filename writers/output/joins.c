/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/joins.h"

#include <string.h>

bool output_join_of(const struct vamp_component *row, int64_t time_ns, struct vamp_event *ret_join)
{
    *ret_join = (struct vamp_event){
        .kind = VAMP_EVENT_JOIN,
        .phase = VAMP_PHASE_AFTER,
        .time_ns = time_ns,
        .app_id = row->app_id,
        .name = row->name,
        .name_length = (uint32_t)strlen(row->name),
        .present = VAMP_HAS_TIME | VAMP_HAS_APP | VAMP_HAS_COMPONENT_NAME,
    };
    return row->left_ns == INT64_MIN && row->joined_ns != INT64_MIN;
}

bool output_sample_of(const struct vamp_component *row, struct vamp_event *event)
{
    if (row->where == NULL || row->where->sample == NULL) {
        return false;
    }
    *event = (struct vamp_event){
        .kind = VAMP_EVENT_SAMPLE,
        .time_ns = event->time_ns,
        .name = row->where->sample,
        .name_length = (uint32_t)strlen(row->where->sample),
        .present = VAMP_HAS_TIME | VAMP_HAS_CDO_NAME,
    };
    return true;
}

/* Whether the component joined before the time and did not leave before it. */
static bool was_present(const struct vamp_component *row, int64_t time_ns)
{
    const bool had_joined = row->joined_ns != INT64_MIN && row->joined_ns < time_ns;
    const bool had_left = row->left_ns != INT64_MIN && row->left_ns < time_ns;
    return had_joined && !had_left;
}

void output_learn_present(struct vamp_components *components, const struct vamp_components *all,
                          int64_t time_ns)
{
    for (size_t i = 1; i < vamp_components_count(all); i++) {
        const struct vamp_component *row = vamp_components_row(all, i);
        if (!was_present(row, time_ns)) {
            continue;
        }
        struct vamp_event event;
        (void)output_join_of(row, row->joined_ns, &event);
        event.name = vamp_component_given_name(row);
        event.name_length = (uint32_t)strlen(event.name);
        (void)vamp_components_observe(components, &event);
        /* A second event, the sample, adds the component's location. */
        if (output_sample_of(row, &event)) {
            (void)vamp_components_observe(components, &event);
        }
    }
}
