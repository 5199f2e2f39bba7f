/* SPDX-License-Identifier: BSD-3-Clause */
#include "filters/event_fields.h"

#include <string.h>

#include "filters/event_filter.h"
#include "filters/named.h"

static const char *const field_names[FIELD_COUNT + 1] = {
#define VAMP_EVENT_FIELD(symbol, name, type, notation, help) [FIELD_##symbol] = name,
#include "filters/event_fields.def"
#undef VAMP_EVENT_FIELD
};

static const enum vamp_value_type field_types[FIELD_COUNT] = {
#define VAMP_EVENT_FIELD(symbol, name, type, notation, help) [FIELD_##symbol] = VAMP_VALUE_##type,
#include "filters/event_fields.def"
#undef VAMP_EVENT_FIELD
};

static const char *const kind_choices[] = {
#define VAMP_EVENT_KIND(symbol, number, name, help) name,
#include "vampire/core/event_kinds.def"
#undef VAMP_EVENT_KIND
    NULL};
/* The words of core's tables, which cannot be had as a list; a unit test compares them. */
static const char *const phase_choices[] = {"after", "before", NULL};
static const char *const tier_choices[] = {"unknown", "OFI", "GFS", "MIO", NULL};
static const char *const cause_choices[] = {"unknown", "demand", "manager", NULL};

static const struct vamp_field_rules field_rules[FIELD_COUNT] = {
#define VAMP_EVENT_FIELD(symbol, name, type, notation, help)                                       \
    [FIELD_##symbol] = {VAMP_NOTATION_##notation, NULL},
#include "filters/event_fields.def"
#undef VAMP_EVENT_FIELD
};

/* The rules of the fields with a closed set of words. */
static const struct vamp_field_rules kind_rules = {VAMP_NOTATION_PLAIN, kind_choices};
static const struct vamp_field_rules phase_rules = {VAMP_NOTATION_PLAIN, phase_choices};
static const struct vamp_field_rules tier_rules = {VAMP_NOTATION_PLAIN, tier_choices};
static const struct vamp_field_rules cause_rules = {VAMP_NOTATION_PLAIN, cause_choices};

/* ---- vocabulary */

static int resolve(void *context, const char *name, enum vamp_value_type *ret_type)
{
    (void)context;
    for (int field = 0; field < FIELD_COUNT; field++) {
        if (strcmp(field_names[field], name) == 0) {
            *ret_type = field_types[field];
            return field;
        }
    }
    return -1;
}

/* What is asked of an attribute that no event has is told by the event filter, which knows where
 * the filter stands. */
static bool attribute(void *context, const char *name, enum vamp_value_type *ret_type)
{
    (void)context;
    *ret_type = VAMP_VALUE_ABSENT;
    return strncmp(name, VAMP_ATTRIBUTE_PREFIX, sizeof(VAMP_ATTRIBUTE_PREFIX) - 1) == 0;
}

static const struct vamp_field_rules *rules(void *context, int field)
{
    (void)context;
    switch (field) {
    case FIELD_EVENT_KIND:
        return &kind_rules;
    case FIELD_EVENT_PHASE:
        return &phase_rules;
    case FIELD_TRANSPORT_TIER:
        return &tier_rules;
    case FIELD_TRANSPORT_CAUSE:
        return &cause_rules;
    default:
        return &field_rules[field];
    }
}

static const char *named_text(void *context, const char *name)
{
    const struct vamp_named_filters *named = context;
    return vamp_named_filters_text(named, name);
}

struct vamp_vocabulary vamp_event_vocabulary(struct vamp_named_filters *named)
{
    return (struct vamp_vocabulary){
        .resolve = resolve,
        .attribute = attribute,
        .rules = rules,
        .named = named != NULL ? named_text : NULL,
        .field_names = field_names,
        .filter_names = named != NULL ? vamp_named_filters_names(named) : NULL,
        .context = named,
    };
}

/* ---- values */

static bool is_transport(enum vamp_event_kind kind)
{
    return kind == VAMP_EVENT_TRANSPORT_INIT || kind == VAMP_EVENT_TRANSPORT_COMPLETED ||
           kind == VAMP_EVENT_TRANSPORT_FAILED;
}

bool vamp_event_field_possible(enum event_field field, enum vamp_event_kind kind)
{
    switch (field) {
    case FIELD_CDO_NAME:
    case FIELD_CDO_SIZE:
    case FIELD_CDO_ID:
        return (VAMP_EVENT_KINDS_WITHOUT_CDO & VAMP_EVENT_BIT(kind)) == 0;
    case FIELD_TRANSPORT_TIER:
    case FIELD_TRANSPORT_CAUSE:
        return is_transport(kind);
    case FIELD_TRANSPORT_DURATION:
        return is_transport(kind) && kind != VAMP_EVENT_TRANSPORT_INIT;
    case FIELD_EVENT_KIND:
    case FIELD_EVENT_PHASE:
    case FIELD_EVENT_TIME:
    case FIELD_EVENT_SERIAL:
    case FIELD_COMPONENT_NAME:
    case FIELD_COMPONENT_ID:
    case FIELD_PEER_NAME:
    case FIELD_PEER_ID:
    case FIELD_COUNT:
        break;
    }
    return true;
}

static void set_word(struct vamp_value *ret, const char *word)
{
    ret->type = VAMP_VALUE_TEXT;
    ret->text.bytes = word;
    ret->text.length = strlen(word);
}

static void set_natural(struct vamp_value *ret, uint64_t natural)
{
    if (natural > INT64_MAX) {
        *ret = (struct vamp_value){.type = VAMP_VALUE_UINT, .natural = natural};
    } else {
        *ret = (struct vamp_value){.type = VAMP_VALUE_INT, .integer = (int64_t)natural};
    }
}

static void set_name(struct vamp_value *ret, const struct vamp_event *event)
{
    ret->type = VAMP_VALUE_TEXT;
    ret->text.bytes = event->name;
    ret->text.length = event->name_length;
}

/* The name that a JOIN taught; absent when none was seen. */
static void set_component(struct vamp_value *ret, const struct event_lookup *lookup, uint64_t id)
{
    const struct vamp_component *row =
        lookup->components != NULL ? vamp_components_find(lookup->components, id) : NULL;
    if (row != NULL && row->joined_ns != INT64_MIN) {
        set_word(ret, row->name);
    }
}

static void set_component_name(struct vamp_value *ret, const struct event_lookup *lookup)
{
    const struct vamp_event *event = lookup->event;
    if (vamp_event_has(event, VAMP_HAS_COMPONENT_NAME)) {
        set_name(ret, event);
    } else if (vamp_event_has(event, VAMP_HAS_APP)) {
        set_component(ret, lookup, event->app_id);
    }
}

static void set_id(struct vamp_value *ret, struct event_lookup *lookup)
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < VAMP_CDO_ID_DIGITS; i++) {
        uint64_t half = i < 16 ? lookup->event->cdo_id.high : lookup->event->cdo_id.low;
        lookup->id[i] = digits[half >> (60 - 4 * (i % 16)) & 15U];
    }
    ret->type = VAMP_VALUE_TEXT;
    ret->text.bytes = lookup->id;
    ret->text.length = VAMP_CDO_ID_DIGITS;
}

/* What was acted on, and how. */
static void look_up_object(enum event_field field, struct event_lookup *lookup,
                           struct vamp_value *ret)
{
    const struct vamp_event *event = lookup->event;
    if (field == FIELD_CDO_NAME && vamp_event_has(event, VAMP_HAS_CDO_NAME)) {
        set_name(ret, event);
    } else if (field == FIELD_CDO_SIZE && vamp_event_has(event, VAMP_HAS_SIZE)) {
        set_natural(ret, event->size_bytes);
    } else if (field == FIELD_CDO_ID && vamp_event_has(event, VAMP_HAS_CDO_ID)) {
        set_id(ret, lookup);
    } else if (field == FIELD_TRANSPORT_TIER && vamp_event_has(event, VAMP_HAS_TIER)) {
        set_word(ret, vamp_tier_name(event->tier));
    } else if (field == FIELD_TRANSPORT_CAUSE && vamp_event_has(event, VAMP_HAS_CAUSE)) {
        set_word(ret, vamp_cause_name(event->cause));
    } else if (field == FIELD_TRANSPORT_DURATION && vamp_event_has(event, VAMP_HAS_DURATION)) {
        set_natural(ret, event->duration_ns);
    }
}

static void look_up_event(enum event_field field, struct event_lookup *lookup,
                          struct vamp_value *ret)
{
    const struct vamp_event *event = lookup->event;
    switch (field) {
    case FIELD_EVENT_KIND:
        set_word(ret, vamp_event_kind_name(event->kind));
        break;
    case FIELD_EVENT_PHASE:
        set_word(ret, phase_choices[event->phase == VAMP_PHASE_BEFORE]);
        break;
    case FIELD_EVENT_TIME:
        *ret = (struct vamp_value){.type = VAMP_VALUE_INT, .integer = event->time_ns};
        break;
    case FIELD_EVENT_SERIAL:
        if (vamp_event_has(event, VAMP_HAS_SERIAL)) {
            set_natural(ret, event->serial);
        }
        break;
    case FIELD_COMPONENT_NAME:
        set_component_name(ret, lookup);
        break;
    case FIELD_COMPONENT_ID:
        if (vamp_event_has(event, VAMP_HAS_APP)) {
            set_natural(ret, event->app_id);
        }
        break;
    case FIELD_PEER_NAME:
        if (vamp_event_has(event, VAMP_HAS_PEER)) {
            set_component(ret, lookup, event->peer_id);
        }
        break;
    case FIELD_PEER_ID:
        if (vamp_event_has(event, VAMP_HAS_PEER)) {
            set_natural(ret, event->peer_id);
        }
        break;
    case FIELD_CDO_NAME:
    case FIELD_CDO_SIZE:
    case FIELD_CDO_ID:
    case FIELD_TRANSPORT_TIER:
    case FIELD_TRANSPORT_CAUSE:
    case FIELD_TRANSPORT_DURATION:
        look_up_object(field, lookup, ret);
        break;
    case FIELD_COUNT:
        break;
    }
}

void vamp_event_lookup(void *context, int field, const char *name, struct vamp_value *ret)
{
    struct event_lookup *lookup = context;
    (void)name;
    ret->type = VAMP_VALUE_ABSENT;
    if (field >= 0 && vamp_event_field_possible((enum event_field)field,
                                                (enum vamp_event_kind)lookup->event->kind)) {
        look_up_event((enum event_field)field, lookup, ret);
    }
}
