/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/spread.h"

#include <assert.h>

#define SUB_BITS 3
#define SUB_BINS (1U << SUB_BITS)
_Static_assert((64 - SUB_BITS + 1) * SUB_BINS == TOP_SPREAD_BINS, "a value without a bin");

static unsigned bin_of(uint64_t value)
{
    if (value < SUB_BINS) {
        return (unsigned)value;
    }
    unsigned exponent = 63 - (unsigned)__builtin_clzll(value);
    unsigned within = (unsigned)(value >> (exponent - SUB_BITS)) & (SUB_BINS - 1);
    const unsigned bin = (exponent - SUB_BITS + 1) * SUB_BINS + within;
    assert(bin < TOP_SPREAD_BINS);
    return bin;
}

static uint64_t middle_of(unsigned bin)
{
    if (bin < SUB_BINS) {
        return bin;
    }
    unsigned shift = bin / SUB_BINS - 1;
    uint64_t lower = (uint64_t)(SUB_BINS + bin % SUB_BINS) << shift;
    return lower + ((UINT64_C(1) << shift) - 1) / 2;
}

void top_spread_add(struct top_spread *spread, uint64_t lower, uint64_t count)
{
    spread->bins[bin_of(lower)] += count;
    spread->count += count;
}

void top_spread_range(struct top_spread *spread, uint64_t min, uint64_t max)
{
    if (spread->count == 0 || min < spread->min) {
        spread->min = min;
    }
    if (spread->count == 0 || max > spread->max) {
        spread->max = max;
    }
}

void top_spread_merge(struct top_spread *spread, const struct top_spread *other)
{
    if (other->count == 0) {
        return;
    }
    top_spread_range(spread, other->min, other->max);
    spread->count += other->count;
    for (unsigned i = 0; i < TOP_SPREAD_BINS; i++) {
        spread->bins[i] += other->bins[i];
    }
}

uint64_t top_spread_quantile(const struct top_spread *spread, double q)
{
    assert(q >= 0 && q <= 1);
    if (spread->count == 0) {
        return 0;
    }
    double wanted = q * (double)spread->count;
    double seen = 0;
    uint64_t value = spread->max;
    for (unsigned i = 0; i < TOP_SPREAD_BINS; i++) {
        seen += (double)spread->bins[i];
        if (spread->bins[i] > 0 && seen >= wanted) {
            value = middle_of(i);
            break;
        }
    }
    value = value < spread->min ? spread->min : value;
    return value > spread->max ? spread->max : value;
}
