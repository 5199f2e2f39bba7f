/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Evaluation of alarm rules: when a bucket closes, each rule evaluates its metric and determines
 * which of its alarms change their state. Work is limited: at most VAMP_ALARM_RULES_MAX rules,
 * VAMP_ALARM_SERIES_MAX series per rule, and VAMP_ALARM_CHANGES_MAX changes per bucket. Series over
 * the limit are not followed, which is counted and reported; changes over the limit are delayed to
 * the next bucket. Worker thread.
 */
#pragma once

#include "vampire/alarms/rule.h"
#include "vampire/alarms/silence.h"
#include "vampire/stats/bucket/bucket.h"

struct vamp_alarms;

/* Everything that the options point to must outlive the alarms. */
struct vamp_alarms_options {
    const struct vamp_alarm_config *configs; /* rules of a checked configuration */
    unsigned count;                          /* at least 1 */
    const struct vamp_schema *schema;
    struct vamp_action_services *services; /* services for the actions */
    /* Writes one line to the log; the line does not end with a newline. */
    void (*say)(void *context, bool error, const char *line);
    void *say_context;
    const struct vamp_silences *silences;
    bool replayed; /* the stream is a recording: only actions with `when_replayed` run */
};

/* Returns 0, or -errno and a text in `err`. */
VAMP_MUST_CHECK int vamp_alarms_create(const struct vamp_alarms_options *options,
                                       struct vamp_alarms **ret_alarms, struct vamp_err *err);
/* Ends the actions and frees the alarms. NULL is allowed. */
void vamp_alarms_free(struct vamp_alarms *alarms);

/* Evaluates all rules on a closed bucket and starts their actions. Returns the number of changes.
 * `*ret_changes` is allocated by malloc and owned by the caller; NULL if there are no changes.
 * `utc_ns`: current time, for the silences. */
unsigned vamp_alarms_evaluate(struct vamp_alarms *alarms, const struct vamp_bucket *bucket,
                              int64_t utc_ns, struct vamp_alarm_change **ret_changes);

/* State of one rule, for the status report and the metrics. */
struct vamp_alarm_state_count {
    const char *name;
    unsigned severity;        /* enum vamp_alarm_severity */
    uint64_t pending, firing; /* current number of alarms */
    uint64_t fired;           /* number of times an alarm of the rule started to fire */
    uint64_t followed;        /* number of followed series */
    uint64_t not_followed;    /* number of series over VAMP_ALARM_SERIES_MAX */
    uint64_t delayed;         /* number of changes delayed to a later bucket */
};
/* Totals over all rules: alarms that are firing now, and times an alarm started to fire. */
struct vamp_alarms_sum {
    uint64_t firing, fired;
};
struct vamp_alarms_sum vamp_alarms_sum(const struct vamp_alarms *alarms);
unsigned
vamp_alarms_count(const struct vamp_alarms *alarms); /* Returns the number of rules; 0 for NULL. */
void vamp_alarms_state(const struct vamp_alarms *alarms, unsigned rule,
                       struct vamp_alarm_state_count *ret_state);
