/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The compiled rules of the configuration that determine which events count: the first filter, the
 * sampling after it, the filters of individual metrics and outputs, and the selection of CDOs.
 * Worker thread. Evaluating an event allocates nothing.
 */
#pragma once

#include "config/config.h"
#include "filters/event_filter.h"
#include "filters/extract.h"
#include "vampire/alarms/actions/services.h"
#include "vampire/core/event/components.h"
#include "vampire/stats/stats.h"

/* Sufficient for "statistics.filters.NAME" and "outputs.NAME.filter". */
#define VAMP_FILTER_PATH_BYTES 128

/* A configured filter with its counters. */
struct vamp_filter_use {
    struct vamp_event_filter *compiled;
    const struct vamp_components *components;
    uint64_t seen, passed; /* number of events */
    bool cut_reported;
    char path[VAMP_FILTER_PATH_BYTES]; /* location in the configuration: "events",
                                        * "outputs.0.filter" */
    struct vamp_filter_use *next;
};

struct vamp_metric_rule {
    enum vamp_metric_id metric;
    struct vamp_filter_use *filter;
};

/* Other modules only read the members. */
struct vamp_rules {
    const struct vamp_config *config;
    const struct vamp_components *components;
    struct vamp_filter_use *filters; /* list of all filters, including those of outputs */
    bool judges;                     /* the rules may exclude operations */
    const char *selector; /* part of the filter that the pool manager evaluates; NULL: none */
    uint64_t fraction;    /* number of counted CDOs per million */
    char sampling[32];    /* `fraction` as text, "fraction 10000", or "none" */

    struct vamp_filter_use *first;    /* first filter; NULL: everything passes */
    struct vamp_filter_use *selected; /* selection of CDOs; NULL: every CDO */
    struct vamp_extract *attributes;  /* CDO attributes extracted from names; NULL: none */
    struct vamp_metric_rule metrics[VAMP_METRICS_MAX];
    unsigned metric_count;
    bool while_firing;                           /* firing alarms select the CDOs */
    const struct vamp_action_services *services; /* services of those alarms */
};

/* `config` and `components` must outlive the rules. Returns 0, -ENOMEM, or -EINVAL for an error
 * that the check of the configuration should have detected. */
VAMP_MUST_CHECK int vamp_rules_create(const struct vamp_config *config,
                                      const struct vamp_components *components,
                                      struct vamp_rules **ret_rules, struct vamp_err *err);
/* Frees the rules, which may be NULL. */
void vamp_rules_free(struct vamp_rules *rules);
/* Returns whether an operation (not a control event) counts. `components` must already have
 * observed a JOIN. */
enum vamp_verdict vamp_rules_judge(struct vamp_rules *rules, const struct vamp_event *event);
/* Compiles the filter of an output and sets `*ret_use`, which the rules own. Returns the same
 * values as vamp_rules_create. */
VAMP_MUST_CHECK int vamp_rules_add_filter(struct vamp_rules *rules, const char *text,
                                          enum vamp_filter_place place, const char *path,
                                          struct vamp_filter_use **ret_use, struct vamp_err *err);
/* Returns whether the event passes, and counts it. Allocates nothing, cannot fail. */
bool vamp_filter_use_match(struct vamp_filter_use *use, const struct vamp_event *event);
/* Makes the statistics use these rules from now on; the rules and `services` must outlive that use.
 */
void vamp_rules_apply(struct vamp_rules *rules, struct vamp_stats *stats,
                      const struct vamp_action_services *services);
