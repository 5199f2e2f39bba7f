/* SPDX-License-Identifier: BSD-3-Clause */
/* The events at the beginning of each segment of an output of events: the JOINs of the present
 * components, and the samples that reported their locations. Any thread. */
#pragma once

#include "vampire/core/event/components.h"

/* Builds the JOIN of a component as it was at `time_ns`. Returns false if its JOIN was not observed
 * or it has left. */
bool output_join_of(const struct vamp_component *row, int64_t time_ns, struct vamp_event *ret_join);
/* Replaces a component's JOIN by the sample that reported its location, with the time of the JOIN.
 * Returns false if there is no such sample. */
bool output_sample_of(const struct vamp_component *row, struct vamp_event *event);
/* Adds the components that were present at that time; with INT64_MAX, those present now. */
void output_learn_present(struct vamp_components *components, const struct vamp_components *all,
                          int64_t time_ns);
