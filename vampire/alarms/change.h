/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A change of an alarm: the alarm entered a state. A change contains all its texts, so that it may
 * be copied, queued and read by any thread. It is part of the bucket at whose close the rule was
 * evaluated (struct vamp_bucket, `alarms`).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/json_emit.h"
#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/bucket.h"

/* pending -> firing -> resolved, or pending -> cleared. Without `for`, the first state is firing.
 */
enum vamp_alarm_state {
    VAMP_ALARM_PENDING,  /* the condition holds, but not yet for as long as required */
    VAMP_ALARM_FIRING,   /* the condition has held for the required time */
    VAMP_ALARM_RESOLVED, /* the alarm was firing, and the condition for resolving holds */
    VAMP_ALARM_CLEARED,  /* the alarm was pending, and the condition ended before the alarm fired */
};
#define VAMP_ALARM_STATE_COUNT (VAMP_ALARM_CLEARED + 1)
extern const char *const vamp_alarm_state_words[]; /* terminated by NULL */
const char *vamp_alarm_state_name(unsigned state); /* never NULL */

enum vamp_alarm_severity {
    VAMP_ALARM_INFO,
    VAMP_ALARM_WARNING,
    VAMP_ALARM_CRITICAL,
};
extern const char *const vamp_alarm_severity_words[]; /* terminated by NULL */

#define VAMP_ALARM_NAME_BYTES 64       /* name of the rule, including the terminator */
#define VAMP_ALARM_TEXT_BYTES 256      /* label value or CDO name; longer ones are cut */
#define VAMP_ALARM_THRESHOLD_BYTES 128 /* "> 30s for 2 buckets" */
#define VAMP_ALARM_CHANGES_MAX 256U    /* maximum number of changes in a bucket */

struct vamp_alarm_label {
    const char *name; /* constant: "component" */
    char value[VAMP_ALARM_TEXT_BYTES];
};

struct vamp_alarm_change {
    char alarm[VAMP_ALARM_NAME_BYTES]; /* name of the rule, unique in a configuration */
    unsigned rule;                     /* number of the rule in the configuration: 0, 1, ... */
    /* Number of the alarm among the alarms of the rule; the same from pending to resolved. An alarm
     * is identified by rule and instance. */
    unsigned instance;
    uint8_t severity; /* enum vamp_alarm_severity */
    uint8_t state;    /* enum vamp_alarm_state: the state that was entered */
    /* The rule is silenced: the change is written, but the only action that runs is `log`. */
    bool silenced;
    int64_t time_ns; /* UTC, event time: end of the bucket at whose close the state started */
    uint64_t bucket; /* number of that bucket */
    /* End of the bucket in which the condition started to hold; never later than time_ns, and the
     * same from pending to resolved. */
    int64_t since_ns;
    const char *metric; /* constant: "demand_oldest_ns" */
    const char *unit;   /* unit of the value, constant: "ns", "byte s-1"; "1" for ratios */
    bool has_value;     /* false: the series has no value in this bucket */
    /* The value that is compared with the limit: a value, a rate per second, a quantile, a ratio.
     */
    double value;
    double at_most; /* without a value: it is only known to be at most this; 0: there is none */
    bool has_baseline;
    double baseline;                            /* divisor of the ratio, in the metric's unit */
    char threshold[VAMP_ALARM_THRESHOLD_BYTES]; /* the comparison: "> 30s", "absent" */
    struct vamp_alarm_label labels[VAMP_LABELS_MAX]; /* labels of the series */
    unsigned label_count;
    /* The CDO that determines an age. When an alarm ends, this is the CDO from its start. "" if
     * unknown, or if the metric does not concern single CDOs. */
    char cdo[VAMP_ALARM_TEXT_BYTES];
};

/* Returns the value of the series' label `component` (transports: `sink`), or "". */
const char *vamp_alarm_change_component(const struct vamp_alarm_change *change);
/* Returns whether the alarm's name is in the list. */
bool vamp_alarm_change_is_of(const struct vamp_alarm_change *change,
                             const struct vamp_strings *names);
/* Writes the members of the change to the open object, except `time`: "alarm", "severity", "state",
 * "since", "bucket", "metric", "labels", ... as in docs/output-jsonl.md. */
void vamp_alarm_change_json(struct vamp_json *json, const struct vamp_alarm_change *change);
/* Replaces the content of `json` by the change as one line: an object with `"type":"alarm"`, time,
 * run labels and the members above, for readers that do not have the run's header. Returns false if
 * out of memory, or if the line is longer than the limit. */
bool vamp_alarm_change_line(const struct vamp_alarm_change *change, const struct vamp_run *run,
                            struct vamp_json *json);
/* Returns the severity, as in syslog(3), of a message about the change: the severity of the rule if
 * firing, LOG_NOTICE if resolved or cleared, LOG_INFO if pending. */
unsigned vamp_alarm_change_log_severity(const struct vamp_alarm_change *change);
/* One readable line, terminated, cut if it does not fit: "alarm \"stuck\" (critical) firing:
 * demand_oldest_ns {component=Products 1} is 34 s; the rule says > 30s". */
#define VAMP_ALARM_LINE_BYTES 2048
void vamp_alarm_change_text(const struct vamp_alarm_change *change,
                            char text[static VAMP_ALARM_LINE_BYTES]);
