/* SPDX-License-Identifier: BSD-3-Clause */
/* What a model (model.h) consists of, for the files that fill it and read it. */
#pragma once

#include "programs/vampire-top/log.h"
#include "programs/vampire-top/model.h"

#define TOP_RANKS_MAX 8
#define TIERS_MAX 8
struct tier {
    bool known;
    char name[TOP_WORD_BYTES];
    double active; /* transports */
};

/* How many components the format numbers at most, as far as those of one name are distinguished. */
#define MEMBERS_MAX 65536
struct member {
    bool known, left;
    bool is_rank;      /* of a model of another name */
    bool is_older;     /* than what is read of the run: its first number is no news */
    double operations; /* as last reported */
    struct top_counted *rows[TOP_LEVELS];
};

/* What lines of ranks have of components: a further kind of rows, whose numbers are of a time of
 * their own. */
enum { OF_RANKS = TOP_KINDS, KINDS };

struct top_model {
    char run[40];
    /* What is shown of the newest bucket, but for what depends on the mode and for rows. All losses
     * are in it. */
    struct top_snapshot shown;
    double next_lines;            /* with values, of the incoming bucket */
    unsigned next_components;     /* whose operations came with it */
    double bucket_ns;             /* the usual width */
    struct tier tiers[TIERS_MAX]; /* of which the gauge of active transports is the sum */
    struct top_counted *total;    /* owned; without times */
    struct top_rows rows[TOP_LEVELS][KINDS];
    unsigned ranks_have;           /* bits: numbers in lines of ranks; 0: there are none */
    unsigned ranks[TOP_RANKS_MAX]; /* the number in each column, or TOP_NUMBER_COUNT */
    unsigned ranks_count;
    double next_ranks_ns;            /* what those that came are of; 0: none */
    char next_ranks[TOP_TIME_BYTES]; /* and since when */
    struct vamp_bins ranks_bins;
    bool from_middle;       /* the first bucket seen is not the run's */
    struct member *members; /* owned: of each component's number */
    json_t *declared;       /* owned: descriptions of declared metrics by name; NULL: none */
    struct vamp_bins bins;
    struct top_log *log; /* owned */
    /* Of the lines since the last one with a check value, as far as all of them were fed. */
    uint32_t sum;
    bool sum_known, has_checks;
};

/* Where numbers of ranks come from: no metric distinguishes components, so that the operations of
 * each come from lines that have totals since the run began; if metrics have those of models, only
 * of ranks. */
bool top_counts_by_lines(const struct top_snapshot *shown);
/* A line of a type other than bucket and end, which are the model's own. */
void top_take_line(struct top_model *model, const char *type, const json_t *line);
