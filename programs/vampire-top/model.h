/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a run from vampire's JSON lines: fed line by line, read as a snapshot. Does not
 * depend on files or terminals. Memory is bounded: at most TOP_ROWS_MAX components and as many
 * source-sink pairs; further ones are counted in the row "(other)". Numbers are doubles: exact up
 * to 2^53. One model belongs to one thread.
 */
#ifndef TOP_MODEL_H
#define TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/vampire-top/attention.h"
#include "vampire/core/err.h"

#define TOP_ROWS_MAX 1024
#define TOP_NAME_BYTES 192
#define TOP_TIME_BYTES 32
#define TOP_WORD_BYTES 32
#define TOP_LOSSES_MAX 24
#define TOP_KINDS_MAX 24
#define TOP_HISTORY 240 /* buckets of which the totals are remembered */
/* Longest line of the format in bytes, newline included. */
#define TOP_LINE_BYTES (64 * 1024)

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

/* Of the stream: "" until it is known. */
const char *top_model_run(const struct top_model *model);
/* Lines were fed, and none of them is of a run of vampire. */
bool top_model_is_foreign(const struct top_model *model);

/* ---- snapshot */

enum top_mode {
    TOP_MODE_RATES, /* of the newest bucket, for each second */
    TOP_MODE_SUMS,  /* of all buckets seen, whole numbers */
};

/* Times are nanoseconds; without values (`count` 0) they are 0. */
struct top_times {
    double count;
    double p50, p99, max;
};

/* Numbers that the stream may not have: an output keeps the metrics and labels that it is asked
 * for. A number that is hidden is not shown as 0. Bits. */
enum top_number {
    TOP_NUMBER_OPERATIONS,
    TOP_NUMBER_PRODUCED,
    TOP_NUMBER_CONSUMED,
    TOP_NUMBER_WAIT,
    TOP_NUMBER_ANOMALIES,
    TOP_NUMBER_TRANSPORTS,
    TOP_NUMBER_MOVED,
    TOP_NUMBER_TIME,
};
#define TOP_NUMBER_COUNT 8
#define TOP_NUMBER_BIT(number) (1U << (number))
#define TOP_NUMBERS_ALL ((1U << TOP_NUMBER_COUNT) - 1)

struct top_component_row {
    char name[TOP_NAME_BYTES]; /* clean: safe for a terminal */
    /* Components of one name are counted together; 0 of them: not known yet. */
    unsigned members, left;      /* of this name; of these, gone */
    char reason[TOP_WORD_BYTES]; /* why they left, the worst one; clean */
    bool vanished;               /* one of them did not leave in order */
    double idle_ns;              /* whole buckets without an operation, up to the newest */
    double operations, produced, consumed; /* bytes the latter two */
    double anomalies;                      /* always the sum of all buckets seen */
    struct top_times wait;                 /* from demand to data */
    unsigned rest;                         /* so many rows in one; 0: a row of its own */
    bool hidden;                           /* its numbers are those of its model */
};

struct top_pair_row {
    char source[TOP_NAME_BYTES]; /* clean */
    char sink[TOP_NAME_BYTES];
    double transports, bytes;
    struct top_times time;
    unsigned rest; /* so many rows in one; 0: a row of its own */
};

/* What the numbers do not contain, since the run began. */
struct top_share {
    double received, counted; /* events */
    double filtered, sampled; /* events turned away; of these, by sampling */
    double lost;              /* events, as far as known */
    double other;             /* values without a series of their own */
    double labels;            /* labels that values gave up */
};

struct top_loss {
    char text[2 * TOP_WORD_BYTES]; /* "events in ring", "buckets of live", clean */
    double count;                  /* since the run began */
    double fresh;                  /* of these, in the newest bucket */
};

struct top_kind {
    char name[TOP_WORD_BYTES];
    double operations;
};

struct top_gauge {
    bool known; /* false: the stream began in the middle and has not reported it yet */
    double value, max;
};

struct top_snapshot {
    enum top_mode mode;
    bool any; /* a bucket was seen; without, only the texts of the header are set */
    bool ended;
    char end_reason[TOP_WORD_BYTES];
    char workflow[TOP_NAME_BYTES], host[TOP_NAME_BYTES], level[TOP_WORD_BYTES];
    char since[TOP_TIME_BYTES]; /* start of the first bucket seen */
    char time[TOP_TIME_BYTES];  /* start of the newest one, RFC 3339 */
    double bucket, width_ns;    /* its number and width */
    double buckets;             /* seen */
    double seen_ns;             /* their widths */
    bool partial;               /* it has fewer values than it should */
    double operations, produced, moved;
    struct top_gauge components, pool_cdos, pool_bytes, transports_active, lag_ns;
    double anomalies;
    struct top_kind kinds[TOP_KINDS_MAX];
    unsigned kind_count;
    struct top_loss losses[TOP_LOSSES_MAX]; /* those that are not 0 */
    unsigned loss_count;
    double gaps;                  /* stretches of the stream that miss events */
    char gap[4 * TOP_TIME_BYTES]; /* the last of them */
    double bad_lines;             /* of the stream, as read here */
    double folded;                /* values counted under (other) here */
    struct top_share share;
    char sampling[TOP_NAME_BYTES]; /* "none"; clean */
    /* Bits: numbers that are not in the stream, and those that it does not have by row. */
    unsigned hidden, hidden_in_rows;
    bool by_model; /* rows are models */
    /* Operations and bytes moved for each second, oldest first. */
    double operations_history[TOP_HISTORY], moved_history[TOP_HISTORY];
    unsigned history_count;
    struct top_attention attention;           /* clean */
    struct top_component_row *component_rows; /* owned */
    size_t component_count;
    struct top_pair_row *pairs; /* owned */
    size_t pair_count;
};

/* Starts as all zeros; the same one may be filled again. 0 or -ENOMEM, then the snapshot is
 * empty. */
VAMP_MUST_CHECK int top_snapshot_take(struct top_snapshot *snapshot, const struct top_model *model,
                                      enum top_mode mode, struct vamp_err *err);
void top_snapshot_done(struct top_snapshot *snapshot);

#endif
