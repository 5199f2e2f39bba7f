/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/order.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const sort_names[TOP_SORT_COUNT] = {"operations", "bytes", "wait", "name"};

const char *top_sort_name(enum top_sort sort)
{
    assert((unsigned)sort < TOP_SORT_COUNT);
    return sort_names[sort];
}

bool top_sort_parse(const char *word, enum top_sort *ret_sort)
{
    for (unsigned i = 0; i < TOP_SORT_COUNT; i++) {
        if (strcmp(word, sort_names[i]) == 0) {
            *ret_sort = (enum top_sort)i;
            return true;
        }
    }
    return false;
}

static bool matches_filter(const char *name, const char *filter)
{
    return *filter == '\0' || strcasestr(name, filter) != NULL;
}

/* Larger first. */
static int compare_descending(double a, double b)
{
    return (a < b) - (a > b);
}

/* "IFS -- 2" before "IFS -- 10". */
static int by_name(const char *a, const char *b)
{
    return strverscmp(a, b);
}

static int compare_components(const void *left, const void *right, void *context)
{
    const struct top_component_row *a = left;
    const struct top_component_row *b = right;
    const struct top_choice *choice = context;
    int order = (int)!matches_filter(a->name, choice->filter) -
                (int)!matches_filter(b->name, choice->filter);
    if (order != 0) {
        return order;
    }
    switch (choice->sort) {
    case TOP_SORT_OPERATIONS:
        order = compare_descending(a->operations, b->operations);
        break;
    case TOP_SORT_BYTES:
        order = compare_descending(a->produced + a->consumed, b->produced + b->consumed);
        break;
    case TOP_SORT_WAIT:
        order = compare_descending(a->wait.p99, b->wait.p99);
        break;
    case TOP_SORT_NAME:
        break;
    }
    order = order != 0 ? order : by_name(a->name, b->name);
    return choice->reverse ? -order : order;
}

static bool pair_fits(const struct top_pair_row *pair, const char *filter)
{
    return matches_filter(pair->source, filter) || matches_filter(pair->sink, filter);
}

static int compare_pairs(const void *left, const void *right, void *context)
{
    const struct top_pair_row *a = left;
    const struct top_pair_row *b = right;
    const struct top_choice *choice = context;
    int order = (int)!pair_fits(a, choice->filter) - (int)!pair_fits(b, choice->filter);
    if (order != 0) {
        return order;
    }
    switch (choice->sort) {
    case TOP_SORT_OPERATIONS:
        order = compare_descending(a->transports, b->transports);
        order = order != 0 ? order : compare_descending(a->time.p99, b->time.p99);
        break;
    case TOP_SORT_WAIT:
        order = compare_descending(a->time.p99, b->time.p99);
        break;
    case TOP_SORT_BYTES:
        order = compare_descending(a->bytes, b->bytes);
        break;
    case TOP_SORT_NAME:
        break;
    }
    order = order != 0 ? order : by_name(a->source, b->source);
    order = order != 0 ? order : by_name(a->sink, b->sink);
    return choice->reverse ? -order : order;
}

void top_order(struct top_snapshot *snapshot, const struct top_choice *choice,
               size_t *ret_components, size_t *ret_pairs)
{
    struct top_choice own = *choice;
    if (snapshot->component_count > 0) {
        qsort_r(snapshot->component_rows, snapshot->component_count,
                sizeof *snapshot->component_rows, compare_components, &own);
    }
    if (snapshot->pair_count > 0) {
        qsort_r(snapshot->pairs, snapshot->pair_count, sizeof *snapshot->pairs, compare_pairs,
                &own);
    }
    size_t count = 0;
    while (count < snapshot->component_count &&
           matches_filter(snapshot->component_rows[count].name, own.filter)) {
        count++;
    }
    *ret_components = count;
    count = 0;
    while (count < snapshot->pair_count && pair_fits(&snapshot->pairs[count], own.filter)) {
        count++;
    }
    *ret_pairs = count;
}

/* ---- the rest */

static void add_times(struct top_times *sum, const struct top_times *times)
{
    sum->count += times->count;
    sum->max = times->max > sum->max ? times->max : sum->max;
}

/* "52 more"; scrolled: "8 before, 44 after". */
static void name_rest(char *out, size_t out_bytes, size_t before, unsigned rest)
{
    if (before > 0) {
        (void)snprintf(out, out_bytes, "%zu before, %zu after", before, rest - before);
    } else {
        (void)snprintf(out, out_bytes, "%u more", rest);
    }
}

static bool is_within(size_t row, size_t first, size_t count)
{
    return row >= first && row - first < count;
}

void top_rest_of_components(const struct top_snapshot *snapshot, size_t chosen, size_t first,
                            size_t count, struct top_component_row *ret_rest)
{
    *ret_rest = (struct top_component_row){.rest = 0};
    for (size_t i = 0; i < chosen; i++) {
        const struct top_component_row *row = &snapshot->component_rows[i];
        if (!is_within(i, first, count)) {
            ret_rest->rest++;
            ret_rest->operations += row->operations;
            ret_rest->produced += row->produced;
            ret_rest->consumed += row->consumed;
            ret_rest->anomalies += row->anomalies;
            add_times(&ret_rest->wait, &row->wait);
        }
    }
    name_rest(ret_rest->name, sizeof ret_rest->name, first, ret_rest->rest);
}

void top_rest_of_pairs(const struct top_snapshot *snapshot, size_t chosen, size_t first,
                       size_t count, struct top_pair_row *ret_rest)
{
    *ret_rest = (struct top_pair_row){.rest = 0};
    for (size_t i = 0; i < chosen; i++) {
        const struct top_pair_row *row = &snapshot->pairs[i];
        if (!is_within(i, first, count)) {
            ret_rest->rest++;
            ret_rest->transports += row->transports;
            ret_rest->bytes += row->bytes;
            add_times(&ret_rest->time, &row->time);
        }
    }
    name_rest(ret_rest->source, sizeof ret_rest->source, first, ret_rest->rest);
}
