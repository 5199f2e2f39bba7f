/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the golden cases of filters are tried on: events and CDOs, read from the lines of
 * tests/golden/filter/ that begin with `e` and `o`. For filters_golden_test.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/expression.h"
#include "tests/lib/event_kinds.h"
#include "vampire/core/event/event.h"

#define VALUES_MAX 16

/* Something a filter is tried on: an event, or the attributes of a CDO. */
struct subject {
    char name[32];
    struct vamp_event event;
    char text[128]; /* the event's name */
    size_t value_count;
    struct {
        char key[48];
        char text[64];
        struct vamp_value value;
    } values[VALUES_MAX];
};

/* The next word of *rest, "..." as one word without its quotes; NULL at the end. */
static inline char *next_word(char **rest, bool *ret_quoted)
{
    char *p = *rest + strspn(*rest, " ");
    *ret_quoted = false;
    if (*p == '\0') {
        return NULL;
    }
    char *start = p, *out = p;
    bool inside = false;
    for (; *p != '\0' && (inside || *p != ' '); p++) {
        if (*p == '"') {
            inside = !inside;
            *ret_quoted = true;
        } else if (*p == '\\' && p[1] == 'x') {
            const char digits[] = {p[2], p[2] != '\0' ? p[3] : '\0', '\0'};
            *out++ = (char)strtoul(digits, NULL, 16);
            p += 3;
        } else {
            *out++ = *p;
        }
    }
    *rest = *p == '\0' ? p : p + 1;
    *out = '\0';
    return start;
}

static inline uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

static inline bool set_event_name(struct subject *subject, const char *value)
{
    subject->event.name_length =
        (uint32_t)snprintf(subject->text, sizeof(subject->text), "%s", value);
    return true;
}

static inline unsigned word_index(const char *(*name_of)(unsigned), unsigned count,
                                  const char *word)
{
    unsigned i = 0;
    while (i < count && strcmp(name_of(i), word) != 0) {
        i++;
    }
    return i;
}

static inline bool set_cdo_id(struct vamp_event *event, const char *value)
{
    char high[17] = "";
    if (strlen(value) != 32) {
        return false;
    }
    memcpy(high, value, 16);
    event->cdo_id.high = strtoull(high, NULL, 16);
    event->cdo_id.low = strtoull(value + 16, NULL, 16);
    return true;
}

/* One field of an event; false: unknown. */
static inline bool set_field(struct subject *subject, const char *key, const char *value)
{
    struct vamp_event *event = &subject->event;
    unsigned bit = 0;
    bool known = true;
    if (strcmp(key, "kind") == 0) {
        event->kind = (uint8_t)event_kind_from_name(value);
        event->kind = strcmp(value, "lost") == 0 ? VAMP_EVENT_LOST : event->kind;
        known = event->kind != VAMP_EVENT_NONE;
    } else if (strcmp(key, "phase") == 0) {
        event->phase = strcmp(value, "before") == 0 ? VAMP_PHASE_BEFORE : VAMP_PHASE_AFTER;
    } else if (strcmp(key, "time") == 0) {
        event->time_ns = (int64_t)number(value);
    } else if (strcmp(key, "serial") == 0) {
        event->serial = number(value), bit = VAMP_HAS_SERIAL;
    } else if (strcmp(key, "app") == 0) {
        event->app_id = number(value), bit = VAMP_HAS_APP;
    } else if (strcmp(key, "peer") == 0) {
        event->peer_id = number(value), bit = VAMP_HAS_PEER;
    } else if (strcmp(key, "id") == 0) {
        known = set_cdo_id(event, value), bit = VAMP_HAS_CDO_ID;
    } else if (strcmp(key, "size") == 0) {
        event->size_bytes = number(value), bit = VAMP_HAS_SIZE;
    } else if (strcmp(key, "name") == 0) {
        known = set_event_name(subject, value), bit = VAMP_HAS_CDO_NAME;
    } else if (strcmp(key, "component") == 0) {
        known = set_event_name(subject, value), bit = VAMP_HAS_COMPONENT_NAME;
    } else if (strcmp(key, "tier") == 0) {
        event->tier = (uint8_t)word_index(vamp_tier_name, VAMP_TIER_COUNT, value);
        bit = VAMP_HAS_TIER;
    } else if (strcmp(key, "cause") == 0) {
        event->cause = (uint8_t)word_index(vamp_cause_name, VAMP_CAUSE_COUNT, value);
        bit = VAMP_HAS_CAUSE;
    } else if (strcmp(key, "duration") == 0) {
        event->duration_ns = number(value), bit = VAMP_HAS_DURATION;
    } else {
        known = false;
    }
    event->present = (uint16_t)(event->present | bit);
    return known;
}

/* One attribute: quoted is a text, else true, false, a double with a dot, or a whole number. */
static inline bool set_attribute(struct subject *subject, const char *key, const char *text,
                                 bool quoted)
{
    if (subject->value_count == VALUES_MAX) {
        return false;
    }
    size_t at = subject->value_count++;
    struct vamp_value *value = &subject->values[at].value;
    (void)snprintf(subject->values[at].key, sizeof(subject->values[at].key), "%s", key);
    (void)snprintf(subject->values[at].text, sizeof(subject->values[at].text), "%s", text);
    if (quoted) {
        *value = (struct vamp_value){.type = VAMP_VALUE_TEXT,
                                     .text = {NULL, strlen(subject->values[at].text)}};
    } else if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        *value = (struct vamp_value){.type = VAMP_VALUE_BOOL, .boolean = text[0] == 't'};
    } else if (strpbrk(text, ".en") != NULL) {
        *value = (struct vamp_value){.type = VAMP_VALUE_DOUBLE, .real = strtod(text, NULL)};
    } else if (text[0] == '-' || strtoull(text, NULL, 10) <= INT64_MAX) {
        *value = (struct vamp_value){.type = VAMP_VALUE_INT, .integer = strtoll(text, NULL, 10)};
    } else {
        *value = (struct vamp_value){.type = VAMP_VALUE_UINT, .natural = number(text)};
    }
    return true;
}

static inline void look_up_attribute(void *context, int field, const char *name,
                                     struct vamp_value *ret)
{
    const struct subject *subject = context;
    (void)field;
    ret->type = VAMP_VALUE_ABSENT;
    for (size_t i = 0; i < subject->value_count; i++) {
        if (strcmp(subject->values[i].key, name) == 0) {
            *ret = subject->values[i].value;
            if (ret->type == VAMP_VALUE_TEXT) {
                ret->text.bytes = subject->values[i].text;
            }
        }
    }
}
