/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What rows had in each of the newest buckets, for the sums of a window of time. Bounded: the
 * oldest are forgotten. Rows are numbers below TOP_LOG_ROWS, which the owner gives. One thread.
 */
#pragma once

#include "programs/vampire-top/rows.h"

#define TOP_LOG_ROWS (UINT32_C(1) << 30)
/* With this bit, a row whose numbers are not of buckets but of lines of ranks. */
#define TOP_LOG_OF_RANKS TOP_LOG_ROWS

struct top_log;

/* NULL: no memory. */
struct top_log *top_log_create(void);
void top_log_free(struct top_log *log);
void top_log_clear(struct top_log *log);

/* What a row had in the bucket or the lines. */
void top_log_part(struct top_log *log, uint32_t row, const struct top_part *part);
/* The bucket ends here; its rows came before. */
void top_log_bucket(struct top_log *log, double width_ns);
/* Lines of ranks of such a time; their rows follow. */
void top_log_ranks(struct top_log *log, double width_ns);

/* Adds what rows had in the last `window_ns`, as far as there are buckets, to what `part` gives for
 * them; of ranks, in the lines in that time, or else in the newest before it. Sets the times that
 * this is. */
void top_log_window(const struct top_log *log, double window_ns,
                    struct top_part *(*part)(void *context, uint32_t row), void *context,
                    double *ret_window_ns, double *ret_ranks_ns);
