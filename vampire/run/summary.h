/* SPDX-License-Identifier: BSD-3-Clause */
/* The summary a person reads when vampire has ended. */
#ifndef VAMP_RUN_SUMMARY_H
#define VAMP_RUN_SUMMARY_H

#include <stdio.h>

#include "vampire/alarms/actions/services.h"
#include "vampire/alarms/alarms.h"
#include "vampire/run/outputs.h"
#include "vampire/run/rules.h"
#include "vampire/stats/stats.h"

struct vamp_summary {
    const char *workflow;
    const char *reason; /* why the run ended */
    int64_t duration_ns;
    const struct vamp_totals *totals;
    const struct vamp_bins *bins;
    const struct vamp_components *components;
    const struct vamp_outputs *outputs;
    const struct vamp_rules *rules;
    const struct vamp_alarms *alarms; /* NULL: no rules */
    const struct vamp_action_account *actions;
    uint64_t filter_cut; /* pattern matches that a bound of steps cut short */
};

void vamp_summary_print(FILE *stream, const struct vamp_summary *summary);

#endif
