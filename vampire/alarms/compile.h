/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that compile a rule share: the rule so far, and how a mistake is reported. Private
 * to compile.c and condition.c. */
#ifndef VAMP_ALARMS_COMPILE_H
#define VAMP_ALARMS_COMPILE_H

#include "vampire/alarms/rule.h"

struct vamp_alarm_compiling {
    const struct vamp_alarm_options *options;
    const struct vamp_alarm_scope *scope;
    vamp_alarm_report_fn *report;
    void *context;
    struct vamp_alarm_rule *rule;
    const struct vamp_metric *metric; /* NULL: unknown */
    bool wrong;                       /* a mistake was reported */
};

/* Whether the option is at fault by its value or by being there (or missing) at all. */
enum vamp_alarm_fault { VAMP_ALARM_FAULT_VALUE, VAMP_ALARM_FAULT_KEY };

void vamp_alarm_mistake(struct vamp_alarm_compiling *compiling, enum vamp_alarm_fault fault,
                        const char *key, const char *allowed, const char *format, ...)
    VAMP_PRINTF(5, 6);

/* Reads the text of the option `key`, "when" or "clear". The metric, the measure and whether there
 * is a baseline are known. False: it is wrong, which was reported. */
bool vamp_alarm_condition_read(struct vamp_alarm_compiling *compiling, const char *key,
                               const char *text, struct vamp_alarm_condition *ret_condition);
/* Whether the condition compares with a limit. */
bool vamp_alarm_condition_has_limit(const struct vamp_alarm_condition *condition);

#endif
