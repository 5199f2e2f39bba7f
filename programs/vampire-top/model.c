/* SPDX-License-Identifier: BSD-3-Clause */
/* The state from line to line: which run it is of, whether lines are what was written, and what is
 * counted at the end of a bucket. */
#include "programs/vampire-top/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "programs/vampire-top/losses.h"

#define LOGGED_TOTAL (TOP_LOG_ROWS - 1)

#define TABLES (TOP_LEVELS * KINDS)
static struct top_rows *table_of(struct top_model *model, unsigned number)
{
    return &model->rows[number / KINDS][number % KINDS];
}

struct top_model *top_model_create(void)
{
    struct top_model *model = calloc(1, sizeof *model);
    if (model == NULL) {
        return NULL;
    }
    vamp_bins_init(&model->bins, VAMP_SUB_BITS_DEFAULT);
    vamp_bins_init(&model->ranks_bins, VAMP_SUB_BITS_DEFAULT);
    model->members = calloc(MEMBERS_MAX, sizeof *model->members);
    model->total = top_counted_create("", "");
    model->log = top_log_create();
    bool complete = model->members != NULL && model->total != NULL && model->log != NULL;
    for (unsigned i = 0; complete && i < TABLES; i++) {
        complete = top_rows_init(table_of(model, i)) == 0;
    }
    if (!complete) {
        top_model_free(model);
        return NULL;
    }
    return model;
}

void top_model_free(struct top_model *model)
{
    if (model != NULL) {
        for (unsigned i = 0; i < TABLES; i++) {
            top_rows_done(table_of(model, i));
        }
        top_log_free(model->log);
        free(model->total);
        free(model->members);
        json_decref(model->declared);
        free(model);
    }
}

/* Another run: everything but what was bad is forgotten. */
static void reset(struct top_model *model, const char *run)
{
    model->shown =
        (struct top_snapshot){.bad_lines = model->shown.bad_lines, .damaged = model->shown.damaged};
    model->next_lines = 0;
    model->next_components = 0;
    model->next_ranks_ns = 0;
    model->ranks_have = model->ranks_count = 0;
    model->bucket_ns = 0;
    model->from_middle = false;
    memset(model->tiers, 0, sizeof model->tiers);
    memset(model->members, 0, MEMBERS_MAX * sizeof *model->members);
    top_counted_clear(model->total);
    for (unsigned i = 0; i < TABLES; i++) {
        top_rows_clear(table_of(model, i));
    }
    top_log_clear(model->log);
    json_decref(model->declared);
    model->declared = NULL;
    (void)snprintf(model->run, sizeof model->run, "%s", run);
}

const char *top_model_run(const struct top_model *model)
{
    return model->run;
}

bool top_model_is_foreign(const struct top_model *model)
{
    return model->shown.bad_lines > 0 && model->run[0] == '\0';
}

void top_model_skip(struct top_model *model)
{
    model->shown.bad_lines++;
}

/* ---- the window */

/* Of all rows, what the newest bucket or the window had, or else what the incoming one has. */
static void clear_parts(struct top_model *model, bool now)
{
    top_part_clear(now ? &model->total->now : &model->total->next);
    for (unsigned i = 0; i < TABLES; i++) {
        struct top_rows *table = table_of(model, i);
        for (size_t row = 0; row < table->count; row++) {
            top_part_clear(now ? &table->rows[row]->now : &table->rows[row]->next);
        }
    }
}

static struct top_part *logged_part(void *context, uint32_t row)
{
    struct top_model *model = context;
    row &= ~TOP_LOG_OF_RANKS;
    return row == LOGGED_TOTAL
               ? &model->total->now
               : &table_of(model, row / TOP_ROWS_MAX)->rows[row % TOP_ROWS_MAX]->now;
}

void top_model_window(struct top_model *model, double window_ns)
{
    struct top_snapshot *shown = &model->shown;
    clear_parts(model, true);
    top_log_window(model->log, window_ns, logged_part, model, &shown->window_ns, &shown->ranks_ns);
}

/* ---- the end of a bucket */

/* What lines of ranks have, if some came. */
static void commit_ranks(struct top_model *model)
{
    if (model->next_ranks_ns > 0) {
        top_log_ranks(model->log, model->next_ranks_ns);
        for (uint32_t level = 0; level < TOP_LEVELS; level++) {
            struct top_rows *table = &model->rows[level][OF_RANKS];
            for (uint32_t row = 0; row < table->count; row++) {
                const uint32_t number = (level * KINDS + OF_RANKS) * TOP_ROWS_MAX + row;
                top_log_part(model->log, TOP_LOG_OF_RANKS | number, &table->rows[row]->next);
                top_counted_commit(table->rows[row]);
            }
        }
        model->shown.ranks_ns = model->next_ranks_ns;
    }
    model->next_ranks_ns = 0;
}

/* What was counted becomes the newest bucket; without `components`, what they have is of a later
 * one. */
static void commit(struct top_model *model, bool components)
{
    struct top_snapshot *shown = &model->shown;
    top_log_part(model->log, LOGGED_TOTAL, &model->total->next);
    top_counted_commit(model->total);
    commit_ranks(model);
    for (unsigned i = 0; i < TABLES; i++) {
        struct top_rows *table = table_of(model, i);
        for (uint32_t row = 0; row < table->count; row++) {
            if (i % KINDS != OF_RANKS && (components || i % KINDS != TOP_COMPONENTS)) {
                top_log_part(model->log, i * TOP_ROWS_MAX + row, &table->rows[row]->next);
                top_counted_commit(table->rows[row]);
            }
        }
    }
    top_log_bucket(model->log, shown->width_ns);
    shown->window_ns = shown->width_ns;
    shown->any = true;
    shown->buckets++;
    shown->seen_ns += shown->width_ns;
}

/* Of lines of ranks that began before the first bucket seen. */
static void clear_ranks(struct top_model *model)
{
    model->next_ranks_ns = 0;
    for (unsigned level = 0; level < TOP_LEVELS; level++) {
        struct top_rows *table = &model->rows[level][OF_RANKS];
        for (size_t i = 0; i < table->count; i++) {
            top_part_clear(&table->rows[i]->next);
        }
    }
}

/* The check of a bucket, a header or an end does not hold. */
static void leave_out(struct top_model *model, const json_t *line)
{
    clear_parts(model, false);
    model->next_lines = 0;
    model->next_components = 0;
    model->next_ranks_ns = 0;
    model->shown.damaged++;
    top_json_copy(model->shown.damage, sizeof model->shown.damage, line, "time");
}

/* Its last line: what was counted becomes the newest bucket. */
static void take_bucket(struct top_model *model, const json_t *line)
{
    struct top_snapshot *shown = &model->shown;
    const bool by_lines = top_counts_by_lines(shown) && !shown->by_model;
    top_losses_account(shown, json_object_get(line, "accounting"));
    top_json_copy(shown->time, sizeof shown->time, line, "time");
    shown->bucket = top_json_number(line, "bucket");
    if (shown->buckets == 0) {
        memcpy(shown->since, shown->time, sizeof shown->since);
        model->from_middle = shown->bucket > 0;
        if (strcmp(model->next_ranks, shown->since) < 0) {
            clear_ranks(model);
        }
        /* The totals of a stream that begins in the middle are not its first bucket's. */
        for (unsigned level = 0; model->from_middle && level < TOP_LEVELS; level++) {
            struct top_rows *components = &model->rows[level][TOP_COMPONENTS];
            for (size_t i = 0; i < components->count; i++) {
                if (components->rows[i]->by_lines) {
                    components->rows[i]->next.sums[TOP_OPERATIONS] = 0;
                }
            }
        }
    }
    const json_t *width = json_object_get(line, "width_ns");
    shown->width_ns = width != NULL ? top_json_number(line, "width_ns") : model->bucket_ns;
    shown->partial = model->next_lines < top_json_number(line, "values");
    /* The lines of components are ahead of the buckets by the lateness of events: at the end of a
     * stream, what the newest bucket counts was in earlier lines. */
    commit(model,
           !by_lines || model->total->next.sums[TOP_OPERATIONS] == 0 || model->next_components > 0);
    model->next_lines = 0;
    model->next_components = 0;
    top_attention_commit(&shown->attention, shown->gauges[TOP_FIRING], shown->seen_ns);
}

static enum top_fed take_end(struct top_model *model, const json_t *line)
{
    struct top_snapshot *shown = &model->shown;
    const char *reason = top_json_text(line, "reason");
    if (strcmp(reason, "rotated") == 0 || strcmp(reason, "configuration reloaded") == 0) {
        return TOP_FED_ROTATED;
    }
    top_losses_account(shown, json_object_get(line, "accounting"));
    commit_ranks(model);
    shown->ended = true;
    top_json_copy(shown->end_reason, sizeof shown->end_reason, line, "reason");
    return TOP_FED_END;
}

static enum top_fed take_line(struct top_model *model, const json_t *line, bool holds)
{
    const char *type = top_json_text(line, "type");
    const char *run = top_json_text(line, "run");
    struct top_snapshot *shown = &model->shown;
    const bool is_header = strcmp(type, "header") == 0, is_bucket = strcmp(type, "bucket") == 0;
    const bool is_other = *run != '\0' && strncmp(run, model->run, sizeof model->run - 1) != 0;
    const bool is_late = *model->run == '\0'; /* the header was not read */
    const json_t *version = json_object_get(line, "v");
    /* A file has one run, or begins the next with a header. */
    if (*type == '\0' || (is_header && *run == '\0') ||
        (version != NULL && json_number_value(version) != TOP_VERSION) ||
        (is_bucket && *top_json_text(line, "time") == '\0') ||
        (is_other && model->has_checks && !is_header && !is_late)) {
        shown->bad_lines++;
        return TOP_FED_BAD;
    }
    if (is_other && !is_header && is_late) {
        (void)snprintf(model->run, sizeof model->run, "%s", run);
    } else if (is_other) {
        reset(model, run);
    }
    if (!holds) {
        leave_out(model, line);
        return TOP_FED_BAD;
    }
    if (is_bucket) {
        take_bucket(model, line);
        return TOP_FED_BUCKET;
    }
    if (strcmp(type, "end") == 0) {
        return take_end(model, line);
    }
    top_take_line(model, type, line);
    return TOP_FED_LINE;
}

/* Whether the line's check value is that of the lines since the last one with one; a line without
 * one need not have it, unless it ends a bucket of a stream in which others do. */
static bool check_holds(struct top_model *model, const char *type, const char *line, size_t bytes)
{
    static const char key[] = ",\"check\":\"";
    const size_t behind = sizeof key - 1 + strlen("00000000\"}");
    char expected[16];
    if (strcmp(type, "header") == 0) {
        model->sum = 0;
        model->sum_known = true;
        model->has_checks = false;
    }
    if (bytes < behind || memcmp(line + bytes - behind, key, sizeof key - 1) != 0) {
        model->sum = libdeflate_crc32(libdeflate_crc32(model->sum, line, bytes), "\n", 1);
        return !model->has_checks || strcmp(type, "bucket") != 0;
    }
    (void)snprintf(expected, sizeof expected, "%08x",
                   libdeflate_crc32(model->sum, line, bytes - behind));
    const bool holds = !model->sum_known || memcmp(expected, line + bytes - 10, 8) == 0;
    model->sum = 0;
    model->sum_known = model->has_checks = true;
    return holds;
}

enum top_fed top_model_feed(struct top_model *model, const char *line, size_t bytes)
{
    /* As doubles: jansson's integers end at 2^63, the format's at 2^64. */
    json_t *json = json_loadb(line, bytes, JSON_DECODE_INT_AS_REAL, NULL);
    const bool holds = check_holds(model, top_json_text(json, "type"), line, bytes);
    const enum top_fed fed = take_line(model, json, holds); /* without a type, if it is no JSON */
    json_decref(json);
    return fed;
}

void top_model_jump(struct top_model *model)
{
    model->sum_known = false;
    model->shown.is_tail = true;
}
