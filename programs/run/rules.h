/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration's rules for which events count, compiled: the first filter, the sampling after
 * it, the filters of single metrics and of outputs, and the selection of CDOs. Worker thread;
 * judging an event allocates nothing.
 */
#ifndef VAMP_RUN_RULES_H
#define VAMP_RUN_RULES_H

#include "config/config.h"
#include "filters/event_filter.h"
#include "vampire/alarms/actions/services.h"
#include "vampire/core/event/components.h"
#include "vampire/stats/stats.h"

/* Enough for "statistics.filters.NAME" and "outputs.NAME.filter". */
#define VAMP_FILTER_PATH_BYTES 128

/* A filter of the configuration, and what it did. */
struct vamp_filter_use {
    struct vamp_event_filter *compiled;
    const struct vamp_components *components;
    uint64_t seen, passed; /* events */
    bool cut_reported;
    char path[VAMP_FILTER_PATH_BYTES]; /* of the configuration: "events", "outputs.0.filter" */
    struct vamp_filter_use *next;
};

struct vamp_rules;

/* `config` and `components` outlive the rules. 0, -ENOMEM, or -EINVAL for a mistake that the check
 * of the configuration should have found. */
VAMP_MUST_CHECK int vamp_rules_create(const struct vamp_config *config,
                                      const struct vamp_components *components,
                                      struct vamp_rules **ret_rules, struct vamp_err *err);
/* NULL is fine. */
void vamp_rules_free(struct vamp_rules *rules);
/* The part of the filter that the pool manager evaluates; NULL: none. Valid as long as the
 * rules. */
const char *vamp_rules_selector(const struct vamp_rules *rules);
/* As text, such as "fraction 10000, rate 100"; "none". Valid as long as the rules. */
const char *vamp_rules_sampling(const struct vamp_rules *rules);
/* Whether any operation can be found not to count. */
bool vamp_rules_judge_events(const struct vamp_rules *rules);
/* Whether an operation (not a mark) counts. A JOIN was observed by the components already. */
enum vamp_verdict vamp_rules_judge(struct vamp_rules *rules, const struct vamp_event *event);
/* Compiles one more filter, of an output, and sets `*ret_use`, which the rules own. Results as
 * above. */
VAMP_MUST_CHECK int vamp_rules_add_filter(struct vamp_rules *rules, const char *text,
                                          enum vamp_filter_place place, const char *path,
                                          struct vamp_filter_use **ret_use, struct vamp_err *err);
/* The first of all filters. NULL: there are none. */
struct vamp_filter_use *vamp_rules_filters(const struct vamp_rules *rules);
/* Whether the event passes; counted. Allocates nothing, cannot fail. */
bool vamp_filter_use_match(struct vamp_filter_use *use, const struct vamp_event *event);
/* The statistics follow these rules from now on; the rules and `services` must outlive that. */
void vamp_rules_apply(struct vamp_rules *rules, struct vamp_stats *stats,
                      const struct vamp_action_services *services);

#endif
