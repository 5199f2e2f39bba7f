/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/unwritten.h"

#include <stdlib.h>
#include <string.h>

int vamp_unwritten_init(struct vamp_unwritten *unwritten, unsigned max_components,
                        struct vamp_err *err)
{
    const unsigned capacity = max_components + 1; /* and "(other)" */
    *unwritten = (struct vamp_unwritten){.row_capacity = capacity};
    unwritten->rows = calloc(capacity, sizeof *unwritten->rows);
    unwritten->out = calloc(capacity, sizeof *unwritten->out);
    unwritten->known = calloc(capacity, sizeof *unwritten->known);
    unwritten->fresh = calloc(capacity, sizeof *unwritten->fresh);
    if (unwritten->rows == NULL || unwritten->out == NULL || unwritten->known == NULL ||
        unwritten->fresh == NULL) {
        vamp_unwritten_done(unwritten);
        return vamp_err_set_errno(err, ENOMEM, "keep a table of %u components", max_components);
    }
    return 0;
}

void vamp_unwritten_done(struct vamp_unwritten *unwritten)
{
    free(unwritten->rows);
    free(unwritten->out);
    free(unwritten->known);
    free(unwritten->fresh);
    *unwritten = (struct vamp_unwritten){.rows = NULL};
}

static void add_row(struct vamp_unwritten *unwritten, const struct vamp_component_row *row)
{
    if (row->index >= unwritten->row_capacity) {
        return; /* the table is never larger than the schema says */
    }
    unwritten->rows[row->index] = *row;
    unwritten->known[row->index] = true;
    unwritten->fresh[row->index] = true;
    if (row->index >= unwritten->row_count) {
        unwritten->row_count = row->index + 1;
    }
}

static void add_gap(struct vamp_unwritten *unwritten, const struct vamp_gap *gap)
{
    if (unwritten->gap_count < VAMP_UNWRITTEN_GAPS_MAX) {
        unwritten->gaps[unwritten->gap_count++] = *gap;
        return;
    }
    vamp_gap_join(unwritten->gaps, VAMP_UNWRITTEN_GAPS_MAX, gap);
}

void vamp_unwritten_add(struct vamp_unwritten *unwritten, const struct vamp_bucket *bucket)
{
    for (unsigned i = 0; i < bucket->component_count; i++) {
        add_row(unwritten, &bucket->components[i]);
    }
    for (unsigned i = 0; i < bucket->gap_count; i++) {
        add_gap(unwritten, &bucket->gaps[i]);
    }
}

void vamp_unwritten_move(struct vamp_unwritten *unwritten, struct vamp_unwritten *from)
{
    for (unsigned i = 0; i < from->row_count; i++) {
        if (from->known[i]) {
            add_row(unwritten, &from->rows[i]);
        }
    }
    for (unsigned i = 0; i < from->gap_count; i++) {
        add_gap(unwritten, &from->gaps[i]);
    }
    memset(from->known, 0, from->row_count * sizeof *from->known);
    from->row_count = 0;
    from->gap_count = 0;
}

void vamp_unwritten_begin_segment(struct vamp_unwritten *unwritten)
{
    memcpy(unwritten->fresh, unwritten->known, unwritten->row_count * sizeof *unwritten->fresh);
}

unsigned vamp_unwritten_rows(struct vamp_unwritten *unwritten, bool all,
                             const struct vamp_component_row **ret_rows)
{
    unsigned count = 0;
    for (unsigned i = 0; i < unwritten->row_count; i++) {
        if (all ? unwritten->known[i] : unwritten->fresh[i]) {
            unwritten->out[count++] = unwritten->rows[i];
        }
    }
    *ret_rows = unwritten->out;
    return count;
}

void vamp_unwritten_clear(struct vamp_unwritten *unwritten)
{
    memset(unwritten->fresh, 0, unwritten->row_count * sizeof *unwritten->fresh);
    unwritten->gap_count = 0;
}
