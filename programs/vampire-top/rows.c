/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/rows.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/hash.h"

/* ---- rows that are counted */

static const char other[] = "(other)";

void top_part_clear(struct top_part *part)
{
    *part = (struct top_part){.times = part->times};
    vamp_histogram_clear(part->times, TOP_BINS);
}

struct top_counted *top_counted_create(const char *name, const char *second)
{
    assert(vamp_bin_index(VAMP_SUB_BITS_DEFAULT, UINT64_MAX) + 1 == TOP_BINS);
    const size_t times_bytes = sizeof(struct vamp_histogram) + TOP_BINS * sizeof(uint64_t);
    const size_t name_bytes = strlen(name) + 1;
    const size_t second_bytes = strlen(second) + 1;
    struct top_counted *row = calloc(1, sizeof *row + 3 * times_bytes + name_bytes + second_bytes);
    if (row == NULL) {
        return NULL;
    }
    char *behind = (char *)(row + 1);
    struct top_part *const parts[] = {&row->next, &row->now, &row->all};
    for (unsigned i = 0; i < 3; i++, behind += times_bytes) {
        parts[i]->times = (struct vamp_histogram *)(void *)behind;
        top_part_clear(parts[i]);
    }
    row->name = memcpy(behind, name, name_bytes);
    row->second = memcpy(behind + name_bytes, second, second_bytes);
    return row;
}

void top_counted_commit(struct top_counted *row)
{
    for (unsigned i = 0; i < TOP_SUM_COUNT; i++) {
        row->all.sums[i] += row->next.sums[i];
    }
    if (row->next.times->count > 0) {
        vamp_histogram_merge(row->all.times, row->next.times, TOP_BINS);
    }
    row->idle_buckets = row->next.sums[TOP_OPERATIONS] > 0 ? 0 : row->idle_buckets + 1;
    const struct top_part before = row->now;
    row->now = row->next;
    row->next = before;
    top_part_clear(&row->next);
}

void top_counted_clear(struct top_counted *row)
{
    top_part_clear(&row->next);
    top_part_clear(&row->now);
    top_part_clear(&row->all);
    row->members = row->left = 0;
    row->reason[0] = row->host[0] = '\0';
    row->level.known = false;
    row->idle_buckets = 0;
    row->by_lines = false;
    row->of_ranks = NULL;
}

bool top_counted_has_vanished(const struct top_counted *row)
{
    return row->left > 0 && strcmp(row->reason, "finalized") != 0;
}

bool top_part_is_empty(const struct top_part *part)
{
    bool empty = part->times->count == 0;
    for (unsigned i = 0; i < TOP_SUM_COUNT; i++) {
        empty = empty && part->sums[i] == 0;
    }
    return empty;
}

int top_rows_init(struct top_rows *rows)
{
    *rows = (struct top_rows){.count = 0};
    if (map_init(&rows->map) != 0) {
        return -ENOMEM;
    }
    const struct top_counted *first = top_rows_get(rows, other, other);
    if (first == NULL) {
        top_rows_done(rows);
    }
    return first != NULL ? 0 : -ENOMEM;
}

void top_rows_done(struct top_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->rows[i]);
    }
    map_done(&rows->map);
    rows->count = 0;
}

void top_rows_clear(struct top_rows *rows)
{
    while (rows->count > 1) {
        struct top_counted *row = rows->rows[--rows->count];
        map_remove(&rows->map, &row->link);
        free(row);
    }
    top_counted_clear(rows->rows[0]);
}

struct top_counted *top_rows_get(struct top_rows *rows, const char *name, const char *second)
{
    /* Of components, the stream's own "(other)" comes without a second name. */
    second = strcmp(name, other) == 0 && *second == '\0' ? other : second;
    const uint64_t hash =
        vamp_hash_bytes(map_hash_text(&rows->map, name, strlen(name)), second, strlen(second));
    for (struct map_link *link = map_first(&rows->map, hash); link != NULL; link = map_next(link)) {
        struct top_counted *row = CONTAINER_OF(link, struct top_counted, link);
        if (strcmp(row->name, name) == 0 && strcmp(row->second, second) == 0) {
            return row;
        }
    }
    struct top_counted *row = rows->count < TOP_ROWS_MAX ? top_counted_create(name, second) : NULL;
    if (row == NULL) {
        return rows->rows[0];
    }
    map_insert(&rows->map, &row->link, hash);
    rows->rows[rows->count++] = row;
    return row;
}

/* ---- rows that are shown */

const char *const top_sort_names[TOP_SORT_COUNT] = {"operations", "bytes", "wait", "name"};

static double sorted_by(const struct top_row *row, enum top_sort sort)
{
    const double *sums = row->sums;
    return sort == TOP_SORT_NAME         ? 0
           : sums[TOP_WAITED] > 0        ? sums[TOP_WAITED]
           : sort == TOP_SORT_OPERATIONS ? sums[TOP_OPERATIONS] + sums[TOP_TRANSPORTS]
           : sort == TOP_SORT_BYTES      ? sums[TOP_PRODUCED] + sums[TOP_CONSUMED] + sums[TOP_MOVED]
                                         : row->times[TOP_P99];
}

/* Larger first. */
static int compare_descending(double a, double b)
{
    return (a < b) - (a > b);
}

struct ordering {
    enum top_kind kind;
    const struct top_choice *choice;
};

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct top_row *a = left, *b = right;
    const struct ordering *by = context;
    const enum top_sort sort = by->choice->sort;
    if (a->chosen != b->chosen) {
        return a->chosen ? -1 : 1;
    }
    int order = compare_descending(sorted_by(a, sort), sorted_by(b, sort));
    if (order == 0 && by->kind == TOP_PAIRS && sort == TOP_SORT_OPERATIONS) {
        order = compare_descending(a->times[TOP_P99], b->times[TOP_P99]);
    }
    /* "IFS -- 2" before "IFS -- 10". */
    order = order != 0 ? order : strverscmp(a->name, b->name);
    order = order != 0 ? order : strverscmp(a->second, b->second);
    return by->choice->reverse ? -order : order;
}

void top_choose(struct top_table *table, enum top_kind kind, const struct top_choice *choice)
{
    struct ordering by = {kind, choice};
    table->chosen = 0;
    for (size_t i = 0; i < table->count; i++) {
        struct top_row *row = &table->rows[i];
        row->chosen = strcasestr(row->name, choice->filter) != NULL ||
                      strcasestr(row->second, choice->filter) != NULL;
        table->chosen += row->chosen;
    }
    if (table->count > 0) {
        qsort_r(table->rows, table->count, sizeof *table->rows, compare_rows, &by);
    }
}

struct top_row top_rest(const struct top_table *table, size_t first, size_t count)
{
    struct top_row rest = {.rest = 0};
    assert(table->chosen <= table->count);
    for (size_t i = 0; i < table->chosen; i++) {
        const struct top_row *row = &table->rows[i];
        if (i >= first && i - first < count) {
            continue;
        }
        rest.rest++;
        for (unsigned k = 0; k < TOP_SUM_COUNT; k++) {
            rest.sums[k] += row->sums[k];
        }
        rest.timed += row->timed;
        rest.times[TOP_MAX] =
            row->times[TOP_MAX] > rest.times[TOP_MAX] ? row->times[TOP_MAX] : rest.times[TOP_MAX];
    }
    if (first > 0) {
        (void)snprintf(rest.name, sizeof rest.name, "%zu before, %zu after", first,
                       rest.rest - first);
    } else {
        (void)snprintf(rest.name, sizeof rest.name, "%u more", rest.rest);
    }
    return rest;
}
