/* SPDX-License-Identifier: BSD-3-Clause */
/* The events with which each segment of an output of events begins: the JOINs of the components
 * present, and the samples that reported where they run. Any thread. */
#pragma once

#include "vampire/core/event/components.h"

/* The JOIN of a component, at `time_ns`. False: its JOIN was not observed, or it has left. */
bool output_join_of(const struct vamp_component *row, int64_t time_ns, struct vamp_event *ret_join);
/* Replaces a component's JOIN by the sample that reported where it runs, with the time of the JOIN.
 * False: there is none. */
bool output_sample_of(const struct vamp_component *row, struct vamp_event *event);
/* Adds the components that were present at that time; INT64_MAX: that are present now. */
void output_learn_present(struct vamp_components *components, const struct vamp_components *all,
                          int64_t time_ns);
