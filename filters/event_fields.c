/* SPDX-License-Identifier: BSD-3-Clause */
#include "filters/event_fields.h"

#include <assert.h>
#include <string.h>

#include "filters/event_filter.h"
#include "vampire/core/event/sample.h"

static const char *const field_names[FIELD_COUNT + 1] = {
#define VAMP_EVENT_FILTER(symbol, name, type, notation, kinds, help) [FIELD_##symbol] = name,
#include "vampire/core/event/fields.def"
};

static const char *const kind_choices[] = {
#define VAMP_EVENT_KIND(symbol, number, name, help) #name,
#include "vampire/core/event/kinds.def"
    NULL};
/* Copies of enum names in core's tables, which are not available as lists; a unit test compares the
 * two. */
static const char *const phase_choices[] = {"after", "before", NULL};
static const char *const tier_choices[] = {"unknown", "OFI", "GFS", "MIO", NULL};
static const char *const cause_choices[] = {"unknown", "demand", "manager", NULL};

static const char *const *const field_choices[FIELD_COUNT] = {
    [FIELD_KIND] = kind_choices,
    [FIELD_PHASE] = phase_choices,
    [FIELD_TIER] = tier_choices,
    [FIELD_CAUSE] = cause_choices,
};

static const struct vamp_field fields[FIELD_COUNT] = {
#define VAMP_EVENT_FILTER(symbol, name, type, notation, kinds, help)                               \
    [FIELD_##symbol] = {VAMP_VALUE_##type, VAMP_NOTATION_##notation, NULL},
#include "vampire/core/event/fields.def"
};

/* The event kinds that can have each field. */
#define KINDS_SAMPLE VAMP_EVENT_BIT(VAMP_EVENT_SAMPLE)
#define KINDS_ALL (~KINDS_SAMPLE)
#define KINDS_CDO (KINDS_ALL & ~VAMP_EVENT_KINDS_WITHOUT_CDO)
#define KINDS_TRANSPORT_END                                                                        \
    (VAMP_EVENT_BIT(VAMP_EVENT_TRANSPORT_COMPLETED) | VAMP_EVENT_BIT(VAMP_EVENT_TRANSPORT_FAILED))
#define KINDS_TRANSPORT (VAMP_EVENT_BIT(VAMP_EVENT_TRANSPORT_INIT) | KINDS_TRANSPORT_END)
static const uint64_t field_kinds[FIELD_COUNT] = {
#define VAMP_EVENT_FILTER(symbol, name, type, notation, kinds, help)                               \
    [FIELD_##symbol] = KINDS_##kinds,
#include "vampire/core/event/fields.def"
};

/* ---- vocabulary */

/* Returns the tag in the name of a field; NULL: the name contains no tag. */
static const char *tag_name(const char *field)
{
    static const char begin[] = ".sample.tag.";
    const size_t length = sizeof begin - 1;
    if (strncmp(field, begin, length) != 0 || field[length] == '\0') {
        return NULL;
    }
    return field + length;
}

static bool is_name_of(int field, const char *name)
{
    if (field == FIELD_SAMPLE_TAG) {
        return tag_name(name) != NULL;
    }
    return strcmp(field_names[field], name) == 0;
}

static int resolve(void *context, const char *name, struct vamp_field *ret_field)
{
    (void)context;
    for (int field = 0; field < FIELD_COUNT; field++) {
        if (is_name_of(field, name)) {
            *ret_field = fields[field];
            ret_field->choices = field_choices[field];
            return field;
        }
    }
    return -1;
}

const char *vamp_named_filters_text(const struct vamp_named_filters *named, const char *name)
{
    for (size_t i = 0; i < named->count; i++) {
        if (strcmp(named->names[i], name) == 0) {
            return named->texts[i];
        }
    }
    return NULL;
}

static const char *named_text(void *context, const char *name)
{
    return vamp_named_filters_text(context, name);
}

struct vamp_vocabulary vamp_event_vocabulary(const struct vamp_named_filters *named)
{
    struct vamp_vocabulary vocabulary = {
        .resolve = resolve,
        .attributes = ".maestro.",
        .field_names = field_names,
        .context = (struct vamp_named_filters *)(uintptr_t)named,
    };
    if (named != NULL) {
        vocabulary.named = named_text;
        vocabulary.filter_names = named->names;
    }
    return vocabulary;
}

/* ---- values */

static inline bool is_possible(enum event_field field, unsigned kind)
{
    return (field_kinds[field] & VAMP_EVENT_BIT(kind)) != 0;
}

bool vamp_event_field_possible(enum event_field field, enum vamp_event_kind kind)
{
    return is_possible(field, kind);
}

static void set_word(struct vamp_value *ret, const char *word)
{
    ret->type = VAMP_VALUE_TEXT;
    ret->text.bytes = word;
    ret->text.length = strlen(word);
}

static void set_name(struct vamp_value *ret, const struct vamp_event *event)
{
    ret->type = VAMP_VALUE_TEXT;
    ret->text.bytes = event->name;
    ret->text.length = event->name_length;
}

/* Sets the name from the component's JOIN; absent if no JOIN was observed, or if the name was not
 * stored. */
static void set_component(struct vamp_value *ret, const struct event_lookup *lookup, uint64_t id)
{
    if (lookup->components == NULL) {
        return;
    }
    const struct vamp_component *row = vamp_components_find(lookup->components, id);
    if (row != NULL && row->joined_ns != INT64_MIN && row->name_number != VAMP_NAME_OTHER) {
        set_word(ret, vamp_component_given_name(row));
        ret->number = row->name_number;
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

/* Not inlined: otherwise lookups for all events would reserve its stack space. */
static __attribute__((noinline)) void look_up_sample(enum event_field field, const char *name,
                                                     struct event_lookup *lookup,
                                                     struct vamp_value *ret)
{
    struct vamp_sample sample;
    assert(lookup->text != NULL);
    if (!vamp_sample_read(lookup->event->name, lookup->event->name_length, &sample)) {
        return;
    }
    bool found = false;
    if (field == FIELD_SAMPLE_VALUE) {
        *ret = (struct vamp_value){.type = VAMP_VALUE_DOUBLE, .real = (double)sample.value};
    } else if (field == FIELD_SAMPLE_NAME) {
        found = vamp_sample_name(&sample, lookup->text, EVENT_TEXT_BYTES);
    } else {
        found = vamp_sample_tag(&sample, tag_name(name), lookup->text, EVENT_TEXT_BYTES);
    }
    if (found) {
        set_word(ret, lookup->text);
    }
}

static void look_up_event(enum event_field field, struct event_lookup *lookup,
                          struct vamp_value *ret)
{
    const struct vamp_event *event = lookup->event;
    switch (field) {
#define VAMP_EVENT_FILTER_NUMBER(symbol, member, name, notation, kinds, help)                      \
    case FIELD_##symbol:                                                                           \
        if (vamp_event_has(event, VAMP_HAS_##symbol)) {                                            \
            *ret = vamp_value_natural(event->member);                                              \
        }                                                                                          \
        break;
#include "vampire/core/event/fields.def"
    case FIELD_KIND:
        set_word(ret, vamp_event_kind_name(event->kind));
        break;
    case FIELD_PHASE:
        set_word(ret, phase_choices[event->phase == VAMP_PHASE_BEFORE]);
        break;
    case FIELD_TIME:
        *ret = (struct vamp_value){.type = VAMP_VALUE_INT, .integer = event->time_ns};
        break;
    case FIELD_COMPONENT_NAME:
        set_component_name(ret, lookup);
        break;
    case FIELD_PEER_NAME:
        if (vamp_event_has(event, VAMP_HAS_PEER)) {
            set_component(ret, lookup, event->peer_id);
        }
        break;
    case FIELD_CDO_NAME:
        if (vamp_event_has(event, VAMP_HAS_CDO_NAME)) {
            set_name(ret, event);
        }
        break;
    case FIELD_CDO_ID:
        if (vamp_event_has(event, VAMP_HAS_CDO_ID)) {
            set_id(ret, lookup);
        }
        break;
    case FIELD_TIER:
        if (vamp_event_has(event, VAMP_HAS_TIER)) {
            set_word(ret, vamp_tier_name(event->tier));
        }
        break;
    case FIELD_CAUSE:
        if (vamp_event_has(event, VAMP_HAS_CAUSE)) {
            set_word(ret, vamp_cause_name(event->cause));
        }
        break;
    case FIELD_SAMPLE_NAME:
    case FIELD_SAMPLE_VALUE:
    case FIELD_SAMPLE_TAG:
    case FIELD_COUNT:
        break;
    }
}

void vamp_event_lookup(void *context, int field, const char *name, struct vamp_value *ret)
{
    struct event_lookup *lookup = context;
    ret->type = VAMP_VALUE_ABSENT;
    if (field < 0 || !is_possible((enum event_field)field, lookup->event->kind)) {
        return;
    }
    if (lookup->event->kind == VAMP_EVENT_SAMPLE) {
        look_up_sample((enum event_field)field, name, lookup, ret);
    } else {
        look_up_event((enum event_field)field, lookup, ret);
    }
}
