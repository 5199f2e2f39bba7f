/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/attention.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/vampire-top/text.h"

static void copy_member(char *out, size_t bytes, const json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));
    (void)snprintf(out, bytes, "%s", text != NULL ? text : "");
}

/* At least 0, whatever the line says. */
static double amount_of(const json_t *line, const char *key)
{
    const double amount = json_number_value(json_object_get(line, key));
    return amount > 0 ? amount : 0;
}

/* ---- alarms */

static void remove_alarm(struct top_attention *attention, unsigned at)
{
    memmove(&attention->alarms[at], &attention->alarms[at + 1],
            (attention->alarm_count - at - 1) * sizeof attention->alarms[0]);
    attention->alarm_count--;
}

/* The alarm of this rule and instance, new at need; NULL: there is no room. */
static struct top_alarm *need_alarm(struct top_attention *attention, const char *rule,
                                    double instance)
{
    unsigned resolved = TOP_ALARMS_MAX;
    for (unsigned i = 0; i < attention->alarm_count; i++) {
        struct top_alarm *alarm = &attention->alarms[i];
        if ((unsigned)alarm->instance == (unsigned)instance && strcmp(alarm->rule, rule) == 0) {
            return alarm;
        }
        if (alarm->state == TOP_ALARM_RESOLVED && resolved == TOP_ALARMS_MAX) {
            resolved = i;
        }
    }
    if (attention->alarm_count == TOP_ALARMS_MAX) {
        if (resolved == TOP_ALARMS_MAX) {
            return NULL;
        }
        remove_alarm(attention, resolved);
    }
    struct top_alarm *alarm = &attention->alarms[attention->alarm_count++];
    *alarm = (struct top_alarm){.instance = instance};
    (void)snprintf(alarm->rule, sizeof alarm->rule, "%s", rule);
    return alarm;
}

static bool parse_state(const char *word, enum top_alarm_state *ret_state)
{
    static const char *const words[] = {"firing", "pending", "resolved"};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i], word) == 0) {
            *ret_state = (enum top_alarm_state)i;
            return true;
        }
    }
    return false;
}

static unsigned severity_of(const char *word)
{
    return strcmp(word, "critical") == 0 ? 0 : strcmp(word, "warning") == 0 ? 1 : 2;
}

void top_attention_alarm(struct top_attention *attention, const json_t *line, double seen_ns)
{
    char rule[sizeof attention->alarms[0].rule], word[32];
    enum top_alarm_state state = TOP_ALARM_RESOLVED;
    copy_member(rule, sizeof rule, line, "alarm");
    copy_member(word, sizeof word, line, "state");
    const bool shown = parse_state(word, &state); /* not one that was cleared */
    const double instance = amount_of(line, "instance");
    struct top_alarm *alarm =
        need_alarm(attention, rule, instance < UINT32_MAX ? instance : UINT32_MAX);
    if (alarm == NULL) {
        return;
    }
    if (!shown) {
        remove_alarm(attention, (unsigned)(alarm - attention->alarms));
        return;
    }
    alarm->state = state;
    copy_member(word, sizeof word, line, "severity");
    alarm->severity = severity_of(word);
    alarm->silenced = json_is_true(json_object_get(line, "silenced"));
    alarm->has_value = json_is_number(json_object_get(line, "value"));
    alarm->value = json_number_value(json_object_get(line, "value"));
    copy_member(alarm->unit, sizeof alarm->unit, line, "unit");
    copy_member(alarm->since, sizeof alarm->since, line, "since");
    copy_member(alarm->component, sizeof alarm->component, line, "component");
    copy_member(alarm->cdo, sizeof alarm->cdo, line, "cdo");
    alarm->changed_ns = seen_ns;
}

/* ---- demands */

void top_attention_pending(struct top_attention *attention, const json_t *line)
{
    attention->next_demands = amount_of(line, "demands");
    if (attention->next_waiting_count == TOP_WAITING_MAX) {
        return;
    }
    struct top_waiting *waiting = &attention->next_waiting[attention->next_waiting_count++];
    copy_member(waiting->component, sizeof waiting->component, line, "component");
    copy_member(waiting->cdo, sizeof waiting->cdo, line, "name");
    if (waiting->cdo[0] == '\0') {
        copy_member(waiting->cdo, sizeof waiting->cdo, line, "id");
    }
    copy_member(waiting->producer, sizeof waiting->producer, line, "producer");
    waiting->age_ns = amount_of(line, "age_ns");
    waiting->offered = json_is_true(json_object_get(line, "offered"));
    waiting->uncertain = json_is_true(json_object_get(line, "uncertain"));
}

void top_attention_commit(struct top_attention *attention, double seen_ns)
{
    memcpy(attention->waiting, attention->next_waiting, sizeof attention->waiting);
    attention->waiting_count = attention->next_waiting_count;
    attention->demands = attention->next_demands;
    attention->next_waiting_count = 0;
    attention->next_demands = 0;
    attention->unseen_firing = attention->firing > attention->listed_firing
                                   ? attention->firing - attention->listed_firing
                                   : 0;
    attention->listed_firing = 0;
    for (unsigned i = attention->alarm_count; i-- > 0;) {
        attention->listed_firing += attention->alarms[i].state == TOP_ALARM_FIRING;
    }
    for (unsigned i = attention->alarm_count; i-- > 0;) {
        const struct top_alarm *alarm = &attention->alarms[i];
        if (alarm->state == TOP_ALARM_RESOLVED && seen_ns - alarm->changed_ns > TOP_RESOLVED_NS) {
            remove_alarm(attention, i);
        }
    }
}

/* ---- what is shown */

/* What fires is first and what is silenced last of it, then by severity, then what changed last. */
static int compare_alarms(const void *a, const void *b)
{
    const struct top_alarm *one = a, *other = b;
    if (one->state != other->state) {
        return one->state < other->state ? -1 : 1;
    }
    if (one->silenced != other->silenced) {
        return one->silenced ? 1 : -1;
    }
    if (one->severity != other->severity) {
        return one->severity < other->severity ? -1 : 1;
    }
    return one->changed_ns > other->changed_ns   ? -1
           : one->changed_ns < other->changed_ns ? 1
                                                 : strcmp(one->rule, other->rule);
}

static void clean(char *text, size_t bytes)
{
    char copy[TOP_LABEL_BYTES];
    (void)snprintf(copy, sizeof copy, "%s", text);
    top_text_clean(text, bytes, copy);
}

void top_attention_show(struct top_attention *out, const struct top_attention *attention)
{
    *out = *attention;
    for (unsigned i = 0; i < out->alarm_count; i++) {
        struct top_alarm *alarm = &out->alarms[i];
        clean(alarm->rule, sizeof alarm->rule);
        clean(alarm->unit, sizeof alarm->unit);
        clean(alarm->since, sizeof alarm->since);
        clean(alarm->component, sizeof alarm->component);
        clean(alarm->cdo, sizeof alarm->cdo);
    }
    for (unsigned i = 0; i < out->waiting_count; i++) {
        struct top_waiting *waiting = &out->waiting[i];
        clean(waiting->component, sizeof waiting->component);
        clean(waiting->cdo, sizeof waiting->cdo);
        clean(waiting->producer, sizeof waiting->producer);
    }
    qsort(out->alarms, out->alarm_count, sizeof out->alarms[0], compare_alarms);
}
