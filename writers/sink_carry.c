/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/sink_carry.h"

#include <stdlib.h>
#include <string.h>

int vamp_carry_init(struct vamp_carry *carry, unsigned max_components, struct vamp_err *err)
{
    const unsigned capacity = max_components + 1; /* and "(other)" */
    *carry = (struct vamp_carry){.row_capacity = capacity};
    carry->rows = calloc(capacity, sizeof *carry->rows);
    carry->out = calloc(capacity, sizeof *carry->out);
    carry->known = calloc(capacity, sizeof *carry->known);
    carry->fresh = calloc(capacity, sizeof *carry->fresh);
    if (carry->rows == NULL || carry->out == NULL || carry->known == NULL || carry->fresh == NULL) {
        vamp_carry_done(carry);
        return vamp_err_set_errno(err, ENOMEM, "keep a table of %u components", max_components);
    }
    return 0;
}

void vamp_carry_done(struct vamp_carry *carry)
{
    free(carry->rows);
    free(carry->out);
    free(carry->known);
    free(carry->fresh);
    *carry = (struct vamp_carry){.rows = NULL};
}

static void add_row(struct vamp_carry *carry, const struct vamp_component_row *row)
{
    if (row->index >= carry->row_capacity) {
        return; /* the table is never larger than the schema says */
    }
    carry->rows[row->index] = *row;
    carry->known[row->index] = true;
    carry->fresh[row->index] = true;
    if (row->index >= carry->row_count) {
        carry->row_count = row->index + 1;
    }
}

static void add_gap(struct vamp_carry *carry, const struct vamp_gap *gap)
{
    if (carry->gap_count < VAMP_CARRY_GAPS_MAX) {
        carry->gaps[carry->gap_count++] = *gap;
        return;
    }
    vamp_gap_join(carry->gaps, VAMP_CARRY_GAPS_MAX, gap);
}

void vamp_carry_add_bucket(struct vamp_carry *carry, const struct vamp_bucket *bucket)
{
    for (unsigned i = 0; i < bucket->component_count; i++) {
        add_row(carry, &bucket->components[i]);
    }
    for (unsigned i = 0; i < bucket->gap_count; i++) {
        add_gap(carry, &bucket->gaps[i]);
    }
}

void vamp_carry_move(struct vamp_carry *carry, struct vamp_carry *from)
{
    for (unsigned i = 0; i < from->row_count; i++) {
        if (from->known[i]) {
            add_row(carry, &from->rows[i]);
        }
    }
    for (unsigned i = 0; i < from->gap_count; i++) {
        add_gap(carry, &from->gaps[i]);
    }
    memset(from->known, 0, from->row_count * sizeof *from->known);
    from->row_count = 0;
    from->gap_count = 0;
}

void vamp_carry_renew(struct vamp_carry *carry)
{
    memcpy(carry->fresh, carry->known, carry->row_count * sizeof *carry->fresh);
}

unsigned vamp_carry_rows(struct vamp_carry *carry, const struct vamp_component_row **ret_rows)
{
    unsigned count = 0;
    for (unsigned i = 0; i < carry->row_count; i++) {
        if (carry->fresh[i]) {
            carry->out[count++] = carry->rows[i];
        }
    }
    *ret_rows = carry->out;
    return count;
}

void vamp_carry_told(struct vamp_carry *carry)
{
    memset(carry->fresh, 0, carry->row_count * sizeof *carry->fresh);
    carry->gap_count = 0;
}
