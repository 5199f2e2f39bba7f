/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Named rows of numbers, at most TOP_ROWS_MAX of them, found by name. Row 0 is "(other)" and takes
 * names that do not fit. About 12 KiB for each row. Belongs to one thread.
 */
#ifndef TOP_ROWS_H
#define TOP_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/vampire-top/spread.h"

/* Values of a row in one bucket, or in all buckets. */
struct top_part {
    double operations, produced, consumed; /* of a component */
    double transports, moved;              /* of a pair */
    double anomalies;
    struct top_spread times; /* waits of a component, durations of a pair */
};

struct top_row {
    char *name;   /* owned; of a pair: the source. As it came, not clean */
    char *second; /* of a pair: the sink, inside the memory of `name`; else "" */
    /* Of a component's name: how many there were of it, how many of them have left, and why;
     * a bad reason stays. */
    unsigned members, left;
    char reason[32];
    double idle_buckets; /* since its last operation */
    struct top_part next, now, all;
};

struct top_rows {
    struct top_row **rows; /* owned, `count` of them */
    size_t count;
    uint16_t *index; /* owned: hash to row + 1, 0 is free; twice the rows, so never full */
    uint64_t seed;   /* of the hashes, as components choose their names */
};

/* -1: no memory, and nothing to free. */
int top_rows_init(struct top_rows *rows);
void top_rows_done(struct top_rows *rows);
void top_rows_clear(struct top_rows *rows);

/* How many components the format numbers at most, as far as those of one name are distinguished. */
#define TOP_MEMBERS_MAX 65536

/* The row of this name, made when it is new. Row "(other)" when there is no room. Never NULL. */
struct top_row *top_rows_get(struct top_rows *rows, const char *name, const char *second);
/* Ends a bucket: adds `next` to `all`, makes it `now` and begins an empty one. */
void top_rows_commit(struct top_rows *rows);

#endif
