/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a run from vampire's JSON lines: fed line by line, read as a snapshot. Does not
 * depend on files or terminals. Memory is bounded. One model belongs to one thread.
 */
#pragma once

#include "programs/vampire-top/attention.h"
#include "programs/vampire-top/rows.h"
#include "programs/vampire-top/text.h"

#define TOP_TIME_BYTES 32
#define TOP_LOSSES_MAX 24
#define TOP_VANISHED_MAX 16
/* Of the format that is understood. */
#define TOP_VERSION 2
/* Longest line of the format in bytes, newline included. */
#define TOP_LINE_BYTES (64 * 1024)

/* ---- model */

struct top_model;

/* NULL: no memory. */
struct top_model *top_model_create(void);
void top_model_free(struct top_model *model);

enum top_fed {
    TOP_FED_LINE,    /* taken, or of a type that has nothing to show */
    TOP_FED_BUCKET,  /* it was a bucket's last line: the state has changed */
    TOP_FED_ROTATED, /* the last line of a segment: the run goes on in the next one, or a new
                        connection */
    TOP_FED_END,     /* the last line of the run; the losses may have changed */
    TOP_FED_BAD,     /* no line of the format; counted */
};
/* One line without its newline, need not be terminated. Lines of another run begin a new state. */
enum top_fed top_model_feed(struct top_model *model, const char *line, size_t bytes);
/* A line that was too long to be fed: counted as bad. */
void top_model_skip(struct top_model *model);
/* The lines before the next one were not read: the check value that comes next is not about the
 * lines that were fed. */
void top_model_jump(struct top_model *model);
/* From now on until the next bucket, the newest numbers are those of the last `window_ns`, as far
 * as they were seen and fit into memory; 0: of the newest bucket. */
void top_model_window(struct top_model *model, double window_ns);

/* Of the stream: "" until it is known. */
const char *top_model_run(const struct top_model *model);
/* Lines were fed, and none of them is of a run of vampire. */
bool top_model_is_foreign(const struct top_model *model);

/* ---- snapshot */

enum top_mode {
    TOP_MODE_RATES, /* of the newest bucket or the window, for each second */
    TOP_MODE_SUMS,  /* of all buckets seen, whole numbers */
};

struct top_loss {
    char text[2 * TOP_WORD_BYTES]; /* "events in ring", "buckets of live", clean */
    double count;                  /* since the run began */
    double fresh;                  /* of these, in the newest bucket */
};

/* Values of the run as a whole. Not known: the stream began in the middle and has not reported it
 * yet, or never does. */
enum top_gauge {
    TOP_PRESENT, /* components */
    TOP_POOL_CDOS,
    TOP_POOL_BYTES,
    TOP_ACTIVE, /* transports */
    TOP_LAG,
    TOP_RESOLUTION,      /* of times between events, ns */
    TOP_FIRING,          /* alarms, after the bucket before the newest one */
    TOP_SAMPLED_OUT,     /* events, as all that follow since the run began */
    TOP_OVERFLOW,        /* values without a series of their own */
    TOP_LABELS_LOST,     /* labels that values gave up */
    TOP_EVICTED,         /* records given up at a bound */
    TOP_NOT_SUBSCRIBED,  /* events that were not asked for or recorded */
    TOP_REFUSED,         /* as what follows, above 0: a collector refused messages of runs */
    TOP_METRIC_FILTERED, /* above 0: statistics.filters keep something out of a metric */
    TOP_NOT_IN_STREAM,   /* above 0: a metric has series that are not in the stream */
    TOP_GAUGES,
};

/* Of a metric whose total the head shows: what the stream had of it, and what it lacks. */
struct top_share {
    const char *name;
    double has, lacks;
};
#define TOP_SHARES 3

struct top_snapshot {
    enum top_mode mode;
    bool any; /* a bucket was seen; without, only the texts of the header are set */
    bool ended;
    char end_reason[TOP_WORD_BYTES];
    char workflow[TOP_NAME_BYTES];
    char since[TOP_TIME_BYTES]; /* start of the first bucket seen */
    char time[TOP_TIME_BYTES];  /* start of the newest one, RFC 3339 */
    double bucket, width_ns;    /* its number and width */
    double buckets;             /* seen */
    double seen_ns;             /* their widths */
    bool partial;               /* it has fewer values than it should */
    double window_ns;           /* what the newest numbers are of: width_ns, or longer */
    double ranks_ns;            /* and those of components in lines of ranks; 0: none came yet */
    unsigned in_ranks;    /* bits: numbers that rows have of these; older streams have operations
                             in lines of their own only */
    enum top_level level; /* what has rows */
    bool is_tail;         /* of a long file, only the end was read */
    double sums[TOP_SUM_COUNT]; /* of all rows */
    struct top_share shares[TOP_SHARES];
    bool known[TOP_GAUGES];
    double gauges[TOP_GAUGES];
    struct top_loss losses[TOP_LOSSES_MAX]; /* those that are not 0 */
    unsigned loss_count;
    double gaps;                  /* stretches of the stream that miss events */
    char gap[4 * TOP_TIME_BYTES]; /* the last of them */
    double bad_lines;             /* of the stream, as read here */
    double damaged; /* buckets, headers and ends left out, as their check did not hold */
    char damage[TOP_TIME_BYTES]; /* the start of the last of them */
    /* Ranks that vanished, the first ones; clean. */
    char vanished[TOP_VANISHED_MAX][TOP_NAME_BYTES];
    unsigned vanished_count;
    double folded; /* values counted under (other) here */
    double received, counted, filtered, late,
        lost;                      /* events since the run began, as far as known */
    char sampling[TOP_NAME_BYTES]; /* "none" */
    /* Bits: numbers that are not in the stream, and those that it does not have by row. A number
     * that is hidden is not shown as 0. */
    unsigned hidden, hidden_in_rows;
    unsigned unobserved;                /* of those hidden: nobody could know them */
    char unseen_losses[TOP_NAME_BYTES]; /* why losses of the pool manager are unknown; "" */
    bool by_model;                      /* rows are models */
    struct top_attention attention;
    struct top_table tables[TOP_KINDS];
};

/* With the numbers of models, or of each rank; a stream that has models only has both alike. Starts
 * as all zeros; the same one may be filled again. 0 or -ENOMEM, then the snapshot is empty. */
VAMP_MUST_CHECK int top_snapshot_take(struct top_snapshot *snapshot, const struct top_model *model,
                                      enum top_mode mode, enum top_level level,
                                      struct vamp_err *err);
/* Models where there are many ranks of few of them. */
enum top_level top_level_usual(const struct top_model *model);
void top_snapshot_done(struct top_snapshot *snapshot);
