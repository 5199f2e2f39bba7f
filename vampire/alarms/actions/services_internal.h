/* SPDX-License-Identifier: BSD-3-Clause */
/* What a kind of action uses of the services. Private to this folder. */
#ifndef VAMP_ALARMS_ACTIONS_SERVICES_INTERNAL_H
#define VAMP_ALARMS_ACTIONS_SERVICES_INTERNAL_H

#include "vampire/alarms/actions/commands.h"
#include "vampire/alarms/actions/excerpt.h"
#include "vampire/alarms/actions/firing.h"
#include "vampire/alarms/actions/services.h"
#include "vampire/alarms/change.h"

/* Alarms of one rule for which more is kept. The action owns it while it exists, then the
 * services. */
struct services_detail {
    struct services_detail *next;
    struct vamp_action_services *services;
    bool released; /* the action is gone; what it began is being completed */
    struct vamp_firing firing;
    bool selects;                 /* records of CDOs are kept */
    bool all;                     /* a recording has all events, not only those concerned */
    struct vamp_firing recorded;  /* those that fired since the recording began */
    struct vamp_excerpt *excerpt; /* NULL: no recording, or none yet */
};

struct vamp_action_services {
    struct vamp_action_services_options options;
    struct vamp_commands *commands; /* NULL: not asked for yet, as the next one */
    struct vamp_history *history;
    struct services_detail *details;
    unsigned lanes;                         /* given to commands */
    struct vamp_excerpt_account recordings; /* of excerpts that are gone */
};

/* Makes the part unless it is there. 0 or -errno. */
VAMP_MUST_CHECK int services_commands(struct vamp_action_services *services, struct vamp_err *err);
/* At least so many bytes of events, unless the run has begun with less. */
VAMP_MUST_CHECK int services_history(struct vamp_action_services *services, size_t bytes,
                                     struct vamp_err *err);
/* Adds an empty detail. NULL without memory. */
struct services_detail *services_add_detail(struct vamp_action_services *services);
/* NULL-safe: the action is gone. */
void services_release_detail(struct services_detail *detail);

#endif
