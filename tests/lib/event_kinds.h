/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <string.h>

#include "vampire/core/event/event.h"

/* The kind with this name, VAMP_EVENT_NONE when there is none. */
static inline enum vamp_event_kind event_kind_from_name(const char *name)
{
    for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        if (strcmp(vamp_event_kind_name(kind), name) == 0) {
            return (enum vamp_event_kind)kind;
        }
    }
    return VAMP_EVENT_NONE;
}
