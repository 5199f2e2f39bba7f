/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which alarms of a rule or of several fire, and whether an event concerns them: for what lasts as
 * long as an alarm. An alarm that began to fire while it was silenced does not count. Bounded:
 * VAMP_FIRING_MAX alarms, further ones do not count; of the first VAMP_FIRING_NAMED_MAX the
 * components and CDOs are known, and while more fire every event concerns them. Worker thread.
 */
#pragma once

#include <stdbool.h>

#include "vampire/alarms/change.h"
#include "vampire/core/event/components.h"
#include "vampire/core/event/event.h"

#define VAMP_FIRING_MAX 1024
#define VAMP_FIRING_NAMED_MAX 16
/* Labels that name components or models: component, source, sink, and the same of models. */
#define VAMP_FIRING_NAMES_MAX 3

/* Of all rules. */
struct vamp_firing_id {
    unsigned rule, instance;
};

struct vamp_firing_named {
    struct vamp_firing_id id;
    unsigned name_count; /* 0, and no CDO: it is about the whole workflow */
    char names[VAMP_FIRING_NAMES_MAX][VAMP_ALARM_TEXT_BYTES];
    char cdo[VAMP_ALARM_TEXT_BYTES]; /* "": none */
};

/* Zero-initialised is empty. */
struct vamp_firing {
    unsigned count;
    struct vamp_firing_id ids[VAMP_FIRING_MAX];
    unsigned named_count; /* at most `count` */
    struct vamp_firing_named named[VAMP_FIRING_NAMED_MAX];
};

/* Notes a change of one of the rules. */
void vamp_firing_note(struct vamp_firing *firing, const struct vamp_alarm_change *change);
/* Whether the event is of a component, a model or a CDO that a firing alarm names, or one of them
 * is about the whole workflow. False when none fires. */
bool vamp_firing_concerns(const struct vamp_firing *firing,
                          const struct vamp_components *components, const struct vamp_event *event);
