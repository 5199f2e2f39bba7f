/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An alarm rule: its options in the configuration, and its compiled form. Compiling reports all
 * errors. A compiled rule is plain data that points into its options; any thread may read it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/alarms/action.h"
#include "vampire/alarms/change.h"
#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/metric.h"

#define VAMP_ALARM_RULES_MAX 64
#define VAMP_ALARM_ACTIONS_MAX 8
/* Limit of `for`, `clear_for` and `baseline`, in buckets. */
#define VAMP_ALARM_BUCKETS_MAX 1000000U

/* The options of a rule, set from the configuration by an option table. */
struct vamp_alarm_options {
    char *name, *metric, *when, *hold, *clear, *clear_hold;
    struct vamp_strings labels; /* "component=Products*" */
    uint64_t without;           /* bits of enum vamp_label */
    unsigned severity;          /* enum vamp_alarm_severity */
    double quantile;            /* -1: not set */
    bool rate;
    int64_t baseline_ns, warm_up_ns; /* -1: not set */
};
extern const struct vamp_opt vamp_alarm_options[];

/* One action of a rule with its options, which are set by the option table of the action. */
struct vamp_alarm_action {
    const struct vamp_alarm_action_ops *ops;
    void *options; /* owned */
};

/* A rule in a configuration; owns its members. */
struct vamp_alarm_config {
    struct vamp_alarm_options options;
    struct vamp_alarm_action actions[VAMP_ALARM_ACTIONS_MAX];
    unsigned action_count;
};
/* Sets the defaults. Returns 0 or -ENOMEM; vamp_alarm_config_done may be called in either case. */
VAMP_MUST_CHECK int vamp_alarm_config_init(struct vamp_alarm_config *config, struct vamp_err *err);
void vamp_alarm_config_done(struct vamp_alarm_config *config);
/* Adds an action with its default options; the rule must have less than VAMP_ALARM_ACTIONS_MAX.
 * Returns 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_alarm_config_add(struct vamp_alarm_config *config,
                                          const struct vamp_alarm_action_ops *ops,
                                          struct vamp_err *err);

/* ---- compiled */

enum vamp_alarm_measure {
    VAMP_ALARM_VALUE,    /* value of a gauge, or increase of a counter in the bucket */
    VAMP_ALARM_RATE,     /* increase of a counter, or number of values of a histogram, per second */
    VAMP_ALARM_QUANTILE, /* quantile of a histogram in the bucket */
};

enum vamp_alarm_comparison {
    VAMP_ALARM_GREATER,
    VAMP_ALARM_GREATER_EQUAL,
    VAMP_ALARM_LESS,
    VAMP_ALARM_LESS_EQUAL,
    VAMP_ALARM_EQUAL,
    VAMP_ALARM_NOT_EQUAL,
    VAMP_ALARM_CHANGED, /* the value differs from that of the last bucket that had a value */
    VAMP_ALARM_ABSENT,  /* a counter did not increase, or a histogram or gauge has no value */
};

struct vamp_alarm_condition {
    enum vamp_alarm_comparison comparison;
    bool is_ratio; /* `limit` is a factor of the baseline */
    double limit;  /* in the metric's unit; rates: per second */
};

/* A pattern (fnmatch) that a label of the followed series must match. */
struct vamp_alarm_pattern {
    enum vamp_label label;
    const char *pattern; /* points into the options */
};

struct vamp_alarm_rule {
    const struct vamp_alarm_options *options;
    enum vamp_metric_id metric;
    enum vamp_alarm_measure measure;
    double quantile;
    /* `clear` is set only if the options have that condition. */
    struct vamp_alarm_condition when, clear;
    bool has_clear;
    uint32_t hold_buckets, clear_buckets;       /* at least 1 */
    uint32_t baseline_buckets, warm_up_buckets; /* 0: no baseline */
    struct vamp_alarm_pattern patterns[VAMP_LABELS_MAX];
    unsigned pattern_count;
    /* Bits of the remaining labels: the labels of the metric except those in `without`. */
    uint32_t labels;
};

/* The options of the statistics on which rules depend. */
struct vamp_alarm_scope {
    enum vamp_level level;
    int64_t bucket_ns;
    /* Returns whether a metric is computed; NULL: all metrics are. */
    bool (*computes)(const void *context, enum vamp_metric_id metric);
    const void *context;
};

/* An error in the options: the option, the error, the allowed values ("": included in the text),
 * and the allowed name that is most similar (NULL: none). */
struct vamp_alarm_mistake {
    const char *key;
    size_t item;    /* index in a list; SIZE_MAX: the error concerns the whole option */
    bool in_value;  /* true: the value is wrong; false: the option is missing or not allowed */
    char text[400]; /* one line without a full stop */
    char allowed[VAMP_OPT_ALLOWED_BYTES];
    const char *near;
};
typedef void vamp_alarm_report_fn(void *context, const struct vamp_alarm_mistake *mistake);

/* Compiles the options. Returns true if `*ret_rule` is complete; if false, `report` was called for
 * every error. */
bool vamp_alarm_compile(const struct vamp_alarm_options *options,
                        const struct vamp_alarm_scope *scope, vamp_alarm_report_fn *report,
                        void *context, struct vamp_alarm_rule *ret_rule);
