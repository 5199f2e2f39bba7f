/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an operator should see first: alarms, and demands that have waited for more than a bucket.
 * Bounded; what does not fit is counted. All text is clean.
 */
#pragma once

#include "programs/vampire-top/text.h"

#define TOP_ALARMS_MAX 64
#define TOP_WAITING_MAX 16
#define TOP_LABEL_BYTES 192
/* An alarm that ended is shown for this time. */
#define TOP_RESOLVED_NS 60e9

enum top_alarm_state { TOP_ALARM_FIRING, TOP_ALARM_PENDING, TOP_ALARM_RESOLVED };

struct top_alarm {
    char rule[64];
    double instance; /* with the rule: which alarm */
    enum top_alarm_state state;
    unsigned severity; /* 0: critical, 1: warning, 2: info */
    bool silenced, has_value;
    double value;
    char unit[16];
    char since[32];                                        /* RFC 3339 */
    char component[TOP_LABEL_BYTES], cdo[TOP_LABEL_BYTES]; /* "": of no single one */
    double changed_ns; /* time seen until it entered its state */
};

struct top_waiting {
    char component[TOP_LABEL_BYTES];
    char cdo[TOP_LABEL_BYTES];      /* its name, or else its identifier */
    char producer[TOP_LABEL_BYTES]; /* "": not known */
    double age_ns;
    bool offered, uncertain;
};

struct top_attention {
    struct top_alarm alarms[TOP_ALARMS_MAX];
    unsigned alarm_count;
    unsigned listed_firing; /* of those in the list, after the newest bucket */
    double unseen_firing;   /* began before the stream that is read */
    struct top_waiting waiting[TOP_WAITING_MAX], next_waiting[TOP_WAITING_MAX];
    unsigned waiting_count, next_waiting_count;
    double demands, next_demands; /* all that are pending, where some are listed */
};

/* Takes a line about an alarm. `seen_ns`: the widths of all buckets so far. */
void top_attention_alarm(struct top_attention *attention, const json_t *line, double seen_ns);
/* Takes a line about a demand that waits. */
void top_attention_pending(struct top_attention *attention, const json_t *line);
/* The bucket is complete: what waited at the end of the one before is forgotten. `firing`: alarms
 * as vampire reports them, after the bucket before. */
void top_attention_commit(struct top_attention *attention, double firing, double seen_ns);
/* What fires is first and what is silenced last of it, then by severity, then what changed last. */
void top_attention_sort(struct top_attention *attention);
