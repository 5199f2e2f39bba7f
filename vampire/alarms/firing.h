/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set of firing alarms of one or several rules, and a test whether an event concerns them. Used
 * by outputs and records that are active while an alarm is firing. Alarms that started to fire
 * while silenced are ignored, as are alarms over VAMP_FIRING_MAX. Components and CDOs are stored
 * for the first VAMP_FIRING_NAMED_MAX alarms; while more alarms are firing, every event concerns
 * them. Worker thread.
 */
#pragma once

#include <stdbool.h>

#include "vampire/alarms/change.h"
#include "vampire/core/event/components.h"
#include "vampire/core/event/event.h"

#define VAMP_FIRING_MAX 1024
#define VAMP_FIRING_NAMED_MAX 16
/* Number of labels that contain names of components or models: component, source, sink, and the
 * corresponding labels of models. */
#define VAMP_FIRING_NAMES_MAX 3

struct vamp_firing_id {
    unsigned rule, instance;
};

struct vamp_firing_named {
    struct vamp_firing_id id;
    unsigned name_count; /* 0 names and no CDO: the alarm concerns the whole workflow */
    char names[VAMP_FIRING_NAMES_MAX][VAMP_ALARM_TEXT_BYTES];
    char cdo[VAMP_ALARM_TEXT_BYTES]; /* "": none */
};

/* The set is empty if zero-initialised. */
struct vamp_firing {
    unsigned count;
    struct vamp_firing_id ids[VAMP_FIRING_MAX];
    unsigned named_count; /* at most `count` */
    struct vamp_firing_named named[VAMP_FIRING_NAMED_MAX];
};

/* Updates the set for a change of an alarm of one of the rules. */
void vamp_firing_note(struct vamp_firing *firing, const struct vamp_alarm_change *change);
/* Returns whether the event concerns a component, a model or a CDO of a firing alarm, or a firing
 * alarm concerns the whole workflow. */
bool vamp_firing_concerns(const struct vamp_firing *firing,
                          const struct vamp_components *components, const struct vamp_event *event);
