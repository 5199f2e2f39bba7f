/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The distribution of values: a histogram of all of 64 bits with 8 bins for each doubling, the same
 * rule as vampire's default. Bins of streams with other rules are put where their smallest value
 * belongs. No memory outside the struct; belongs to one thread.
 */
#ifndef TOP_SPREAD_H
#define TOP_SPREAD_H

#include <stdint.h>

#define TOP_SPREAD_BINS 496

struct top_spread {
    uint64_t count;
    uint64_t min, max; /* without meaning while count is 0 */
    uint64_t bins[TOP_SPREAD_BINS];
};

/* Adds `count` values of the bin whose smallest value is `lower`; min and max are not touched. */
void top_spread_add(struct top_spread *spread, uint64_t lower, uint64_t count);
/* Widens min and max; call it before the bins of the same values are added. */
void top_spread_range(struct top_spread *spread, uint64_t min, uint64_t max);
/* Adds all of `other`. */
void top_spread_merge(struct top_spread *spread, const struct top_spread *other);
/* The value below which the share `q` (0 to 1) of the values lies: the middle of its bin, never
 * outside min and max. 0 without values. */
uint64_t top_spread_quantile(const struct top_spread *spread, double q);

#endif
