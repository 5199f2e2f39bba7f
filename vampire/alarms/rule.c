/* SPDX-License-Identifier: BSD-3-Clause */
/* The options and the actions of a rule. */
#include "vampire/alarms/rule.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "vampire/core/clock.h"

#define AT(member) offsetof(struct vamp_alarm_options, member)
#define DAYS(n) ((uint64_t)(n)*86400 * (uint64_t)VAMP_NS_PER_SECOND)

const struct vamp_opt vamp_alarm_options[] = {
    {"name", VAMP_OPT_STRING, AT(name), NULL, .max = VAMP_ALARM_NAME_BYTES - 1,
     .help = "The alarm's name in files, messages and actions; required, and no other rule may "
             "have it"},
    {"metric", VAMP_OPT_STRING, AT(metric), NULL, .max = 64,
     .help = "The metric that the rule looks at when a bucket closes; required; "
             "vampire --list-metrics shows all"},
    {"when", VAMP_OPT_STRING, AT(when), NULL, .max = 100,
     .help = "The condition, required: >, >=, <, <=, = or != and a limit in the metric's unit "
             "(\"> 30s\", \"< 5MiB/s\"), or a factor of the baseline (\"> 2 * baseline\"); "
             "\"changed\"; \"absent\". The value is that of a gauge at the bucket's end, or the "
             "growth of a counter in the bucket"},
    {"for", VAMP_OPT_STRING, AT(hold), "", .max = 32,
     .help = "How long the condition has to hold before the alarm fires, as a duration or as "
             "\"2 buckets\"; empty: one bucket"},
    {"labels", VAMP_OPT_STRINGS, AT(labels), NULL, .max = 256,
     .help = "Which series the rule follows: LABEL=PATTERN, with a glob pattern, for each label "
             "that matters; none: all series. Each series has an alarm of its own"},
    {"without", VAMP_OPT_SET, AT(without), NULL, .choices = vamp_label_words, .grows = true,
     .help = "Labels over which the rule adds the series up before it compares; none: each series "
             "is compared"},
    {"severity", VAMP_OPT_ENUM, AT(severity), "warning", .choices = vamp_alarm_severity_words,
     .help = "How bad it is, for those who read it"},
    {"quantile", VAMP_OPT_FRACTION, AT(quantile), NULL,
     .help = "The quantile of what a histogram recorded in the bucket; 0 is the least value, 1 the "
             "largest; a histogram needs it unless the condition is a rate or \"absent\""},
    {"rate", VAMP_OPT_BOOL, AT(rate), "false",
     .help = "Compare the increase of a counter, or the number of values recorded by a histogram, "
             "per second; the limit for a counter of time is written as \"> 500ms/s\" or "
             "\"> 50%\""},
    {"baseline", VAMP_OPT_DURATION, AT(baseline_ns), NULL, .max = DAYS(7),
     .help = "The baseline is the mean of the same value over this time before; buckets in which "
             "the condition holds are not part of it; unless set, there is none"},
    {"warm_up", VAMP_OPT_DURATION, AT(warm_up_ns), NULL, .max = DAYS(7),
     .help = "How long a series is watched before it is compared with its baseline; unless set, "
             "as long as \"baseline\""},
    {"clear", VAMP_OPT_STRING, AT(clear), "", .max = 100,
     .help = "The condition for resolving, as in \"when\" (\"< 20s\"); empty: \"when\" holds no "
             "more"},
    {"clear_for", VAMP_OPT_STRING, AT(clear_hold), "", .max = 32,
     .help = "How long the condition for resolving has to hold, as in \"for\""},
    {.key = NULL},
};

int vamp_alarm_config_init(struct vamp_alarm_config *config, struct vamp_err *err)
{
    *config = (struct vamp_alarm_config){.action_count = 0};
    return vamp_opt_presets(vamp_alarm_options, &config->options, err);
}

void vamp_alarm_config_done(struct vamp_alarm_config *config)
{
    for (unsigned i = 0; i < config->action_count; i++) {
        vamp_opt_done(config->actions[i].ops->options, config->actions[i].options);
        free(config->actions[i].options);
    }
    config->action_count = 0;
    vamp_opt_done(vamp_alarm_options, &config->options);
}

int vamp_alarm_config_add(struct vamp_alarm_config *config, const struct vamp_alarm_action_ops *ops,
                          struct vamp_err *err)
{
    assert(config->action_count < VAMP_ALARM_ACTIONS_MAX);
    void *options = calloc(1, ops->options_bytes > 0 ? ops->options_bytes : 1);
    if (options == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "keep the action %s", ops->name);
    }
    const int code = vamp_opt_presets(ops->options, options, err);
    if (code != 0) {
        free(options);
        return code;
    }
    config->actions[config->action_count++] = (struct vamp_alarm_action){ops, options};
    return 0;
}
