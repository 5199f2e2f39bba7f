/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A filter that is in use: which one of the configuration it is, and what it did. Worker thread.
 */
#ifndef VAMP_RUN_FILTER_USE_H
#define VAMP_RUN_FILTER_USE_H

#include "config/config.h"
#include "filters/event_filter.h"
#include "vampire/core/event/components.h"

/* Enough for "statistics.filters.NAME" and "outputs.NAME.filter". */
#define VAMP_FILTER_PATH_BYTES 128

struct vamp_filter_use {
    struct vamp_event_filter *compiled;
    const struct vamp_components *components;
    uint64_t seen, passed; /* events */
    bool cut_reported;
    char path[VAMP_FILTER_PATH_BYTES]; /* of the configuration: "events", "outputs.0.filter" */
};

/* Compiles `text`, which may use the named filters of `config`. `components` and the names outlive
 * the filter. 0; -ENOMEM, or -EINVAL for what the configuration's check should have found. */
VAMP_MUST_CHECK int vamp_filter_use_create(const char *text, enum vamp_filter_place place,
                                           const struct vamp_config *config,
                                           const struct vamp_components *components,
                                           struct vamp_filter_use **ret_use, struct vamp_err *err);
/* NULL is fine. */
void vamp_filter_use_free(struct vamp_filter_use *use);
/* Whether the event passes; counted. Allocates nothing, cannot fail. */
bool vamp_filter_use_match(struct vamp_filter_use *use, const struct vamp_event *event);

/* Called for each filter in use. */
typedef void vamp_filter_use_fn(void *context, struct vamp_filter_use *use);

#endif
