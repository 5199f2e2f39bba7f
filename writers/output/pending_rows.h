/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of the component table and gaps that the present segment does not hold yet: those of the
 * bucket to be written, of buckets that were lost, and, in a new segment, all rows. Fixed memory,
 * nothing fails. Private to outputs of buckets.
 *
 * Names in rows are borrowed from the component table, where they stay for the whole run.
 */
#ifndef VAMP_WRITERS_OUTPUT_PENDING_ROWS_H
#define VAMP_WRITERS_OUTPUT_PENDING_ROWS_H

#include <stdbool.h>

#include "vampire/core/err.h"
#include "vampire/stats/bucket/bucket.h"

#define VAMP_PENDING_GAPS_MAX 128

struct vamp_pending_rows {
    struct vamp_component_row *rows; /* by index; those below row_count that are `known` */
    bool *known, *fresh;             /* seen at all; not yet in the present segment */
    struct vamp_component_row *out;  /* for vamp_pending_rows_list */
    unsigned row_capacity, row_count;
    struct vamp_gap gaps[VAMP_PENDING_GAPS_MAX];
    unsigned gap_count;
};

VAMP_MUST_CHECK int vamp_pending_rows_init(struct vamp_pending_rows *pending,
                                           unsigned max_components, struct vamp_err *err);
void vamp_pending_rows_done(struct vamp_pending_rows *pending);
/* Newer rows replace older ones. Gaps beyond the bound are joined to others of their
 * reason. */
void vamp_pending_rows_add(struct vamp_pending_rows *pending, const struct vamp_bucket *bucket);
/* All of `from` goes into `pending`; `from` is empty afterwards. */
void vamp_pending_rows_move(struct vamp_pending_rows *pending, struct vamp_pending_rows *from);
/* A new segment: it holds no row yet. */
void vamp_pending_rows_begin_segment(struct vamp_pending_rows *pending);
/* Rows that the segment lacks, or (`all`) every row, valid until the next call; their number. */
unsigned vamp_pending_rows_list(struct vamp_pending_rows *pending, bool all,
                                const struct vamp_component_row **ret_rows);
/* The segment holds all of it. */
void vamp_pending_rows_clear(struct vamp_pending_rows *pending);

#endif
