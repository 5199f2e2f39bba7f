/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the rules say: an alarm entered a state. A change owns all its text, so that it may be
 * copied, queued and read by any thread for as long as is wanted. It comes with the bucket at whose
 * close the rule was evaluated (struct vamp_bucket, `alarms`).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/json_emit.h"
#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/bucket.h"

/* pending -> firing -> resolved, or pending -> cleared. A rule without `for` begins with firing. */
enum vamp_alarm_state {
    VAMP_ALARM_PENDING,  /* the condition holds, but not yet for as long as the rule says */
    VAMP_ALARM_FIRING,   /* it has held for that long */
    VAMP_ALARM_RESOLVED, /* it fired, and the condition for resolving holds */
    VAMP_ALARM_CLEARED,  /* it was pending, and the condition ended before it fired */
};
#define VAMP_ALARM_STATE_COUNT 4
extern const char *const vamp_alarm_state_words[]; /* ended by NULL */
const char *vamp_alarm_state_name(unsigned state); /* never NULL */

enum vamp_alarm_severity {
    VAMP_ALARM_INFO,
    VAMP_ALARM_WARNING,
    VAMP_ALARM_CRITICAL,
};
extern const char *const vamp_alarm_severity_words[]; /* ended by NULL */

#define VAMP_ALARM_NAME_BYTES 64  /* of a rule's name, terminator included */
#define VAMP_ALARM_TEXT_BYTES 256 /* of a label's value and a CDO's name; longer ones are cut */
#define VAMP_ALARM_THRESHOLD_BYTES 128 /* "> 30s for 2 buckets" */
#define VAMP_ALARM_LABELS_MAX 13       /* VAMP_LABELS_MAX */
#define VAMP_ALARM_CHANGES_MAX 256U    /* of a bucket */

struct vamp_alarm_label {
    const char *name; /* constant: "component" */
    char value[VAMP_ALARM_TEXT_BYTES];
};

struct vamp_alarm_change {
    char alarm[VAMP_ALARM_NAME_BYTES]; /* the rule's name, unique in a configuration */
    unsigned rule;                     /* its number in the configuration: 0, 1, ... */
    /* Which of the series that the rule follows: the same number from pending to resolved. Rule and
     * instance together identify what is firing. */
    unsigned instance;
    uint8_t severity; /* enum vamp_alarm_severity */
    uint8_t state;    /* enum vamp_alarm_state: the one entered */
    bool silenced;    /* the rule was silenced: written, but no action but `log` runs */
    int64_t time_ns;  /* UTC, event time: the end of the bucket at whose close the state began */
    uint64_t bucket;  /* the bucket's number */
    int64_t since_ns; /* when the condition began to hold: the end of that bucket; never later than
                       * time_ns, and the same from pending to resolved */
    const char *metric; /* constant: "demand_oldest_ns" */
    const char *unit;   /* constant, of the value: "ns", "byte s-1"; "1" of a ratio */
    bool has_value;     /* false: the series has none in this bucket */
    double value;       /* what was compared: a value, a rate each second, a quantile, a ratio */
    bool has_baseline;
    double baseline; /* in the metric's unit; the ratio is the value over this */
    char threshold[VAMP_ALARM_THRESHOLD_BYTES];            /* the comparison: "> 30s", "absent" */
    struct vamp_alarm_label labels[VAMP_ALARM_LABELS_MAX]; /* of the series */
    unsigned label_count;
    /* Of an age, the CDO; of an alarm that ended, the one it named before. "": not known, or the
     * metric is not of one CDO. */
    char cdo[VAMP_ALARM_TEXT_BYTES];
};

/* The value of the series' label `component` (of a transport: `sink`), or "". */
const char *vamp_alarm_change_component(const struct vamp_alarm_change *change);
/* Whether the alarm's name is one of these. */
bool vamp_alarm_change_is_of(const struct vamp_alarm_change *change,
                             const struct vamp_strings *names);
/* Writes the change as members of the object that is open, `time` not included: "alarm",
 * "severity", "state", "since", "bucket", "metric", "labels", ... as in docs/output-jsonl.md. */
void vamp_alarm_change_json(struct vamp_json *json, const struct vamp_alarm_change *change);
/* Replaces `json` by the change as one line, an object of `"type":"alarm"`, time, run labels and
 * the members above, for whom the run does not precede it. False: no memory, or longer than a line
 * may be. */
bool vamp_alarm_change_line(const struct vamp_alarm_change *change, const struct vamp_run *run,
                            struct vamp_json *json);
/* The severity of a message about the change, as in syslog(3): the rule's while the alarm fires,
 * LOG_NOTICE once it has ended, LOG_INFO before. */
unsigned vamp_alarm_change_log_severity(const struct vamp_alarm_change *change);
/* One line for people, terminated, cut if it does not fit: "alarm \"stuck\" (critical) firing:
 * demand_oldest_ns of component \"Products 1\" is 34s, > 30s". */
#define VAMP_ALARM_LINE_BYTES 2048
void vamp_alarm_change_text(const struct vamp_alarm_change *change,
                            char text[static VAMP_ALARM_LINE_BYTES]);
