/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which series a rule follows: those that fit its patterns, at most VAMP_ALARM_SERIES_MAX, put
 * together into at most VAMP_ALARM_INSTANCES_MAX instances that differ in the labels that remain.
 * Each instance has a value in a bucket and a state of its own. A rule without patterns and without
 * labels has one instance, of all series, however many there are. Private to vampire/alarms; the
 * worker thread.
 */
#pragma once

#include "vampire/alarms/rule.h"
#include "vampire/core/map.h"
#include "vampire/stats/bucket/bucket.h"

#define VAMP_ALARM_SERIES_MAX 65536U
#define VAMP_ALARM_INSTANCES_MAX 4096U

/* What a rule says of an instance in a bucket. */
enum vamp_alarm_opinion {
    VAMP_ALARM_NOT_KNOWN, /* no value, or no baseline yet */
    VAMP_ALARM_HOLDS,
    VAMP_ALARM_BETWEEN, /* neither the condition holds nor that for resolving */
    VAMP_ALARM_OVER,    /* the condition for resolving holds */
};

/* What is usual for a series: the mean of its values over a window of buckets. The window moves in
 * sixteenths, so that its memory does not depend on its length. */
#define VAMP_ALARM_BASELINE_PARTS 16U

struct vamp_alarm_baseline {
    struct {
        double sum;
        uint32_t count; /* values */
    } parts[VAMP_ALARM_BASELINE_PARTS];
    uint32_t part;    /* the present one */
    uint32_t filled;  /* buckets in it */
    uint32_t watched; /* buckets in all, at most UINT32_MAX */
};

/* What only some rules need to remember of an instance. */
struct vamp_alarm_memory {
    /* The CDO that the alarm named when it entered its state; malloc'ed; NULL: none. */
    char *cdo;
    bool has_last;
    double last_value; /* for "changed" */
    struct vamp_alarm_baseline baseline;
};

/* There may be 4,096 of each rule: small. */
struct vamp_alarm_instance {
    const struct vamp_series *series; /* the first one, whose remaining labels all others have;
                                       * NULL: of all series, or of none */
    struct vamp_alarm_memory *memory; /* malloc'ed; NULL: the rule needs none */
    int64_t since_ns;
    uint32_t first_row, last_row; /* of its series in the present bucket, from 1; 0: none */
    uint32_t unknown_for;         /* buckets since `opinion` */
    uint32_t held, over; /* buckets in a row in which the condition held, or that for resolving */
    /* The state; `state` only while `active`. */
    bool active;
    uint8_t state;   /* enum vamp_alarm_state: pending or firing */
    uint8_t opinion; /* the last one that was known */
};

struct vamp_alarm_following {
    const struct vamp_alarm_rule *rule;
    bool whole;            /* one instance of all series, which are not followed one by one */
    uint32_t seen;         /* series of the label set that were looked at */
    uint32_t *instance_of; /* of each of these, from 1; 0: it is not followed */
    uint32_t seen_room;
    uint32_t followed;  /* series */
    uint32_t *next_row; /* by row of the present bucket, from 1: the next one of its instance */
    uint32_t row_room;
    struct vamp_alarm_instance *instances;
    uint32_t instance_count, instance_room;
    uint64_t not_followed; /* series that fit beyond the bound, or for which there was no memory */
    struct map map;        /* instances by their labels, of a rule that puts series together */
    struct vamp_histogram *sum; /* of a rule that adds histograms up; else NULL */
};

/* 0 or -ENOMEM; vamp_alarm_following_done is right after either. `bins`: of the schema. */
VAMP_MUST_CHECK int vamp_alarm_following_init(struct vamp_alarm_following *following,
                                              const struct vamp_alarm_rule *rule,
                                              const struct vamp_bins *bins, struct vamp_err *err);
void vamp_alarm_following_done(struct vamp_alarm_following *following);
/* Looks at the series that are new in this bucket, and gives each instance its rows. `metric`: the
 * index in the bucket's schema. */
void vamp_alarm_follow(struct vamp_alarm_following *following, const struct vamp_bucket *bucket,
                       unsigned metric);

/* What an instance has in a bucket. */
struct vamp_alarm_measured {
    bool known;   /* there is a value */
    double value; /* as the rule's measure says */
    bool grew;    /* a counter grew, a histogram recorded something, a gauge is there */
    /* Of a gauge of which the largest counts: the series that has it. */
    uint32_t series;
};
struct vamp_alarm_measured vamp_alarm_measure(const struct vamp_alarm_following *following,
                                              const struct vamp_alarm_instance *instance,
                                              const struct vamp_bucket *bucket, unsigned metric);
