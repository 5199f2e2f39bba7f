/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of numbers, components, pairs of them, who waited for whom and declared metrics: as
 * they are counted (struct top_rows, found by name; of models, and of their ranks) and as they are
 * shown (struct top_table, sorted and chosen). At most TOP_ROWS_MAX rows of a table are counted,
 * about 12 KiB each; row 0 is "(other)" and takes names that do not fit. Numbers are doubles: exact
 * up to 2^53. Belongs to one thread.
 */
#pragma once

#include <stdbool.h>

#include "vampire/core/map.h"
#include "vampire/stats/bucket/histogram.h"

#define TOP_ROWS_MAX 4096
#define TOP_NAME_BYTES 192
#define TOP_WORD_BYTES 32

enum top_level { TOP_MODELS, TOP_RANKS };
#define TOP_LEVELS 2
enum top_kind { TOP_COMPONENTS, TOP_PAIRS, TOP_BLAME, TOP_DECLARED };
#define TOP_KINDS 4

/* The numbers of a row; those of the other kind of rows are 0 in it. */
enum top_number {
    TOP_OPERATIONS, /* of components */
    TOP_OFFERS,     /* the next three are of the operations */
    TOP_DEMANDS,
    TOP_WITHDRAWALS,
    TOP_PRODUCED,
    TOP_CONSUMED,
    TOP_ANOMALIES,
    TOP_TRANSPORTS, /* of pairs */
    TOP_MOVED,
    TOP_WAITED, /* ns that the second waited for the first; the next three are of it */
    TOP_FOR_OFFER,
    TOP_FOR_START,
    TOP_MOVING,
    TOP_GREW, /* of a declared counter */
    TOP_SUM_COUNT,
    /* The times of a row. */
    TOP_WAITS = TOP_SUM_COUNT, /* of a component, from demand to data */
    TOP_DURATIONS,             /* of a pair's transports */
    TOP_VALUES,                /* of a declared histogram */
    TOP_NUMBER_COUNT,
};
/* So many bins have a histogram of the default precision. */
enum { TOP_BINS = 496 };
#define TOP_BIT(number) (1U << (number))
/* Those that a stream may not have, since an output keeps the metrics and labels that it is asked
 * for. */
#define TOP_NUMBERS_ALL (2 * TOP_BIT(TOP_DURATIONS) - 1)

#define TOP_HOST_BYTES 64
#define TOP_UNIT_BYTES 16

/* Of a declared gauge, its newest value. */
struct top_level_value {
    bool known;
    double value;
};

/* ---- rows that are counted */

/* Values of a row in one bucket, or in all buckets. */
struct top_part {
    double sums[TOP_SUM_COUNT];
    struct vamp_histogram *times; /* of the default precision, VAMP_SUB_BITS_DEFAULT */
};

struct top_counted {
    struct map_link link;
    const char *name;   /* of a pair: the source, who was waited for. As it came, not clean */
    const char *second; /* of a pair: the sink, who waited; of a metric: of what; else "" */
    /* Of a component's name: how many there were of it, how many of them have left, and why;
     * a bad reason stays. */
    unsigned members, left;
    char reason[TOP_WORD_BYTES];    /* clean */
    char host[TOP_HOST_BYTES];      /* clean; of several components: where all of them are */
    char unit[TOP_UNIT_BYTES];      /* of a declared metric; clean */
    struct top_level_value level;   /* the same */
    bool by_lines;                  /* its operations come from lines of components */
    double idle_buckets;            /* since its last operation */
    struct top_part next, now, all; /* `now`: of the newest bucket, or of the window */
    struct top_counted *of_ranks;   /* of a component: where its numbers are; NULL: here */
};

struct top_rows {
    struct top_counted *rows[TOP_ROWS_MAX]; /* owned, `count` of them */
    size_t count;
    struct map map;
};

/* A row that no table has; NULL: no memory. To be freed with free. */
struct top_counted *top_counted_create(const char *name, const char *second);
/* Ends a bucket: adds `next` to `all`, makes it `now` and begins an empty one. */
void top_counted_commit(struct top_counted *row);
/* Empty. */
void top_part_clear(struct top_part *part);
/* As it was created. */
void top_counted_clear(struct top_counted *row);
/* One of its members left, and not in order. */
bool top_counted_has_vanished(const struct top_counted *row);
bool top_part_is_empty(const struct top_part *part);

/* 0 or -ENOMEM, then nothing is to be freed. */
int top_rows_init(struct top_rows *rows);
/* Zeroed ones are fine. */
void top_rows_done(struct top_rows *rows);
/* "(other)" stays, empty. */
void top_rows_clear(struct top_rows *rows);
/* The row of this name, made when it is new. Row "(other)" when there is no room. Never NULL. */
struct top_counted *top_rows_get(struct top_rows *rows, const char *name, const char *second);

/* ---- rows that are shown */

enum { TOP_P50, TOP_P99, TOP_MAX, TOP_TIMES };

struct top_row {
    char name[TOP_NAME_BYTES];   /* clean: safe for a terminal */
    char second[TOP_NAME_BYTES]; /* likewise */
    /* Components of one name are counted together; 0 of them: not known yet. */
    unsigned members, left;                          /* of this name; of these, gone */
    char reason[TOP_WORD_BYTES];                     /* why they left, the worst one; clean */
    char host[TOP_HOST_BYTES], unit[TOP_UNIT_BYTES]; /* as above */
    struct top_level_value level;
    bool vanished;              /* one of them did not leave in order */
    double idle_ns;             /* whole buckets without an operation, up to the newest */
    double sums[TOP_SUM_COUNT]; /* anomalies: always the sum of all buckets seen */
    double timed;               /* so many have a time */
    double times[TOP_TIMES];    /* ns; 0 when none has one */
    unsigned rest;              /* so many rows in one; 0: a row of its own */
    bool hidden;   /* its numbers are those of its model, but for operations that are */
    bool by_lines; /* of its own */
    bool chosen;
};

struct top_table {
    struct top_row *rows; /* owned */
    size_t count;
    size_t chosen; /* the first ones, after top_choose */
};

enum top_sort { TOP_SORT_OPERATIONS, TOP_SORT_BYTES, TOP_SORT_WAIT, TOP_SORT_NAME };
#define TOP_SORT_COUNT 4
/* "operations", "bytes", "wait", "name". */
extern const char *const top_sort_names[TOP_SORT_COUNT];

struct top_choice {
    enum top_sort sort; /* pairs by moves instead of operations, by p99 instead of waits; who
                           waited for whom by the time */
    bool reverse;
    char filter[64]; /* part of a name, upper and lower case alike (ASCII); "": all */
};

/* Puts the rows that are chosen first, in order. May be called again with another choice. A pair is
 * chosen by its source or its sink. */
void top_choose(struct top_table *table, enum top_kind kind, const struct top_choice *choice);

/* The chosen rows that are not among the `count` rows from `first` on, as one: sums, and the
 * largest of the longest times. Its quantiles are not known. */
struct top_row top_rest(const struct top_table *table, size_t first, size_t count);
