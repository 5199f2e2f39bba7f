/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event fields that a filter can use, with names, types and values. Internal to filters/; the
 * table of fields is vampire/core/event/fields.def.
 */
#pragma once

#include <stdbool.h>

#include "filters/expression.h"
#include "vampire/core/event/components.h"
#include "vampire/core/event/event.h"

struct vamp_named_filters;

enum event_field {
#define VAMP_EVENT_FILTER(symbol, name, type, notation, kinds, help) FIELD_##symbol,
#include "vampire/core/event/fields.def"
    FIELD_COUNT
};

#define VAMP_CDO_ID_DIGITS 32
#define EVENT_TEXT_BYTES 256

/* The context of a lookup, on the stack during a match. */
struct event_lookup {
    const struct vamp_event *event;
    const struct vamp_components *components; /* NULL: component names are absent */
    char id[VAMP_CDO_ID_DIGITS];              /* buffer for the text of .cdo.id */
    char *text; /* buffer for the name or a tag of a sample, EVENT_TEXT_BYTES; used for samples only
                 */
};

/* Returns the vocabulary of events; names that begin with ".maestro." are attributes. `named` may
 * be NULL. */
struct vamp_vocabulary vamp_event_vocabulary(const struct vamp_named_filters *named);
/* A vamp_lookup_fn; the context is a struct event_lookup. Attributes are always absent. */
void vamp_event_lookup(void *context, int field, const char *name, struct vamp_value *ret);
/* Returns whether events of this kind can have the field; if not, its lookup yields ABSENT. */
bool vamp_event_field_possible(enum event_field field, enum vamp_event_kind kind);
