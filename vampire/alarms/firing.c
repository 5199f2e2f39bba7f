/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/alarms/firing.h"

#include <stdio.h>
#include <string.h>

/* ---- the set */

static void add_name(struct vamp_firing_named *named, const struct vamp_alarm_label *label)
{
    static const char *const of_components[] = {"component", "source",       "sink",
                                                "model",     "source_model", "sink_model"};
    for (size_t i = 0; i < sizeof of_components / sizeof of_components[0]; i++) {
        if (strcmp(label->name, of_components[i]) == 0 &&
            named->name_count < VAMP_FIRING_NAMES_MAX) {
            (void)snprintf(named->names[named->name_count++], sizeof named->names[0], "%s",
                           label->value);
        }
    }
}

static bool is_same(const struct vamp_firing_id *id, const struct vamp_alarm_change *change)
{
    return id->rule == change->rule && id->instance == change->instance;
}

static unsigned find_change(const struct vamp_firing *firing,
                            const struct vamp_alarm_change *change)
{
    unsigned i = 0;
    while (i < firing->count && !is_same(&firing->ids[i], change)) {
        i++;
    }
    return i;
}

static void add_firing(struct vamp_firing *firing, const struct vamp_alarm_change *change)
{
    const struct vamp_firing_id id = {.rule = change->rule, .instance = change->instance};
    if (firing->count == VAMP_FIRING_MAX || find_change(firing, change) < firing->count) {
        return;
    }
    firing->ids[firing->count++] = id;
    if (firing->named_count == VAMP_FIRING_NAMED_MAX) {
        return;
    }
    struct vamp_firing_named *named = &firing->named[firing->named_count++];
    *named = (struct vamp_firing_named){.id = id};
    (void)snprintf(named->cdo, sizeof named->cdo, "%s", change->cdo);
    for (unsigned i = 0; i < change->label_count; i++) {
        add_name(named, &change->labels[i]);
    }
}

static void remove_firing(struct vamp_firing *firing, const struct vamp_alarm_change *change)
{
    const unsigned at = find_change(firing, change);
    if (at == firing->count) {
        return;
    }
    firing->ids[at] = firing->ids[--firing->count];
    for (unsigned i = 0; i < firing->named_count; i++) {
        if (is_same(&firing->named[i].id, change)) {
            firing->named[i] = firing->named[--firing->named_count];
            return;
        }
    }
}

void vamp_firing_note(struct vamp_firing *firing, const struct vamp_alarm_change *change)
{
    switch ((enum vamp_alarm_state)change->state) {
    case VAMP_ALARM_FIRING:
        if (!change->silenced) {
            add_firing(firing, change);
        }
        return;
    case VAMP_ALARM_RESOLVED:
        remove_firing(firing, change);
        return;
    case VAMP_ALARM_PENDING:
    case VAMP_ALARM_CLEARED:
        return;
    }
}

/* ---- events */

static bool is_named(const struct vamp_firing_named *named,
                     const struct vamp_components *components, uint64_t app_id)
{
    const struct vamp_component *row = vamp_components_find(components, app_id);
    if (row == NULL) {
        return false;
    }
    const uint32_t model = vamp_components_model(components, row->name_number);
    for (unsigned i = 0; i < named->name_count; i++) {
        if (strcmp(row->name, named->names[i]) == 0 ||
            strcmp(vamp_components_name(components, model), named->names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_of(const struct vamp_firing_named *named, const struct vamp_components *components,
                  const struct vamp_event *event)
{
    const size_t cdo_bytes = strlen(named->cdo);
    return (named->name_count == 0 && cdo_bytes == 0) ||
           (vamp_event_has(event, VAMP_HAS_APP) && is_named(named, components, event->app_id)) ||
           (vamp_event_has(event, VAMP_HAS_PEER) && is_named(named, components, event->peer_id)) ||
           (cdo_bytes > 0 && vamp_event_has(event, VAMP_HAS_CDO_NAME) &&
            event->name_length == cdo_bytes && memcmp(event->name, named->cdo, cdo_bytes) == 0);
}

bool vamp_firing_concerns(const struct vamp_firing *firing,
                          const struct vamp_components *components, const struct vamp_event *event)
{
    if (firing->count > firing->named_count) {
        return true;
    }
    for (unsigned i = 0; i < firing->named_count; i++) {
        if (is_of(&firing->named[i], components, event)) {
            return true;
        }
    }
    return false;
}
