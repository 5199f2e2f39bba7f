/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The compiled rules of the configuration that decide which events count: the first filter, the
 * sampling after it, the filters of single metrics and of outputs, and the selection of CDOs.
 * Worker thread; judging an event allocates nothing.
 */
#pragma once

#include "config/config.h"
#include "filters/event_filter.h"
#include "filters/extract.h"
#include "vampire/alarms/actions/services.h"
#include "vampire/core/event/components.h"
#include "vampire/stats/stats.h"

/* Enough for "statistics.filters.NAME" and "outputs.NAME.filter". */
#define VAMP_FILTER_PATH_BYTES 128

/* A filter of the configuration with its counters. */
struct vamp_filter_use {
    struct vamp_event_filter *compiled;
    const struct vamp_components *components;
    uint64_t seen, passed; /* events */
    bool cut_reported;
    char path[VAMP_FILTER_PATH_BYTES]; /* of the configuration: "events", "outputs.0.filter" */
    struct vamp_filter_use *next;
};

struct vamp_metric_rule {
    enum vamp_metric_id metric;
    struct vamp_filter_use *filter;
};

/* Members are read-only for others. */
struct vamp_rules {
    const struct vamp_config *config;
    const struct vamp_components *components;
    struct vamp_filter_use *filters; /* all of them, including those of outputs */
    bool judges;                     /* an operation may be excluded */
    const char *selector; /* the part of the filter that the pool manager evaluates; NULL: none */
    uint64_t fraction;    /* of a million CDOs that count */
    char sampling[32];    /* the same as text, "fraction 10000"; "none" */

    struct vamp_filter_use *first;    /* NULL: everything passes */
    struct vamp_filter_use *selected; /* NULL: every CDO */
    struct vamp_extract *attributes;  /* of CDOs, from their names; NULL: none */
    struct vamp_metric_rule metrics[VAMP_METRICS_MAX];
    unsigned metric_count;
    bool while_firing;                           /* CDOs are selected by firing alarms */
    const struct vamp_action_services *services; /* of those alarms */
};

/* `config` and `components` outlive the rules. 0, -ENOMEM, or -EINVAL for an error that the check
 * of the configuration should have found. */
VAMP_MUST_CHECK int vamp_rules_create(const struct vamp_config *config,
                                      const struct vamp_components *components,
                                      struct vamp_rules **ret_rules, struct vamp_err *err);
/* NULL is fine. */
void vamp_rules_free(struct vamp_rules *rules);
/* Whether an operation (not a control event) counts. A JOIN has already been observed by the
 * components. */
enum vamp_verdict vamp_rules_judge(struct vamp_rules *rules, const struct vamp_event *event);
/* Compiles another filter, of an output, and sets `*ret_use`, which the rules own. Results as
 * above. */
VAMP_MUST_CHECK int vamp_rules_add_filter(struct vamp_rules *rules, const char *text,
                                          enum vamp_filter_place place, const char *path,
                                          struct vamp_filter_use **ret_use, struct vamp_err *err);
/* Whether the event passes; counted. Allocates nothing, cannot fail. */
bool vamp_filter_use_match(struct vamp_filter_use *use, const struct vamp_event *event);
/* The statistics follow these rules from now on; the rules and `services` must outlive that. */
void vamp_rules_apply(struct vamp_rules *rules, struct vamp_stats *stats,
                      const struct vamp_action_services *services);
