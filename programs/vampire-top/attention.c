/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/attention.h"

#include <stdlib.h>
#include <string.h>

/* ---- alarms */

static void remove_alarm(struct top_attention *attention, unsigned at)
{
    memmove(&attention->alarms[at], &attention->alarms[at + 1],
            (attention->alarm_count - at - 1) * sizeof attention->alarms[0]);
    attention->alarm_count--;
}

void top_attention_alarm(struct top_attention *attention, const json_t *line, double seen_ns)
{
    static const char *const states[] = {"firing", "pending", "resolved"};
    static const char *const severities[] = {"critical", "warning"};
    struct top_alarm alarm = {
        .instance = top_json_number(line, "instance"),
        .severity = top_json_word(line, "severity", severities, 2),
        .silenced = json_is_true(json_object_get(line, "silenced")),
        .has_value = json_is_number(json_object_get(line, "value")),
        .value = json_number_value(json_object_get(line, "value")),
        .changed_ns = seen_ns,
    };
    top_json_copy(alarm.rule, sizeof alarm.rule, line, "alarm");
    top_json_copy(alarm.unit, sizeof alarm.unit, line, "unit");
    top_json_copy(alarm.since, sizeof alarm.since, line, "since");
    top_json_copy(alarm.component, sizeof alarm.component, line, "component");
    top_json_copy(alarm.cdo, sizeof alarm.cdo, line, "cdo");
    alarm.state = (enum top_alarm_state)top_json_word(line, "state", states, 3);
    unsigned over = TOP_ALARMS_MAX; /* the first that is over may be given up */
    for (unsigned i = attention->alarm_count; i-- > 0;) {
        const struct top_alarm *known = &attention->alarms[i];
        over = known->state == TOP_ALARM_RESOLVED ? i : over;
        if (known->instance == alarm.instance && strcmp(known->rule, alarm.rule) == 0) {
            remove_alarm(attention, i);
            over -= over > i && over < TOP_ALARMS_MAX;
        }
    }
    if (attention->alarm_count == TOP_ALARMS_MAX && over < TOP_ALARMS_MAX) {
        remove_alarm(attention, over);
    }
    /* Of another state: it was cleared before it fired. */
    if ((unsigned)alarm.state < 3 && attention->alarm_count < TOP_ALARMS_MAX) {
        attention->alarms[attention->alarm_count++] = alarm;
    }
}

/* ---- demands */

void top_attention_pending(struct top_attention *attention, const json_t *line)
{
    attention->next_demands = top_json_number(line, "demands");
    if (attention->next_waiting_count == TOP_WAITING_MAX) {
        return;
    }
    struct top_waiting *waiting = &attention->next_waiting[attention->next_waiting_count++];
    const char *cdo = *top_json_text(line, "name") != '\0' ? "name" : "id";
    top_json_copy(waiting->component, sizeof waiting->component, line, "component");
    top_json_copy(waiting->cdo, sizeof waiting->cdo, line, cdo);
    top_json_copy(waiting->producer, sizeof waiting->producer, line, "producer");
    waiting->age_ns = top_json_number(line, "age_ns");
    waiting->offered = json_is_true(json_object_get(line, "offered"));
    waiting->uncertain = json_is_true(json_object_get(line, "uncertain"));
}

void top_attention_commit(struct top_attention *attention, double firing, double seen_ns)
{
    memcpy(attention->waiting, attention->next_waiting, sizeof attention->waiting);
    attention->waiting_count = attention->next_waiting_count;
    attention->demands = attention->next_demands;
    attention->next_waiting_count = 0;
    attention->next_demands = 0;
    attention->unseen_firing =
        firing > attention->listed_firing ? firing - attention->listed_firing : 0;
    attention->listed_firing = 0;
    for (unsigned i = attention->alarm_count; i-- > 0;) {
        const struct top_alarm *alarm = &attention->alarms[i];
        attention->listed_firing += alarm->state == TOP_ALARM_FIRING;
        if (alarm->state == TOP_ALARM_RESOLVED && seen_ns - alarm->changed_ns > TOP_RESOLVED_NS) {
            remove_alarm(attention, i);
        }
    }
}

/* ---- for the snapshot */

/* What fires is first and what is silenced last of it, then by severity, then what changed last. */
static int compare_alarms(const void *a, const void *b)
{
    const struct top_alarm *one = a, *other = b;
    const double keys[][2] = {{one->state, other->state},
                              {one->silenced, other->silenced},
                              {one->severity, other->severity},
                              {other->changed_ns, one->changed_ns}};
    for (unsigned i = 0; i < 4; i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return strcmp(one->rule, other->rule);
}

void top_attention_sort(struct top_attention *attention)
{
    qsort(attention->alarms, attention->alarm_count, sizeof(struct top_alarm), compare_alarms);
}
