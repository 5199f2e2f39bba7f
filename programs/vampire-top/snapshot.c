/* SPDX-License-Identifier: BSD-3-Clause */
/* What is shown of a model. */
#include "programs/vampire-top/state.h"

#include <stdlib.h>
#include <string.h>

/* So many ranks are shown one by one, unless the user chooses. */
#define RANKS_FEW 16

static const struct top_part *part_of(const struct top_counted *row, enum top_mode mode)
{
    return mode == TOP_MODE_SUMS ? &row->all : &row->now;
}

static void take_sums(double *sums, const struct top_counted *row, const struct top_snapshot *s)
{
    for (unsigned i = 0; i < TOP_SUM_COUNT; i++) {
        const bool in_ranks =
            (row->of_ranks != NULL || row->by_lines) && (s->in_ranks & TOP_BIT(i)) != 0;
        const struct top_counted *of = in_ranks ? row->of_ranks : row;
        const double window_ns = in_ranks ? s->ranks_ns : s->window_ns;
        if (of == NULL) { /* its first line is to come */
            sums[i] = 0;
            continue;
        }
        const double sum = i == TOP_ANOMALIES ? of->all.sums[i] : part_of(of, s->mode)->sums[i];
        const bool rates = s->mode != TOP_MODE_SUMS && i != TOP_ANOMALIES && window_ns > 0;
        sums[i] = rates ? sum * 1e9 / window_ns : sum;
    }
}

static void take_row(struct top_row *out, const struct top_snapshot *s,
                     const struct top_counted *row, const struct vamp_bins *bins)
{
    const bool in_ranks = s->level == TOP_RANKS && s->ranks_ns > 0;
    const struct top_counted *of = row->of_ranks != NULL ? row->of_ranks : row;
    const struct vamp_histogram *times = part_of(of, s->mode)->times;
    *out = (struct top_row){
        .members = row->members,
        .left = row->left,
        .idle_ns = row->idle_buckets * s->width_ns,
        .vanished = top_counted_has_vanished(row),
        .timed = (double)times->count,
        .times = {[TOP_P50] = (double)vamp_histogram_quantile(times, bins, 0.5),
                  [TOP_P99] = (double)vamp_histogram_quantile(times, bins, 0.99),
                  [TOP_MAX] = (double)(times->count > 0 ? times->max : 0)},
        .hidden = s->by_model && (row->by_lines || top_part_is_empty(&row->all)) && !in_ranks,
        .by_lines = row->by_lines,
        .level = row->level,
    };
    memcpy(out->host, row->host, sizeof out->host);
    memcpy(out->unit, row->unit, sizeof out->unit);
    memcpy(out->reason, row->reason, sizeof out->reason);
    take_sums(out->sums, row, s);
    top_text_clean(out->name, sizeof out->name, row->name);
    top_text_clean(out->second, sizeof out->second, row->second);
}

static const struct top_rows *rows_shown(const struct top_model *model, enum top_level level,
                                         enum top_kind kind)
{
    return &model->rows[kind == TOP_DECLARED ? TOP_RANKS : level][kind];
}

/* Pairs have a row when something moved, components always; but one that is counted with its model
 * only if it vanished, for the head. */
static void take_rows(struct top_snapshot *s, const struct top_model *model, enum top_kind kind)
{
    struct top_table *table = &s->tables[kind];
    const struct top_rows *rows = rows_shown(model, s->level, kind);
    for (size_t i = 0; i < rows->count; i++) {
        const struct top_counted *row = rows->rows[i];
        const bool is_other = i == 0;
        if (kind == TOP_DECLARED ? row->level.known || !top_part_is_empty(&row->all)
            : kind != TOP_COMPONENTS
                ? !top_part_is_empty(part_of(row, s->mode))
                : !top_part_is_empty(&row->all) || row->of_ranks != NULL ||
                      (!is_other && (!s->by_model || top_counted_has_vanished(row)))) {
            take_row(&table->rows[table->count++], s, row, &model->bins);
        }
    }
}

static void take_vanished(struct top_snapshot *s, const struct top_rows *ranks)
{
    s->vanished_count = 0;
    for (size_t i = 0; i < ranks->count && s->vanished_count < TOP_VANISHED_MAX; i++) {
        if (top_counted_has_vanished(ranks->rows[i])) {
            top_text_clean(s->vanished[s->vanished_count++], TOP_NAME_BYTES, ranks->rows[i]->name);
        }
    }
}

enum top_level top_level_usual(const struct top_model *model)
{
    const size_t ranks = model->rows[TOP_RANKS][TOP_COMPONENTS].count - 1;
    const size_t models = model->rows[TOP_MODELS][TOP_COMPONENTS].count - 1;
    return models < ranks && ranks > RANKS_FEW ? TOP_MODELS : TOP_RANKS;
}

int top_snapshot_take(struct top_snapshot *snapshot, const struct top_model *model,
                      enum top_mode mode, enum top_level level, struct vamp_err *err)
{
    top_snapshot_done(snapshot);
    bool complete = true;
    *snapshot = model->shown;
    for (enum top_kind kind = TOP_COMPONENTS; kind < TOP_KINDS; kind++) {
        struct top_table *table = &snapshot->tables[kind];
        table->rows = calloc(rows_shown(model, level, kind)->count, sizeof *table->rows);
        complete = complete && table->rows != NULL;
    }
    if (!complete) {
        top_snapshot_done(snapshot);
        return vamp_err_set_errno(err, ENOMEM, "show the newest bucket");
    }
    snapshot->mode = mode;
    snapshot->level = level;
    if (snapshot->ranks_ns > 0 && (level == TOP_RANKS || !snapshot->by_model)) {
        snapshot->in_ranks = model->ranks_have;
        snapshot->hidden_in_rows &= ~model->ranks_have;
    }
    snapshot->loss_count = 0;
    for (unsigned i = 0; i < model->shown.loss_count; i++) {
        if (model->shown.losses[i].count > 0) {
            snapshot->losses[snapshot->loss_count++] = model->shown.losses[i];
        }
    }
    top_attention_sort(&snapshot->attention);
    take_sums(snapshot->sums, model->total, snapshot);
    for (enum top_kind kind = TOP_COMPONENTS; kind < TOP_KINDS; kind++) {
        take_rows(snapshot, model, kind);
    }
    take_vanished(snapshot, &model->rows[TOP_RANKS][TOP_COMPONENTS]);
    return 0;
}

void top_snapshot_done(struct top_snapshot *snapshot)
{
    for (unsigned kind = 0; kind < TOP_KINDS; kind++) {
        free(snapshot->tables[kind].rows);
    }
    memset(snapshot, 0, sizeof *snapshot);
}
