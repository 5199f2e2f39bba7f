/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The series that a rule follows: the series that match its patterns, at most
 * VAMP_ALARM_SERIES_MAX, grouped by the remaining labels into at most VAMP_ALARM_INSTANCES_MAX
 * instances. Each instance has a state, and a value in each bucket. A rule without patterns and
 * labels has one instance for all series. Private to vampire/alarms; worker thread.
 */
#pragma once

#include "vampire/alarms/rule.h"
#include "vampire/core/map.h"
#include "vampire/stats/bucket/bucket.h"

#define VAMP_ALARM_SERIES_MAX 65536U
#define VAMP_ALARM_INSTANCES_MAX 4096U

/* Result of a rule's conditions for an instance in a bucket. */
enum vamp_alarm_opinion {
    VAMP_ALARM_NOT_KNOWN, /* no value, or no baseline yet */
    VAMP_ALARM_HOLDS,
    VAMP_ALARM_BETWEEN, /* neither condition holds */
    VAMP_ALARM_OVER,    /* the condition for resolving holds */
};

/* The mean of a series over a window of buckets. The window moves in steps of a sixteenth, so that
 * its memory does not depend on its length. */
#define VAMP_ALARM_BASELINE_PARTS 16U

struct vamp_alarm_baseline {
    struct {
        double sum;
        uint32_t count; /* number of values */
    } parts[VAMP_ALARM_BASELINE_PARTS];
    uint32_t part;    /* index of the current sixteenth */
    uint32_t filled;  /* number of buckets in the current sixteenth */
    uint32_t watched; /* number of all buckets; saturates */
};

/* State of an instance that is needed by some rules only. */
struct vamp_alarm_memory {
    char *cdo; /* CDO that was named when the alarm entered its state; malloc'ed; NULL: none */
    bool has_last;
    double last_value; /* for the measure "changed" */
    struct vamp_alarm_baseline baseline;
};

/* The struct is small, since a rule may have 4,096 instances. */
struct vamp_alarm_instance {
    struct vamp_alarm_memory *memory; /* malloc'ed; NULL if the rule does not need it */
    int64_t since_ns;
    uint32_t unknown_for; /* number of buckets since `opinion` was determined */
    /* Number of consecutive buckets in which the condition, or the condition for resolving, held.
     */
    uint32_t held, over;
    bool active;
    uint8_t state;   /* enum vamp_alarm_state, pending or firing; valid if `active` */
    uint8_t opinion; /* enum vamp_alarm_opinion: the last one that is known */
};

/* The value of a group in a bucket. */
struct vamp_alarm_measured {
    double value;    /* computed by the rule's measure */
    double at_most;  /* the value is only known to be between `value` and this; 0: it is known */
    uint32_t series; /* gauges whose largest value counts: the series with that value */
    bool known;      /* there is a value */
    bool grew;       /* a counter increased, or a histogram or gauge has a value */
};

/* Series whose values are merged before they are compared with a condition. */
struct vamp_alarm_group {
    const struct vamp_series *series; /* first series, with the group's labels; NULL: all series */
    uint32_t first_row, last_row;     /* in the current bucket, counted from 1; 0: none */
    struct vamp_alarm_measured measured; /* in the current bucket */
};

/* The groups of series that rules follow. They are shared by the rules that measure the same
 * values and differ only in conditions, durations or actions. */
struct vamp_alarm_groups {
    const struct vamp_alarm_rule *rule; /* the first of these rules */
    bool whole;                         /* one group for all series */
    bool current;                       /* the current bucket was measured */
    uint32_t seen;                      /* number of series of the label set that were examined */
    uint32_t *group_of;                 /* by series: its group, counted from 1; 0: not followed */
    uint32_t seen_room;
    uint32_t followed; /* number of followed series */
    /* By row of the current bucket, counted from 1: the next row of the same group. */
    uint32_t *next_row;
    uint32_t row_room;
    struct vamp_alarm_group *groups;
    uint32_t group_count, group_room;
    /* Number of matching series that are not followed because the limit was reached or memory
     * ran out. */
    uint64_t not_followed;
    struct map map;             /* groups by their labels, if the rules merge series */
    struct vamp_histogram *sum; /* buffer of rules that merge histograms; else NULL */
};

/* Returns 0 or -ENOMEM; vamp_alarm_groups_done may be called in either case. `bins`: bins of the
 * schema. */
VAMP_MUST_CHECK int vamp_alarm_groups_init(struct vamp_alarm_groups *groups,
                                           const struct vamp_alarm_rule *rule,
                                           const struct vamp_bins *bins, struct vamp_err *err);
void vamp_alarm_groups_done(struct vamp_alarm_groups *groups);
/* Returns whether the rule can share these groups, because it measures the same values. */
bool vamp_alarm_groups_fit(const struct vamp_alarm_groups *groups,
                           const struct vamp_alarm_rule *rule);

/* The instances of a rule. An instance has the same index as its group. */
struct vamp_alarm_following {
    const struct vamp_alarm_rule *rule;
    struct vamp_alarm_groups *groups; /* not owned */
    struct vamp_alarm_instance *instances;
    uint32_t instance_count, instance_room;
};
void vamp_alarm_following_done(struct vamp_alarm_following *following);
/* Updates and measures the groups, unless another rule with the same groups did this for the
 * current bucket, and adds instances for new groups. `metric`: index in the bucket's schema. */
void vamp_alarm_follow(struct vamp_alarm_following *following, const struct vamp_bucket *bucket,
                       unsigned metric);
