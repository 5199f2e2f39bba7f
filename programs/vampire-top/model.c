/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/model.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/vampire-top/model_internal.h"
#include "programs/vampire-top/text.h"

struct top_model *top_model_create(void)
{
    struct top_model *model = calloc(1, sizeof *model);
    if (model == NULL) {
        return NULL;
    }
    model->members = calloc(TOP_MEMBERS_MAX, sizeof *model->members);
    model->operations = calloc(TOP_MEMBERS_MAX, sizeof *model->operations);
    if (model->members == NULL || model->operations == NULL ||
        top_rows_init(&model->rows[TOP_COMPONENTS]) != 0 ||
        top_rows_init(&model->rows[TOP_PAIRS]) != 0) {
        top_model_free(model);
        return NULL;
    }
    return model;
}

void top_model_free(struct top_model *model)
{
    if (model == NULL) {
        return;
    }
    top_rows_done(&model->rows[TOP_COMPONENTS]);
    top_rows_done(&model->rows[TOP_PAIRS]);
    free(model->members);
    free(model->operations);
    free(model);
}

void top_model_reset(struct top_model *model)
{
    struct top_rows rows[2] = {model->rows[0], model->rows[1]};
    double bad_lines = model->bad_lines;
    uint8_t *members = model->members;
    double *operations = model->operations;
    top_rows_clear(&rows[TOP_COMPONENTS]);
    top_rows_clear(&rows[TOP_PAIRS]);
    memset(members, TOP_MEMBER_UNKNOWN, TOP_MEMBERS_MAX * sizeof *members);
    memset(operations, 0, TOP_MEMBERS_MAX * sizeof *operations);
    *model = (struct top_model){.rows = {rows[0], rows[1]},
                                .members = members,
                                .operations = operations,
                                .bad_lines = bad_lines};
}

const char *top_model_run(const struct top_model *model)
{
    return model->run;
}

bool top_model_is_foreign(const struct top_model *model)
{
    return model->bad_lines > 0 && model->run[0] == '\0';
}

void top_model_skip(struct top_model *model)
{
    model->bad_lines++;
}

static void add_to_history(struct top_model *model)
{
    assert(model->history_next < TOP_HISTORY);
    double seconds = model->width_ns > 0 ? model->width_ns / 1e9 : 1;
    model->operations_history[model->history_next] = model->now.operations / seconds;
    model->moved_history[model->history_next] = model->now.moved / seconds;
    model->history_next = (model->history_next + 1) % TOP_HISTORY;
    model->history_count += model->history_count < TOP_HISTORY;
}

/* The lines of components are ahead of the buckets by the lateness of events. At the end of a
 * stream, what the newest bucket counts was in earlier lines. */
static bool lines_were_ahead(const struct top_model *model)
{
    return top_model_counts_by_lines(model) && model->now.operations > 0 &&
           model->next_component_lines == 0;
}

void top_model_commit(struct top_model *model)
{
    model->now = model->next;
    memset(&model->next, 0, sizeof model->next);
    model->all.operations += model->now.operations;
    model->all.produced += model->now.produced;
    model->all.moved += model->now.moved;
    model->all.anomalies += model->now.anomalies;
    for (unsigned i = 0; i < TOP_KINDS_MAX; i++) {
        model->all.kinds[i] += model->now.kinds[i];
    }
    if (!lines_were_ahead(model)) {
        top_rows_commit(&model->rows[TOP_COMPONENTS]);
    }
    top_rows_commit(&model->rows[TOP_PAIRS]);
    model->buckets++;
    model->seen_ns += model->width_ns;
    model->next_metrics = 0;
    model->next_component_lines = 0;
    add_to_history(model);
}

/* ---- snapshot */

/* What a sum becomes in this mode. */
static double per_second_or_sum(const struct top_model *model, enum top_mode mode, double now,
                                double all)
{
    return mode == TOP_MODE_SUMS ? all : model->width_ns > 0 ? now * 1e9 / model->width_ns : now;
}

static struct top_times times_of(const struct top_spread *spread)
{
    struct top_times times = {.count = (double)spread->count};
    if (spread->count > 0) {
        times.p50 = (double)top_spread_quantile(spread, 0.5);
        times.p99 = (double)top_spread_quantile(spread, 0.99);
        times.max = (double)spread->max;
    }
    return times;
}

static bool is_empty(const struct top_part *part)
{
    return part->operations == 0 && part->produced == 0 && part->consumed == 0 &&
           part->transports == 0 && part->times.count == 0 && part->anomalies == 0;
}

static void take_component(struct top_component_row *out, const struct top_model *model,
                           const struct top_row *row, enum top_mode mode)
{
    const struct top_part *part = mode == TOP_MODE_SUMS ? &row->all : &row->now;
    *out = (struct top_component_row){
        .members = row->members,
        .left = row->left,
        .idle_ns = row->idle_buckets * model->width_ns,
        .vanished = row->left > 0 && strcmp(row->reason, "finalized") != 0,
        .operations = per_second_or_sum(model, mode, row->now.operations, row->all.operations),
        .produced = per_second_or_sum(model, mode, row->now.produced, row->all.produced),
        .consumed = per_second_or_sum(model, mode, row->now.consumed, row->all.consumed),
        .anomalies = row->all.anomalies,
        .wait = times_of(&part->times),
        .hidden = model->by_model && is_empty(&row->all),
    };
    top_text_clean(out->name, sizeof out->name, row->name);
    top_text_clean(out->reason, sizeof out->reason, row->reason);
}

static void take_pair(struct top_pair_row *out, const struct top_model *model,
                      const struct top_row *row, enum top_mode mode)
{
    const struct top_part *part = mode == TOP_MODE_SUMS ? &row->all : &row->now;
    *out = (struct top_pair_row){
        .transports = per_second_or_sum(model, mode, row->now.transports, row->all.transports),
        .bytes = per_second_or_sum(model, mode, row->now.moved, row->all.moved),
        .time = times_of(&part->times),
    };
    top_text_clean(out->source, sizeof out->source, row->name);
    top_text_clean(out->sink, sizeof out->sink, row->second);
}

/* A component that is counted with its model has a row only if it vanished, for the head. */
static bool is_shown(const struct top_model *model, size_t number, const struct top_row *row)
{
    const bool vanished = row->left > 0 && strcmp(row->reason, "finalized") != 0;
    return !is_empty(&row->all) || (number > 0 && (!model->by_model || vanished));
}

static void take_rows(struct top_snapshot *snapshot, const struct top_model *model)
{
    const struct top_rows *components = &model->rows[TOP_COMPONENTS];
    for (size_t i = 0; i < components->count; i++) {
        const struct top_row *row = components->rows[i];
        if (is_shown(model, i, row)) {
            take_component(&snapshot->component_rows[snapshot->component_count++], model, row,
                           snapshot->mode);
        }
    }
    const struct top_rows *pairs = &model->rows[TOP_PAIRS];
    for (size_t i = 0; i < pairs->count; i++) {
        const struct top_row *row = pairs->rows[i];
        if (!is_empty(snapshot->mode == TOP_MODE_SUMS ? &row->all : &row->now)) {
            take_pair(&snapshot->pairs[snapshot->pair_count++], model, row, snapshot->mode);
        }
    }
}

static void take_totals(struct top_snapshot *out, const struct top_model *model)
{
    enum top_mode mode = out->mode;
    assert(model->kind_count <= TOP_KINDS_MAX && model->loss_count <= TOP_LOSSES_MAX);
    assert(model->history_count <= TOP_HISTORY);
    out->operations = per_second_or_sum(model, mode, model->now.operations, model->all.operations);
    out->produced = per_second_or_sum(model, mode, model->now.produced, model->all.produced);
    out->moved = per_second_or_sum(model, mode, model->now.moved, model->all.moved);
    out->anomalies = model->all.anomalies;
    for (unsigned i = 0; i < model->kind_count; i++) {
        double operations =
            per_second_or_sum(model, mode, model->now.kinds[i], model->all.kinds[i]);
        if (operations > 0) {
            struct top_kind *kind = &out->kinds[out->kind_count++];
            top_text_clean(kind->name, sizeof kind->name, model->kinds[i]);
            kind->operations = operations;
        }
    }
    for (unsigned i = 0; i < model->loss_count; i++) {
        if (model->losses[i].count > 0) {
            struct top_loss *loss = &out->losses[out->loss_count++];
            top_text_clean(loss->text, sizeof loss->text, model->losses[i].text);
            loss->count = model->losses[i].count;
            loss->fresh = model->losses[i].fresh;
        }
    }
    out->history_count = model->history_count;
    unsigned first = (model->history_next + TOP_HISTORY - model->history_count) % TOP_HISTORY;
    for (unsigned i = 0; i < model->history_count; i++) {
        out->operations_history[i] = model->operations_history[(first + i) % TOP_HISTORY];
        out->moved_history[i] = model->moved_history[(first + i) % TOP_HISTORY];
    }
}

static void take_texts(struct top_snapshot *out, const struct top_model *model)
{
    top_text_clean(out->workflow, sizeof out->workflow, model->workflow);
    top_text_clean(out->host, sizeof out->host, model->host);
    top_text_clean(out->level, sizeof out->level, model->level);
    top_text_clean(out->since, sizeof out->since, model->since);
    top_text_clean(out->time, sizeof out->time, model->time);
    top_text_clean(out->end_reason, sizeof out->end_reason, model->end_reason);
    top_text_clean(out->gap, sizeof out->gap, model->gap);
    top_text_clean(out->sampling, sizeof out->sampling, model->sampling);
}

int top_snapshot_take(struct top_snapshot *snapshot, const struct top_model *model,
                      enum top_mode mode, struct vamp_err *err)
{
    top_snapshot_done(snapshot);
    struct top_snapshot out = {
        .mode = mode,
        .any = model->buckets > 0,
        .ended = model->ended,
        .bucket = model->bucket,
        .width_ns = model->width_ns,
        .buckets = model->buckets,
        .seen_ns = model->seen_ns,
        .partial = model->partial,
        .components = model->components,
        .pool_cdos = model->pool_cdos,
        .pool_bytes = model->pool_bytes,
        .transports_active = model->transports_active,
        .lag_ns = model->lag_ns,
        .gaps = model->gaps,
        .bad_lines = model->bad_lines,
        .folded = model->folded,
        .share = model->share,
        .hidden = model->hidden,
        .hidden_in_rows = model->hidden_in_rows,
        .by_model = model->by_model,
        .component_rows = calloc(model->rows[TOP_COMPONENTS].count, sizeof *out.component_rows),
        .pairs = calloc(model->rows[TOP_PAIRS].count, sizeof *out.pairs),
    };
    if (out.component_rows == NULL || out.pairs == NULL) {
        top_snapshot_done(&out);
        return vamp_err_set_errno(err, ENOMEM, "show the newest bucket");
    }
    take_texts(&out, model);
    top_attention_show(&out.attention, &model->attention);
    take_totals(&out, model);
    take_rows(&out, model);
    assert(out.component_count <= model->rows[TOP_COMPONENTS].count);
    assert(out.pair_count <= model->rows[TOP_PAIRS].count);
    *snapshot = out;
    return 0;
}

void top_snapshot_done(struct top_snapshot *snapshot)
{
    free(snapshot->component_rows);
    free(snapshot->pairs);
    memset(snapshot, 0, sizeof *snapshot);
}
