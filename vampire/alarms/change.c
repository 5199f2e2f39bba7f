/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/alarms/change.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "vampire/core/units.h"
#include "vampire/stats/bucket/bucket_json.h"

const char *const vamp_alarm_state_words[VAMP_ALARM_STATE_COUNT + 1] = {
    "pending", "firing", "resolved", "cleared", NULL};

const char *vamp_alarm_state_name(unsigned state)
{
    return state < VAMP_ALARM_STATE_COUNT ? vamp_alarm_state_words[state] : "unknown";
}

const char *const vamp_alarm_severity_words[] = {"info", "warning", "critical", NULL};

const char *vamp_alarm_change_component(const struct vamp_alarm_change *change)
{
    static const char *const names[] = {"component", "sink", "model", "sink_model"};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        for (unsigned i = 0; i < change->label_count; i++) {
            if (strcmp(change->labels[i].name, names[n]) == 0) {
                return change->labels[i].value;
            }
        }
    }
    return "";
}

bool vamp_alarm_change_is_of(const struct vamp_alarm_change *change,
                             const struct vamp_strings *names)
{
    size_t i = 0;
    while (i < names->count && strcmp(names->items[i], change->alarm) != 0) {
        i++;
    }
    return i < names->count;
}

void vamp_alarm_change_json(struct vamp_json *json, const struct vamp_alarm_change *change)
{
    vamp_json_text(json, "alarm", change->alarm);
    vamp_json_text(json, "severity", vamp_alarm_severity_words[change->severity]);
    vamp_json_text(json, "state", vamp_alarm_state_name(change->state));
    vamp_json_bool(json, "silenced", change->silenced);
    vamp_json_time(json, "since", change->since_ns);
    vamp_json_unsigned(json, "bucket", change->bucket);
    vamp_json_unsigned(json, "instance", change->instance);
    vamp_json_text(json, "metric", change->metric);
    vamp_json_text(json, "unit", change->unit);
    vamp_json_open(json, "labels", '{');
    for (unsigned i = 0; i < change->label_count; i++) {
        vamp_json_text(json, change->labels[i].name, change->labels[i].value);
    }
    vamp_json_close(json, '}');
    vamp_json_text(json, "component", vamp_alarm_change_component(change));
    vamp_json_text(json, "cdo", change->cdo);
    vamp_json_text(json, "threshold", change->threshold);
    vamp_json_real(json, "value", change->has_value ? change->value : (double)NAN);
    vamp_json_real(json, "baseline", change->has_baseline ? change->baseline : (double)NAN);
}

bool vamp_alarm_change_line(const struct vamp_alarm_change *change, const struct vamp_run *run,
                            struct vamp_json *json)
{
    vamp_json_clear(json);
    vamp_json_line_begin(json);
    vamp_json_text(json, "type", "alarm");
    vamp_json_time(json, "time", change->time_ns);
    vamp_run_labels_json(json, run);
    vamp_alarm_change_json(json, change);
    vamp_json_line_end(json);
    return !json->failed && json->used > 0;
}

/* Formats a value with its unit for readers. */
static const char *readable_value(double value, const char *unit,
                                  char text[static VAMP_UNIT_TEXT_BYTES])
{
    if (strcmp(unit, "ns") == 0 && value >= 0 && value < 1e19) {
        return vamp_duration_people((uint64_t)value, text);
    }
    if (strcmp(unit, "byte") == 0 && value >= 0) {
        return vamp_bytes_people(value, text);
    }
    if (strcmp(unit, "ns s-1") == 0) { /* a fraction of the time */
        (void)snprintf(text, VAMP_UNIT_TEXT_BYTES, "%.3g %%", value / 1e7);
    } else if (strcmp(unit, "1") == 0) {
        (void)snprintf(text, VAMP_UNIT_TEXT_BYTES, "%.6g", value);
    } else {
        (void)snprintf(text, VAMP_UNIT_TEXT_BYTES, "%.6g %s", value, unit);
    }
    return text;
}

void vamp_alarm_change_text(const struct vamp_alarm_change *change,
                            char text[static VAMP_ALARM_LINE_BYTES])
{
    char labels[VAMP_ALARM_LINE_BYTES / 4] = "";
    size_t used = 0;
    for (unsigned i = 0; i < change->label_count && used < sizeof labels - 1; i++) {
        used +=
            (size_t)snprintf(labels + used, sizeof labels - used, "%s%s=%s", i == 0 ? " {" : ", ",
                             change->labels[i].name, change->labels[i].value);
    }
    char cdo[VAMP_ALARM_TEXT_BYTES + 16] = "";
    if (change->cdo[0] != '\0') {
        (void)snprintf(cdo, sizeof cdo, "; CDO \"%s\"", change->cdo);
    }
    char number[VAMP_UNIT_TEXT_BYTES] = "absent", most[VAMP_UNIT_TEXT_BYTES];
    if (change->has_value) {
        (void)readable_value(change->value, change->unit, number);
    } else if (change->at_most > 0) {
        (void)readable_value(change->at_most, change->unit, most);
        (void)snprintf(number, sizeof number, "< %.*s", VAMP_UNIT_TEXT_BYTES - 3, most);
    }
    const char *silenced = change->silenced ? ", silenced" : "";
    const char *end = change->label_count > 0 ? "}" : "";
    (void)snprintf(text, VAMP_ALARM_LINE_BYTES,
                   "alarm \"%s\" (%s) %s%s: %s%s%s is %s; the rule says %s%s", change->alarm,
                   vamp_alarm_severity_words[change->severity],
                   vamp_alarm_state_name(change->state), silenced, change->metric, labels, end,
                   number, change->threshold, cdo);
}

unsigned vamp_alarm_change_log_severity(const struct vamp_alarm_change *change)
{
    static const unsigned severities[] = {[VAMP_ALARM_INFO] = LOG_INFO,
                                          [VAMP_ALARM_WARNING] = LOG_WARNING,
                                          [VAMP_ALARM_CRITICAL] = LOG_CRIT};
    switch ((enum vamp_alarm_state)change->state) {
    case VAMP_ALARM_FIRING:
        return severities[change->severity];
    case VAMP_ALARM_RESOLVED:
    case VAMP_ALARM_CLEARED:
        return LOG_NOTICE;
    case VAMP_ALARM_PENDING:
        break;
    }
    return LOG_INFO;
}
