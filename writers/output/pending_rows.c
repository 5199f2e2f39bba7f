/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/pending_rows.h"

#include <stdlib.h>
#include <string.h>

int vamp_pending_rows_init(struct vamp_pending_rows *pending, unsigned max_components,
                           struct vamp_err *err)
{
    const unsigned capacity = max_components + 1; /* and "(other)" */
    *pending = (struct vamp_pending_rows){.row_capacity = capacity};
    pending->rows = calloc(capacity, sizeof *pending->rows);
    pending->out = calloc(capacity, sizeof *pending->out);
    pending->known = calloc(capacity, sizeof *pending->known);
    pending->fresh = calloc(capacity, sizeof *pending->fresh);
    if (pending->rows == NULL || pending->out == NULL || pending->known == NULL ||
        pending->fresh == NULL) {
        vamp_pending_rows_done(pending);
        return vamp_err_set_errno(err, ENOMEM, "keep a table of %u components", max_components);
    }
    return 0;
}

void vamp_pending_rows_done(struct vamp_pending_rows *pending)
{
    free(pending->rows);
    free(pending->out);
    free(pending->known);
    free(pending->fresh);
    *pending = (struct vamp_pending_rows){.rows = NULL};
}

static void add_row(struct vamp_pending_rows *pending, const struct vamp_component_row *row)
{
    if (row->index >= pending->row_capacity) {
        return; /* the table is never larger than the schema says */
    }
    pending->rows[row->index] = *row;
    pending->known[row->index] = true;
    pending->fresh[row->index] = true;
    if (row->index >= pending->row_count) {
        pending->row_count = row->index + 1;
    }
}

static void add_gap(struct vamp_pending_rows *pending, const struct vamp_gap *gap)
{
    if (pending->gap_count < VAMP_PENDING_GAPS_MAX) {
        pending->gaps[pending->gap_count++] = *gap;
        return;
    }
    vamp_gap_join(pending->gaps, VAMP_PENDING_GAPS_MAX, gap);
}

void vamp_pending_rows_add(struct vamp_pending_rows *pending, const struct vamp_bucket *bucket)
{
    for (unsigned i = 0; i < bucket->component_count; i++) {
        add_row(pending, &bucket->components[i]);
    }
    for (unsigned i = 0; i < bucket->gap_count; i++) {
        add_gap(pending, &bucket->gaps[i]);
    }
}

void vamp_pending_rows_move(struct vamp_pending_rows *pending, struct vamp_pending_rows *from)
{
    for (unsigned i = 0; i < from->row_count; i++) {
        if (from->known[i]) {
            add_row(pending, &from->rows[i]);
        }
    }
    for (unsigned i = 0; i < from->gap_count; i++) {
        add_gap(pending, &from->gaps[i]);
    }
    memset(from->known, 0, from->row_count * sizeof *from->known);
    from->row_count = 0;
    from->gap_count = 0;
}

void vamp_pending_rows_begin_segment(struct vamp_pending_rows *pending)
{
    memcpy(pending->fresh, pending->known, pending->row_count * sizeof *pending->fresh);
}

unsigned vamp_pending_rows_list(struct vamp_pending_rows *pending, bool all,
                                const struct vamp_component_row **ret_rows)
{
    unsigned count = 0;
    for (unsigned i = 0; i < pending->row_count; i++) {
        if (all ? pending->known[i] : pending->fresh[i]) {
            pending->out[count++] = pending->rows[i];
        }
    }
    *ret_rows = pending->out;
    return count;
}

void vamp_pending_rows_clear(struct vamp_pending_rows *pending)
{
    memset(pending->fresh, 0, pending->row_count * sizeof *pending->fresh);
    pending->gap_count = 0;
}
