/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the configuration says about which events count, compiled: the filter that comes first, the
 * sampling after it, the filters of single metrics and the selection of CDOs. Worker thread;
 * nothing is allocated while events are judged.
 */
#ifndef VAMP_RUN_RULES_H
#define VAMP_RUN_RULES_H

#include "config/config.h"
#include "vampire/core/event/components.h"
#include "vampire/run/filter_use.h"
#include "vampire/stats/stats.h"

struct vamp_rules;

/* `components` outlives the rules. 0, -ENOMEM, or -EINVAL for what the configuration's check should
 * have found. */
VAMP_MUST_CHECK int vamp_rules_create(const struct vamp_config *config,
                                      const struct vamp_components *components,
                                      struct vamp_rules **ret_rules, struct vamp_err *err);
/* NULL is fine. */
void vamp_rules_free(struct vamp_rules *rules);
/* What the pool manager is to decide; NULL: nothing. Valid as long as the rules. */
const char *vamp_rules_selector(const struct vamp_rules *rules);
/* In words, such as "fraction 10000, rate 100"; "none". Valid as long as the rules. */
const char *vamp_rules_sampling(const struct vamp_rules *rules);
/* Whether an operation (not a mark) counts. A JOIN was observed by the components already. */
enum vamp_verdict vamp_rules_judge(struct vamp_rules *rules, const struct vamp_event *event);
/* Each filter, in no particular order. */
void vamp_rules_filters(const struct vamp_rules *rules, vamp_filter_use_fn *each, void *context);
/* From now on the statistics follow these rules, which must outlive that. */
void vamp_rules_apply(struct vamp_rules *rules, struct vamp_stats *stats);

#endif
