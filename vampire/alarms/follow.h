/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * The series that a rule follows: those that match its patterns, at most VAMP_ALARM_SERIES_MAX,
 * grouped by the remaining labels into at most VAMP_ALARM_INSTANCES_MAX instances. Each instance
 * has a value in a bucket and a state. A rule without patterns and labels has one instance for all
 * series. Private to vampire/alarms; worker thread.
 */
#pragma once

#include "vampire/alarms/rule.h"
#include "vampire/core/map.h"
#include "vampire/stats/bucket/bucket.h"

#define VAMP_ALARM_SERIES_MAX 65536U
#define VAMP_ALARM_INSTANCES_MAX 4096U

/* Result of a rule for an instance in a bucket. */
enum vamp_alarm_opinion {
    VAMP_ALARM_NOT_KNOWN, /* no value, or no baseline yet */
    VAMP_ALARM_HOLDS,
    VAMP_ALARM_BETWEEN, /* neither condition holds */
    VAMP_ALARM_OVER,    /* the condition for resolving holds */
};

/* The mean of a series over a window of buckets. The window moves in sixteenths, so that its memory
 * does not depend on its length. */
#define VAMP_ALARM_BASELINE_PARTS 16U

struct vamp_alarm_baseline {
    struct {
        double sum;
        uint32_t count; /* values */
    } parts[VAMP_ALARM_BASELINE_PARTS];
    uint32_t part;    /* current one */
    uint32_t filled;  /* buckets in it */
    uint32_t watched; /* all buckets; saturates */
};

/* State of an instance that only some rules need. */
struct vamp_alarm_memory {
    char *cdo; /* named when the alarm entered its state; malloc'ed; NULL: none */
    bool has_last;
    double last_value; /* for "changed" */
    struct vamp_alarm_baseline baseline;
};

/* Small, since a rule may have 4,096 of them. */
struct vamp_alarm_instance {
    const struct vamp_series *series; /* the first one, which has the labels of the instance; NULL:
                                       * all series, or none */
    struct vamp_alarm_memory *memory; /* malloc'ed; NULL: the rule needs none */
    int64_t since_ns;
    uint32_t first_row, last_row; /* in the current bucket, from 1; 0: none */
    uint32_t unknown_for;         /* buckets since `opinion` */
    uint32_t held,
        over; /* consecutive buckets in which the condition, or that for resolving, held */
    bool active;
    uint8_t state;   /* if `active`; enum vamp_alarm_state: pending or firing */
    uint8_t opinion; /* the last known one */
};

struct vamp_alarm_following {
    const struct vamp_alarm_rule *rule;
    bool whole;            /* one instance for all series */
    uint32_t seen;         /* series of the label set that were examined */
    uint32_t *instance_of; /* by series, from 1; 0: not followed */
    uint32_t seen_room;
    uint32_t followed;  /* series */
    uint32_t *next_row; /* by row of the current bucket, from 1: the next row of its instance */
    uint32_t row_room;
    struct vamp_alarm_instance *instances;
    uint32_t instance_count, instance_room;
    uint64_t not_followed;      /* matching series over the limit, or without memory */
    struct map map;             /* instances by their labels, of a rule that puts series together */
    struct vamp_histogram *sum; /* of a rule that adds histograms up; else NULL */
};

/* 0 or -ENOMEM; vamp_alarm_following_done may be called in either case. `bins`: of the schema. */
VAMP_MUST_CHECK int vamp_alarm_following_init(struct vamp_alarm_following *following,
                                              const struct vamp_alarm_rule *rule,
                                              const struct vamp_bins *bins, struct vamp_err *err);
void vamp_alarm_following_done(struct vamp_alarm_following *following);
/* Examines the series that are new in this bucket, and groups its rows by instance. `metric`: index
 * in the bucket's schema. */
void vamp_alarm_follow(struct vamp_alarm_following *following, const struct vamp_bucket *bucket,
                       unsigned metric);

/* The value of an instance in a bucket. */
struct vamp_alarm_measured {
    bool known;      /* there is a value */
    double value;    /* by the rule's measure */
    bool grew;       /* a counter increased, a histogram or a gauge has a value */
    uint32_t series; /* gauges of which the largest counts: its series */
};
struct vamp_alarm_measured vamp_alarm_measure(const struct vamp_alarm_following *following,
                                              const struct vamp_alarm_instance *instance,
                                              const struct vamp_bucket *bucket, unsigned metric);
