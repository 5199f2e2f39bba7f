/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rows of a snapshot are shown, and in which order.
 */
#ifndef TOP_ORDER_H
#define TOP_ORDER_H

#include "programs/vampire-top/model.h"

enum top_sort { TOP_SORT_OPERATIONS, TOP_SORT_BYTES, TOP_SORT_WAIT, TOP_SORT_NAME };
#define TOP_SORT_COUNT 4
/* "operations", "bytes", "wait", "name"; never NULL. */
const char *top_sort_name(enum top_sort sort);
/* False when there is no such word. */
bool top_sort_parse(const char *word, enum top_sort *ret_sort);

struct top_choice {
    enum top_sort sort; /* pairs by moves instead of operations, by p99 instead of waits */
    bool reverse;
    char filter[64]; /* part of a name, upper and lower case alike (ASCII); "": all */
};

/* Sorts the rows of the snapshot and removes those that are not chosen: afterwards
 * the first `*ret_components` and `*ret_pairs` rows are the chosen ones, in order. May be called
 * again with another choice. A pair is chosen by its source or its sink. */
void top_order(struct top_snapshot *snapshot, const struct top_choice *choice,
               size_t *ret_components, size_t *ret_pairs);

/* The rows of the first `chosen` that are not among the `count` rows from `first` on, as one: sums,
 * and the largest of the longest times. Its quantiles are not known. */
void top_rest_of_components(const struct top_snapshot *snapshot, size_t chosen, size_t first,
                            size_t count, struct top_component_row *ret_rest);
void top_rest_of_pairs(const struct top_snapshot *snapshot, size_t chosen, size_t first,
                       size_t count, struct top_pair_row *ret_rest);

#endif
