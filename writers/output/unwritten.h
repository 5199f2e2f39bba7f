/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of the component table and gaps that the present segment does not hold yet: those of the
 * bucket to be written, of buckets that were lost, and, in a new segment, all rows. Fixed memory,
 * nothing fails. Private to outputs of buckets.
 *
 * Names in rows are borrowed from the component table, where they stay for the whole run.
 */
#ifndef VAMP_WRITERS_OUTPUT_UNWRITTEN_H
#define VAMP_WRITERS_OUTPUT_UNWRITTEN_H

#include <stdbool.h>

#include "vampire/core/err.h"
#include "vampire/stats/bucket/bucket.h"

#define VAMP_UNWRITTEN_GAPS_MAX 128

struct vamp_unwritten {
    struct vamp_component_row *rows; /* by index; those below row_count that are `known` */
    bool *known, *fresh;             /* seen at all; not yet in the present segment */
    struct vamp_component_row *out;  /* for vamp_unwritten_rows */
    unsigned row_capacity, row_count;
    struct vamp_gap gaps[VAMP_UNWRITTEN_GAPS_MAX];
    unsigned gap_count;
};

VAMP_MUST_CHECK int vamp_unwritten_init(struct vamp_unwritten *unwritten, unsigned max_components,
                                        struct vamp_err *err);
void vamp_unwritten_done(struct vamp_unwritten *unwritten);
/* Newer rows replace older ones. Gaps beyond the bound are joined to others of their
 * reason. */
void vamp_unwritten_add(struct vamp_unwritten *unwritten, const struct vamp_bucket *bucket);
/* All of `from` goes into `unwritten`; `from` is empty afterwards. */
void vamp_unwritten_move(struct vamp_unwritten *unwritten, struct vamp_unwritten *from);
/* A new segment: it holds no row yet. */
void vamp_unwritten_begin_segment(struct vamp_unwritten *unwritten);
/* Rows that the segment lacks, or (`all`) every row, valid until the next call; their number. */
unsigned vamp_unwritten_rows(struct vamp_unwritten *unwritten, bool all,
                             const struct vamp_component_row **ret_rows);
/* The segment holds all of it. */
void vamp_unwritten_clear(struct vamp_unwritten *unwritten);

#endif
