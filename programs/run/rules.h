/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration's rules for which events count, compiled: the first filter, the sampling after
 * it, the filters of single metrics and the selection of CDOs. Worker thread; judging an event
 * allocates nothing.
 */
#ifndef VAMP_RUN_RULES_H
#define VAMP_RUN_RULES_H

#include "config/config.h"
#include "programs/run/filter_use.h"
#include "vampire/alarms/actions/services.h"
#include "vampire/core/event/components.h"
#include "vampire/stats/stats.h"

struct vamp_rules;

/* `components` outlives the rules. 0, -ENOMEM, or -EINVAL for a mistake that the check of the
 * configuration should have found. */
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
/* Each filter, in no particular order. */
void vamp_rules_filters(const struct vamp_rules *rules, vamp_filter_use_fn *each, void *context);
/* The statistics follow these rules from now on; the rules and `services` must outlive that. */
void vamp_rules_apply(struct vamp_rules *rules, struct vamp_stats *stats,
                      const struct vamp_action_services *services);

#endif
