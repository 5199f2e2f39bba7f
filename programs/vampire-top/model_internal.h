/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the model share; no other file includes this. */
#ifndef TOP_MODEL_INTERNAL_H
#define TOP_MODEL_INTERNAL_H

#include "programs/vampire-top/model.h"
#include "programs/vampire-top/rows.h"
#include "programs/vampire-top/spread.h"

struct top_account {
    char text[2 * TOP_WORD_BYTES];
    double count, fresh;
};

#define TOP_TIERS_MAX 8
struct top_tier {
    char name[TOP_WORD_BYTES];
    double value;
};

struct top_totals {
    double operations, produced, moved, anomalies;
    double kinds[TOP_KINDS_MAX];
};

struct top_model {
    /* The run. */
    char run[40];
    char workflow[TOP_NAME_BYTES], host[TOP_NAME_BYTES], level[TOP_WORD_BYTES];
    bool ended;
    char end_reason[TOP_WORD_BYTES];
    /* The newest bucket, and the incoming one (`next`). */
    char since[TOP_TIME_BYTES], time[TOP_TIME_BYTES];
    double bucket, width_ns, buckets, seen_ns;
    double next_metrics;           /* metric lines of the incoming bucket */
    unsigned next_component_lines; /* the same of components */
    bool partial;
    struct top_totals next, now, all;
    char kinds[TOP_KINDS_MAX][TOP_WORD_BYTES];
    unsigned kind_count;
    struct top_gauge components, pool_cdos, pool_bytes, transports_active, lag_ns;
    struct top_tier tiers[TOP_TIERS_MAX]; /* of which transports_active is the sum */
    struct top_account losses[TOP_LOSSES_MAX];
    unsigned loss_count;
    struct top_attention attention;
    double gaps;
    char gap[4 * TOP_TIME_BYTES];
    double bad_lines;
    double folded;
    struct top_share share;
    char sampling[TOP_NAME_BYTES];
    unsigned hidden, hidden_in_rows; /* as in the snapshot; none until a header says otherwise */
    bool by_model;
    double operations_history[TOP_HISTORY], moved_history[TOP_HISTORY];
    unsigned history_next, history_count;
    struct top_rows rows[2]; /* components; pairs */
    uint8_t *members;        /* owned: of each component's number, enum top_member */
    double *operations;      /* owned: of each component's number, as last reported */
};

enum top_member { TOP_MEMBER_UNKNOWN, TOP_MEMBER_HERE, TOP_MEMBER_LEFT };

enum { TOP_COMPONENTS, TOP_PAIRS };

/* The bucket is complete: `next` becomes `now`. */
void top_model_commit(struct top_model *model);
/* No metric distinguishes components, so that operations come from the lines of components. */
bool top_model_counts_by_lines(const struct top_model *model);
/* Another run: everything but the count of bad lines is forgotten. */
void top_model_reset(struct top_model *model);

#endif
