/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must reach a target although the bucket that brought it did not: rows of the component table
 * and gaps. Fixed memory, nothing fails. Private to the sink.
 *
 * Names in rows are borrowed from the component table, where they stay for the whole run.
 */
#ifndef VAMP_WRITERS_SINK_CARRY_H
#define VAMP_WRITERS_SINK_CARRY_H

#include <stdbool.h>

#include "vampire/core/err.h"
#include "vampire/stats/bucket.h"

#define VAMP_CARRY_GAPS_MAX 128

struct vamp_carry {
    struct vamp_component_row *rows; /* by index; those below row_count that are `known` */
    bool *known, *fresh;             /* seen at all; not yet in the present segment */
    struct vamp_component_row *out;  /* for vamp_carry_rows */
    unsigned row_capacity, row_count;
    struct vamp_gap gaps[VAMP_CARRY_GAPS_MAX];
    unsigned gap_count;
};

VAMP_MUST_CHECK int vamp_carry_init(struct vamp_carry *carry, unsigned max_components,
                                    struct vamp_err *err);
void vamp_carry_done(struct vamp_carry *carry);
/* Newer rows replace older ones. Gaps beyond the bound are joined to others of their
 * reason. */
void vamp_carry_add_bucket(struct vamp_carry *carry, const struct vamp_bucket *bucket);
/* All of `from` goes into `carry`; `from` is empty afterwards. */
void vamp_carry_move(struct vamp_carry *carry, struct vamp_carry *from);
/* A new segment: every row has to be told again. */
void vamp_carry_renew(struct vamp_carry *carry);
/* Rows not yet told, valid until the next call; their number. */
unsigned vamp_carry_rows(struct vamp_carry *carry, const struct vamp_component_row **ret_rows);
/* Everything was told. */
void vamp_carry_told(struct vamp_carry *carry);

#endif
